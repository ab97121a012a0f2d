"""Durable consumers on a real Kafka: their batches are on the topic, and outlive every end."""

import secrets
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer as KafkaConsumer
from confluent_kafka import TopicPartition

import adapter
from adapter import testing
from adapter.core.contract.results import BatchDescription
from adapter.errors import ClaimLost
from adapter.storage.format import descriptor, names
from adapter.testing import TestQueueManager
from tests.support.backlog import until
from tests.support.shared_kafka import AnyKafka

WAIT_S = 20.0
COUNT = 300


@pytest.fixture
def manager(kafka: AnyKafka) -> Iterator[TestQueueManager]:
    name = f"CONSUMERS{secrets.token_hex(3).upper()}"
    with testing.queue_manager(name, bootstrap_servers=kafka.bootstrap_servers) as manager:
        yield manager


def claimed(consumer: adapter.Consumer, limit: int, planned: int) -> BatchDescription:
    """The next batch, as soon as movers have copied what it has."""
    before = consumer.last
    until(lambda: consumer.claim_batch(limit, planned) > before)
    (batch,) = consumer.read(planned, consumer.last).batches
    return batch


def numbers(batch: BatchDescription) -> set[tuple[int, int]]:
    found = zip(batch.spans[::3], batch.spans[1::3], batch.spans[2::3], strict=True)
    return {(lane, seq) for lane, first, last in found for seq in range(first, last + 1)}


def on_topic(kafka: AnyKafka, topic: str, lane: int) -> dict[int, bytes]:
    """The committed messages of a lane as any Kafka client reads them, by seq."""
    reader = KafkaConsumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    reader.assign([TopicPartition(topic, lane, 0)])
    found = {}
    while (record := reader.poll(WAIT_S)) is not None:
        if record.error() is not None:
            break
        header = dict(record.headers() or [])[descriptor.HEADER]
        assert isinstance(header, bytes)
        found[descriptor.decode(header, b"")[1].seq] = record.value() or b""
    reader.close()
    return found


def test_batches_are_on_the_topic_and_outlive_every_end(
    kafka: AnyKafka, manager: TestQueueManager
) -> None:
    with manager.connect() as qm:
        qm.define_queue("Q")
        for number in range(COUNT):
            qm.put("Q", str(number), persistent=True, priority=number % 2)
    until(lambda: manager.statistics()["movers"]["stream"].get("copied", 0) >= COUNT)
    seen: set[tuple[int, int]] = set()
    before = None
    for end in (manager.stop, manager.crash, None):
        with manager.connect() as qm, qm.consumer("Q", "READER") as consumer:
            if before is not None:
                assert numbers(consumer.read(consumer.consumed, consumer.last).batches[0]) == before
                consumer.consume(consumer.last)
            before = numbers(claimed(consumer, COUNT // 3, consumer.consumed))
            assert len(before) == COUNT // 3
            assert not before & seen
            seen |= before
        if end is not None:
            end()
            manager.start()
    topic = names.queue_topic(manager.name, "Q")
    there = {
        (lane, seq): body for lane in (0, 1) for seq, body in on_topic(kafka, topic, lane).items()
    }
    assert seen == set(there)
    with manager.connect() as qm:
        assert qm.get("Q") is None


def test_a_claim_is_lost_and_its_messages_are_there_again(
    kafka: AnyKafka, manager: TestQueueManager
) -> None:
    with manager.connect() as qm:
        qm.define_queue("Q")
        qm.put("Q", "a", persistent=True)
        consumer = qm.consumer("Q", "READER", timeout=1)
        claimed(consumer, 1, 0)
        claim = consumer.claim
        consumer.close()
        message = qm.get("Q", timeout=WAIT_S)
        assert message is not None
        assert (message.body, message.backout_count) == (b"a", 0), "it may well be done"
        again = qm.consumer("Q", "READER", timeout=1)
        assert again.claim != claim
        again.claim = claim
        with pytest.raises(ClaimLost):
            again.consume(1)
