"""Exports on a real Kafka: what a message becomes in a topic, and what a topic does not take."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import adapter
from adapter.core.contract.exports import encode_headers
from adapter.errors import QueueInUse
from adapter.runtime.exports.exporter import TOO_LONG
from adapter.runtime.exports.kafka import KafkaExportWriter
from adapter.storage.format.exports import ExportProgress
from adapter.testing import TestQueueManager
from tests.support.backlog import until
from tests.support.examples import few
from tests.support.export_site import (
    ExportedTopic,
    await_export,
    await_why,
    figures,
    put_all,
    row_of,
)
from tests.support.feed_site import WITHIN_S
from tests.support.shared_kafka import AnyKafka

MIB = 1024 * 1024


@pytest.fixture
def manager(kafka: AnyKafka, unique_name: Callable[..., str]) -> Iterator[TestQueueManager]:
    name = unique_name("QM")
    servers = kafka.bootstrap_servers
    with adapter.testing.queue_manager(name, bootstrap_servers=servers) as one:
        with one.connect() as qm:
            qm.define_queue("RESULTS", msg_delivery_sequence="FIFO")
            qm.define_queue("DEAD.LETTERS")
        one.mqsc("ALTER QMGR DEADQ(DEAD.LETTERS)")
        yield one


@pytest.fixture
def qm(manager: TestQueueManager) -> Iterator[adapter.Connection]:
    with manager.connect() as one:
        yield one


@pytest.fixture
def topic(kafka: AnyKafka, unique_name: Callable[..., str]) -> ExportedTopic:
    """One of one partition."""
    return ExportedTopic(kafka.bootstrap_servers, unique_name("results"))


def export(qm: adapter.Connection, topic: ExportedTopic, name: str = "E", **more: Any) -> None:
    """Let the messages of RESULTS be written to a topic."""
    qm.define_object("export", name, **({"topic": topic.name, "queue": "RESULTS"} | more))


def dead_letters(qm: adapter.Connection, count: int) -> list[tuple[bytes, object]]:
    """Get so many dead letters: body, and why each was not written."""
    found = [qm.get("DEAD.LETTERS", timeout=WITHIN_S) for _ in range(count)]
    assert qm.get("DEAD.LETTERS") is None
    return [(one.body, (one.properties or {})["KafkaError"]) for one in found if one is not None]


def test_messages_become_records(qm: adapter.Connection, topic: ExportedTopic) -> None:
    topic.add_partitions(3)
    large = bytes(8 * MIB)
    qm.alter_queue("RESULTS", max_message_length=len(large))
    export(qm, topic)
    exact = encode_headers([("a", b"\xff\x00"), ("a", None), ("", b""), ("a", b"2")])
    to = {"KafkaToPartition": 2}
    qm.put("RESULTS", b"no key", properties=to)
    qm.put("RESULTS", b"null key", properties={"KafkaKey": None, **to})
    qm.put("RESULTS", b"", properties={"KafkaKey": b"", **to})
    qm.put("RESULTS", b"ignored", properties={"KafkaKey": "k\u00e9y", "KafkaTombstone": True, **to})
    qm.put("RESULTS", b"p", properties={"n": 7, "s": "\u00fc", "e": "", "z": None, "y": True, **to})
    qm.put("RESULTS", b"h", properties={"KafkaHeaders": exact, "other": 1, **to})
    qm.put("RESULTS", b"t", properties={"KafkaToTimestamp": 1, **to})
    qm.put("RESULTS", large, properties={"KafkaToPartition": 1})
    found = topic.read(8)
    mine = [one for one in found if one.partition() == 2]
    assert [row_of(one)[1:] for one in mine] == [
        (None, b"no key", []),
        (None, b"null key", []),
        (b"", b"", []),
        ("k\u00e9y".encode(), None, []),
        (
            None,
            b"p",
            [("n", b"7"), ("s", "\u00fc".encode()), ("e", b""), ("z", None), ("y", b"true")],
        ),
        (None, b"h", [("a", b"\xff\x00"), ("a", None), ("", b""), ("a", b"2")]),
        (None, b"t", []),
    ]
    assert [one.timestamp()[1] for one in mine][-1] == 1
    assert abs(mine[0].timestamp()[1] - time.time() * 1000) < 60_000
    (last,) = [one for one in found if one.partition() == 1]
    assert last.value() == large
    origin = dict(mine[0].headers() or [])["mqk-export"]
    assert isinstance(origin, bytes)
    assert origin.split(b" ")[1:] == [b"E", b"1"]


def test_what_is_larger_than_its_topic_takes_is_a_dead_letter(
    qm: adapter.Connection, topic: ExportedTopic
) -> None:
    topic.set(max_message_bytes="200000")
    export(qm, topic)
    put_all(qm, "RESULTS", [b"before", bytes(300_000), b"after"])
    assert topic.values(2) == [b"before", b"after"]
    ((body, why),) = dead_letters(qm, 1)
    assert body == bytes(300_000)
    assert str(why).startswith(f"topic {topic.name} does not take it: ")
    assert "MSG_SIZE_TOO_LARGE" in str(why)
    found = await_export(qm, "E", lambda one: one["state"] == "waiting")
    assert (found["dead_letters"], found["records"], found["why"]) == (1, 2, "")


def test_a_dead_letter_says_why_in_its_header(
    manager: TestQueueManager, qm: adapter.Connection, topic: ExportedTopic
) -> None:
    topic.set(max_message_bytes="200000")
    export(qm, topic)
    qm.put("RESULTS", bytes(300_000), properties={"n": 1})
    letter = qm.get("DEAD.LETTERS", timeout=WITHIN_S)
    assert letter is not None
    assert letter.dead_letter is not None
    assert letter.dead_letter.reason == TOO_LONG
    assert letter.dead_letter.destination == "RESULTS"


def test_a_topic_of_short_batches_gets_every_record_that_is_short_enough(
    qm: adapter.Connection, topic: ExportedTopic
) -> None:
    """A batch above the limit is refused as a whole, though no record in it is too long."""
    topic.set(max_message_bytes="5000")
    export(qm, topic)
    values = [b"%d" % n + bytes(1000) for n in range(100)]
    put_all(qm, "RESULTS", [*values[:50], bytes(6000), *values[50:]])
    assert topic.values(100) == values
    assert [body for body, _ in dead_letters(qm, 1)] == [bytes(6000)]


def test_refused_wait_waits_until_the_topic_takes_it(
    qm: adapter.Connection, topic: ExportedTopic
) -> None:
    topic.set(max_message_bytes="200000")
    export(qm, topic, refused="WAIT")
    put_all(qm, "RESULTS", [bytes(300_000), b"after"])
    why = await_why(qm, "E", "MSG_SIZE_TOO_LARGE")
    assert why.startswith("message ")
    assert f" waits: topic {topic.name} does not take it: " in why
    topic.set(max_message_bytes="400000")
    assert topic.values(2) == [bytes(300_000), b"after"]
    await_export(qm, "E", lambda one: (one["state"], one["why"]) == ("waiting", ""))
    assert qm.get("DEAD.LETTERS") is None


def test_without_a_dead_letter_queue_it_waits(
    manager: TestQueueManager, qm: adapter.Connection, topic: ExportedTopic
) -> None:
    manager.mqsc("ALTER QMGR DEADQ('')")
    export(qm, topic)
    put_all(qm, "RESULTS", [b"one"], KafkaToPartition=9)
    why = await_why(qm, "E", "has no dead-letter queue")
    assert f"topic {topic.name} does not take it: " in why
    manager.mqsc("ALTER QMGR DEADQ(DEAD.LETTERS)")
    assert [body for body, _ in dead_letters(qm, 1)] == [b"one"]


def test_a_partition_that_does_not_exist_is_a_dead_letter_until_it_is_added(
    qm: adapter.Connection, topic: ExportedTopic
) -> None:
    export(qm, topic)
    put_all(qm, "RESULTS", [b"0"], KafkaToPartition=0)
    put_all(qm, "RESULTS", [b"1"], KafkaToPartition=1)
    put_all(qm, "RESULTS", [b"-"], KafkaToPartition=-1)
    put_all(qm, "RESULTS", [b"2"], KafkaToPartition=0)
    assert topic.values(2) == [b"0", b"2"]
    (unknown, negative) = sorted(dead_letters(qm, 2), reverse=True)
    refused = f"topic {topic.name} does not take it: "
    assert unknown == (b"1", f"{refused}Local: Unknown partition (_UNKNOWN_PARTITION)")
    assert negative == (b"-", "property KafkaToPartition is -1, and not a whole number from 0 on")
    put_all(qm, "RESULTS", [b"3"], KafkaToPartition=3)  # refused by the call: partitions are known
    assert dead_letters(qm, 1) == [(b"3", unknown[1])]
    topic.add_partitions(2)
    put_all(qm, "RESULTS", [b"1"], KafkaToPartition=1)
    assert sorted(topic.rows(3)) == [(0, None, b"0", []), (0, None, b"2", []), (1, None, b"1", [])]
    assert qm.get("DEAD.LETTERS") is None


def test_a_compacted_topic_refuses_a_record_without_a_key(
    qm: adapter.Connection, topic: ExportedTopic
) -> None:
    topic.set(cleanup_policy="compact")
    export(qm, topic)
    with qm.unit():
        for n in range(6):
            key = {"KafkaKey": b"k%d" % n} if n % 3 else {}
            qm.put("RESULTS", b"%d" % n, properties=key)
    assert topic.values(4) == [b"1", b"2", b"4", b"5"]
    letters = dead_letters(qm, 2)
    assert [body for body, _ in letters] == [b"0", b"3"]
    assert all("INVALID_RECORD" in str(why) for _, why in letters)


def test_a_time_that_a_topic_does_not_take_is_a_dead_letter(
    qm: adapter.Connection, topic: ExportedTopic
) -> None:
    topic.set(message_timestamp_before_max_ms="3600000")
    export(qm, topic)
    with qm.unit():
        qm.put("RESULTS", b"now")
        qm.put("RESULTS", b"old", properties={"KafkaToTimestamp": 1})
        qm.put("RESULTS", b"then")
    assert topic.values(2) == [b"now", b"then"]
    ((body, why),) = dead_letters(qm, 1)
    assert body == b"old"
    assert "INVALID_TIMESTAMP" in str(why)


def test_a_topic_that_is_missing_stops_only_its_export(
    qm: adapter.Connection,
    topic: ExportedTopic,
    kafka: AnyKafka,
    unique_name: Callable[..., str],
) -> None:
    missing = ExportedTopic(kafka.bootstrap_servers, unique_name("missing"), partitions=0)
    qm.define_queue("OTHERS")
    export(qm, missing)
    export(qm, topic, "F", queue="OTHERS")
    qm.put("RESULTS", b"a")
    why = await_why(qm, "E", f"topic {missing.name} does not exist")
    assert why == (
        f"topic {missing.name} does not exist on {kafka.bootstrap_servers}: create it, or delete "
        "the export"
    )
    assert figures(qm, "E")["state"] == "retrying"
    qm.put("OTHERS", b"other")
    assert topic.values(1) == [b"other"]
    await_export(qm, "E", lambda one: int(str(one["failures"])) > 6)
    assert missing.partitions() == 0, "an export makes no topic of others"
    missing.create()
    assert missing.values(1) == [b"a"]
    await_export(qm, "E", lambda one: one["why"] == "")


@pytest.mark.parametrize("partitions", few([4, 3, 2], 1))
def test_a_topic_that_was_made_again_is_written_as_it_is_now(
    manager: TestQueueManager, qm: adapter.Connection, topic: ExportedTopic, partitions: int
) -> None:
    topic.add_partitions(3)
    export(qm, topic)
    put_all(qm, "RESULTS", [b"a", b"b"], KafkaKey=b"k", KafkaToPartition=2)
    assert topic.values(2) == [b"a", b"b"]
    topic.delete()
    until(lambda: topic.partitions() == 0)
    put_all(qm, "RESULTS", [b"c"], KafkaKey=b"k")
    await_why(qm, "E", "does not exist")
    topic.create(partitions)
    assert topic.values(1) == [b"c"]
    put_all(qm, "RESULTS", [b"d"], KafkaToPartition=partitions - 1)
    put_all(qm, "RESULTS", [b"e"], KafkaToPartition=partitions)
    assert set(topic.values(2)) == {b"c", b"d"}
    assert [body for body, _ in dead_letters(qm, 1)] == [b"e"]


def test_a_topic_that_was_made_again_at_once_gets_what_comes(
    qm: adapter.Connection, topic: ExportedTopic
) -> None:
    """The producer knows the topic that was there."""
    export(qm, topic)
    put_all(qm, "RESULTS", [b"a"])
    assert topic.values(1) == [b"a"]
    topic.delete()
    topic.create(2)
    put_all(qm, "RESULTS", [b"b"], KafkaToPartition=0)
    put_all(qm, "RESULTS", [b"c"], KafkaToPartition=1)
    assert sorted(topic.rows(2)) == [(0, None, b"b", []), (1, None, b"c", [])]


def test_a_topic_that_is_away_while_it_is_made_again_has_its_partitions_of_then(
    qm: adapter.Connection, topic: ExportedTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exporter asks for the partition while there is no topic, which says nothing of it."""
    export(qm, topic)
    put_all(qm, "RESULTS", [b"a"])
    assert topic.values(1) == [b"a"]
    resume = KafkaExportWriter.resume

    def resume_behind(writer: KafkaExportWriter) -> ExportProgress:
        if not topic.partitions():
            topic.create(2)
        return resume(writer)

    monkeypatch.setattr(KafkaExportWriter, "resume", resume_behind)
    topic.delete()
    put_all(qm, "RESULTS", [b"b"], KafkaToPartition=1)
    until(lambda: topic.partitions() == 2)
    assert topic.rows(1) == [(1, None, b"b", [])]
    assert qm.get("DEAD.LETTERS") is None


