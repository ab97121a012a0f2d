"""The broker: declaring, enqueueing, counting, flushing, joining."""

from collections.abc import Callable
from typing import Any

import dramatiq
import pytest
from dramatiq import Message, Worker
from dramatiq.errors import ConnectionClosed, QueueJoinTimeout

import adapter
from adapter.dramatiq import MqkBroker
from adapter.errors import InvalidOption, InvalidType, InvalidValue
from adapter.testing import TestQueueManager


def message(queue: str = "default", **options: object) -> Message[object]:
    return Message(queue, "work", (1,), {}, dict(options))


def test_it_connects_when_it_is_first_used() -> None:
    broker = MqkBroker(address="127.0.0.1:9")
    broker.declare_queue("default")
    assert broker.get_declared_queues() == {"default"}
    assert broker.get_declared_delay_queues() == set()
    with pytest.raises(ConnectionClosed, match="no queue manager answers"):
        broker.enqueue(message())
    broker.close()


def test_a_message_is_on_its_queue(broker: MqkBroker, qm: adapter.Connection) -> None:
    sent = broker.enqueue(message("in-box", broker_priority=7))
    got = qm.get("in%2Dbox")
    assert got is not None
    assert Message.decode(got.body) == sent
    assert (got.priority, got.persistent) == (7, True)
    assert got.properties == {"actor": "work", "id": sent.message_id}


def test_the_highest_priority_comes_first(broker: MqkBroker) -> None:
    for priority in (0, 9, 5):
        broker.enqueue(message(broker_priority=priority))
    consumer = broker.consume("default", prefetch=3, timeout=0)
    got = [one for one in (next(consumer) for _ in range(3)) if one is not None]
    assert [one.options["broker_priority"] for one in got] == [9, 5, 0]
    consumer.requeue(got)


@pytest.mark.parametrize(
    ("actors", "messages", "queued"),
    [(None, None, 0), (7, None, 7), (None, 3, 3), (7, 3, 3), (7, 0, 0)],
)
def test_actors_may_have_a_priority_on_the_queue(
    broker: MqkBroker,
    qm: adapter.Connection,
    actors: int | None,
    messages: int | None,
    queued: int,
) -> None:
    def work() -> None: ...

    def options(priority: int | None) -> dict[str, Any]:
        return {} if priority is None else {"broker_priority": priority}

    actor: dramatiq.Actor[[], None] = dramatiq.actor(work, **options(actors))
    actor.send_with_options(**options(messages))
    got = qm.get("default")
    assert got is not None
    assert got.priority == queued
    assert {"broker_priority", "max_retries"} <= broker.actor_options


@pytest.mark.parametrize(
    "wrong", [{"broker_priority": 10}, {"broker_priority": True}, {"delay": 2**63}]
)
def test_what_no_message_may_have_is_refused_before_middleware_hears_of_it(
    broker: MqkBroker, wrong: dict[str, Any]
) -> None:
    heard: list[str] = []

    class Listening(dramatiq.Middleware):
        def before_enqueue(self, *_: object) -> None:
            heard.append("enqueue")

    broker.add_middleware(Listening())
    options = {name: value for name, value in wrong.items() if name != "delay"}
    with pytest.raises((InvalidValue, InvalidType)):
        broker.enqueue(message(**options), delay=wrong.get("delay"))
    assert heard == []
    broker.enqueue(message())
    assert heard == ["enqueue"]


@pytest.mark.parametrize("delay", [-(2**63), -5, 0, None])
def test_a_time_that_is_over_is_no_delay(broker: MqkBroker, delay: int | None) -> None:
    broker.enqueue(message(), delay=delay)
    assert broker.get_queue_message_counts("default") == (1, 0, 0)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), 604_800_000.0, "7"])
def test_a_time_that_no_dead_letter_can_be_kept_is_refused_at_once(
    broker: MqkBroker, seconds: Any
) -> None:
    with pytest.raises(InvalidOption, match="dead_message_ttl_s is"):
        MqkBroker(dead_message_ttl_s=seconds)
    with pytest.raises(InvalidOption, match="dead_message_ttl_s is"):
        broker.dead_message_ttl_s = seconds
    assert MqkBroker(dead_message_ttl_s=None).dead_message_ttl_s is None


