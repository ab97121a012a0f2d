"""Producing to topics of Kafka, as programs do it: in units and outside, by each driver.

Without a Kafka nothing takes the messages from the queues of exports, so they are seen there.
"""

import threading
from collections.abc import Callable
from typing import Any

import pytest

import adapter
from adapter import errors as e
from adapter import testing
from adapter.client.producing import TOPICS_MAX
from adapter.core.attributes.export import ExportAttributes
from adapter.core.contract import commands as c
from adapter.core.contract.message import MessageData
from adapter.storage.format.exports import record_of
from tests.drivers import Driver
from tests.support.loopback import Loopback, OnCommand

Connect = Callable[..., adapter.Connection]
Record = tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]]]
SCHEMA = {"type": "record", "name": "Total", "fields": [{"name": "sum", "type": "long"}]}


def records(qm: adapter.Connection, topic: str) -> list[Record]:
    """The records that the messages of a topic are to become: value, key and headers."""
    (export,) = [one for one in qm.objects("export", system=True) if is_of(one, topic)]
    name = export.attributes["queue"]
    attributes = ExportAttributes(queue=name, topic=topic)
    found = []
    with qm.queue(name) as queue:
        for one in queue.browse():
            assert one.persistent
            message = MessageData(body=one.body, put_time_ms=1, properties=one.properties)
            record = record_of(message, attributes)
            found.append((record.value, record.key, record.headers))
    return found


def is_of(export: Any, topic: str) -> bool:
    return bool(export.attributes["topic"] == topic)


def test_a_record_is_durable_when_produce_returns(qm: adapter.Connection) -> None:
    result = qm.produce("results", b"1", "k", headers={"a": "b"}, partition=3, timestamp=5)
    assert len(result.message_id) == 24
    assert result.put_time_ms
    assert qm.produce("results", None, b"k").message_id != result.message_id
    assert records(qm, "results") == [(b"1", b"k", [("a", b"b")]), (None, b"k", [])]


def test_a_unit_produces_when_it_is_committed(qm: adapter.Connection) -> None:
    qm.put("Q", b"in")
    with qm.unit() as unit:
        assert qm.get("Q") is not None
        unit.produce("results", b"1", "k")
        qm.produce("other-topic", b"2")  # joins it
        qm.produce("results", b"outside", unit=adapter.NO_UNIT)
        assert records(qm, "results") == [(b"outside", None, [])]
        assert records(qm, "other-topic") == []
    assert records(qm, "results") == [(b"outside", None, []), (b"1", b"k", [])]
    assert records(qm, "other-topic") == [(b"2", None, [])]
    assert qm.queue("Q").depth() == 0


def test_a_unit_that_backs_out_produces_nothing(qm: adapter.Connection) -> None:
    qm.put("Q", b"in")
    unit = qm.unit()

    def fail() -> None:
        with unit:
            assert qm.get("Q") is not None
            unit.produce("results", b"1")
            unit.produce("results", b"2", wait=False)
            qm.kafka_topic("results").produce(b"3", unit=unit)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert records(qm, "results") == []
    assert qm.queue("Q").depth() == 1
    with pytest.raises(e.UnitEnded, match="backed out"):
        unit.produce("results", b"4")


def test_a_unit_begun_by_hand(qm: adapter.Connection) -> None:
    unit = qm.unit()
    with pytest.raises(e.UnitEnded, match="has not begun"):
        unit.produce("results", b"early")
    unit.begin()
    unit.produce("results", b"1")
    unit.commit()
    assert records(qm, "results") == [(b"1", None, [])]


def test_deferred_records_go_with_the_commit(server: Loopback, qm: adapter.Connection) -> None:
    with qm.kafka_topic("results") as topic:
        topic.produce(b"0")
        puts = server.count(c.Put)
        with qm.unit() as unit:
            for number in range(1, 50):
                result = topic.produce(str(number), "k", wait=False)
                assert len(result.message_id) == 24
            assert server.count(c.Put) == puts
            assert len(unit.message_ids) == 49
        assert server.count(c.Put) == puts + 1  # one put of 49 messages
    assert [value for value, _, _ in records(qm, "results")] == [
        str(number).encode() for number in range(50)
    ]


