"""What carries records between queue managers: topics of one partition, in memory or on a Kafka.

A topic has an identity besides its name: one that was deleted and made again has another. Its
records have offsets, which only grow. Readers see committed records only. This module knows no
message and no queue manager.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct


class NetworkError(Exception):
    """Something could not be sent, read or made; trying again later may help."""


class TopicMissing(NetworkError):  # noqa: N818 -- it says what is wrong
    """The topic is not there."""


class DestinationUnknown(TopicMissing):
    """The directory does not have the destination; it says when that changes."""


class SentRecord(Struct):
    """A record as it is appended. value None: the key is to be forgotten (directory)."""

    value: bytes | None
    headers: Sequence[tuple[str, bytes]] = ()
    key: bytes | None = None


class ReceivedRecord(Struct):
    """A record as it is read. value None: as above. headers None: they cannot be read."""

    topic: str
    offset: int
    value: bytes | None
    headers: Mapping[str, bytes | None] | None
    key: bytes | None = None

    @property
    def size(self) -> int:
        """Bound roughly what it takes in memory."""
        values = (self.headers or {}).values()
        return len(self.value or b"") + sum(map(len, filter(None, values))) + 512


class TopicLost(Struct):
    """A topic cannot be read on from where its reading has come to: it was deleted, or trimmed.

    is_there: it may be read on later, from there: when the right to read it has been granted again,
    or what is damaged has been deleted.
    """

    topic: str
    why: str
    is_there: bool = False


class TopicWriter(Protocol):
    """Appends to topics. For one thread."""

    def append(self, topic: str, records: Sequence[SentRecord]) -> None:
        """Append in order; they are durable when this returns. Blocking, bounded.

        Raises TopicMissing, or NetworkError: then any of them may be there, now or later, and this
        writer is of no more use.
        """

    def close(self) -> None:
        """Close the connections."""


class TopicFollower(Protocol):
    """Reads topics as they grow. For one thread."""

    def follow(self, topic: str, offset: int) -> None:
        """Read a topic from an offset on, also if it is read already."""

    def leave(self, topic: str) -> None:
        """Read it no more."""

    def pause(self, topic: str) -> None:
        """Read it no further until it is resumed."""

    def resume(self, topic: str) -> None:
        """Read it on."""

    def read(self, timeout_s: float) -> list[ReceivedRecord | TopicLost]:
        """Return what has come, of all topics; waits so long at most for the first record.

        A topic that is lost is left, and has to be followed again. One that was deleted need not be
        reported: its identity shows it. Raises NetworkError.
        """

    def bounds(self, topic: str) -> tuple[int, int]:
        """Return the offsets of the first record that may be there, and behind the last."""

    def has_read_all(self, topic: str) -> bool:
        """Whether read() has returned all that a followed topic has by now. Raises NetworkError."""

    def close(self) -> None:
        """Close the connections."""


class Transport(Protocol):
    """Topics between queue managers. For any thread; every call is bounded. Raises NetworkError."""

    def open(self, topic: str) -> str:
        """Make a topic, or check the one that is there; return its identity."""

    def open_directory(self, topic: str) -> str:
        """Make the topic of the directory, of which the last record of each key is kept."""

    def identities(self, topics: Sequence[str], *, to_write: bool = False) -> dict[str, str]:
        """Return the identities of those topics that are there.

        to_write: they are to be written, as an error is to say that finds this denied.
        """

    def bounds(self, topic: str) -> tuple[int, int]:
        """Return the offsets of the first record that is there, and behind the last."""

    def trim(self, offsets: Mapping[str, int]) -> None:
        """Delete the records of topics before an offset each; those that are gone are no error."""

    def writer(self) -> TopicWriter:
        """Make a writer."""

    def follower(self) -> TopicFollower:
        """Make a reader, which follows nothing yet."""

    def close(self) -> None:
        """Close the connections of this object, not those of its writers and followers.

        They are made again when they are needed.
        """
