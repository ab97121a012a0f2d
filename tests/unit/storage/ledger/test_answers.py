"""An answer of Kafka's comes, or a KafkaException says why not: whatever becomes of its future."""

import gc
import weakref
from concurrent.futures import Future

import pytest
from confluent_kafka import KafkaError, KafkaException

from adapter.storage.ledger.answers import answer_of


class Frame:
    """What an exception's traceback would keep."""


def test_an_answer_that_came() -> None:
    future: Future[int] = Future()
    future.set_result(5)
    assert answer_of(future, 0.0) == 5


def test_an_answer_that_does_not_come_in_time() -> None:
    with pytest.raises(KafkaException) as caught:
        answer_of(Future(), 0.01)
    assert caught.value.args[0].code() == KafkaError._TIMED_OUT


def test_what_kafka_refuses_keeps_no_frames_of_ours() -> None:
    future: Future[int] = Future()
    refusal = KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    future.set_exception(refusal)

    def ask() -> "weakref.ref[Frame]":
        client = Frame()
        with pytest.raises(KafkaException) as caught:
            answer_of(future, 0.0)
        assert caught.value is not refusal
        assert caught.value.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
        return weakref.ref(client)

    kept = ask()
    assert refusal.__traceback__ is None
    gc.collect()
    assert kept() is None


def test_another_failure_is_raised_as_it_is() -> None:
    future: Future[int] = Future()
    future.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        answer_of(future, 0.0)