def test_a_queue_that_its_export_has_open_is_not_deleted(
    qm: adapter.Connection, topic: ExportedTopic
) -> None:
    export(qm, topic)
    put_all(qm, "RESULTS", [b"a"])
    assert topic.values(1) == [b"a"]
    with pytest.raises(QueueInUse):
        qm.delete_queue("RESULTS")
    qm.alter_object("export", "E", state="PAUSED")
    await_export(qm, "E", lambda one: one["state"] == "paused")
    until(lambda: deletes(qm, "RESULTS"))
    qm.alter_object("export", "E", state="RUNNING")
    assert figures(qm, "E")["waiting"] == 0
    qm.define_queue("RESULTS", msg_delivery_sequence="FIFO")
    put_all(qm, "RESULTS", [b"b"])
    assert topic.values(2) == [b"a", b"b"]


def deletes(qm: adapter.Connection, queue: str) -> bool:
    """Whether a queue can be deleted, which is done."""
    try:
        qm.delete_queue(queue)
    except QueueInUse:
        return False
    return True


def test_a_queue_that_is_inhibited_is_waited_for(
    qm: adapter.Connection, topic: ExportedTopic
) -> None:
    export(qm, topic)
    qm.alter_queue("RESULTS", inhibit_get=True)
    put_all(qm, "RESULTS", [b"a"])
    why = await_why(qm, "E", "RESULTS")
    assert "inhibited" in why
    qm.alter_queue("RESULTS", inhibit_get=False)
    assert topic.values(1) == [b"a"]
    await_export(qm, "E", lambda one: one["why"] == "")


