"""What readers of a ledger on Kafka make of failures that their broker has no code for."""

import time
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from adapter.storage.ledger.kafka_reader import PERSISTS_S, LedgerSource, Persisting, watermarks
from adapter.storage.ledger.kafka_settings import LedgerSettings

STEP_S = PERSISTS_S / 4


def fails(persisting: Persisting, *reads: tuple[float, int]) -> list[bool]:
    return [persisting.fails(offset, now_s) for now_s, offset in reads]


def test_a_failure_that_meets_every_read_of_an_offset_persists() -> None:
    reads = [(100 + STEP_S * n, 7) for n in range(5)]
    assert fails(Persisting(), *reads) == [False] * 4 + [True]


def test_a_failure_that_passes_does_not() -> None:
    assert fails(Persisting(), (100, 7), (100 + PERSISTS_S + 0.1, 7)) == [False, False]
    assert fails(Persisting(), (0, 7), (3, 7), (3.1, 8), (6, 8)) == [False] * 4
    assert fails(Persisting(), (0, 0), (PERSISTS_S, 0)) == [False, True]


class Consumer:
    """Knows its topic from the third question on."""

    def __init__(self, error: KafkaError) -> None:
        self.asked = 0
        self._error = error

    def list_topics(self, topic: str, timeout: float) -> SimpleNamespace:
        self.asked += 1
        unknown = SimpleNamespace(error=self._error, partitions={})
        known = SimpleNamespace(error=None, partitions={0: None})
        return SimpleNamespace(topics={topic: unknown if self.asked < 3 else known})

    def get_watermark_offsets(self, place: TopicPartition, timeout: float) -> tuple[int, int]:
        self.asked += 1
        if self.asked < 3:
            raise KafkaException(self._error)
        return 4, 7


@pytest.mark.parametrize(
    "code", [KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.LEADER_NOT_AVAILABLE]
)
def test_finding_reliability_d9_a_topic_that_a_broker_does_not_know_yet_is_waited_for(
    code: int,
) -> None:
    source = LedgerSource.__new__(LedgerSource)
    source._settings = LedgerSettings(bootstrap_servers="nowhere:9", topic="mq.QM1.snapshots")
    source._consumer = consumer = Consumer(KafkaError(code))  # type: ignore[assignment]
    source._is_reached = True
    source.check_topic()
    assert consumer.asked == 3


@pytest.mark.parametrize(
    "code", [KafkaError._UNKNOWN_PARTITION, KafkaError.NOT_LEADER_FOR_PARTITION]
)
def test_finding_mq_6_a_partition_that_is_not_known_yet_is_waited_for(code: int) -> None:
    consumer = Consumer(KafkaError(code))
    place = TopicPartition("mq.QM1.snapshots", 0)
    deadline_s = time.monotonic() + 20
    assert watermarks(consumer, place, 1, deadline_s) == (4, 7)  # type: ignore[arg-type]
    with pytest.raises(KafkaException):
        watermarks(Consumer(KafkaError(code)), place, 1, 0)  # type: ignore[arg-type]


class Remembers:
    """A consumer that was told of a partition without a leader, and says so until it asks again."""

    def __init__(self) -> None:
        self.has_leader = False

    def list_topics(self, topic: str, timeout: float) -> None:
        self.has_leader = True

    def get_watermark_offsets(self, place: TopicPartition, timeout: float) -> tuple[int, int]:
        if not self.has_leader:
            raise KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION))
        return 4, 7


def test_a_partition_that_had_no_leader_is_asked_for_again() -> None:
    place, deadline_s = TopicPartition("mq.QM1.progress", 0), time.monotonic() + 1
    assert watermarks(Remembers(), place, 1, deadline_s) == (4, 7)  # type: ignore[arg-type]
