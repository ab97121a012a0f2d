"""Topics in memory, as feeds read them: a FeedTopics without a Kafka.

A consumer reads a topic by its name, also one that was made again, as a client of Kafka does. This
module knows no message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from adapter.runtime.feeds.port import (
    FeedError,
    FeedTopic,
    PartitionEnd,
    PartitionLost,
    Read,
    UnreadableTopicError,
    ValueDecoder,
)
from adapter.storage.format.feeds import TopicRecord
from adapter.storage.topics.memory import MemoryRecord, MemoryTopics, TopicAbsentError, TopicExtent

READ_RECORDS = 500


class MemoryFeeds:
    """Topics in memory, and what decodes the values of their records."""

    def __init__(self, topics: MemoryTopics, decoder: ValueDecoder) -> None:
        self.topics = topics
        self.decoder = decoder

    def consumer(
        self,
        queue_manager: str,  # noqa: ARG002 -- there are no consumer groups
        feed: str,  # noqa: ARG002
        topic: str,
    ) -> MemoryFeedConsumer:
        return MemoryFeedConsumer(self.topics, topic)


class MemoryFeedConsumer:
    """Reads one topic; see FeedConsumer."""

    def __init__(self, topics: MemoryTopics, topic: str) -> None:
        self._topics = topics
        self._topic = topic
        self._next: dict[int, int] = {}
        self._ended: dict[int, int] = {}
        """The ends that were reported."""
        self.paused: set[int] = set()

    def describe(self) -> FeedTopic:
        found = self._extent()
        return FeedTopic(found.ident, tuple(found.ends))

    def first(self, partitions: Sequence[int]) -> dict[int, int]:
        return self._of(partitions, self._extent().starts)

    def ends(self, partitions: Sequence[int]) -> dict[int, int]:
        return self._of(partitions, self._extent().ends)

    def since(self, partitions: Sequence[int], time_ms: int) -> dict[int, int]:
        with self._asking():
            return self._of(partitions, self._topics.since(self._topic, time_ms))

    def assign(self, offsets: Mapping[int, int]) -> None:
        self._next |= offsets

    def pause(self, partition: int) -> None:
        if partition in self._next:  # else it does nothing, as a client of Kafka
            self.paused.add(partition)

    def resume(self, partition: int) -> None:
        self.paused.discard(partition)

    def read(self, timeout_s: float) -> list[Read]:
        extent = self._extent()
        read = {n: at for n, at in self._next.items() if n not in self.paused}
        for n, at in read.items():
            if n not in extent.ends or not extent.starts[n] <= at <= extent.ends[n]:
                return [PartitionLost(n)]
        ends = self._unreported_ends(read, extent)
        with self._asking():
            records = self._topics.next_records(
                self._topic, read, READ_RECORDS, 0 if ends else timeout_s
            )
        found: list[Read] = [_read(one) for one in records]
        for one in records:
            self._next[one.partition] = one.offset + 1
        # Of a partition with records the end comes at the next call.
        with_records = {one.partition for one in records}
        for end in ends:
            if end.partition not in with_records:
                self._ended[end.partition] = self._next[end.partition] = end.offset
                found.append(end)
        return found

    def show(self, offsets: Mapping[int, int]) -> None:
        """Ignore it: there are no consumer groups."""

    @property
    def not_shown(self) -> str:
        return ""

    def close(self) -> None:
        """There are no connections."""

    def _unreported_ends(self, read: Mapping[int, int], extent: TopicExtent) -> list[PartitionEnd]:
        return [
            PartitionEnd(n, extent.ends[n]) for n in read if self._ended.get(n) != extent.ends[n]
        ]

    def _extent(self) -> TopicExtent:
        with self._asking():
            return self._topics.extent(self._topic)

    def _of(self, partitions: Sequence[int], offsets: Mapping[int, int]) -> dict[int, int]:
        """Select partitions. Raises FeedError if one is gone: the topic was made again."""
        found = {n: offsets[n] for n in partitions if n in offsets}
        if len(found) < len(partitions):
            raise FeedError(f"topic {self._topic} has fewer partitions than before")
        return found

    @contextmanager
    def _asking(self) -> Iterator[None]:
        try:
            yield
        except TopicAbsentError as error:
            raise UnreadableTopicError(f"{error}: create it, or delete the feed") from error


def _read(record: MemoryRecord) -> TopicRecord:
    return TopicRecord(
        record.partition,
        record.offset,
        record.key,
        record.value,
        list(record.headers),
        record.time_ms,
    )
