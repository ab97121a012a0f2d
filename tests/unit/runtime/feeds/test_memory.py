"""Topics in memory as feeds read them, and a program that is tested between two of them."""

import pytest

import adapter
from adapter.registry.values import Values
from adapter.runtime.feeds.memory import MemoryFeedConsumer, MemoryFeeds
from adapter.runtime.feeds.port import FeedError, PartitionEnd, PartitionLost, UnreadableTopicError
from adapter.runtime.feeds.schemas import FeedSchemas
from adapter.storage.format.feeds import TopicRecord
from adapter.storage.topics.memory import MemoryTopics, UnwrittenRecord

WITHIN_S = 10.0


@pytest.fixture
def topics() -> MemoryTopics:
    made = MemoryTopics()
    made.create("T", 2)
    return made


@pytest.fixture
def consumer(topics: MemoryTopics) -> MemoryFeedConsumer:
    return MemoryFeeds(topics, FeedSchemas()).consumer("QM1", "F", "T")


def write(topics: MemoryTopics, *values: bytes | None, partition: int = 0) -> None:
    topics.append("T", *(UnwrittenRecord(one, b"k", [("h", b"1")], partition) for one in values))


def got(qm: adapter.Connection) -> adapter.Message:
    message = qm.get("ORDERS", timeout=WITHIN_S)
    assert message is not None
    return message


def test_records_come_from_the_offsets_that_are_assigned(
    topics: MemoryTopics, consumer: MemoryFeedConsumer
) -> None:
    write(topics, b"a", b"b", None)
    write(topics, b"c", partition=1)
    consumer.assign({0: 1})
    found = consumer.read(0)
    assert [
        (one.partition, one.offset, one.value) for one in found if isinstance(one, TopicRecord)
    ] == [
        (0, 1, b"b"),
        (0, 2, None),
    ]
    first = found[0]
    assert isinstance(first, TopicRecord)
    assert (first.key, first.headers) == (b"k", [("h", b"1")])
    assert consumer.read(0) == [PartitionEnd(0, 3)]
    assert consumer.read(0) == [], "an end is reported once"
    consumer.assign({1: 0})
    consumer.pause(1)
    assert consumer.read(0) == []
    consumer.resume(1)
    assert [one.partition for one in consumer.read(0)] == [1]


def test_offsets_without_records_are_passed(
    topics: MemoryTopics, consumer: MemoryFeedConsumer
) -> None:
    write(topics, b"a")
    topics.skip("T", 3)
    consumer.assign({0: 0})
    assert len(consumer.read(0)) == 1
    assert consumer.read(0) == [PartitionEnd(0, 4)]
    write(topics, b"b")
    (found,) = consumer.read(0)
    assert isinstance(found, TopicRecord)
    assert (found.offset, found.value) == (4, b"b")


def test_what_was_deleted_is_lost(topics: MemoryTopics, consumer: MemoryFeedConsumer) -> None:
    write(topics, b"a", b"b", b"c")
    consumer.assign({0: 0})
    topics.trim("T", 2)
    assert consumer.read(0) == [PartitionLost(0)]
    assert consumer.first([0]) == {0: 2}
    assert [one.value for one in topics.records("T")] == [b"c"]
    topics.create("T", 1)
    assert consumer.read(0) == [PartitionEnd(0, 0)], "the new topic, from its beginning on"
    consumer.assign({0: 5, 1: 0})
    assert consumer.read(0) == [PartitionLost(0)]
    with pytest.raises(FeedError, match="topic T has fewer partitions than before"):
        consumer.ends([0, 1])


def test_a_topic_that_does_not_exist(topics: MemoryTopics, consumer: MemoryFeedConsumer) -> None:
    consumer.assign({0: 0})
    topics.delete("T")
    for ask in (
        consumer.describe,
        lambda: consumer.read(0),
        lambda: consumer.ends([0]),
        lambda: consumer.since([0], 0),
    ):
        with pytest.raises(UnreadableTopicError) as caught:
            ask()
        assert str(caught.value) == "topic T does not exist: create it, or delete the feed"


def test_times(topics: MemoryTopics, consumer: MemoryFeedConsumer) -> None:
    for time_ms in (10, 20, 15):
        topics.append("T", UnwrittenRecord(b"", partition=0, time_ms=time_ms))
    assert consumer.since([0, 1], 15) == {0: 1, 1: 0}
    assert consumer.since([0], 21) == {0: 3}


def test_a_program_between_two_topics() -> None:
    with adapter.testing.queue_manager() as manager:
        for topic in ("orders", "results"):
            manager.topics.create(topic, 2)
        manager.topics.append("orders", *(UnwrittenRecord(b"%d" % n, b"k") for n in range(3)))
        with manager.connect() as qm:
            for queue in ("ORDERS", "RESULTS"):
                qm.define_queue(queue, msg_delivery_sequence="FIFO")
            qm.define_object("feed", "IN", topic="orders", queue="ORDERS")
            qm.define_object("export", "OUT", queue="RESULTS", topic="results")
            for _ in range(3):
                with qm.unit():
                    message = got(qm)
                    qm.put("RESULTS", message.body, properties=message.properties)
        found = manager.topics.await_records("results", 3)
        assert [(one.key, one.value) for one in found] == [(b"k", b"%d" % n) for n in range(3)]


def test_a_feed_goes_on_where_it_was_after_a_crash() -> None:
    with adapter.testing.queue_manager() as manager:
        manager.topics.create("orders")
        with manager.connect() as qm:
            qm.define_queue("ORDERS", msg_delivery_sequence="FIFO")
            qm.define_object("feed", "IN", topic="orders", queue="ORDERS")
            manager.topics.append("orders", UnwrittenRecord(b"1"))
            assert got(qm).body == b"1"
        manager.crash()
        manager.topics.append("orders", UnwrittenRecord(b"2"))
        manager.start()
        with manager.connect() as qm:
            assert got(qm).body == b"2"
            assert qm.get("ORDERS") is None


def test_avro_is_decoded_by_a_registry_in_memory() -> None:
    registry = adapter.testing.schema_registry()
    order = {"type": "record", "name": "Order", "fields": [{"name": "number", "type": "int"}]}
    value = Values(registry).encode({"number": 7}, order, "orders-value", register=True)
    with adapter.testing.queue_manager(registry=registry) as manager:
        manager.topics.create("orders")
        manager.topics.append("orders", UnwrittenRecord(value))
        with manager.connect() as qm:
            qm.define_queue("ORDERS")
            qm.define_object("feed", "IN", topic="orders", queue="ORDERS", value="AVROJSON")
            assert got(qm).body == b'{"number":7}'
