"""A local queue of IBM MQ: a store, its attributes, who has it open, and who waits for it.

Depth is what is available and the uncommitted puts. A lane holds the messages of one priority, but
for queues whose delivery sequence is FIFO: theirs are all in one lane. This module does not know
what a verb means.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import msgspec

from adapter.core.attributes.queue import QueueAttributes
from adapter.core.contract.lanes import LANES
from adapter.core.contract.message import MessageData
from adapter.core.contract.spans import Span
from adapter.core.contract.stored import Stored
from adapter.core.model.claims import Batch
from adapter.core.model.delays import Delays, class_of
from adapter.core.model.store import PRIORITIES, Store

ID_FIELDS: Final = ("message_id", "correlation_id", "group_id")


class Opens:
    """Who has a queue open: handles, and those of them for input, output and marked browsing.

    exclusive: the one for input is exclusive.
    """

    __slots__ = ("cooperating", "exclusive", "handles", "input", "output")

    def __init__(self) -> None:
        self.handles = 0
        self.input = 0
        self.output = 0
        self.cooperating = 0
        """Handles whose browses share their marks."""
        self.exclusive = False


class LocalQueue(Store):
    """One local queue."""

    def __init__(self, name: str, incarnation: int, attributes: QueueAttributes) -> None:
        super().__init__(name, LANES)
        self.incarnation = incarnation
        self.attributes = attributes
        self.fifo_lane = attributes.def_priority
        self.uncommitted_by_priority = [0] * PRIORITIES
        self.uncommitted_puts = 0
        self.uncommitted_delayed = 0
        """Of the uncommitted puts, those that will wait for their time."""
        self.high_depth = 0
        """The most that depth was since the figures were reset; soft."""
        self.delayed = 0
        """Messages that wait for their time: they lie elsewhere, and have their room here."""
        self.delays: Delays | None = None
        """When they are due, once there has been one."""
        self.opens = Opens()
        self.full_reported = False
        """An event said that it is full, and it has taken no persistent message since: hard."""
        self.took_soft_since = False
        """It has taken a message since that is not persistent: soft, as the message is."""
        self.triggered_ms: int | None = None
        """When the last trigger message for it was made, or put; None: not since the start."""
        self.loss_reported = False
        """No trigger message for it could be put since an event said so."""
        self.is_deleted = False
        """Handles may still lead here."""
        self.goes_unopened = False
        """It is temporary, and its subscription has ended: its last close deletes it."""
        self.consuming: dict[str, int] = {}
        """Which connection has a durable consumer open, by the consumer's name."""
        self.selections: Counter[str] = Counter()
        """The selection strings that handles were opened with, and by how many."""

    def describe(self) -> dict[str, Any]:
        """Describe its attributes for a snapshot."""
        return msgspec.structs.asdict(self.attributes)

    def note_leaving(self, stored: Stored) -> None:
        """Know a message that is removed without being brought into memory."""

    @property
    def is_temporary(self) -> bool:
        """Whether it is soft: a temporary dynamic queue."""
        return self.attributes.definition_type == "TEMPDYN"

    @property
    def is_transmission(self) -> bool:
        """Whether it holds what goes to other queue managers: USAGE(XMITQ)."""
        return self.attributes.usage == "XMITQ"

    @property
    def moves_backouts(self) -> bool:
        """Whether the queue manager moves what came back too often."""
        attributes = self.attributes
        return attributes.backout_action == "MOVE" and attributes.backout_threshold > 0

    @property
    def depth(self) -> int:
        """CurrentQDepth: available messages and uncommitted puts, but for delayed ones."""
        return self.available_count + self.uncommitted_puts - self.uncommitted_delayed

    @property
    def depth_by_priority(self) -> list[int]:
        """Available messages and uncommitted puts, by priority."""
        counts = zip(self.available_by_priority, self.uncommitted_by_priority, strict=True)
        return [available + uncommitted for available, uncommitted in counts]

    @property
    def taken_room(self) -> int:
        """How much of max_depth is taken: delayed messages have their room from the put on."""
        return self.available_count + self.uncommitted_puts + self.delayed

    @property
    def is_known_full(self) -> bool:
        """Whether an event said that it is full, and it has taken no message since."""
        return self.full_reported and not self.took_soft_since

    def report_full(self) -> None:
        """Note that an event says that the queue is full."""
        self.full_reported, self.took_soft_since = True, False

    def note_taken(self, *, logged: bool) -> None:
        """Note that the queue took a message: that it is full is to be reported again."""
        if logged:
            self.full_reported = False
        else:
            self.took_soft_since = True

    def trigger_count(self) -> int:
        """How many messages count for triggers: those of TriggerMsgPriority or higher."""
        least = self.attributes.trigger_msg_priority
        return sum(self.available_by_priority[least:]) + sum(self.uncommitted_by_priority[least:])

    def lane_of(self, message: MessageData) -> int:
        """Say which lane a message is put to; where delayed messages are, by how long they wait."""
        if message.destination:
            return class_of(message)
        if self.attributes.msg_delivery_sequence == "FIFO":
            return self.fifo_lane
        return message.priority

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
        Store.add(self, stored)
        self._note_depth()

    def unlock(self, stored: Stored) -> None:
        Store.unlock(self, stored)
        self._note_depth()

    def give_back(self, batch: Batch, more: int) -> list[Span]:
        ending = Store.give_back(self, batch, more)
        self._note_depth()
        return ending

    def _note_depth(self) -> None:
        depth = self.available_count + self.uncommitted_puts - self.uncommitted_delayed
        if depth > self.high_depth:
            self.high_depth = depth

    def add_all(self, come: list[Stored]) -> None:
        """Store messages of one lane at their places, given in their order: one at least.

        There is no index that is to see them.
        """
        lane = self.lanes[-come[0].place[0]]
        by_priority, soft = self.available_by_priority, self.soft_by_priority
        for stored in come:
            place = stored.place
            self.stored[place] = stored
            priority = stored.priority
            by_priority[priority] += 1
            if place[2]:
                lane.next_n = max(lane.next_n, place[2] + 1)
                soft[priority] += 1
            else:
                lane.next_seq = place[1] + 1
        lane.add_all(come)
        self.available_count += len(come)
        self._note_depth()

    def lock_all(self, found: list[Stored]) -> None:
        """Hide messages for a unit, given in the order of delivery: one at least."""
        place = found[0].place
        is_simple = place[0] == found[-1].place[0] and not self.indexes.is_used
        if not is_simple or not self.lanes[-place[0]].remove_first(found):
            for stored in found:
                self.lock(stored)
            return
        by_priority, soft = self.available_by_priority, self.soft_by_priority
        for stored in found:
            stored.locked = True
            priority = stored.priority
            by_priority[priority] -= 1
            if stored.place[2]:
                soft[priority] -= 1
        self.available_count -= len(found)
        self.locked_count += len(found)

    def hold_put(self, message: MessageData) -> None:
        """Count an uncommitted put."""
        self.uncommitted_puts += 1
        if message.destination:
            self.uncommitted_delayed += 1
            return
        self._note_depth()
        self.uncommitted_by_priority[message.priority] += 1

    def drop_put(self, message: MessageData) -> None:
        """Stop counting an uncommitted put: its unit has ended."""
        self.uncommitted_puts -= 1
        if message.destination:
            self.uncommitted_delayed -= 1
            return
        self.uncommitted_by_priority[message.priority] -= 1
