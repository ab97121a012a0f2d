"""Groups on a queue: what begins one, and which groups and segmented messages are whole.

A group is whole when every message of it, up to the one that says it is the last, is available:
put, committed, and locked by no unit. A segmented message is whole when all its bytes are. Whatever
comes or goes is counted once, so that a queue is never searched. Kept for each
group: about 700 bytes, from the first use of a group option on a queue. This module does not know
what a get asks for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from adapter.core.contract.details import IN_GROUP, LAST_SEGMENT, SEGMENT
from adapter.core.contract.message import NO_ID, MessageData, Place, position_of
from adapter.core.contract.ranges import Ranges
from adapter.core.contract.stored import Stored
from adapter.core.model.views import View, Watch

NAME: Final = "groups"


class Parts(Struct):
    """The segments of one message. total: their bytes; end: of the last one, or -1."""

    count: int = 0
    total: int = 0
    end: int = -1
    first: Place | None = None

    @property
    def is_whole(self) -> bool:
        """Whether every byte is there, so also the first segment."""
        return self.first is not None and self.total == self.end


class Group(Struct):
    """The available messages of a group. present: the numbers of those that are whole.

    again: how many more messages have such a number. last: the number of the last one, or 0. heads:
    the places of its first message, or of that message's first segment; of more than one if a
    program has put it again.
    """

    present: Ranges
    again: dict[int, int]
    parts: dict[int, Parts]
    heads: list[Place]
    count: int = 0
    last: int = 0

    @property
    def whole_at(self) -> Place | None:
        """The place of its first message, if every message from that to the last is there."""
        if not self.last or not self.heads or self.present.total < self.last:
            return None
        low, high = self.present.spans()[0]
        return self.heads[0] if low == 1 and high >= self.last else None

    def come(self, number: int) -> None:
        """Count a whole message."""
        if number in self.present:
            self.again[number] = self.again.get(number, 0) + 1
        else:
            self.present.add(number)

    def go(self, number: int) -> None:
        """Count a whole message no more."""
        again = self.again.pop(number, 0)
        if again > 1:
            self.again[number] = again - 1
        elif not again:
            self.present.remove(number)


class Groups(Watch):
    """Three views of a queue: what begins a group, whole messages, and whole groups.

    Each has the messages that belong to no group too, and the last two of every group or segmented
    message only its first part.
    """

    __slots__ = ("_groups", "_stored", "heads", "messages", "whole")

    def __init__(self, stored: dict[Place, Stored]) -> None:
        """stored: what the queue has in memory, as it is at any time."""
        super().__init__()
        self._stored = stored
        self._groups: dict[bytes, Group] = {}
        self.heads = View()
        self.messages = View()
        self.whole = View()

    def views(self) -> Iterable[View]:
        return self.heads, self.messages, self.whole

    def is_whole_message(self, message: MessageData) -> bool:
        """Whether all of a message is available, if it is a segment of one."""
        if not is_segment(message):
            return True
        group = self._groups.get(message.group_id)
        parts = group.parts.get(_number(message)) if group else None
        return parts is not None and parts.is_whole

    def is_whole_group(self, message: MessageData) -> bool:
        """Whether all of the group of a message is available, if it is in one."""
        if message.group_id == NO_ID:
            return True
        group = self._groups.get(message.group_id)
        return group is not None and group.whole_at is not None

    def added(self, stored: Stored) -> None:
        message, place = stored.message, stored.place
        if message.group_id == NO_ID:
            for view in self.views():
                view.add(stored)
            return
        group = self._groups.get(message.group_id)
        if group is None:
            group = self._groups[message.group_id] = Group(Ranges(), {}, {}, [])
        before = group.whole_at
        number = _number(message)
        group.count += 1
        if _is_last(message):
            group.last = number
        if number == 1 and message.offset == 0:
            group.heads.append(place)
            self.heads.add(stored)
        if is_segment(message):
            self._add_segment(group, number, message, place)
        else:
            self.messages.add(stored)
            group.come(number)
        self._move(before, group.whole_at)

    def _move(self, before: Place | None, after: Place | None) -> None:
        """Show a group by another message than before, or no more, or only now."""
        if before != after:
            if before is not None:
                self.whole.discard(before)
            if after is not None:
                self._show(self.whole, after)

    def _add_segment(self, group: Group, number: int, message: MessageData, place: Place) -> None:
        parts = group.parts.setdefault(number, Parts())
        was_whole = parts.is_whole
        parts.count += 1
        parts.total += len(message.body)
        if _flags(message) & LAST_SEGMENT:
            parts.end = message.offset + len(message.body)
        if message.offset == 0 and parts.first is None:
            parts.first = place
        if not was_whole and parts.is_whole:
            assert parts.first is not None, "what is whole has a beginning"
            self._show(self.messages, parts.first)
            group.come(number)

    def removed(self, stored: Stored) -> None:
        message, place = stored.message, stored.place
        if message.group_id == NO_ID:
            for view in self.views():
                view.discard(place)
            return
        group = self._groups[message.group_id]
        number = _number(message)
        before = group.whole_at
        group.count -= 1
        if is_segment(message):
            self._remove_segment(group, number, message, place)
        else:
            self.messages.discard(place)
            group.go(number)
        if _is_last(message) and number not in group.parts and number not in group.present:
            group.last = 0
        if place in group.heads:
            group.heads.remove(place)
            self.heads.discard(place)
        self._move(before, group.whole_at)
        if not group.count:
            del self._groups[message.group_id]

    def _remove_segment(
        self, group: Group, number: int, message: MessageData, place: Place
    ) -> None:
        parts = group.parts[number]
        first, was_whole = parts.first, parts.is_whole
        parts.count -= 1
        parts.total -= len(message.body)
        if _flags(message) & LAST_SEGMENT:
            parts.end = -1
        if first == place:
            parts.first = None
        if was_whole and first is not None and not parts.is_whole:
            self.messages.discard(first)
            group.go(number)
        if not parts.count:
            del group.parts[number]

    def _show(self, view: View, place: Place) -> None:
        """Put what is at a place into a view, in memory or not."""
        stored = self._stored.get(place)
        if stored is None:
            view.add_paged(place)
        else:
            view.add(stored)


class Progress(Struct):
    """Where a handle is in a group, or in a segmented message. number, offset: of what is next.

    logical: it came there in logical order, so that leaving the group is worth a word.
    """

    group_id: bytes
    number: int
    offset: int
    in_group: bool
    in_message: bool
    persistence: int
    in_unit: bool
    logical: bool

    @property
    def position(self) -> bytes:
        """What Message.group_position says of the next one."""
        return position_of(self.group_id, self.number, self.offset)


def progress_after(message: MessageData, in_unit: bool, logical: bool) -> Progress | None:
    """Say what is next after a message, or None if nothing is."""
    in_message = is_segment(message) and not _flags(message) & LAST_SEGMENT
    in_group = is_in_group(message)
    if in_message:
        number, offset = message.group_seq, message.offset + len(message.body)
    elif in_group and not message.last_in_group:
        number, offset = message.group_seq + 1, 0
    else:
        return None
    return Progress(
        message.group_id,
        number,
        offset,
        in_group,
        in_message,
        message.persistence,
        in_unit,
        logical,
    )


def segment_status(message: MessageData) -> str:
    """Return MQGMO.SegmentStatus: "S" a segment, "L" the last one, " " none."""
    if not is_segment(message):
        return " "
    return "L" if _flags(message) & LAST_SEGMENT else "S"


def is_segment(message: MessageData) -> bool:
    """Whether it is a part of a longer message."""
    return message.details is not None and bool(message.details.flags & SEGMENT)


def _flags(message: MessageData) -> int:
    return message.details.flags if message.details is not None else 0


def _number(message: MessageData) -> int:
    """Return the number in its group; a segmented message outside any is a group of its own."""
    return message.group_seq if is_in_group(message) else 1


def _is_last(message: MessageData) -> bool:
    return message.last_in_group or not is_in_group(message)


def is_in_group(message: MessageData) -> bool:
    """Whether it belongs to a group; a segment outside any has a group id too."""
    if message.group_id == NO_ID or not message.group_id:
        return False
    return not is_segment(message) or bool(_flags(message) & IN_GROUP)
