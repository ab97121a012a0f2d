"""A queue of MSMQ: a local queue whose messages are all persistent, one lane a priority, 0 to 7.

Its name is its path name without the computer, in lower case. It knows how many bytes are on it:
of bodies, and of extensions.

Theory. A replay removes messages that are not in memory, whose length it does not know: then the
average counts. Where that is not what the message had, the live queue manager, which had it in
memory, notes so, and records the sum. So live and replayed sums are equal, and where all messages
are of one length, or the queue becomes empty, nothing is recorded. This module does not know what a
verb of MSMQ means.
"""

from __future__ import annotations

from typing import Any, Final

from adapter.core.attributes.msmq import PRIORITY_HIGHEST, MsmqAttributes
from adapter.core.contract.format_names import JOURNAL, SYSTEM
from adapter.core.contract.message import MessageData, Place
from adapter.core.contract.stored import Stored
from adapter.core.contract.weights import size_of
from adapter.core.model.queue import LocalQueue

SEQ_BITS: Final = 56


def lookup_id_of(place: Place) -> int:
    """Return the number that programs of MSMQ know a place by."""
    return (PRIORITY_HIGHEST + place[0] << SEQ_BITS) + place[1]


def place_of(lookup_id: int) -> Place:
    """Return the place that a lookup id means; no message may ever have been there."""
    lane = PRIORITY_HIGHEST - (lookup_id >> SEQ_BITS)
    return -lane, lookup_id & (1 << SEQ_BITS) - 1, 0


class HeldTotal:
    """The bytes that some queues hold together. queues: how many they are."""

    __slots__ = ("bytes", "queues")

    def __init__(self) -> None:
        self.bytes = 0
        self.queues = 0


class MsmqQueue(LocalQueue):
    """One queue of MSMQ."""

    attributes: MsmqAttributes

    def __init__(self, name: str, incarnation: int, attributes: MsmqAttributes) -> None:
        super().__init__(name, incarnation, attributes)
        self.kept_bytes = attributes.kept_bytes
        self.totals: tuple[HeldTotal, ...] = ()
        """What its bytes count for: the queue manager's, see MsmqTotals."""
        self.unsettled: dict[str, MsmqQueue] = {}
        """Queues that are to be settled, by name: the queue manager's, see Step."""
        self.leaving: dict[Place, int] = {}
        """The length of messages that a page has shown and that are not brought into memory."""
        self.uncommitted_bytes = 0
        self.locked_at: dict[Place, int] = {}
        """When messages were received in a transaction while others waited: the number of the last
        of those to come."""
        self.purged: dict[tuple[int, int], int] = {}
        """How many messages purges and deletions have removed that wait for a page: by connection
        and request."""
        self.deleter = b""
        """The session that has begun to delete it, in several steps. See queues.is_leaving()."""
        self.denials = 0
        """Handles beside which no other may be opened for receiving."""

    @property
    def base(self) -> str:
        """The name of the queue that it is a subqueue or journal of; its own otherwise."""
        return self.name.partition(";")[0]

    @property
    def part(self) -> str:
        """Which subqueue or journal it is; empty: it is a queue itself."""
        return self.name.partition(";")[2]

    @property
    def is_system_queue(self) -> bool:
        """Whether it is a dead-letter queue or the journal of a computer."""
        return self.base.rpartition("\\")[2] == SYSTEM

    @property
    def is_of_dependent(self) -> bool:
        """Whether it is a system queue of a computer that depends on the queue manager."""
        return self.is_system_queue and self.base != SYSTEM

    @property
    def is_subqueue(self) -> bool:
        """Whether it is a subqueue."""
        return self.part not in ("", JOURNAL) and not self.is_system_queue

    @property
    def is_sent_to(self) -> bool:
        """Whether programs may send to it: to no journal, subqueue or system queue."""
        return not self.part

    @property
    def is_delivered_to(self) -> bool:
        """Whether its messages have not been received yet: not so in journals and dead-letter
        queues, whose messages are copies, or reported already.
        """
        return self.is_sent_to or self.is_subqueue

    @property
    def is_needed(self) -> bool:
        """Whether it has messages, or programs and units that use it."""
        is_used = self.opens.handles or self.uncommitted_puts
        return bool(is_used or self._count())

    @property
    def held_bytes(self) -> int:
        """How many bytes are on it, or will be when units commit."""
        return self.kept_bytes + self.uncommitted_bytes

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"kept_bytes": self.kept_bytes}

    def add(self, stored: Stored) -> None:
        LocalQueue.add(self, stored)
        self._keep(self.kept_bytes + stored.length)

    def alter(self, attributes: dict[str, Any]) -> None:
        LocalQueue.alter(self, attributes)
        self._keep(attributes.get("kept_bytes", self.kept_bytes))

    def note_leaving(self, stored: Stored) -> None:
        self.leaving[stored.place] = stored.length

    def take(self, place: Place, priority: int) -> Stored | None:
        count = self._count()
        stored = LocalQueue.take(self, place, priority)
        average = self.kept_bytes // max(count, 1)
        size = self.leaving.pop(place, average) if stored is None else stored.length
        self._set_sum(self.kept_bytes - size, self.kept_bytes - average, count - 1)
        self.locked_at.pop(place, None)
        return stored

    def clear(self, kept: list[tuple[Place, int]]) -> None:
        count = self._count()
        LocalQueue.clear(self, kept)
        places = {place for place, _ in kept}
        self.locked_at = {place: n for place, n in self.locked_at.items() if place in places}
        left = self._count()
        about = self.kept_bytes * left // max(count, 1)
        is_known = left == len(self.stored)
        exact = sum(stored.length for stored in self.stored.values()) if is_known else about
        self._set_sum(exact, about, left)

    def _set_sum(self, exact: int, about: int, count: int) -> None:
        """Set the bytes on the queue. about: what a replay without contents comes to."""
        self._keep(max(0, exact) if count else 0)
        if exact != about if count else self.is_subqueue:
            self.unsettled[self.name] = self

    def hold_put(self, message: MessageData) -> None:
        LocalQueue.hold_put(self, message)
        self._hold(size_of(message))

    def drop_put(self, message: MessageData) -> None:
        LocalQueue.drop_put(self, message)
        self._hold(-size_of(message))
        if self.is_subqueue and not self.is_needed:
            self.unsettled[self.name] = self

    def _keep(self, size: int) -> None:
        """Set how many bytes are on the queue."""
        for total in self.totals:
            total.bytes += size - self.kept_bytes
        self.kept_bytes = size

    def _hold(self, size: int) -> None:
        """Count bytes of units."""
        for total in self.totals:
            total.bytes += size
        self.uncommitted_bytes += size

    def _count(self) -> int:
        return self.available_count + self.locked_count