@pytest.mark.parametrize("wrong", [{"adress": "x"}, {"url": "x"}, {"heartbeat_s": "1"}])
def test_an_option_that_no_connection_has_is_refused_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises((InvalidOption, InvalidType)):
        MqkBroker(**wrong)


def test_the_queue_manager_keeps_delayed_messages(broker: MqkBroker) -> None:
    broker.enqueue(message())
    broker.enqueue(message(), delay=60_000)
    assert broker.get_queue_message_counts("default") == (1, 1, 0)


def test_flush_discards_all_of_a_queue(broker: MqkBroker) -> None:
    broker.enqueue(message())
    broker.enqueue(message(), delay=60_000)
    consumer = broker.consume("default")
    got = next(consumer)
    assert got is not None
    consumer.nack(got)
    broker.enqueue(message("other"))
    assert broker.get_queue_message_counts("default") == (0, 1, 1)
    broker.flush("default")
    assert broker.get_queue_message_counts("default") == (0, 0, 0)
    broker.flush_all()
    assert broker.get_queue_message_counts("other") == (0, 0, 0)


def test_queues_may_be_declared_while_all_are_flushed(
    broker: MqkBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []

    def flush(name: str) -> None:
        flushed.append(name)
        broker.declare_queue(f"another.{len(flushed)}")

    broker.declare_queue("one")
    broker.declare_queue("two")
    monkeypatch.setattr(broker, "flush", flush)
    broker.flush_all()
    assert set(flushed) == {"one", "two"}


def test_a_queue_that_was_deleted_is_defined_again(
    broker: MqkBroker, qm: adapter.Connection
) -> None:
    broker.enqueue(message())

    def consume() -> None:
        consumer = broker.consume("default", timeout=0)
        assert next(consumer) is None
        consumer.close()

    uses: list[Callable[[], object]] = [
        lambda: broker.enqueue(message()),
        lambda: broker.flush("default"),
        consume,
        lambda: broker.get_queue_message_counts("default"),
    ]
    for again in uses:
        for queue in qm.queues():
            qm.delete_queue(queue.name, purge=True)
        again()
    assert broker.get_queue_message_counts("default") == (0, 0, 0)


def test_the_messages_of_an_alias_are_those_of_its_queue(
    broker: MqkBroker, qm: adapter.Connection
) -> None:
    qm.define_queue("REAL")
    qm.define_object("alias", "default", target="REAL")
    try:
        broker.enqueue(message())
        assert broker.get_queue_message_counts("default") == (1, 0, 0)
        broker.flush("default")
        broker.join("default", timeout=1000)
        assert qm.queue("REAL").depth() == 0
    finally:
        qm.delete_object("alias", "default")


def test_join_waits_for_what_is_processed_and_delayed(broker: MqkBroker) -> None:
    done: list[int] = []

    @dramatiq.actor(max_retries=2, min_backoff=10, max_backoff=20)
    def work(number: int) -> None:
        done.append(number)
        if done.count(number) < 2:
            raise ValueError("once more")

    for number in range(3):
        work.send(number)
    with pytest.raises(QueueJoinTimeout):
        broker.join("default", timeout=0, interval=10)
    worker = Worker(broker, worker_timeout=50, worker_threads=2)
    worker.start()
    broker.join("default", timeout=20_000, interval=10)
    worker.stop()
    assert sorted(done) == [0, 0, 1, 1, 2, 2]
    assert broker.get_queue_message_counts("default") == (0, 0, 0)


def test_a_worker_outlives_the_queue_manager(
    broker: MqkBroker, manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dramatiq.worker.CONSUMER_RESTART_DELAY_SECS", 0.05)
    done: list[int] = []

    @dramatiq.actor
    def work(number: int) -> None:
        done.append(number)

    worker = Worker(broker, worker_timeout=50, worker_threads=1)
    worker.start()
    for number in range(2):
        work.send(number)
        broker.join("default", timeout=20_000, interval=10)
        manager.crash()
        manager.start()
    work.send(2)
    broker.join("default", timeout=20_000, interval=10)
    worker.stop()
    assert done == [0, 1, 2]