def test_outside_a_unit_produce_waits(qm: adapter.Connection) -> None:
    with pytest.raises(e.InvalidOption, match="wait=False needs a unit"):
        qm.produce("results", b"1", wait=False)


def test_the_loop_of_a_worker_produces(driver: Driver) -> None:
    with testing.queue_manager() as running, driver.of(running).connect() as qm:
        qm.define_queue("Q")
        for number in range(20):
            qm.put("Q", str(number))
        failed: list[bytes] = []
        retry = adapter.Retry(3, backoff=0.01)
        for unit in qm.queue("Q").units(timeout=1, prefetch=4, commits=4, retry=retry):
            with unit:
                (message,) = unit.messages
                unit.produce("results", message.body, wait=False)
                qm.produce("results", b"+" + message.body)
                if message.body in (b"3", b"11") and message.body not in failed:
                    failed.append(message.body)
                    raise ValueError(message.body)
        values = sorted(value for value, _, _ in records(qm, "results") if value is not None)
        wanted = [b"%d" % number for number in range(20)]
        assert values == sorted(wanted + [b"+" + one for one in wanted])
        assert failed == [b"3", b"11"]


def test_many_records_go_in_units(qm: adapter.Connection) -> None:
    with qm.kafka_topic("results") as topic:
        record = adapter.KafkaRecord(None, "k", [("a", None)])
        count = topic.produce_many([record, *map(str, range(2500))], unit_size=1000)
        assert count == 2501
        with pytest.raises(e.InvalidType, match="a body is bytes or str"):
            topic.produce_many([b"one", 2])  # type: ignore[list-item]
        unit = qm.unit()
        with unit:
            assert topic.produce_many(["none", "of", "them"]) == 3
            unit.backout()
    found = records(qm, "results")
    assert found[0] == (None, b"k", [("a", None)])
    assert [one[0] for one in found[1:]] == [str(number).encode() for number in range(2500)]


@pytest.mark.parametrize(
    ("topic", "error", "words"),
    [
        ("shop results", e.InvalidOption, "'shop results' is not a valid name of a Kafka topic: "),
        ("a (b; c", e.InvalidOption, "'a (b; c' is not a valid name of a Kafka topic"),
        ("..", e.InvalidOption, "'..' is not a valid name of a Kafka topic: name another"),
        ("x" * 250, e.InvalidOption, "is not a valid name of a Kafka topic: name another"),
        ("mq.QM1.ledger", e.InvalidOption, "one that queue managers write; use another topic"),
        ("fed", e.InvalidOption, "feed F reads topic fed: what is written there would come back"),
        ("", e.InvalidName, "a topic has at least one character"),
        (b"results", e.InvalidType, "a topic is a str"),
    ],
)
def test_topics_that_cannot_be_written(
    qm: adapter.Connection, topic: Any, error: type[e.Error], words: str
) -> None:
    qm.define_object("feed", "F", topic="fed", queue="Q")
    for produce in (
        lambda: qm.produce(topic, b"1"),
        lambda: qm.kafka_topic(topic).produce(b"1"),
        lambda: qm.kafka_topic(topic).produce_many([b"1"]),
    ):
        with pytest.raises(error) as one:
            produce()
        assert words in str(one.value)
    unit = qm.unit()
    unit.begin()
    qm.put("Q", b"stays", unit=unit)
    # A wrong type is refused before produce() runs where it is compiled.
    with pytest.raises(TypeError if error is e.InvalidType else error):
        unit.produce(topic, b"1")
    unit.commit()  # the unit is as it was
    assert qm.queue("Q").depth() == 1


def test_the_longest_name_of_a_topic(qm: adapter.Connection) -> None:
    for topic in ("x" * 249, "x" * 248 + "y", "a.b_c-d"):
        qm.produce(topic, topic)
        assert records(qm, topic) == [(topic.encode(), None, [])]


def test_handles_are_kept_and_bounded(server: Loopback, connect: Connect) -> None:
    qm = connect()
    for _ in range(3):
        for number in range(3):
            qm.produce(f"t{number}", b"1")
    assert server.count(c.Open) == 3
    with qm.unit() as unit:
        for number in range(300):  # more than a connection may have handles
            unit.produce(f"t{number}", b"2", wait=number % 3 == 0)
    assert qm.statistics()["handles"] <= TOPICS_MAX + 1
    for number in range(300):
        values = [value for value, _, _ in records(qm, f"t{number}")]
        assert values == [b"1", b"1", b"1", b"2"][0 if number < 3 else 3 :], number


