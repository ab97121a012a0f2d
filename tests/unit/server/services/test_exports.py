"""The exports of a queue manager in memory: started, stopped, altered, restarted and reported."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

import adapter
from adapter.connection.channel.requests import Pending
from adapter.connection.channel.verbs import open_handle
from adapter.core.contract import commands as c
from adapter.core.contract.message import MessageData
from adapter.host import logs
from adapter.runtime.exports import exporter, exporters
from adapter.runtime.exports.exporters import PAUSE_S_MAX, REFUSED_S_MAX
from adapter.runtime.exports.memory import MemoryExportWriter
from adapter.runtime.exports.port import ExportError
from adapter.runtime.own_clients.client import OwnClient
from adapter.server.services import exports as service
from adapter.testing import TestQueueManager
from tests.support.own_client import connected

WITHIN_S = 20.0
SOON_S = 3.0
"""Sooner than a channel waits for its last answers."""


@pytest.fixture
def manager() -> Iterator[TestQueueManager]:
    with adapter.testing.queue_manager() as running:
        running.topics.create("results")
        running.mqsc("DEFINE QLOCAL(Q) MSGDLVSQ(FIFO)\nDEFINE QLOCAL(DEAD)\nALTER QMGR DEADQ(DEAD)")
        with running.connect() as qm:
            qm.define_object("export", "E", queue="Q", topic="results")
        yield running


def values(manager: TestQueueManager, number: int, topic: str = "results") -> list[bytes | None]:
    return [one.value for one in manager.topics.await_records(topic, number, WITHIN_S)]


def figures(manager: TestQueueManager) -> dict[str, Any]:
    found: dict[str, Any] = manager.statistics()["exports"]["E"]
    return found


def await_that(what: Callable[[], object]) -> None:
    deadline_s = time.monotonic() + WITHIN_S
    while not what():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def put(manager: TestQueueManager, *bodies: bytes, queue: str = "Q", **options: Any) -> None:
    with manager.connect() as qm, qm.unit():
        for body in bodies:
            qm.put(queue, body, **options)


def test_a_failure_that_goes_on_is_logged_after_longer_and_longer_pauses(
    manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    log = SimpleNamespace(warning=lambda _event, reason, **_facts: said.append(reason))
    monkeypatch.setattr(exporters, "log", log)
    monkeypatch.setattr(exporters, "repetitions", logs.Repetitions())
    manager.mqsc("ALTER QMGR DEADQ(' ')")
    put(manager, b"bad", properties={"KafkaToPartition": "x"})
    await_that(lambda: figures(manager)["failures"] >= 4)
    assert len(said) == 1
    assert "has no dead-letter queue" in said[0]


def test_a_topic_that_is_refused_is_tried_again_sooner_than_after_other_failures(
    manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    longest_s: list[float] = []

    def pause(client: OwnClient, most_s: float) -> None:
        longest_s.append(most_s)
        client._stopping.wait(0.01)

    monkeypatch.setattr(OwnClient, "pause", pause)
    with manager.connect() as qm:
        qm.alter_object("export", "E", topic="missing")
        qm.put("Q", b"1")
        await_that(lambda: longest_s)
        assert set(longest_s) == {REFUSED_S_MAX}
        qm.alter_queue("Q", inhibit_get=True)
        manager.topics.create("missing")
        await_that(lambda: longest_s[-1] == PAUSE_S_MAX)
        qm.alter_queue("Q", inhibit_get=False)
    assert values(manager, 1, "missing") == [b"1"]


def test_messages_are_written_and_gone(manager: TestQueueManager) -> None:
    zeros = dict.fromkeys(("waiting", "records", "bytes", "dead_letters", "failures", "for_s"), 0)
    assert figures(manager) == zeros | {"state": "waiting", "why": "", "ends": {}}
    put(manager, b"1", b"22", b"")
    assert values(manager, 3) == [b"1", b"22", b""]
    await_that(lambda: figures(manager)["ends"])
    found = figures(manager)
    assert (found["waiting"], found["records"], found["bytes"], found["ends"]) == (0, 3, 3, {0: 3})
    with manager.connect() as qm:
        assert qm.queue("Q").depth() == 0


def test_what_was_not_committed_is_not_written(manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        unit = qm.unit()
        unit.begin()
        qm.put("Q", b"backed out", unit=unit)
        put(manager, b"1")
        assert values(manager, 1) == [b"1"]
        unit.backout()
    put(manager, b"2")
    assert values(manager, 2) == [b"1", b"2"]


@pytest.mark.parametrize("how", ["restart", "crash"])
def test_an_export_goes_on_after_a_restart(manager: TestQueueManager, how: str) -> None:
    put(manager, b"1")
    values(manager, 1)
    if how == "crash":
        manager.crash()
        manager.start()
    else:
        manager.restart()
    put(manager, b"2")
    assert values(manager, 2) == [b"1", b"2"]
    await_that(lambda: figures(manager)["waiting"] == 0)


def test_a_paused_export_writes_nothing(manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        qm.alter_object("export", "E", state="PAUSED")
        put(manager, b"1")
        await_that(lambda: figures(manager)["state"] == "paused")
        assert figures(manager)["waiting"] == 1
        assert manager.topics.records("results") == []
        qm.alter_object("export", "E", state="RUNNING")
    assert values(manager, 1) == [b"1"]


def test_altering_a_running_export_keeps_nothing_waiting(manager: TestQueueManager) -> None:
    """Its exporter is stopped by another thread than the one that answers its client."""
    manager.topics.create("other")
    put(manager, b"1")
    values(manager, 1)
    began_s = time.monotonic()
    with manager.connect() as qm:
        qm.alter_object("export", "E", topic="other", key="MSGID")
        while time.monotonic() < began_s + SOON_S / 2:  # looks of the service come between
            asked_s = time.monotonic()
            qm.queue("Q").depth()
            assert time.monotonic() - asked_s < SOON_S / 2
            time.sleep(0.01)
    put(manager, b"2")
    assert values(manager, 1, "other") == [b"2"]
    assert manager.topics.records("other")[0].key is not None
    assert values(manager, 1) == [b"1"]


def test_a_deleted_export_leaves_its_queue(manager: TestQueueManager) -> None:
    put(manager, b"1")
    values(manager, 1)
    with manager.connect() as qm:
        qm.delete_object("export", "E")
        assert manager.statistics()["exports"] == {}
        await_that(lambda: "mqk exporter" not in {one.application for one in qm.connections()})
        put(manager, b"2")
        message = qm.get("Q")
        assert message is not None
        assert message.body == b"2"
    assert values(manager, 1) == [b"1"]


def test_a_topic_that_does_not_exist_is_waited_for(manager: TestQueueManager) -> None:
    manager.topics.delete("results")
    put(manager, b"1")
    await_that(lambda: figures(manager)["state"] == "retrying")
    assert figures(manager)["why"] == (
        "topic results does not exist: create it, or delete the export"
    )
    assert figures(manager)["waiting"] == 1
    manager.topics.create("results")
    assert values(manager, 1) == [b"1"]
    await_that(lambda: figures(manager)["why"] == "")


def test_an_exporter_without_messages_ends_and_begins_again(
    manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporter, "WAITS", 1)
    monkeypatch.setattr(exporter, "IDLE_MS", 1)
    put(manager, b"1")
    values(manager, 1)
    with manager.connect() as qm:
        await_that(lambda: "mqk exporter" not in {one.application for one in qm.connections()})
    assert figures(manager)["state"] == "waiting"
    put(manager, b"2")
    assert values(manager, 2) == [b"1", b"2"]


def test_figures_are_counted_since_the_export_was_started(
    manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever its exporter did meanwhile: it rested, or its connection broke."""
    monkeypatch.setattr(exporter, "WAITS", 1)
    monkeypatch.setattr(exporter, "IDLE_MS", 1)
    monkeypatch.setattr(exporters, "PAUSE_S_MAX", 0.01)
    manager.topics.add_partitions("results", 3)
    write = MemoryExportWriter.write
    failures: list[Exception] = []

    def fail(writer: MemoryExportWriter, records: Any, progress: Any) -> None:
        if failures:
            raise failures.pop()
        write(writer, records, progress)

    monkeypatch.setattr(MemoryExportWriter, "write", fail)
    threads = manager.connect()

    def rests() -> bool:
        return "mqk exporter" not in {one.application for one in threads.connections()}

    def counts_letters(number: int) -> bool:
        return bool(figures(manager)["dead_letters"] == number)

    for number in range(6):
        partition = number % 3
        if number % 2:
            failures.append(ExportError("the connection broke"))
        put(manager, b"%d" % number, properties={"KafkaToPartition": partition})
        put(manager, b"bad", properties={"KafkaToPartition": 77})
        await_that(partial(counts_letters, number + 1))
        await_that(rests)
        found = figures(manager)
        assert found["records"] == number + 1
        assert found["bytes"] == number + 1
        assert found["failures"] == (number + 1) // 2
        assert found["ends"] == {at: (number - at) // 3 + 1 for at in range(min(number, 2) + 1)}
    threads.close()
    with manager.connect() as qm:
        qm.alter_object("export", "E", refused="WAIT")
    put(manager, b"last")
    values(manager, 7)
    await_that(lambda: figures(manager)["records"] == 1)


def test_an_exporter_that_ends_unexpectedly_is_started_again(
    manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "RESTART_LOOKS", 2)
    failures = [RuntimeError("unexpected")] * 2
    resume = MemoryExportWriter.resume

    def fail(writer: MemoryExportWriter) -> object:
        if failures:
            raise failures.pop()
        return resume(writer)

    monkeypatch.setattr(MemoryExportWriter, "resume", fail)
    put(manager, b"1")
    assert values(manager, 1) == [b"1"]
    assert not failures
    assert manager.is_running


def test_a_message_that_is_no_record_is_a_dead_letter(manager: TestQueueManager) -> None:
    put(manager, b"1", properties={"KafkaToPartition": 5})
    put(manager, b"x" * 2_000_000)
    put(manager, b"2", properties={"KafkaHeaders": b"\x91\x92\xa1\xff\xc4\x00"})
    put(manager, b"3")
    assert values(manager, 1) == [b"3"]
    with manager.connect() as qm:
        letters = [qm.get("DEAD", timeout=WITHIN_S) for _ in range(3)]
    told = {}
    for one in letters:
        assert one is not None
        assert one.dead_letter is not None
        assert one.dead_letter.destination == "Q"
        assert one.properties["KafkaTopic"] == "results"
        told[one.body[:1]] = one.dead_letter.reason, one.properties["KafkaError"]
    assert told[b"1"] == (2110, "topic results has no partition 5")
    assert told[b"x"][0] == 2030
    assert "1048576 bytes at most" in str(told[b"x"][1])
    assert told[b"2"][0] == 2110
    assert str(told[b"2"][1]).startswith("property KafkaHeaders is no list of headers")
    await_that(lambda: figures(manager)["dead_letters"] == 3)


def test_a_message_may_wait_for_its_topic(manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        qm.alter_object("export", "E", refused="WAIT")
    put(manager, b"x" * 2_000_000)
    put(manager, b"2")
    await_that(lambda: "waits: a record of topic results has" in figures(manager)["why"])
    assert figures(manager)["waiting"] == 2
    manager.topics.create("results", record_bytes=3_000_000)
    assert values(manager, 2) == [b"x" * 2_000_000, b"2"]
    with manager.connect() as qm:
        assert qm.queue("DEAD").depth() == 0


@pytest.mark.parametrize(
    ("mqsc", "says"),
    [
        ("ALTER QMGR DEADQ(' ')", "QM1 has no dead-letter queue: name one by ALTER QMGR DEADQ"),
        ("ALTER QLOCAL(DEAD) PUT(DISABLED)", "the dead-letter queue does not take it: puts are"),
        ("ALTER QMGR DEADQ(Q)", "the dead-letter queue Q is the queue that it is on: name another"),
    ],
)
def test_without_a_dead_letter_queue_it_waits(
    manager: TestQueueManager, mqsc: str, says: str
) -> None:
    manager.mqsc(mqsc)
    put(manager, b"1", properties={"KafkaToPartition": 5})
    await_that(lambda: says in figures(manager)["why"])
    assert figures(manager)["waiting"] == 1
    manager.mqsc("ALTER QMGR DEADQ(DEAD)\nALTER QLOCAL(DEAD) PUT(ENABLED)")
    with manager.connect() as qm:
        assert qm.get("DEAD", timeout=WITHIN_S) is not None


def test_a_queue_that_is_open_elsewhere_or_missing_is_waited_for(
    manager: TestQueueManager,
) -> None:
    with manager.connect() as qm:
        qm.define_object("export", "LATER", queue="LATER", topic="results")
        with connected(manager) as channel:
            open_handle(channel, "Q", c.INPUT)
            put(manager, b"1")
            await_that(lambda: "in use" in figures(manager)["why"])
        assert values(manager, 1) == [b"1"]
        assert manager.statistics()["exports"]["LATER"]["state"] == "retrying"
        qm.define_queue("LATER")
    put(manager, b"2", queue="LATER")
    assert values(manager, 2) == [b"1", b"2"]


def test_queue_managers_of_a_network_share_topics() -> None:
    with adapter.testing.network("QMA", "QMB") as managers:
        managers[0].topics.create("shared")
        for one in managers:
            with one.connect() as qm:
                qm.define_queue("Q")
                qm.define_object("export", "E", queue="Q", topic="shared")
            put(one, one.name.encode())
        assert sorted(values(managers[1], 2, "shared"), key=str) == [b"QMA", b"QMB"]
        assert managers[0].topics is managers[1].topics


def test_the_export_of_a_topic_is_opened_by_its_name(manager: TestQueueManager) -> None:
    """The queue is made by the first open, and its messages are written."""
    with connected(manager) as channel:
        command = c.Open(1, "", c.OUTPUT)
        command.kafka_topic = "results"
        channel.ask([Pending(command)])
        channel.ask([Pending(c.Put(1, [MessageData(body=b"1", persistence=1)]))])
    assert values(manager, 1) == [b"1"]
    assert "SYSTEM.EXPORT.results" in manager.statistics()["exports"]