def test_an_export_is_paused_altered_and_deleted_while_messages_flow(
    manager: TestQueueManager, topic: ExportedTopic
) -> None:
    """It has a successor of its name each time, and no record comes twice."""
    ended = threading.Event()
    numbers = itertools.count()
    values: list[bytes] = []

    def put() -> None:
        with manager.connect() as qm:
            while not ended.is_set():
                some = [b"%06d" % next(numbers) for _ in range(20)]
                put_all(qm, "RESULTS", some)
                values.extend(some)

    with manager.connect() as qm:
        export(qm, topic)
        putting = threading.Thread(target=put)
        putting.start()
        try:
            for turn in range(9):
                await_export(qm, "E", lambda one: one["records"] != 0)
                match turn % 3:
                    case 0:
                        qm.alter_object("export", "E", state="PAUSED")
                        await_export(qm, "E", lambda one: one["state"] == "paused")
                        qm.alter_object("export", "E", state="RUNNING")
                    case 1:
                        qm.alter_object("export", "E", headers="NONE" if turn == 1 else "ALL")
                    case _:
                        qm.delete_object("export", "E")
                        export(qm, topic)
        finally:
            ended.set()
            putting.join(WITHIN_S)
        found = topic.values(len(values))
        assert found == values
        assert qm.get("DEAD.LETTERS") is None
