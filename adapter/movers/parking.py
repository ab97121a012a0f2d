"""Topics that cannot be written: left out, tried again now and then, and caught up with.

A parked topic has a position of its own in the ledger, in the progress record: all its copies
before it are written, none behind it is. So parking is always safe, be it for a wrong reason, and
costs order and delay on that topic alone. This module knows when to try and what is whose; it must
not know how anything is produced.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from msgspec import Struct

from adapter.core.contract.records import QueueDefined, QueueDeleted
from adapter.format import names
from adapter.format.movable import Copy, Movable
from adapter.format.progress import NOWHERE, Parked
from adapter.ledger.port import Entry, LedgerReader, Position

RETRY_S = 1.0
RETRY_S_MAX = 60.0
"""Before a parked topic is tried again: a try may hold the others for some seconds."""
SLICE_S = 0.2
"""How long a topic is caught up with before the others have their turn."""


class Held(Struct):
    """A parked topic as others see it: what waits for it, and why."""

    messages: int
    bytes: int
    why: str


class Parking:
    """When which parked topic is tried again. Outlives the terms of its mover."""

    def __init__(self) -> None:
        self._due_s: dict[str, float] = {}
        self._pause_s: dict[str, float] = {}

    def failed(self, topic: str, now_s: float) -> None:
        """A topic could not be written: try again after a while, each time longer."""
        pause_s = min(2 * self._pause_s.get(topic, RETRY_S / 2), RETRY_S_MAX)
        self._pause_s[topic] = pause_s
        self._due_s[topic] = now_s + pause_s

    def due(self, topics: Iterable[str], now_s: float) -> str | None:
        """Say which of these topics to try now: at once, if it was parked before a start."""
        for topic in topics:
            if self._due_s.get(topic, now_s) <= now_s:
                return topic
        return None

    def forget(self, topic: str) -> None:
        """A topic is written again."""
        self._due_s.pop(topic, None)
        self._pause_s.pop(topic, None)


class CatchUp:
    """Reads the ledger for one parked topic, from its place on. A resource: close() it."""

    def __init__(self, topic: str, parked: Parked, reader: LedgerReader) -> None:
        _, self.queue, self._incarnation = names.parse_queue_topic(topic)
        self.topic = topic
        self.pending: deque[Entry] = deque()
        self.is_deleted = False
        """Whether the ledger says that the queue was deleted: nothing follows."""
        if parked.offset == NOWHERE and not parked.records:
            parked.defined = False  # nothing is, where the ledger begins
        self._parked = parked
        self._reader = reader

    def next_entry(self, timeout_s: float) -> Entry | None:
        """The entry that is next until it is taken from pending; None if none came in time."""
        if not self.pending:
            self.pending.extend(self._reader.read(timeout_s))
        return self.pending[0] if self.pending else None

    def share(self, record: list[Movable]) -> list[Movable]:
        """What of a record is this topic's; records are to be given in order, each once."""
        first = record[0] if record else None
        if isinstance(first, QueueDefined | QueueDeleted):
            if first.name == self.queue:
                self._follow(first)
            return []
        if not self._parked.defined:
            return []
        return [one for one in record if isinstance(one, Copy) and one.queue == self.queue]

    def _follow(self, change: QueueDefined | QueueDeleted) -> None:
        if isinstance(change, QueueDeleted):
            self.is_deleted = self._parked.defined
            self._parked.defined = False
        else:
            self._parked.defined = change.incarnation == self._incarnation

    def close(self) -> None:
        """Let go of the reader."""
        self._reader.close()


def position_of(parked: Parked) -> Position | None:
    """Where a reader goes on for a parked topic; None is the ledger's start."""
    if parked.offset == NOWHERE:
        return None
    return Position(parked.offset, parked.owner, parked.n)
