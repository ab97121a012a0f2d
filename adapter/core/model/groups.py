"""Groups on a queue: what begins one, and which groups and segmented messages are whole.

A group is whole when every message of it, up to the one that says it is the last, is available:
put, committed, and locked by no unit. A segmented message is whole when all its bytes are. Whatever
comes or goes is counted once, so that a queue is never searched. Kept for each
group: about 700 bytes, from the first use of a group option on a queue. This module does not know
what a get asks for.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple, TypeVar

from msgspec import Struct

from adapter.core.contract.details import IN_GROUP, LAST_SEGMENT, SEGMENT
from adapter.core.contract.message import NO_ID, MessageData, Place, position_of
from adapter.core.contract.ranges import Ranges
from adapter.core.contract.stored import Stored
from adapter.core.model.views import View, Watch

NAME: Final = "groups"
AnyKey = TypeVar("AnyKey")


class Member(NamedTuple):
    """What a message says of its place in a group."""

    group_id: bytes
    number: int
    offset: int
    is_segment: bool


def member_of(message: MessageData) -> Member:
    """Return what a message says of its place in a group."""
    return Member(message.group_id, _number(message), message.offset, is_segment(message))


class Parts(Struct):
    """The segments of one message: how often each is there, by offset, length and whether it is the
    last. A program that repeats a put puts a segment twice; its bytes count once.

    total: their bytes; ends: where those end that say they are the last; firsts: the places of
    those that begin the message, in the order of delivery.
    """

    segments: Counter[tuple[int, int, bool]]
    ends: Counter[int]
    firsts: list[Place]
    total: int = 0

    @property
    def whole_at(self) -> Place | None:
        """The place of the first segment, if every byte is there, one behind the other."""
        if not self.firsts or self.total not in self.ends:
            return None
        end = 0
        for offset, length, _ in sorted(self.segments):
            if offset != end:
                return None
            end += length
        return self.firsts[0]

    def come(self, message: MessageData, place: Place) -> None:
        """Count a segment."""
        segment = _segment(message)
        self.segments[segment] += 1
        if self.segments[segment] == 1:
            self.total += segment[1]
        if segment[2]:
            self.ends[segment[0] + segment[1]] += 1
        if segment[0] == 0:
            insort(self.firsts, place)

    def go(self, message: MessageData, place: Place) -> None:
        """Count a segment no more."""
        segment = _segment(message)
        if not _count_down(self.segments, segment):
            self.total -= segment[1]
        if segment[2]:
            _count_down(self.ends, segment[0] + segment[1])
        if segment[0] == 0:
            self.firsts.remove(place)


class Group(Struct):
    """The available messages of a group. present: the numbers of those that are whole.

    again: how many more messages have such a number. lasts: the numbers of messages that say they
    are the last, and of how many each is. heads: the places of its first message, or of that
    message's first segment, in the order of delivery; of more than one if a program has put it
    again.
    """

    present: Ranges
    again: dict[int, int]
    parts: dict[int, Parts]
    heads: list[Place]
    lasts: Counter[int]
    count: int = 0

    @property
    def whole_at(self) -> Place | None:
        """The place of its first message, if every message from that to the last is there."""
        if not self.lasts or not self.heads:
            return None
        last = max(self.lasts)
        if self.present.total < last:
            return None
        low, high = self.present.spans()[0]
        return self.heads[0] if low == 1 and high >= last else None

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

    __slots__ = ("_groups", "_passed", "_stored", "heads", "messages", "whole")

    def __init__(self, stored: dict[Place, Stored]) -> None:
        """stored: what the queue has in memory, as it is at any time."""
        super().__init__()
        self._stored = stored
        self._groups: dict[bytes, Group] = {}
        self._passed: dict[Place, Member] = {}
        """What waiting requests have passed over, and need not read again to do so."""
        self.heads = View()
        self.messages = View()
        self.whole = View()

    def views(self) -> Iterable[View]:
        return self.heads, self.messages, self.whole

    def is_whole_message(self, member: Member) -> bool:
        """Whether all of a message is available, if it is a segment of one."""
        if not member.is_segment:
            return True
        group = self._groups.get(member.group_id)
        parts = group.parts.get(member.number) if group else None
        return parts is not None and parts.whole_at is not None

    def is_whole_group(self, member: Member) -> bool:
        """Whether all of the group of a message is available, if it is in one."""
        if member.group_id == NO_ID:
            return True
        group = self._groups.get(member.group_id)
        return group is not None and group.whole_at is not None

    def pass_over(self, place: Place, member: Member) -> None:
        """Remember what a message that does not do for a request is a part of."""
        if not place[2]:
            self._passed[place] = member

    def member_at(self, place: Place) -> Member | None:
        """Return what a message that was passed over is a part of."""
        return self._passed.get(place)

    def forget_passed(self) -> None:
        if self._passed:
            self._passed = {}

    def added(self, stored: Stored) -> None:
        message, place = stored.message, stored.place
        if message.group_id == NO_ID:
            for view in self.views():
                view.add(stored)
            return
        group = self._groups.get(message.group_id)
        if group is None:
            group = self._groups[message.group_id] = Group(Ranges(), {}, {}, [], Counter())
        before = group.whole_at
        number = _number(message)
        group.count += 1
        if _is_last(message):
            group.lasts[number] += 1
        if number == 1 and message.offset == 0:
            insort(group.heads, place)
            self.heads.add(stored)
        if is_segment(message):
            parts = group.parts.get(number)
            if parts is None:
                parts = group.parts[number] = Parts(Counter(), Counter(), [])
            shown = parts.whole_at
            parts.come(message, place)
            self._move_message(group, number, shown, parts.whole_at)
        else:
            self.messages.add(stored)
            group.come(number)
        self._move(self.whole, before, group.whole_at)

    def removed(self, stored: Stored) -> None:
        message, place = stored.message, stored.place
        self._passed.pop(place, None)
        if message.group_id == NO_ID:
            for view in self.views():
                view.discard(place)
            return
        group = self._groups[message.group_id]
        number = _number(message)
        before = group.whole_at
        group.count -= 1
        if is_segment(message):
            parts = group.parts[number]
            shown = parts.whole_at
            parts.go(message, place)
            self._move_message(group, number, shown, parts.whole_at)
            if not parts.segments:
                del group.parts[number]
        else:
            self.messages.discard(place)
            group.go(number)
        if _is_last(message):
            _count_down(group.lasts, number)
        if number == 1 and message.offset == 0:
            group.heads.remove(place)
            self.heads.discard(place)
        self._move(self.whole, before, group.whole_at)
        if not group.count:
            del self._groups[message.group_id]

    def _move_message(
        self, group: Group, number: int, before: Place | None, after: Place | None
    ) -> None:
        """Show a segmented message by another segment than before, or no more, or only now."""
        self._move(self.messages, before, after)
        if before is None and after is not None:
            group.come(number)
        elif before is not None and after is None:
            group.go(number)

    def _move(self, view: View, before: Place | None, after: Place | None) -> None:
        """Have a view show another place than before, or none, or only now one."""
        if before != after:
            if before is not None:
                view.discard(before)
            if after is not None:
                self._show(view, after)

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


def _segment(message: MessageData) -> tuple[int, int, bool]:
    """Return the offset of a segment, its length, and whether it is the last."""
    return message.offset, len(message.body), bool(_flags(message) & LAST_SEGMENT)


def _count_down(counts: Counter[AnyKey], key: AnyKey) -> int:
    """Count one less; returns how many are left."""
    left = counts[key] - 1
    if left:
        counts[key] = left
    else:
        del counts[key]
    return left


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
