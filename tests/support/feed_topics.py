"""Topics that feeds read, in memory: made, deleted, trimmed and made to fail as a test wants."""

import itertools
import threading
import time
from collections.abc import Mapping, Sequence

from adapter.errors import RegistryNotAvailable
from adapter.feeds.port import FeedError, FeedTopic, PartitionEnd, PartitionLost, Read
from adapter.feeds.schemas import FeedSchemas
from adapter.format.feeds import TopicRecord
from adapter.registry import topic
from adapter.registry.port import SchemaRegistry

READ_RECORDS = 100


class MemoryTopic:
    """One topic."""

    def __init__(self, ident: str, partitions: int) -> None:
        self.ident = ident
        self.records: list[list[TopicRecord]] = [[] for _ in range(partitions)]
        self.first = [0] * partitions
        self.ends = [0] * partitions


class MemoryTopics:
    """A FeedTopics in memory. failure: what every call raises. shown: positions by feed.

    registry: of values' schemas. registry_failure: why it does not answer, if so.
    """

    def __init__(self) -> None:
        self.decoder = FeedSchemas(self._ask_registry)
        self.registry = topic.in_memory()
        self.registry_failure = ""
        self.changed = threading.Condition()
        self.topics: dict[str, MemoryTopic] = {}
        self.failure = ""
        self.shown: dict[str, dict[int, int]] = {}
        self.consumers: list[MemoryConsumer] = []
        self._idents = itertools.count(1)

    def _ask_registry(self) -> SchemaRegistry:
        if self.registry_failure:
            raise RegistryNotAvailable(self.registry_failure)
        return self.registry

    def create(self, name: str, partitions: int = 1) -> None:
        """Make a topic, in the place of one of its name."""
        with self.changed:
            self.topics[name] = MemoryTopic(f"id {next(self._idents)}", partitions)

    def delete(self, name: str) -> None:
        """Delete a topic."""
        with self.changed:
            del self.topics[name]

    def add_partition(self, name: str) -> None:
        """Let a topic have one more."""
        with self.changed:
            topic = self.topics[name]
            topic.records.append([])
            topic.first.append(0)
            topic.ends.append(0)

    def append(self, name: str, *values: bytes | None, partition: int = 0, gap: int = 0) -> None:
        """Append records; behind them a gap of so many offsets without one."""
        with self.changed:
            topic = self.topics[name]
            for value in values:
                offset = topic.ends[partition]
                record = TopicRecord(partition, offset, None, value, [], 1_000 + offset)
                topic.records[partition].append(record)
                topic.ends[partition] = offset + 1
            topic.ends[partition] += gap
            self.changed.notify_all()

    def trim(self, name: str, offset: int, partition: int = 0) -> None:
        """Delete the records before an offset."""
        with self.changed:
            self.topics[name].first[partition] = offset

    def consumer(self, queue_manager: str, feed: str, topic: str) -> "MemoryConsumer":
        self.consumers.append(MemoryConsumer(self, feed, topic))
        return self.consumers[-1]


class MemoryConsumer:
    """Reads a topic by its name: also one that was made again, as a client of Kafka does."""

    def __init__(self, topics: MemoryTopics, feed: str, name: str) -> None:
        self._topics = topics
        self._feed = feed
        self._name = name
        self.next: dict[int, int] = {}
        self.paused: set[int] = set()
        self._ended: dict[int, int] = {}
        self.closed = False

    def describe(self) -> FeedTopic:
        with self._topics.changed:
            topic = self._topic()
            return FeedTopic(topic.ident, tuple(range(len(topic.records))))

    def first(self, partitions: Sequence[int]) -> dict[int, int]:
        with self._topics.changed:
            return {n: self._topic().first[n] for n in partitions}

    def ends(self, partitions: Sequence[int]) -> dict[int, int]:
        with self._topics.changed:
            return {n: self._topic().ends[n] for n in partitions}

    def since(self, partitions: Sequence[int], time_ms: int) -> dict[int, int]:
        with self._topics.changed:
            topic = self._topic()
            return {
                n: next(
                    (one.offset for one in topic.records[n] if one.time_ms >= time_ms),
                    topic.ends[n],
                )
                for n in partitions
            }

    def assign(self, offsets: Mapping[int, int]) -> None:
        self.next |= offsets

    def pause(self, partition: int) -> None:
        self.paused.add(partition)

    def resume(self, partition: int) -> None:
        self.paused.discard(partition)

    def read(self, timeout_s: float) -> list[Read]:
        deadline_s = time.monotonic() + timeout_s
        with self._topics.changed:
            while not (found := self._found()):
                left_s = deadline_s - time.monotonic()
                if left_s <= 0:
                    break
                self._topics.changed.wait(left_s)
            return found

    def show(self, offsets: Mapping[int, int]) -> None:
        self._topics.shown[self._feed] = dict(offsets)

    def close(self) -> None:
        self.closed = True

    def _topic(self) -> MemoryTopic:
        if self._topics.failure:
            raise FeedError(self._topics.failure)
        if self._name not in self._topics.topics:
            raise FeedError(f"topic {self._name} does not exist")
        return self._topics.topics[self._name]

    def _found(self) -> list[Read]:
        topic = self._topic()
        found: list[Read] = []
        for n, offset in self.next.items():
            if n in self.paused:
                continue
            if not topic.first[n] <= offset <= topic.ends[n]:
                return [PartitionLost(n)]
            records = [one for one in topic.records[n] if one.offset >= offset][:READ_RECORDS]
            found += records
            if records:
                self.next[n] = records[-1].offset + 1
            elif self._ended.get(n) != topic.ends[n]:
                self._ended[n] = self.next[n] = topic.ends[n]
                found.append(PartitionEnd(n, topic.ends[n]))
        return found
