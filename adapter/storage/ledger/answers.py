"""The answer of a client of Kafka that asks in the background, waited for within a bound."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException

T = TypeVar("T")


def answer_of(future: Future[T], timeout_s: float) -> T:
    """Wait for an answer. KafkaException says why it did not come: _TIMED_OUT, or the broker's.

    The future keeps its own exception. If that one were raised, its traceback would hold the frames
    that hold the future, and the client would live until a garbage collection.
    """
    try:
        failure = future.exception(timeout_s)
    except TimeoutError as error:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT)) from error
    if isinstance(failure, KafkaException):
        raise KafkaException(*failure.args)
    return future.result()
