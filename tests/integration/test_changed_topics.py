"""What an administrator does to ledger and snapshots under a running queue manager.

It notices within a moment, says so, and writes a new snapshot where the next start needs one.
"""

from collections.abc import Callable, Iterator
from functools import partial

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from adapter import testing
from adapter.runtime.owner.storage import HousekeepingBounds
from adapter.server.settings import ServerSettings
from adapter.storage.format import names
from adapter.storage.ledger.kafka_reader import Whole
from adapter.storage.ledger.kafka_settings import LedgerSettings
from adapter.storage.ledger.port import LedgerMismatch
from adapter.storage.topics.admin import TopicAdmin
from adapter.storage.topics.specs import TopicSettings
from adapter.testing import TestQueueManager
from tests.support.backlog import bodies, drain, until
from tests.support.shared_kafka import AnyKafka
from tests.support.topic_settings import configure

WAIT_S = 20.0
MESSAGES = 30


@pytest.fixture
def bounds() -> HousekeepingBounds:
    """Of an owner that looks at its topics all the time."""
    return HousekeepingBounds(audit_sweeps=2)


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a queue manager that is idle write nothing: no heartbeats."""
    without = partial(ServerSettings, heartbeat_ms=3_600_000)
    monkeypatch.setattr(testing, "ServerSettings", without)


@pytest.fixture
def manager(
    kafka: AnyKafka, unique_name: Callable[..., str], bounds: HousekeepingBounds
) -> Iterator[TestQueueManager]:
    """With a snapshot behind it and a few messages; it looks at its topics all the time."""
    with testing.queue_manager(
        unique_name(),
        bootstrap_servers=kafka.bootstrap_servers,
        snapshot_entries=20,
        housekeeping=bounds,
    ) as one:
        with one.connect() as qm:
            qm.define_queue("Q")
            with qm.queue("Q") as queue:
                for body in bodies(0, MESSAGES):
                    queue.put(body)
        until(lambda: one.statistics()["snapshots"] >= 1)
        until(lambda: one.statistics()["movers"]["stream"]["lag_records"] == 0)
        yield one


def delete_snapshots(kafka: AnyKafka, one: TestQueueManager) -> None:
    topics = TopicAdmin(kafka.bootstrap_servers, TopicSettings.for_brokers(1))
    topics.delete([names.snapshots_topic(one.name)])


def trim_ledger(kafka: AnyKafka, one: TestQueueManager) -> None:
    ledger = names.ledger_topic(one.name)
    where = LedgerSettings(bootstrap_servers=kafka.bootstrap_servers, topic=ledger)
    end = TopicPartition(ledger, 0, Whole(where).end)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.list_topics(timeout=WAIT_S)
    admin.delete_records([end])[end].result(WAIT_S)


@pytest.mark.parametrize("change", [delete_snapshots, trim_ledger])
def test_a_new_snapshot_is_written_when_the_old_one_is_of_no_use(
    kafka: AnyKafka,
    manager: TestQueueManager,
    change: Callable[[AnyKafka, TestQueueManager], None],
) -> None:
    before = manager.statistics()["snapshots"]
    change(kafka, manager)
    until(lambda: manager.statistics()["snapshots"] > before)
    until(lambda: manager.statistics()["topic_problems"] == 0)
    end = manager.statistics()["movers"]["stream"]["position"]
    with manager.connect() as qm:
        qm.queue("Q").put(b"%06d" % MESSAGES)
    until(lambda: manager.statistics()["movers"]["stream"]["written"] > end)
    manager.crash()
    manager.start()
    assert drain(manager, MESSAGES + 1, 1) == bodies(0, MESSAGES + 1)


def test_a_stop_writes_its_snapshot_though_the_topic_was_deleted(
    kafka: AnyKafka, manager: TestQueueManager, bounds: HousekeepingBounds
) -> None:
    bounds.audit_sweeps = 10_000
    until(lambda: manager.statistics()["topic_problems"] == 0)
    delete_snapshots(kafka, manager)
    manager.restart()
    assert drain(manager, MESSAGES, 1) == bodies(0, MESSAGES)


@pytest.mark.usefixtures("silent")
def test_settings_that_were_changed_are_named_until_they_are_put_right(
    kafka: AnyKafka, manager: TestQueueManager
) -> None:
    """One of them lets Kafka refuse each entry, which ends the owner that writes one."""
    ledger, snapshots = names.ledger_topic(manager.name), names.snapshots_topic(manager.name)
    changes = [
        (ledger, "retention.ms", "3600000", "-1"),
        (ledger, "max.message.bytes", "1000000", "8388608"),
        (ledger, "cleanup.policy", "compact,delete", "delete"),
        (snapshots, "retention.bytes", "1000000", "-1"),
    ]
    for topic, key, value, _ in changes:
        configure(kafka.bootstrap_servers, topic, {key: value})
    until(lambda: manager.statistics()["topic_problems"] == len(changes))
    for topic, key, value, well in changes:
        assert f"{topic} has {key}={value} and needs {well}" in trouble(manager)
        configure(kafka.bootstrap_servers, topic, {key: well})
    until(lambda: trouble(manager) == "")


def trouble(manager: TestQueueManager) -> str:
    return manager._running().trouble


def test_records_of_others_among_the_snapshots(kafka: AnyKafka, manager: TestQueueManager) -> None:
    """Text and junk are passed over; what a later release wrote is not, and is named."""
    topic = names.snapshots_topic(manager.name)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for first in (b"\xff", b"{", b"\0", b" "):
        producer.produce(topic, first + bytes(100), partition=0)
    producer.flush(WAIT_S)
    manager.crash()
    manager.start()
    assert drain(manager, MESSAGES, 1) == bodies(0, MESSAGES)
    manager.crash()
    producer.produce(topic, b"\x1e" + bytes(100), partition=0)
    producer.flush(WAIT_S)
    with pytest.raises(LedgerMismatch, match=r"a snapshot of version 3.*later release"):
        manager.start()
