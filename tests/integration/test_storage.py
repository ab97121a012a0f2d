"""Messages leave memory and come back from their topics; snapshots stand for the ledger's past."""

from collections.abc import Callable, Iterator
from functools import partial

import msgspec
import pytest

import adapter
from adapter import Message, testing
from adapter.cli.main import run
from adapter.errors import QueueDamaged, StartError
from adapter.runtime.owner.parts import OwnerSettings
from adapter.storage.format import names
from adapter.storage.ledger.kafka_reader import LedgerSource
from adapter.storage.ledger.kafka_settings import LedgerSettings
from adapter.storage.ledger.kafka_snapshots import KafkaSnapshots
from adapter.storage.topics.admin import TopicAdmin
from adapter.storage.topics.specs import TopicSettings
from adapter.testing import TestQueueManager
from tests.support.backlog import bodies, drain, until
from tests.support.shared_kafka import AnyKafka

WINDOW = 20
MESSAGES = 3_000
UNIT = 30
WAIT_S = 20.0


@pytest.fixture
def manager(
    kafka: AnyKafka, unique_name: Callable[..., str]
) -> Iterator[tuple[TestQueueManager, LedgerSettings]]:
    name = unique_name()
    ledger = LedgerSettings(
        bootstrap_servers=kafka.bootstrap_servers, topic=names.ledger_topic(name)
    )
    with testing.queue_manager(
        name,
        bootstrap_servers=kafka.bootstrap_servers,
        window_messages=WINDOW,
        snapshot_entries=20,
    ) as one:
        yield one, ledger


def fill(manager: TestQueueManager) -> None:
    """Put messages until only a window of them is in memory and a snapshot is written."""
    with manager.connect() as qm:
        qm.define_queue("Q", max_depth=1_000_000)
        qm.queue("Q").put_many(bodies(0, MESSAGES), unit_size=UNIT)
        until(lambda: manager.statistics()["messages_in_memory"] <= 2 * WINDOW)
        until(lambda: manager.statistics()["snapshots"] >= 1)


