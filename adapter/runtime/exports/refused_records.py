"""What a topic of Kafka has refused of the records of one attempt, and what that means.

A topic refuses a record for what it says or for its length, a batch for one of its records, or all
of them. This module must not know how records are written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from confluent_kafka import KafkaError
from msgspec import Struct

from adapter.runtime.exports.port import ExportError, RecordRefusedError, TopicRefusedError
from adapter.storage.format.exports import ExportedRecord
from adapter.storage.ledger.failures import TOPIC_FORBIDDEN, TOPIC_MISSING, describe
from adapter.storage.movers.settings import BATCH_BYTES, KafkaCluster

TOO_LONG = frozenset({KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE})
OF_BATCH = TOO_LONG | {
    KafkaError.INVALID_RECORD,
    KafkaError.INVALID_MSG,
    KafkaError.INVALID_TIMESTAMP,
}
"""What all records of a batch are refused for, though it may be for one of them."""
NOT_A_RECORD = OF_BATCH | {KafkaError._INVALID_ARG, KafkaError._UNKNOWN_PARTITION}
"""What a topic refuses for what the record says."""


class BatchedTopics(Protocol):
    """Topics of a Kafka, of which some take each record in a batch of its own."""

    cluster: KafkaCluster
    one_by_one: set[str]


class TopicRefusal(Struct, frozen=True):
    """That a topic did not take a record, and why."""

    error: KafkaError
    topic: str


class RefusedRecords:
    """What a topic has refused of one attempt. For one thread."""

    def __init__(self, topic: str, topics: BatchedTopics) -> None:
        self._topic = topic
        self._topics = topics
        self._is_one_by_one = topic in topics.one_by_one
        self._records: Sequence[ExportedRecord] = ()
        self._refusals: dict[int | None, TopicRefusal] = {}

    def begin(self, records: Sequence[ExportedRecord]) -> None:
        """Begin an attempt to write records; () to write others again."""
        self._records, self._refusals = records, {}

    def note(self, at: int | None, error: KafkaError, topic: str) -> None:
        """Note that a record was refused, if it was for what the record or the topic is.

        at: which one of the attempt; None: one that is written again.
        """
        if error.code() in NOT_A_RECORD | TOPIC_MISSING | TOPIC_FORBIDDEN:
            self._refusals.setdefault(at, TopicRefusal(error, topic))

    def meaning(self, may_be_there: Callable[[int], bool]) -> ExportError | None:
        """Say what it means that records were refused; None if none were.

        may_be_there: whether the topic may have a partition of which the producer does not know.
        """
        if not self._refusals:
            return None
        (at, refusal), *further = self._refusals.items()
        first = self._meaning_of(at, refusal, may_be_there)
        if isinstance(first, RecordRefusedError):
            # Which partitions there are is asked for once, and not for each of many records.
            asked = KafkaError._UNKNOWN_PARTITION
            others = [
                self._meaning_of(*one, may_be_there)
                for one in further
                if one[1].error.code() != asked
            ]
            first.others = [one for one in others if isinstance(one, RecordRefusedError)]
        return first

    def _meaning_of(
        self, at: int | None, refusal: TopicRefusal, may_be_there: Callable[[int], bool]
    ) -> ExportError:
        error, topic = refusal.error, refusal.topic
        code, why = error.code(), describe(error)
        if code in TOPIC_MISSING | TOPIC_FORBIDDEN:
            return self.of_topic(error)
        record = None if at is None else self._records[at]
        partition = -1 if record is None else record.partition
        if code == KafkaError._UNKNOWN_PARTITION and may_be_there(partition):
            return ExportError(f"the partitions of topic {topic} have changed")
        is_short = record is None or _size(record) < BATCH_BYTES
        if code in OF_BATCH and not self._is_one_by_one and is_short:
            self._topics.one_by_one.add(self._topic)
            return ExportError(
                f"topic {topic} does not take a batch of records: {why}; they are written one by "
                "one from now on"
            )
        if at is None:
            return ExportError(
                f"topic {topic} does not take again what it has taken and Kafka has not shown: "
                f"{why}; change its settings (kafka-configs)"
            )
        return RecordRefusedError(
            f"topic {topic} does not take it: {why}", at, is_too_long=code in TOO_LONG
        )

    def of_topic(self, error: KafkaError) -> TopicRefusedError:
        """Say what it means that the topic takes nothing."""
        if error.code() in TOPIC_MISSING:
            return TopicRefusedError(
                f"topic {self._topic} does not exist on {self._topics.cluster.bootstrap_servers}: "
                "create it, or delete the export"
            )
        return TopicRefusedError(
            f"the queue manager may not write topic {self._topic}: allow its user of Kafka to "
            "WRITE, READ and DESCRIBE it"
        )


def _size(record: ExportedRecord) -> int:
    """Return about how many bytes a record has."""
    headers = sum(len(name) + len(value or b"") for name, value in record.headers)
    return len(record.value or b"") + len(record.key or b"") + headers