def test_a_topic_object_that_is_closed(qm: adapter.Connection) -> None:
    topic = qm.kafka_topic("results")
    was_closed = topic.is_closed
    with topic:
        topic.produce(b"1")
    assert (was_closed, topic.is_closed) == (False, True)
    topic.close()
    with pytest.raises(e.NotOpen, match=r"topic results is closed: .* kafka_topic\(\)"):
        topic.produce(b"2")
    assert repr(topic) == "<KafkaTopic results>"
    qm.produce("results", b"3")
    assert [value for value, _, _ in records(qm, "results")] == [b"1", b"3"]


def test_deferred_records_are_sent_before_their_topic_is_closed(qm: adapter.Connection) -> None:
    with qm.unit():
        with qm.kafka_topic("results") as topic:
            topic.produce(b"1", wait=False)
        topic = qm.kafka_topic("results")
        topic.produce(b"2", wait=False)
        del topic
        qm.put("Q", b"a verb between")
    assert [value for value, _, _ in records(qm, "results")] == [b"1", b"2"]


def test_a_lost_connection_produces_once(server: Loopback, qm: adapter.Connection) -> None:
    qm.produce("results", b"0")
    cut = OnCommand(server, c.Put, server.cut_here)
    qm.produce("results", b"1")
    assert cut.arrived.is_set()
    server.cut_all()
    qm.produce("results", b"2")
    unit = qm.unit()
    unit.begin()
    unit.produce("results", b"3")
    server.cut_all()
    with pytest.raises(e.BackedOut):
        unit.produce("results", b"4")
    assert [value for value, _, _ in records(qm, "results")] == [b"0", b"1", b"2"]


def test_a_queue_manager_that_starts_again_has_all_that_was_committed(driver: Driver) -> None:
    with testing.queue_manager() as running:
        manager = driver.of(running)
        with manager.connect() as qm:
            qm.produce("results", b"1", "k")
            manager.restart()
            qm.produce("results", b"2")
            with qm.unit() as unit:
                unit.produce("results", b"3")
            assert [value for value, _, _ in records(qm, "results")] == [b"1", b"2", b"3"]


def test_avro_values(driver: Driver) -> None:
    registry = testing.schema_registry()
    with testing.queue_manager() as running, driver.of(running).connect(registry=registry) as qm:
        with pytest.raises(e.SchemaNotFound):
            qm.produce("totals", {"sum": 1}, schema=SCHEMA)
        with qm.unit() as unit:
            unit.produce("totals", {"sum": 1}, "k", schema=SCHEMA, register=True)
            unit.produce("totals", {"sum": 2}, "k", schema="totals-value", wait=False)
            unit.produce("totals", None, "k", schema="totals-value")
        with pytest.raises(e.NotAvro):
            qm.produce("totals", {"summe": 1}, schema="totals-value")
        found = records(qm, "totals")
        schemas = adapter.Schemas(registry)
        sums = [schemas.decode(value) for value, _, _ in found[:2] if value]
        assert sums == [{"sum": 1}, {"sum": 2}]
        assert found[2:] == [(None, b"k", [])]


def test_a_full_queue_refuses(qm: adapter.Connection) -> None:
    qm.produce("results", b"1")
    qm.alter_queue("SYSTEM.EXPORT.results", max_depth=2)
    qm.produce("results", b"2")
    with pytest.raises(e.QueueFull):
        qm.produce("results", b"3")
    with pytest.raises(e.QueueFull), qm.unit() as unit:
        unit.produce("results", b"4", wait=False)


def test_threads_share_a_connection(qm: adapter.Connection) -> None:
    def run(number: int) -> None:
        for count in range(20):
            with qm.unit() as unit:
                unit.produce("results", f"{number} {count}", wait=False)
                unit.produce(f"of-{number}", b"1")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    found = [value for value, _, _ in records(qm, "results")]
    assert len(found) == len(set(found)) == 80
    assert [len(records(qm, f"of-{number}")) for number in range(4)] == [20] * 4