def test_a_backlog_is_got_in_order_through_crashes(
    manager: tuple[TestQueueManager, LedgerSettings], capsys: pytest.CaptureFixture[str]
) -> None:
    one, ledger = manager
    fill(one)
    with LedgerSource(ledger) as source:
        until(lambda: source.bounds()[0] > 0)
    whole = [one.name, "--bootstrap-server", ledger.bootstrap_servers]
    assert run(["ledger", "verify", *whole]) == 0
    assert run(["ledger", "show", *whole, "--limit", "3"]) == 0
    assert "no anomalies" in (shown := capsys.readouterr().out)
    assert "void" not in shown
    got: list[bytes] = []
    for _ in range(3):
        one.crash()
        one.start()
        until(lambda: one.statistics()["messages_in_memory"] <= 2 * WINDOW)
        got += drain(one, MESSAGES // 3, UNIT)
    assert got == bodies(0, MESSAGES)
    with one.connect() as qm:
        assert qm.queue("Q").get() is None
        assert qm.queue("Q").depth() == 0


def test_what_is_not_in_memory_is_found_and_browsed(
    manager: tuple[TestQueueManager, LedgerSettings],
) -> None:
    one, _ = manager
    with one.connect() as qm:
        qm.define_queue("Q", max_depth=1_000_000)
    fill_with_ids(one)
    with one.connect() as qm:
        queue = qm.queue("Q")
        for number in (700, 3, 999, 700):
            found = queue.get(correlation_id=b"%024d" % number)
            if number == 700 and found is None:
                break
            assert found is not None
            assert found.body == b"%06d" % number
        else:
            pytest.fail("700 was got twice")
        left = [one for one in bodies(0, 1000) if one not in (b"000700", b"000003", b"000999")]
        assert [message.body for message in queue.browse()] == left


def fill_with_ids(manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        messages = (
            Message(b"%06d" % number, correlation_id=b"%024d" % number) for number in range(1000)
        )
        qm.queue("Q").put_many(messages, unit_size=UNIT)
        until(lambda: manager.statistics()["messages_in_memory"] <= 2 * WINDOW)


def test_backout_counts_and_outcomes_outlast_what_is_trimmed(
    manager: tuple[TestQueueManager, LedgerSettings],
) -> None:
    one, _ = manager
    fill(one)
    with one.connect() as qm:
        queue = qm.queue("Q")
        unit = qm.unit()
        unit.begin()
        assert queue.get(unit=unit) is not None
        unit.backout()
        before = one.statistics()["snapshots"]
        queue.put_many(bodies(0, 50 * UNIT), unit_size=UNIT)
        until(lambda: one.statistics()["snapshots"] > before)
    one.crash()
    one.start()
    with one.connect() as qm:
        message = qm.queue("Q").get()
        assert message is not None
        assert (message.body, message.backout_count) == (b"000000", 1)


def test_a_ledger_without_its_snapshot_is_refused(
    kafka: AnyKafka, unique_name: Callable[..., str]
) -> None:
    name = unique_name()
    with testing.queue_manager(
        name, bootstrap_servers=kafka.bootstrap_servers, window_messages=WINDOW, snapshot_entries=20
    ) as one:
        fill(one)
        with LedgerSource(
            LedgerSettings(
                bootstrap_servers=kafka.bootstrap_servers, topic=names.ledger_topic(name)
            )
        ) as source:
            until(lambda: source.bounds()[0] > 0)
    TopicAdmin(kafka.bootstrap_servers, TopicSettings.for_brokers(1)).delete(
        [names.snapshots_topic(name)]
    )
    with (
        pytest.raises((StartError, Exception), match="begins at offset"),
        testing.queue_manager(name, bootstrap_servers=kafka.bootstrap_servers),
    ):
        pytest.fail("it began")


def got_until_damaged(qm: adapter.Connection) -> tuple[int, str]:
    """Get what can be got of the queue Q: how much that was, and why it was no more."""
    for got in range(MESSAGES + 1):
        try:
            qm.get("Q", timeout=None)
        except QueueDamaged as error:
            return got, str(error)
    raise AssertionError("there were so many as had been put, and one more")


def test_messages_whose_topic_was_deleted_are_refused_until_the_queue_is_defined_anew(
    manager: tuple[TestQueueManager, LedgerSettings],
) -> None:
    one, ledger = manager
    fill(one)
    topics = TopicAdmin(ledger.bootstrap_servers, TopicSettings.for_brokers(1))
    topics.delete([names.queue_topic(one.name, "Q")])
    with one.connect() as qm:
        got, why = got_until_damaged(qm)
        assert "topic of queue Q has lost a message" in why
        assert got < MESSAGES, "what was in memory, or fetched already"
        assert qm.queue("Q").depth() == MESSAGES - got
        qm.define_queue("OTHER")
        qm.put("OTHER", "unharmed")
        unharmed = qm.get("OTHER")
        assert unharmed is not None
        qm.delete_queue("Q", purge=True)
        qm.define_queue("Q")
        qm.put("Q", "new")
        new = qm.get("Q")
        assert new is not None
        assert (unharmed.body, new.body) == (b"unharmed", b"new")


@pytest.fixture
def patient_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop of a queue manager that is made from now on waits for its last snapshot."""
    patient = partial(OwnerSettings, drain_s=WAIT_S)
    monkeypatch.setattr("adapter.server.server.OwnerSettings", patient)


@pytest.mark.usefixtures("patient_stop", "manager")
def test_a_clean_stop_leaves_next_to_nothing_to_read(
    manager: tuple[TestQueueManager, LedgerSettings],
) -> None:
    one, ledger = manager
    with one.connect() as qm:
        qm.define_queue("Q")
        qm.queue("Q").put_many(bodies(0, 10), unit_size=5)
    one.stop()
    with LedgerSource(ledger) as source:
        last = source.bounds()[1] - 1
    topic = names.snapshots_topic(one.name)
    newest = KafkaSnapshots(msgspec.structs.replace(ledger, topic=topic)).newest()
    assert newest is not None
    assert newest.after.offset == last, "the entry that says that it was stopped"
    one.start()
    assert drain(one, 10, UNIT) == bodies(0, 10)
