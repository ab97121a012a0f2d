"""Consumers: prefetch, acknowledgements, dead letters, and connections that are lost."""

import json
import logging
import threading

import pytest
from dramatiq import Message, MessageProxy
from dramatiq.errors import ConnectionClosed

import adapter
from adapter.dramatiq import MqkBroker
from adapter.dramatiq.consumer import MqkConsumer, MqkMessage
from adapter.errors import CallInProgress
from adapter.testing import TestQueueManager

# A worker ends what it holds; these tests look at what is held, and drop it.
pytestmark = pytest.mark.filterwarnings("ignore:unit .* was dropped:ResourceWarning")


def send(broker: MqkBroker, *numbers: int) -> None:
    for number in numbers:
        broker.enqueue(Message("default", "work", (number,), {}, {}))


def take(consumer: MqkConsumer) -> MqkMessage:
    got = next(consumer)
    assert got is not None
    return got


def test_prefetch_bounds_what_is_held(broker: MqkBroker) -> None:
    send(broker, 1, 2, 3)
    consumer = broker.consume("default", prefetch=2, timeout=10)
    first, second = take(consumer), take(consumer)
    assert next(consumer) is None
    consumer.ack(first)
    third = take(consumer)
    assert [one.args for one in (first, second, third)] == [(1,), (2,), (3,)]


def test_an_acknowledgement_ends_the_wait_for_room(broker: MqkBroker) -> None:
    send(broker, 1, 2)
    consumer = broker.consume("default", prefetch=1, timeout=10_000)
    first, got = take(consumer), list[MqkMessage]()
    taking = threading.Thread(target=lambda: got.append(take(consumer)))
    taking.start()
    taking.join(0.05)
    assert taking.is_alive()
    consumer.ack(first)
    taking.join(5)
    assert [one.args for one in got] == [(2,)]


def test_an_empty_queue_has_no_message_in_time(broker: MqkBroker) -> None:
    assert next(broker.consume("default", timeout=10)) is None


def test_what_is_acknowledged_is_gone(broker: MqkBroker) -> None:
    send(broker, 1)
    consumer = broker.consume("default", timeout=0)
    consumer.ack(take(consumer))
    assert broker.get_queue_message_counts("default") == (0, 0, 0)


def test_what_is_rejected_is_a_dead_letter_for_a_time(
    broker: MqkBroker, qm: adapter.Connection
) -> None:
    broker.dead_message_ttl_s = 100.0
    send(broker, 1)
    consumer = broker.consume("default", timeout=0)
    rejected = take(consumer)
    consumer.nack(rejected)
    dead = qm.get("default.XQ")
    assert dead is not None
    assert (dead.body, dead.message_id) == (rejected.got.body, rejected.got.message_id)
    assert dead.expiry_s is not None
    assert 90 < dead.expiry_s <= 100


def test_requeued_messages_come_again_in_their_order(broker: MqkBroker) -> None:
    send(broker, 1, 2)
    consumer = broker.consume("default", prefetch=2, timeout=0)
    held = [take(consumer), take(consumer)]
    assert not held[0].redelivered
    consumer.requeue(held)
    again = take(consumer)
    assert (again.args, again.redelivered) == ((1,), False)


def test_a_new_consumer_acknowledges_what_the_one_before_it_returned(broker: MqkBroker) -> None:
    send(broker, 1)
    before = broker.consume("default", timeout=0)
    held = take(before)
    before.close()
    assert broker.get_queue_message_counts("default") == (1, 0, 0)
    broker.consume("default", timeout=0).ack(held)
    assert broker.get_queue_message_counts("default") == (0, 0, 0)


def test_a_message_of_a_lost_connection_comes_again(
    broker: MqkBroker, manager: TestQueueManager, caplog: pytest.LogCaptureFixture
) -> None:
    send(broker, 1)
    consumer = broker.consume("default", timeout=10)
    held = take(consumer)
    manager.crash()
    manager.start()
    with caplog.at_level(logging.WARNING):
        consumer.ack(held)
    assert "comes again, because the connection was lost" in caplog.text
    assert take(broker.consume("default", timeout=1000)).args == (1,)


def test_a_lost_connection_is_dramatiqs_error(broker: MqkBroker, manager: TestQueueManager) -> None:
    consumer = broker.consume("default", timeout=10)
    assert next(consumer) is None
    manager.crash()
    manager.start()
    with pytest.raises(ConnectionClosed):
        next(consumer)
    assert next(consumer) is None


