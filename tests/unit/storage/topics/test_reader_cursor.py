"""Cursors read what is there, in whatever order it is asked for, of a consumer that is made up.

tests/integration/test_pages.py has the same with Kafka.
"""

from __future__ import annotations

import contextlib
import random
from bisect import bisect_left
from typing import Any

import pytest
from confluent_kafka import KafkaError, TopicPartition

from adapter.core.contract.message import MessageData
from adapter.core.contract.records import Placed
from adapter.storage.format import chunks, descriptor
from adapter.storage.format.schemas import UnreadableError
from adapter.storage.topics import partition_consumer, reader
from adapter.storage.topics.decoder import RecordDecoder
from adapter.storage.topics.port import MessageMissingError, PagesUnavailableError
from adapter.storage.topics.reader import AHEAD, READ_ON, SINGLE_READ_ON, Cursor

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

    def topic(self) -> str:
        return PLACE[0]

    def partition(self) -> int:
        return LANE

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


def foreign(offset: int, chance: random.Random) -> MadeUpRecord:
    """A record of another program, or one that was damaged."""
    record = MadeUpRecord(1, offset)
    good = dict(record.headers())[descriptor.HEADER]
    headers: list[tuple[str, Any]] = chance.choice([
        [],
        [("trace", b"x")],
        [(descriptor.HEADER, None)],
        [(descriptor.HEADER, b"")],
        [(descriptor.HEADER, b"\x1f" + good[1:])],
        [(descriptor.HEADER, good[: chance.randrange(1, len(good))])],
        [(descriptor.HEADER, chance.randbytes(40))],
        [(descriptor.HEADER, good), (chunks.HEADER, b"no place")],
        [(descriptor.HEADER, b"\x00"), (chunks.HEADER, bytes(7) + b"\x02")],
    ])  # fmt: skip
    record._headers = headers
    record._body = chance.choice([b"", b"{}"])
    return record


class Partition:
    """Records with gaps in their seqs, and in their offsets where transactions end.

    others: the share of records that others have written.
    """

    def __init__(self, chance: random.Random, others: float = 0.0) -> None:
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
                while chance.random() < others:
                    self.records.append(foreign(offset, chance))
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

    def close(self) -> None:
        pass


class SlowPartition:
    """A partition of which Kafka shows a part: the rest after some reads. removed: seqs that were
    deleted.
    """

    def __init__(self, count: int, shown: int, removed: frozenset[int] = frozenset()) -> None:
        self.records = [MadeUpRecord(seq, seq) for seq in range(1, count + 1) if seq not in removed]
        self.shown, self.written = shown, count + 1

    def consumer(self, settings: dict[str, Any]) -> SlowConsumer:
        return SlowConsumer(self, sees_all=settings.get("isolation.level") == "read_uncommitted")


class SlowConsumer:
    """A consumer of it; each end that it meets shows one record more, if more is written."""

    def __init__(self, partition: SlowPartition, *, sees_all: bool) -> None:
        self._partition, self._sees_all, self._at = partition, sees_all, 0

    def assign(self, partitions: list[TopicPartition]) -> None:
        self._at = partitions[0].offset

    def poll(self, _timeout_s: float) -> MadeUpRecord:
        partition = self._partition
        end = min(partition.shown + 1, partition.written)
        found = [one for one in partition.records if self._at <= one.offset() < end]
        if not found:
            partition.shown += 1
            return MadeUpRecord(0, end)
        self._at = found[0].offset() + 1
        return found[0]

    def consume(self, _count: int, _timeout_s: float) -> list[MadeUpRecord]:
        return []

    def get_watermark_offsets(self, *_: Any) -> tuple[int, int]:
        return 1, self._partition.written if self._sees_all else self._partition.shown + 1

    def close(self) -> None:
        pass


@pytest.mark.parametrize("shown", [1, 2, 5, 9])
def test_what_is_not_shown_yet_is_not_missing(shown: int, monkeypatch: pytest.MonkeyPatch) -> None:
    partition = SlowPartition(9, shown)
    monkeypatch.setattr(partition_consumer, "Consumer", partition.consumer)
    cursor = Cursor({}, {}, READ_ON, AHEAD)
    found = [one for block in cursor.blocks(PLACE, 1, 9) for one in block]
    assert [one.offset() for one in found] == list(range(1, 10))


def test_what_was_deleted_is_missing_once_all_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    partition = SlowPartition(9, 2, removed=frozenset((8, 9)))
    monkeypatch.setattr(partition_consumer, "Consumer", partition.consumer)
    cursor = Cursor({}, {}, READ_ON, AHEAD)
    found = [one for block in cursor.blocks(PLACE, 1, 9) for one in block]
    assert [one.offset() for one in found] == list(range(1, 8))


def test_what_kafka_does_not_show_in_time_is_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    partition = SlowPartition(9, 2)
    monkeypatch.setattr(partition_consumer, "Consumer", partition.consumer)
    monkeypatch.setattr(reader, "SHOWN_S", 0.0)
    cursor = Cursor({}, {}, READ_ON, AHEAD)
    with pytest.raises(PagesUnavailableError, match=r"does not show it yet") as caught:
        list(cursor.blocks(PLACE, 1, 9))
    assert not isinstance(caught.value, MessageMissingError)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("is_single", [True, False])
@pytest.mark.parametrize("others", [0.0, 0.05, 0.6])
def test_a_cursor_reads_what_is_there(
    seed: int, is_single: bool, others: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records that are no messages are passed over, wherever they are."""
    chance = random.Random(seed)
    partition = Partition(chance, others)
    consumer = MadeUpConsumer(partition, chance)
    monkeypatch.setattr(partition_consumer, "Consumer", lambda _settings: consumer)
    read_on, ahead = (SINGLE_READ_ON, 1) if is_single else (READ_ON, AHEAD)
    cursor = Cursor({}, {}, read_on, ahead)
    seqs, at = partition.seqs, 0
    for _ in range(READS // 5 if others else READS):
        near = min(len(seqs) - 1, max(0, at + chance.choice([0, 1, 1, 1, 2, 5, 30, -1])))
        at = chance.choice([near, chance.randrange(len(seqs))])
        count = 1 if is_single else chance.randrange(1, 60)
        found = cursor.read(PLACE, seqs[at], count).messages
        assert [one.seq for one in found] == seqs[at : at + count]
        if chance.random() < 0.05:
            cursor.rest()
            assert not consumer.is_assigned


def test_a_record_of_others_within_a_long_message_is_passed_over() -> None:
    whole = MadeUpRecord(7, 0)
    body = bytes(range(256)) * 4
    pieces = chunks.records_of(whole.headers()[0], body, 256)
    records: list[MadeUpRecord] = []
    chance = random.Random(1)
    for headers, value in pieces:
        records += [foreign(0, chance) for _ in range(20)]
        piece = MadeUpRecord(7, 0)
        piece._headers, piece._body = headers, value
        records.append(piece)
    decoder, found = RecordDecoder(), []
    for record in records:
        with contextlib.suppress(UnreadableError):
            found.append(decoder.take(record))  # type: ignore[arg-type]
    assert [one[0].body for one in found if one is not None] == [body]
