"""Topics of Kafka in the memory of this process, for queue managers without a Kafka.

Programs write and read them as other programs would Kafka's; feeds read them, exports write them.
They outlive the queue managers' restarts and crashes. Everything is under one lock, which is held
for moments. This module knows no queue.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import count

from msgspec import Struct

RECORD_BYTES_MAX = 1024 * 1024
"""Of key, value and headers, as Kafka's default for max.message.bytes."""
AWAIT_S = 10.0


class MemoryRecord(Struct, frozen=True):
    """A record as it is read. time_ms: since 1970."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    time_ms: int


class UnwrittenRecord(Struct, frozen=True):
    """A record as it is to be written. partition: -1 for that of its key; without one, any.

    time_ms: since 1970; -1 for now.
    """

    value: bytes | None
    key: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()
    partition: int = -1
    time_ms: int = -1


class TopicAbsentError(Exception):
    """The topic does not exist."""


class UnfitRecordError(Exception):
    """The topic takes no such record. at: which one of those that were to be written."""

    def __init__(self, text: str, at: int, *, is_too_long: bool) -> None:
        super().__init__(text)
        self.at = at
        self.is_too_long = is_too_long


class PartitionedTopic:
    """One topic: its records in the order in which they were written, over all partitions."""

    def __init__(self, ident: str, partitions: int, record_bytes: int) -> None:
        self.ident = ident
        self.record_bytes = record_bytes
        self.records: list[MemoryRecord] = []
        self.by_partition: list[list[MemoryRecord]] = [[] for _ in range(partitions)]
        self.starts = [0] * partitions
        self.ends = [0] * partitions
        self.turns = count()
        """For records without a key: the partitions in turn."""

    def add_partition(self) -> None:
        """Let it have one more."""
        self.by_partition.append([])
        self.starts.append(0)
        self.ends.append(0)

    def trim(self, partition: int, offset: int) -> None:
        """Delete the records before an offset."""
        kept = self.by_partition[partition]
        del kept[: bisect_left(kept, offset, key=_offset)]
        self.records = [
            one for one in self.records if one.partition != partition or one.offset >= offset
        ]
        self.starts[partition] = max(self.starts[partition], offset)

    def next_records(self, partition: int, offset: int, number: int) -> list[MemoryRecord]:
        """Return at most so many records from an offset on."""
        kept = self.by_partition[partition]
        at = bisect_left(kept, offset, key=_offset)
        return kept[at : at + number]


def _offset(record: MemoryRecord) -> int:
    return record.offset


class TopicExtent(Struct, frozen=True):
    """A topic as it is now. ident: another one for a topic that was made again. starts, ends: by
    partition, the offset of the first record that is there, and the one behind the last.
    """

    ident: str
    starts: dict[int, int]
    ends: dict[int, int]


class MemoryTopics:
    """Topics by name. For any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._topics: dict[str, PartitionedTopic] = {}
        self._idents = count(1)

    def create(self, topic: str, partitions: int = 1, record_bytes: int = RECORD_BYTES_MAX) -> None:
        """Make a topic, empty; one of its name is deleted. record_bytes: of a record at most."""
        with self._changed:
            ident = f"id {next(self._idents)}"
            self._topics[topic] = PartitionedTopic(ident, partitions, record_bytes)
            self._changed.notify_all()

    def delete(self, topic: str) -> None:
        """Delete a topic. Raises KeyError if it does not exist."""
        with self._changed:
            try:
                self._topics.pop(topic)
            except KeyError:
                raise KeyError(f"topic {topic} does not exist") from None

    def add_partitions(self, topic: str, total: int) -> None:
        """Let a topic have so many partitions. Raises TopicAbsentError."""
        with self._changed:
            found = self._topic(topic)
            while len(found.ends) < total:
                found.add_partition()

    def trim(self, topic: str, offset: int, partition: int = 0) -> None:
        """Delete the records of a partition before an offset, as retention does.

        Raises TopicAbsentError.
        """
        with self._changed:
            self._topic(topic).trim(partition, offset)

    def skip(self, topic: str, offsets: int, partition: int = 0) -> None:
        """Let so many offsets have no record, as Kafka's transactions do at their end.

        Raises TopicAbsentError.
        """
        with self._changed:
            self._topic(topic).ends[partition] += offsets
            self._changed.notify_all()

    def append(self, topic: str, *records: UnwrittenRecord) -> None:
        """Write records, all or none. Raises TopicAbsentError, UnfitRecordError."""
        with self._changed:
            self.check(topic, *records)
            found = self._topic(topic)
            for record in records:
                partition = _partition(found, record)
                written = MemoryRecord(
                    partition=partition,
                    offset=found.ends[partition],
                    key=record.key,
                    value=record.value,
                    headers=list(record.headers),
                    time_ms=int(time.time() * 1000) if record.time_ms < 0 else record.time_ms,
                )
                found.records.append(written)
                found.by_partition[partition].append(written)
                found.ends[partition] += 1
            self._changed.notify_all()

    def records(self, topic: str) -> list[MemoryRecord]:
        """Return all records of a topic, in the order in which they were written.

        Raises KeyError if it does not exist.
        """
        with self._changed:
            try:
                return list(self._topics[topic].records)
            except KeyError:
                raise KeyError(f"topic {topic} does not exist: create() it") from None

    def await_records(
        self, topic: str, number: int, timeout_s: float = AWAIT_S
    ) -> list[MemoryRecord]:
        """Return all records of a topic once it has so many; TimeoutError if that takes too long.

        Raises KeyError if it does not exist.
        """
        deadline_s = time.monotonic() + timeout_s
        with self._changed:
            while len(found := self.records(topic)) < number:
                left_s = deadline_s - time.monotonic()
                if left_s <= 0:
                    raise TimeoutError(
                        f"topic {topic} has {len(found)} records after {timeout_s:g} s, and not "
                        f"{number}"
                    )
                self._changed.wait(left_s)
            return found

    def next_records(
        self, topic: str, offsets: Mapping[int, int], number: int, timeout_s: float
    ) -> list[MemoryRecord]:
        """Return at most so many records of each of these partitions, from its offset on; waits so
        long at most for something to be written. Raises TopicAbsentError.
        """
        deadline_s = time.monotonic() + timeout_s
        with self._changed:
            while True:
                topic_now = self._topic(topic)
                found = [
                    one
                    for partition, offset in offsets.items()
                    if partition < len(topic_now.ends)
                    for one in topic_now.next_records(partition, offset, number)
                ]
                left_s = deadline_s - time.monotonic()
                if found or left_s <= 0 or not self._changed.wait(left_s):
                    return found

    def extent(self, topic: str) -> TopicExtent:
        """Return what there is of a topic. Raises TopicAbsentError."""
        with self._changed:
            found = self._topic(topic)
            starts, ends = dict(enumerate(found.starts)), dict(enumerate(found.ends))
            return TopicExtent(found.ident, starts, ends)

    def since(self, topic: str, time_ms: int) -> dict[int, int]:
        """Return the offset of the first record of this time or later, by partition; the end where
        none is. Raises TopicAbsentError.
        """
        with self._changed:
            found = self._topic(topic)
            return {
                partition: next((one.offset for one in kept if one.time_ms >= time_ms), end)
                for partition, (kept, end) in enumerate(
                    zip(found.by_partition, found.ends, strict=True)
                )
            }

    def ends(self, topic: str) -> dict[int, int]:
        """Return the offset behind the last record, by partition. Raises TopicAbsentError."""
        return self.extent(topic).ends

    def check(self, topic: str, *records: UnwrittenRecord) -> None:
        """See whether a topic takes records. Raises as append()."""
        for error in self.unfit(topic, *records):
            raise error

    def unfit(self, topic: str, *records: UnwrittenRecord) -> list[UnfitRecordError]:
        """Return which of some records a topic does not take. Raises TopicAbsentError."""
        with self._changed:
            found = self._topic(topic)
            errors = (_unfit(topic, found, at, record) for at, record in enumerate(records))
            return [one for one in errors if one is not None]

    def _topic(self, topic: str) -> PartitionedTopic:
        found = self._topics.get(topic)
        if found is None:
            raise TopicAbsentError(f"topic {topic} does not exist")
        return found


