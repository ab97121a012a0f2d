"""A queue: its lanes, what is available on it, its figures and its waiters.

The invariant: a stored message is either available or locked by one unit, never both; depth is
the available ones plus the uncommitted puts. This module does not know what a verb means.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from adapter.core.attributes import QueueAttributes
from adapter.core.model.message import PRIORITY_MAX, Message, Place, Stored
from adapter.core.model.places import Places
from adapter.core.model.waiter import Waiter

LANES = PRIORITY_MAX + 1
ID_FIELDS = ("message_id", "correlation_id", "group_id")


class Lane:
    """The messages of one priority. next_seq numbers the next persistent one, densely from 1."""

    __slots__ = ("available", "next_n", "next_seq")

    def __init__(self) -> None:
        self.available = Places()
        self.next_seq = 1
        self.next_n = 1  # of the next non-persistent message behind seq next_seq - 1


class Queue:
    """One local queue."""

    def __init__(self, name: str, incarnation: int, attributes: QueueAttributes) -> None:
        self.name = name
        self.incarnation = incarnation
        self.attributes = attributes
        self.fifo_lane = attributes.def_priority
        self.lanes = [Lane() for _ in range(LANES)]
        self.stored: dict[Place, Stored] = {}
        self.depth_by_priority = [0] * LANES
        self.available_count = 0
        self.uncommitted_puts = 0
        self.locked_count = 0
        self.open_input = 0
        self.open_output = 0
        self.open_handles = 0
        self.exclusive = False
        self.full_reported = False
        self.waiters: deque[Waiter] = deque()
        self._index: dict[str, dict[bytes, Places]] = {}

    @property
    def depth(self) -> int:
        """CurrentQDepth: available messages and uncommitted puts."""
        return self.available_count + self.uncommitted_puts

    def lane_of(self, priority: int) -> int:
        """Say which lane a message of this priority is put to."""
        if self.attributes.msg_delivery_sequence == "FIFO":
            return self.fifo_lane
        return priority

    def alter(self, attributes: dict[str, Any]) -> None:
        """Take new attribute values.

        A queue that is FIFO keeps its lane when the default priority changes: messages put later
        would come before others, or behind them, by that.
        """
        was_fifo = self.attributes.msg_delivery_sequence == "FIFO"
        for name, value in attributes.items():
            setattr(self.attributes, name, value)
        if not was_fifo:
            self.fifo_lane = self.attributes.def_priority

    def add(self, stored: Stored) -> None:
        """Store a message at its place and advance its lane's numbering."""
        lane_number, seq, n = stored.place
        lane = self.lanes[-lane_number]
        if n:
            if seq == lane.next_seq - 1:
                lane.next_n = max(lane.next_n, n + 1)
        else:
            lane.next_seq = seq + 1
            lane.next_n = 1
        self.stored[stored.place] = stored
        self._offer(stored)

    def lock(self, stored: Stored) -> None:
        """Hide a message for a unit."""
        self._withdraw(stored)
        stored.locked = True
        self.locked_count += 1

    def unlock(self, stored: Stored) -> None:
        """Return a message to its place."""
        stored.locked = False
        self.locked_count -= 1
        self._offer(stored)

    def take(self, place: Place) -> Stored:
        """Remove a message for good; KeyError if there is none at that place."""
        stored = self.stored.pop(place)
        if stored.locked:
            self.locked_count -= 1
        else:
            self._withdraw(stored)
        return stored

    def in_order(self) -> Iterator[Stored]:
        """Iterate over the available messages in the order of delivery."""
        for lane in reversed(self.lanes):
            if lane.available:
                yield from lane.available

    def in_order_after(self, place: Place) -> Iterator[Stored]:
        """Iterate over the available messages strictly behind a place."""
        for number in range(min(-place[0], LANES - 1), -1, -1):
            yield from self.lanes[number].available.after(place)

    def with_id(self, field: str, value: bytes) -> Places:
        """Return the available messages with this id, by an index built on first use."""
        index = self._index.get(field)
        if index is None:
            index = self._index[field] = {}
            for stored in self.in_order():
                _index_add(index, getattr(stored.message, field), stored)
        return index.get(value) or Places()

    def _offer(self, stored: Stored) -> None:
        self.lanes[-stored.place[0]].available.add(stored)
        self.available_count += 1
        self.depth_by_priority[stored.message.priority] += 1
        for field, index in self._index.items():
            _index_add(index, getattr(stored.message, field), stored)

    def _withdraw(self, stored: Stored) -> None:
        self.lanes[-stored.place[0]].available.remove(stored)
        self.available_count -= 1
        self.depth_by_priority[stored.message.priority] -= 1
        for field, index in self._index.items():
            value = getattr(stored.message, field)
            places = index[value]
            places.remove(stored)
            if not places:
                del index[value]

    def hold_put(self, message: Message) -> None:
        """Count an uncommitted put."""
        self.uncommitted_puts += 1
        self.depth_by_priority[message.priority] += 1

    def drop_put(self, message: Message) -> None:
        """Stop counting an uncommitted put: its unit has ended."""
        self.uncommitted_puts -= 1
        self.depth_by_priority[message.priority] -= 1


def _index_add(index: dict[bytes, Places], value: bytes, stored: Stored) -> None:
    places = index.get(value)
    if places is None:
        places = index[value] = Places()
    places.add(stored)
