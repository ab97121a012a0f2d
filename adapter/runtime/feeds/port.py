"""What feeds need of a Kafka, and what is told to and by those who read for them.

A topic has an id besides its name: one that was deleted and made again has another. This module
knows no client of Kafka, and no queue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from adapter.core.attributes.feed import FeedAttributes
from adapter.core.contract.feeds import FedBatch, FeedStart
from adapter.storage.format.feeds import DecodedValue, TopicRecord


class FeedError(Exception):
    """A topic could not be read or asked about; trying again later may help."""


class UnreadableTopicError(FeedError):
    """The topic does not exist, or may not be read."""


class MissingTopicError(UnreadableTopicError):
    """The topic does not exist, as far as the broker knows that was asked."""


class UnsettledError(FeedError):
    """What some values need to be decoded may be on its way; it is known within some seconds."""


class UnaskedError(UnsettledError):
    """Not all was asked that some values need to be decoded: the time for it was over."""


class Preparation(Struct, frozen=True):
    """How long some values have waited to be decoded, and what may be asked for them now. Times are
    of the monotonic clock, in seconds.

    since_s: when they were read. round_s: what was asked since then is not asked again. until_s:
    no question is begun after it.
    """

    since_s: float
    round_s: float
    until_s: float


class FeedStopped(Exception):  # noqa: N818 -- it says what has become of the feed
    """A feed reads no further until an operator decides from where."""


class FeedTopic(Struct, frozen=True):
    """A topic as it is now. leaderless: the partitions that no broker leads, and tells of."""

    topic_id: str
    partitions: tuple[int, ...]
    leaderless: tuple[int, ...] = ()


class PartitionEnd(Struct, frozen=True):
    """Everything of a partition was read up to before this offset."""

    partition: int
    offset: int


class PartitionLost(Struct, frozen=True):
    """A partition has no record at the offset that is to be read, nor will have one."""

    partition: int


Read = TopicRecord | PartitionEnd | PartitionLost


class FeedConsumer(Protocol):
    """Reads one topic, for one thread. Every call is bounded, and raises FeedError."""

    def describe(self) -> FeedTopic:
        """Ask for the topic's id and partitions."""

    def first(self, partitions: Sequence[int]) -> dict[int, int]:
        """Ask for the offset of the first record that is there."""

    def ends(self, partitions: Sequence[int]) -> dict[int, int]:
        """Ask for the offset behind the last committed record."""

    def since(self, partitions: Sequence[int], time_ms: int) -> dict[int, int]:
        """Ask for the offset of the first record of this time or later; the end if none is."""

    def assign(self, offsets: Mapping[int, int]) -> None:
        """Read these partitions from these offsets on, beside those that are read already."""

    def pause(self, partition: int) -> None:
        """Read a partition that is assigned no further until it is resumed."""

    def resume(self, partition: int) -> None:
        """Read it on."""

    def read(self, timeout_s: float) -> Sequence[Read]:
        """Return what has come; waits so long at most for the first record."""

    def show(self, offsets: Mapping[int, int]) -> None:
        """Commit offsets for those who watch consumer groups; not_shown says what comes of it."""

    @property
    def not_shown(self) -> str:
        """Why the last offsets were not committed, as far as is known, or ""."""

    def close(self) -> None:
        """Close the connections."""


class ValueDecoder(Protocol):
    """Decodes values of records, for any thread."""

    def prepare(
        self, records: Iterable[TopicRecord], feed: FeedAttributes, wait: Preparation
    ) -> None:
        """Ask for what decode() needs of these. Raises FeedError until that is known: UnaskedError
        if more is to be asked, UnsettledError if it may be on its way, others if nothing can be
        asked.
        """

    def decode(self, record: TopicRecord, feed: FeedAttributes) -> DecodedValue | None:
        """Decode a value that was prepared; None if it is not to be decoded. Raises FeedError."""

    def close(self) -> None:
        """Let go of connections, until they are needed again."""


class FeedTopics(Protocol):
    """The topics of a Kafka, and what decodes the values of their records."""

    @property
    def decoder(self) -> ValueDecoder: ...

    def consumer(self, queue_manager: str, feed: str, topic: str) -> FeedConsumer:
        """Make a reader of a topic; raises FeedError."""


class FeedReading(Struct, frozen=True):
    """What is to be read for a feed, in a version of it that nothing changes.

    begin: from where partitions without an offset are read. topic_id: of the topic that the offsets
    are of; "" if there are none.
    """

    feed: str
    version: int
    attributes: FeedAttributes
    begin: str
    topic_id: str
    offsets: Mapping[int, int]


class SizedBatch(Struct, frozen=True):
    """A batch, and the bytes that its records were."""

    batch: FedBatch
    size: int


Deliver = Callable[[Sequence[FeedStart | SizedBatch]], None]
"""Called in the thread of a reader with what it has read, in order."""


class FeedFigures(Struct, kw_only=True):
    """Figures of one feed.

    state: "running", "paused", "waiting" (for its queue), "retrying" (Kafka does not let it read,
    or the schema registry does not answer), or "stopped" (it needs to be told from where to read);
    "starting" before the first answer of Kafka. why: what it waits for, or why it has stopped; else
    "". queue: or the topic string. positions: from where each partition is read next. ends: behind
    the last committed record of each. lag: how many offsets lie between, all together; records that
    are no messages count too. records: read since the reading began. held_bytes: of records that
    were read and wait. failures: attempts to read that failed.
    """

    state: str
    why: str
    topic: str
    queue: str
    positions: dict[int, int]
    ends: dict[int, int]
    lag: int
    records: int
    held_bytes: int
    failures: int
