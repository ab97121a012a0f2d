"""Cursors read what is there, in whatever order it is asked for, of a consumer that is made up.

tests/integration/test_pages.py has the same with Kafka.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from adapter.core.contract.message import MessageData
from adapter.core.contract.records import Placed
from adapter.format import descriptor
from adapter.topics import reader
from adapter.topics.port import MessageMissingError, PagesUnavailableError
from adapter.topics.reader import AHEAD, READ_ON, SINGLE_READ_ON, Cursor

LANE = 3
PLACE = ("topic", LANE)
ID = bytes(24)
READS = 1_500


class MadeUpError:
    """That a partition ends here."""

    def code(self) -> int:
        return int(KafkaError._PARTITION_EOF)


class MadeUpRecord:
    """A record as Kafka's client shows it; without a seq the end of the partition."""

    def __init__(self, seq: int, offset: int) -> None:
        message = MessageData(b"%d" % seq, ID, ID, ID, persistence=1)
        header = descriptor.encode(Placed("Q", LANE, seq, 0, 0, 0, 1, message), ID, 1)
        self._body, self._headers = message.body, [(descriptor.HEADER, header)]
        self._offset, self._is_end = offset, not seq

    def value(self) -> bytes:
        return self._body

    def key(self) -> None:
        return None

    def headers(self) -> list[tuple[str, bytes]]:
        return self._headers

    def timestamp(self) -> tuple[int, int]:
        return 1, 5

    def offset(self) -> int:
        return self._offset

    def error(self) -> MadeUpError | None:
        return MadeUpError() if self._is_end else None


class Partition:
    """Records with gaps in their seqs, and in their offsets where transactions end."""

    def __init__(self, chance: random.Random) -> None:
        self.seqs: list[int] = []
        self.records: list[MadeUpRecord] = []
        self.offsets: list[int] = []
        seq = offset = 0
        for _ in range(30):
            for _ in range(chance.randrange(1, 150)):
                seq += 1 if chance.random() < 0.97 else chance.randrange(1, 60)
                self.seqs.append(seq)
                self.records.append(MadeUpRecord(seq, offset))
                self.offsets.append(offset)
                offset += 1
            offset += 1
        self.end = MadeUpRecord(0, offset)


class MadeUpConsumer:
    """A consumer of one partition, to which fetches bring some records at a time."""

    def __init__(self, partition: Partition, chance: random.Random) -> None:
        self.is_assigned = False
        self._partition, self._chance = partition, chance
        self._queue: list[MadeUpRecord] = []

    def assign(self, partitions: list[TopicPartition]) -> None:
        self.is_assigned, self._queue = True, []
        self._at = bisect_left(self._partition.offsets, partitions[0].offset)

    def unassign(self) -> None:
        self.is_assigned, self._queue = False, []

    def poll(self, _timeout_s: float) -> MadeUpRecord | None:
        assert self.is_assigned
        if not self._queue:
            more = self._at + self._chance.randrange(1, 100)
            self._queue = self._partition.records[self._at : more] or [self._partition.end]
            self._at = more
        return self._queue.pop(0)

    def consume(self, count: int, _timeout_s: float) -> list[MadeUpRecord]:
        assert self.is_assigned
        found, self._queue = self._queue[:count], self._queue[count:]
        return found

    def get_watermark_offsets(self, *_: Any) -> tuple[int, int]:
        return 0, self._partition.end.offset()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("is_single", [True, False])
def test_a_cursor_reads_what_is_there(
    seed: int, is_single: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    partition = Partition(chance)
    consumer = MadeUpConsumer(partition, chance)
    monkeypatch.setattr(reader, "Consumer", lambda _settings: consumer)
    read_on, ahead = (SINGLE_READ_ON, 1) if is_single else (READ_ON, AHEAD)
    cursor = Cursor({}, {}, read_on, ahead)
    seqs, at = partition.seqs, 0
    for _ in range(READS):
        near = min(len(seqs) - 1, max(0, at + chance.choice([0, 1, 1, 1, 2, 5, 30, -1])))
        at = chance.choice([near, chance.randrange(len(seqs))])
        count = 1 if is_single else chance.randrange(1, 60)
        found = cursor.read(PLACE, seqs[at], count).messages
        assert [one.seq for one in found] == seqs[at : at + count]
        if chance.random() < 0.05:
            cursor.rest()
            assert not consumer.is_assigned


class WithoutLeader:
    """A consumer that remembers no leader of a partition. found: what Kafka says of its topic."""

    def __init__(self, found: SimpleNamespace) -> None:
        self._found = found

    def get_watermark_offsets(self, *_: object) -> None:
        raise KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION))

    def list_topics(self, topic: str, _timeout_s: float) -> SimpleNamespace:
        return SimpleNamespace(topics={topic: self._found})


@pytest.mark.parametrize(
    ("found", "is_missing"),
    [
        (SimpleNamespace(error=None, partitions={LANE: None}), False),
        (SimpleNamespace(error=None, partitions={}), True),
        (SimpleNamespace(error=KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART), partitions={}), True),
    ],
)
def test_a_partition_without_a_leader_has_not_lost_its_messages(
    monkeypatch: pytest.MonkeyPatch, found: SimpleNamespace, is_missing: bool
) -> None:
    monkeypatch.setattr(reader, "Consumer", lambda _settings: WithoutLeader(found))
    cursor = Cursor({}, {}, READ_ON, AHEAD)
    with pytest.raises(PagesUnavailableError) as caught:
        cursor.read(PLACE, 1, 1)
    assert isinstance(caught.value, MessageMissingError) is is_missing