def test_what_is_no_message_of_dramatiq_is_a_dead_letter(
    broker: MqkBroker, qm: adapter.Connection
) -> None:
    consumer = broker.consume("default", timeout=0)
    qm.put("default", "no JSON")
    assert next(consumer) is None
    assert broker.get_queue_message_counts("default") == (0, 0, 1)


@pytest.mark.parametrize("body", [None, "no JSON", "[]", "5", "null", '{"args": []}'])
@pytest.mark.parametrize("refusal", ["inhibited", "full"])
def test_what_its_dead_letter_queue_refuses_is_a_dead_letter_of_the_queue_manager(
    broker: MqkBroker, qm: adapter.Connection, body: str | None, refusal: str
) -> None:
    qm.alter_queue_manager(dead_letter_queue="SYSTEM.DEAD.LETTER.QUEUE")
    consumer = broker.consume("default", timeout=0)
    if refusal == "inhibited":
        qm.alter_queue("default.XQ", inhibit_put=True)
    else:
        qm.alter_queue("default.XQ", max_depth=1)
        qm.put("default.XQ", "x")
    if body is None:
        send(broker, 1)
        consumer.nack(take(consumer))
    else:
        qm.put("default", body)
        assert next(consumer) is None
    status = qm.queue("default").status()
    assert (status.current_depth, status.uncommitted_gets) == (0, 0)
    letter = qm.get("SYSTEM.DEAD.LETTER.QUEUE")
    assert letter is not None
    assert letter.dead_letter is not None
    assert letter.dead_letter.destination == "default.XQ"
    assert letter.expiry_s is None


@pytest.mark.parametrize("body", [None, "no JSON"])
def test_a_queue_of_dead_letters_that_was_deleted_is_defined_again(
    broker: MqkBroker, qm: adapter.Connection, body: str | None
) -> None:
    consumer = broker.consume("default", timeout=0)
    qm.delete_queue("default.XQ")
    if body is None:
        send(broker, 1)
        consumer.nack(take(consumer))
    else:
        qm.put("default", body)
        assert next(consumer) is None
    assert broker.get_queue_message_counts("default") == (0, 0, 1)


def test_a_message_whose_end_fails_comes_again(
    broker: MqkBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(broker, 1)
    consumer = broker.consume("default", timeout=0)
    for end in (consumer.ack, consumer.nack):
        held = take(consumer)
        with monkeypatch.context() as interrupted:

            def interrupt(_: object) -> None:
                raise CallInProgress("a signal handler interrupted it")

            interrupted.setattr(adapter.Unit, "commit", interrupt)
            with pytest.raises(CallInProgress):
                end(held)
    assert take(consumer).args == (1,)


def test_what_is_not_held_is_ignored_with_a_warning(
    broker: MqkBroker, caplog: pytest.LogCaptureFixture
) -> None:
    send(broker, 1)
    consumer = broker.consume("default", timeout=0)
    held = take(consumer)
    consumer.ack(held)
    with caplog.at_level(logging.WARNING):
        consumer.ack(held)
        consumer.nack(MessageProxy(Message("default", "work", (), {}, {})))
        consumer.requeue([held])
    assert caplog.text.count("is not held by this worker") == 3


SOUND = {
    "queue_name": "default",
    "actor_name": "work",
    "args": [1],
    "kwargs": {},
    "options": {},
    "message_id": "1",
    "message_timestamp": 1,
}


@pytest.mark.parametrize(
    "wrong",
    [
        {"options": None},
        {"options": []},
        {"options": {"eta": "soon"}},
        {"actor_name": []},
        {"queue_name": 5},
        {"args": 5},
        {"kwargs": []},
        {"message_id": {}},
        {"message_timestamp": "now"},
    ],
)
def test_a_message_with_a_field_of_a_wrong_type_is_a_dead_letter(
    broker: MqkBroker, qm: adapter.Connection, wrong: dict[str, object]
) -> None:
    consumer = broker.consume("default", timeout=0)
    qm.put("default", json.dumps(SOUND | wrong))
    qm.put("default", json.dumps(SOUND))
    assert next(consumer) is None
    consumer.ack(take(consumer))
    assert broker.get_queue_message_counts("default") == (0, 0, 1)


def test_a_body_that_no_decoder_takes_is_a_dead_letter(
    broker: MqkBroker, qm: adapter.Connection
) -> None:
    consumer = broker.consume("default", timeout=0)
    qm.put("default", b"[" * 100_000)
    assert next(consumer) is None
    assert broker.get_queue_message_counts("default") == (0, 0, 1)
