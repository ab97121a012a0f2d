"""Topics in memory that feeds read and a test lets fail; and what their consumers were told."""

from collections.abc import Mapping, Sequence

import msgspec

from adapter.errors import RegistryNotAvailable
from adapter.registry import topic
from adapter.registry.port import SchemaRegistry
from adapter.runtime.feeds.memory import MemoryFeedConsumer, MemoryFeeds
from adapter.runtime.feeds.port import FeedError, FeedTopic, Read
from adapter.runtime.feeds.schemas import FeedSchemas
from adapter.storage.topics.memory import MemoryTopics, TopicExtent, UnwrittenRecord


class DisturbedTopics(MemoryTopics):
    """Topics in memory. failure: what every question about them raises. lock: held
    by a test that does several things at once."""

    def __init__(self) -> None:
        super().__init__()
        self.failure = ""
        self.lock = self._changed

    def extent(self, topic: str) -> TopicExtent:
        if self.failure:
            raise FeedError(self.failure)
        return super().extent(topic)


class DisturbedFeeds(MemoryFeeds):
    """A FeedTopics. shown: positions by feed. registry: of values' schemas. registry_failure: why
    it does not answer, if so.
    """

    def __init__(self) -> None:
        self.disturbed = DisturbedTopics()
        super().__init__(self.disturbed, FeedSchemas(self._ask_registry))
        self.registry = topic.in_memory()
        self.registry_failure = ""
        self.leaderless: set[int] = set()
        """Partitions that no broker leads."""
        self.not_shown = ""
        """Why offsets are not committed."""
        self.shown: dict[str, dict[int, int]] = {}
        self.consumers: list[WatchedConsumer] = []

    def _ask_registry(self) -> SchemaRegistry:
        if self.registry_failure:
            raise RegistryNotAvailable(self.registry_failure)
        return self.registry

    def append(self, name: str, *values: bytes | None, partition: int = 0, gap: int = 0) -> None:
        """Append records; behind them a gap of so many offsets without one."""
        first = MemoryTopics.extent(self.disturbed, name).ends[partition]
        records = (
            UnwrittenRecord(value, partition=partition, time_ms=1_000 + offset)
            for offset, value in enumerate(values, first)
        )
        self.topics.append(name, *records)
        self.topics.skip(name, gap, partition)

    def consumer(self, queue_manager: str, feed: str, topic: str) -> MemoryFeedConsumer:
        self.consumers.append(WatchedConsumer(self, feed, topic))
        return self.consumers[-1]


class WatchedConsumer(MemoryFeedConsumer):
    """A consumer that notes what it is told."""

    def __init__(self, feeds: DisturbedFeeds, feed: str, topic: str) -> None:
        super().__init__(feeds.topics, topic)
        self._feeds = feeds
        self._feed = feed
        self.closed = False

    def read(self, timeout_s: float) -> list[Read]:
        return super().read(min(timeout_s, 0.05))  # so that a failure is seen soon

    def describe(self) -> FeedTopic:
        found = super().describe()
        return msgspec.structs.replace(found, leaderless=tuple(sorted(self._feeds.leaderless)))

    def first(self, partitions: Sequence[int]) -> dict[int, int]:
        self._check_leaders(partitions)
        return super().first(partitions)

    def ends(self, partitions: Sequence[int]) -> dict[int, int]:
        self._check_leaders(partitions)
        return super().ends(partitions)

    def _check_leaders(self, partitions: Sequence[int]) -> None:
        if self._feeds.leaderless & set(partitions):
            raise FeedError("there is no leader")

    @property
    def not_shown(self) -> str:
        return self._feeds.not_shown

    def show(self, offsets: Mapping[int, int]) -> None:
        if not self._feeds.not_shown:
            self._feeds.shown[self._feed] = dict(offsets)

    def close(self) -> None:
        self.closed = True