def _unfit(
    name: str, topic: PartitionedTopic, at: int, record: UnwrittenRecord
) -> UnfitRecordError | None:
    if record.partition >= len(topic.ends):
        return UnfitRecordError(
            f"topic {name} has no partition {record.partition}", at, is_too_long=False
        )
    size = sum(len(header) + len(value or b"") for header, value in record.headers)
    size += len(record.key or b"") + len(record.value or b"")
    if size > topic.record_bytes:
        text = f"a record of topic {name} has {topic.record_bytes} bytes at most, and not {size}"
        return UnfitRecordError(text, at, is_too_long=True)
    return None


def _partition(topic: PartitionedTopic, record: UnwrittenRecord) -> int:
    if record.partition >= 0:
        return record.partition
    if record.key is None:
        return next(topic.turns) % len(topic.ends)
    return (murmur2(record.key) & 0x7FFFFFFF) % len(topic.ends)


def murmur2(data: bytes) -> int:
    """Return the hash by which Kafka's clients choose the partition of a key.

    >>> murmur2(b"foobar") - 2**32
    -790332482
    """
    factor, mask = 0x5BD1E995, 0xFFFFFFFF
    found = 0x9747B28C ^ len(data)
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        part = int.from_bytes(data[at : at + 4], "little") * factor & mask
        part = (part ^ part >> 24) * factor & mask
        found = found * factor & mask ^ part
    if whole < len(data):
        found = (found ^ int.from_bytes(data[whole:], "little")) * factor & mask
    found = (found ^ found >> 13) * factor & mask
    return found ^ found >> 15
