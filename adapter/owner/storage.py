"""What an owner keeps elsewhere so that its memory stays flat: ports, and what comes through them.

Messages come back from their topics as pages; snapshots stand for the ledger's older entries; the
movers say how much of the ledger they have copied. This module knows no Kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct

from adapter.core.contract.message import Message
from adapter.core.rules.pages import Paged
from adapter.format import descriptor
from adapter.ledger.port import Known
from adapter.ledger.snapshots import SnapshotLog

NOTHING = -1
FOREVER = -1
SNAPSHOT_ENTRIES = 10_000
SNAPSHOT_BYTES = 16 * 1024 * 1024
"""About a second of replay with small messages."""


class PagesUnavailableError(Exception):
    """A page could not be read now; the text says from which topic, and why."""


class MessageMissingError(PagesUnavailableError):
    """Kafka answers, and the message that a page is to begin with is not there."""


class Page(Struct):
    """All messages of a lane from the one asked for to seq through."""

    through: int
    messages: list[Paged]


def paged(message: Message, at: descriptor.Position) -> Paged:
    """Make what core takes of a message as its topic holds it."""
    return Paged(
        seq=at.seq,
        message=message,
        unit=at.unit,
        unit_index=at.unit_index,
        unit_size=at.unit_size,
        queue_unit_index=at.queue_unit_index,
        queue_unit_size=at.queue_unit_size,
    )


class PageReader(Protocol):
    """Reads messages back from their topics. Blocking, for one thread at a time."""

    def read(self, queue: str, incarnation: int, lane: int, seq: int, count: int) -> Page:
        """Read some messages of a lane from seq on, at least that one, about count at most.

        Raises PagesUnavailableError; MessageMissingError if it is not a matter of Kafka's answer.
        """
        ...

    def close(self) -> None:
        """Let go of the connections; twice is no error."""
        ...


Lane = tuple[str, int, int]
"""Queue, incarnation, lane."""
ALL = 2**62
"""Behind every message of a lane: of a queue that was deleted."""


class Trimmed(Struct):
    """What became of lanes that were to be trimmed.

    offsets: how many records are gone, markers of transactions included. undone: the lanes where
    something is left to do, and what failed; nothing if there was no time. topics: how many went as
    a whole.
    """

    offsets: int = 0
    undone: dict[Lane, str] = {}
    topics: int = 0


class Trimmer(Protocol):
    """Deletes consumed messages from the queues' topics."""

    def trim(self, lanes: Mapping[Lane, int]) -> Trimmed:
        """Delete of each lane the messages before the one given, whole ones. Blocking, bounded.

        Before ALL: the topic goes, for its queue was deleted. What is gone already, or whole topics
        that are, is no failure.
        """
        ...


class Copied(Struct):
    """How far the ledger has been copied, in its offsets; NOTHING if that is not known.

    position: the entries up to it have their copies on the topics for good. kept: records from
    this one on will be read again by some mover. parked: queues that are left out of position.
    """

    position: int = NOTHING
    kept: int = NOTHING
    parked: frozenset[str] = frozenset()


class Storage(Struct, kw_only=True):
    """snapshot_entries: how many entries of the ledger, or bytes of them, make a new snapshot due.

    A restart reads at most about so many, and what came while the movers were behind.
    retention_ms: how long consumed messages stay on their topics at least; see owner.retention.
    Without a trimmer they stay for ever. known: entries that the ledger must have, because others
    have read them; blocking, raises LedgerError. topic_problems: what is wrong with the topics'
    settings now, a sentence each; without it nobody looks; blocking, raises LedgerError.
    """

    snapshots: SnapshotLog
    topic_problems: Callable[[], list[str]] | None = None
    known: Callable[[], list[Known]] = list
    pages: PageReader
    copied: Callable[[], Copied]
    trimmer: Trimmer | None = None
    retention_ms: int = FOREVER
    snapshot_entries: int = SNAPSHOT_ENTRIES
    snapshot_bytes: int = SNAPSHOT_BYTES
