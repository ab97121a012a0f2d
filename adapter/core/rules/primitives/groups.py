"""Groups and segmented messages: numbering them as they are put, and getting them in logical order.

Theory. A group is messages with one group id, numbered from 1; a segmented message is segments with
one group id and number, at ascending offsets. Physical order is that of the queue; logical order is
that of the numbers and offsets. Both are properties of the messages; a queue has no group objects.

A handle remembers where it is in a group, for puts, gets and browses apart (MQPMO_LOGICAL_ORDER and
MQGMO_LOGICAL_ORDER), as the *position* that comes next: group id, number, offset. A put in logical
order is given that position. A get in logical order asks the id index for the message at that
position, wherever it lies on the queue; only a handle that is in no group looks at what begins one.

ALL_MSGS and ALL_SEGMENTS ask for what is whole. model.groups counts the messages of each group and
the bytes of each segmented message as they come and go, so that "whole" is a look at a counter.
What a unit holds does not count. COMPLETE_MSG joins the segments, found one after the other by
their positions; if their offsets do not fit together the message is passed over.

What a handle has come to inside a unit is undone if the unit is backed out, so that a group may
span units. This module does not know how messages become records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final, Literal

from adapter.core.contract.commands import (
    ALL_MESSAGES,
    ALL_SEGMENTS,
    COMPLETE,
    CONTEXT_OPTIONS,
    CONTINUES,
    IF_PERSISTENT,
    KEEP_END,
    LOGICAL_ORDER,
    MATCH_OFFSET,
    Browse,
    Get,
    Put,
    Request,
)
from adapter.core.contract.details import (
    IN_GROUP,
    LAST_IN_GROUP,
    LAST_SEGMENT,
    SEGMENT,
    Details,
)
from adapter.core.contract.message import NO_ID, MessageData, Place, position_of
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.stored import Stored
from adapter.core.model.groups import (
    NAME,
    Groups,
    Member,
    Progress,
    member_of,
    progress_after,
    segment_status,
)
from adapter.core.model.handles import QueueHandle
from adapter.core.model.manager import QueueManager
from adapter.core.model.paged_index import START, Skips
from adapter.core.model.queue import LocalQueue
from adapter.core.rules.primitives import matching
from adapter.core.rules.primitives.decision import connection_of

Kind = Literal["put_group", "get_group", "browse_group"]


OF_EACH: Final = CONTEXT_OPTIONS | KEEP_END
"""Options of a put that say something of each message, and nothing of their order."""


def number(qm: QueueManager, command: Put, handle: QueueHandle) -> int:
    """Number what is put in logical order; returns the reason of a warning, or 0.

    Refuses what leaves a group or a message unfinished, or differs from the rest of its group. Put
    in physical order it is only said that a group has been left.
    """
    at = handle.put_group
    options = command.options & ~OF_EACH
    if options & ~(LOGICAL_ORDER | CONTINUES) or options == CONTINUES:
        raise Refusal(Reason.OPTIONS_ERROR, handle.queue.name, f"options {command.options}")
    check_continues(options, handle, at)
    if not options:
        return unfinished(at)
    in_unit = bool(command.unit)
    for message in command.messages:
        if at is None:
            _begin(qm, message)
        else:
            _go_on(handle.queue, message, at, in_unit)
        at = progress_after(message, in_unit, True)
    return 0


def check_continues(options: int, handle: QueueHandle, at: Progress | None) -> None:
    """Refuse to begin a group where the handle's client goes on with one: the place that the handle
    had in it went with a connection or an owner. at: the place that it has now.
    """
    if options & CONTINUES and at is None:
        raise Refusal(Reason.GROUP_POSITION_LOST, handle.queue.name)


def unfinished(at: Progress | None) -> int:
    """Return the reason for which a group or message is left in the middle, or 0."""
    if at is None or not at.logical:
        return 0
    return Reason.INCOMPLETE_MESSAGE if at.in_message else Reason.INCOMPLETE_GROUP


def _begin(qm: QueueManager, message: MessageData) -> None:
    flags = _flags_of(message)
    message.group_id = qm.numbers.new_message_id() if flags & (IN_GROUP | SEGMENT) else b""
    message.group_seq = 1
    _place_segment(message, flags, 0)


def _go_on(queue: LocalQueue, message: MessageData, at: Progress, in_unit: bool) -> None:
    flags = _flags_of(message)
    in_group = bool(flags & IN_GROUP)
    if at.in_message and (not flags & SEGMENT or in_group != at.in_group):
        raise Refusal(Reason.INCOMPLETE_MESSAGE, queue.name)
    if not in_group and at.in_group:
        raise Refusal(Reason.INCOMPLETE_GROUP, queue.name)
    if message.persistence != at.persistence:
        raise Refusal(Reason.INCONSISTENT_PERSISTENCE, queue.name)
    if in_unit != at.in_unit:
        raise Refusal(Reason.INCONSISTENT_UNIT, queue.name)
    message.group_id, message.group_seq = at.group_id, at.number
    _place_segment(message, flags, at.offset)


def _place_segment(message: MessageData, flags: int, offset: int) -> None:
    if message.details is not None:
        message.details.offset = offset if flags & SEGMENT else 0
        settle(message, message.details)


def settle(message: MessageData, details: Details) -> None:
    """Make flags, group and offset of a message say the same; what flags do not ask for goes.

    A group id without flags is a group all the same, as for programs that know no flags.
    """
    flags = _flags_of(message)
    if message.group_id and not flags & SEGMENT:
        flags |= IN_GROUP
    message.last_in_group = bool(flags & LAST_IN_GROUP)
    if not flags & SEGMENT:
        details.offset = 0
    details.flags = flags


def _flags_of(message: MessageData) -> int:
    """Return the flags that a put asks for, each with what it implies."""
    flags = message.details.flags if message.details is not None else 0
    if flags & LAST_SEGMENT:
        flags |= SEGMENT
    if message.last_in_group or flags & LAST_IN_GROUP:
        flags |= IN_GROUP | LAST_IN_GROUP
    return flags


def candidates(
    handle: QueueHandle, command: Get | Browse, at: Progress | None, after: Place = START
) -> Iterable[Stored]:
    """Iterate over the messages that fit, where groups or segmented messages count as a whole."""
    if command.options & LOGICAL_ORDER and at is not None:
        return _following(handle.queue, command.options, at)
    return _beginning(handle, command, after)


def _following(queue: LocalQueue, options: int, at: Progress) -> Iterable[Stored]:
    """Iterate over what goes on with the group or segmented message that a handle is in."""
    following = partial(queue.indexes.with_id, "group_position", at.position, START)
    if not options & (COMPLETE | ALL_SEGMENTS) or (at.in_message and not options & COMPLETE):
        return following()
    found = queue.indexes.watch(NAME, partial(Groups, queue.stored))
    return _only(found, following, lambda _, member: found.is_whole_message(member))


def _beginning(handle: QueueHandle, command: Get | Browse, after: Place) -> Iterable[Stored]:
    """Iterate over what a handle that is in no group may begin with."""
    queue, options = handle.queue, command.options
    found = queue.indexes.watch(NAME, partial(Groups, queue.stored))
    source: Callable[[Skips], Iterable[Stored]]
    if matching.ids(command) or options & matching.MATCH or handle.fits is not None:
        source = partial(matching.candidates, handle, command, after)
    elif options & ALL_MESSAGES:
        return found.whole.in_order(queue.name, after)
    elif not options & LOGICAL_ORDER:
        return found.messages.in_order(queue.name, after)
    else:
        source = partial(found.heads.in_order, queue.name, after)
    return _only(found, source, partial(_is_whole, found, command))


def _only(
    found: Groups,
    source: Callable[[Skips], Iterable[Stored]],
    does: Callable[[Place, Member], bool],
) -> Iterator[Stored]:
    """Iterate over those messages of a source that do for a request by what is there of them.

    One that does not is remembered by what it is a part of. It need not be read again to be passed
    over, so that a request ends, whatever leaves memory while it waits for pages.
    """

    def skips(place: Place) -> bool:
        member = found.member_at(place)
        return member is not None and not does(place, member)

    for stored in source(skips):
        member = member_of(stored.message)
        if does(stored.place, member):
            yield stored
        else:
            found.pass_over(stored.place, member)


def _is_whole(found: Groups, command: Get | Browse, place: Place, member: Member) -> bool:
    options = command.options
    if options & LOGICAL_ORDER and not found.heads.has(place):
        return False
    if options & ALL_MESSAGES and not found.is_whole_group(member):
        return False
    if not options & (ALL_SEGMENTS | COMPLETE):
        return True
    if member.offset and (options & COMPLETE or not _names_segment(command)):
        return False
    return found.is_whole_message(member)


def _names_segment(command: Get | Browse) -> bool:
    """Whether a segment behind the first may be meant: else a message is shown by its first one.

    That one may have expired and not be removed yet; what is behind it is not shown for it.
    """
    return bool(command.options & MATCH_OFFSET or command.message_id or command.correlation_id)


def parts(queue: LocalQueue, first: Stored) -> list[Stored]:
    """Return the segments of a message that is whole, from its first one; may raise PageNeeded.

    None at all if their offsets do not fit together, whatever their bytes add up to; nor if some
    are persistent and others are not: what becomes of those in a crash differs.
    """
    found = [first]
    message = first.message
    offset = len(message.body)
    while segment_status(message) == "S":
        position = position_of(message.group_id, message.group_seq, offset)
        following = next(iter(queue.indexes.with_id("group_position", position)), None)
        if following is None or following.message.persistence != first.message.persistence:
            return []
        found.append(following)
        message = following.message
        offset += len(message.body)
    return found


def check_get(command: Get, handle: QueueHandle) -> None:
    """Refuse a get in logical order that is in a unit and the others of its group are not, or that
    goes on with a group which the handle is not in any more.
    """
    at = handle.get_group
    check_continues(command.options, handle, at)
    if command.options & IF_PERSISTENT:
        return  # what it finds says whether it is in the unit
    if at is not None and at.in_unit != bool(command.unit):
        raise Refusal(Reason.INCONSISTENT_UNIT, handle.queue.name)


def why_no_match(
    queue: LocalQueue, command: Get | Browse, at: Progress | None, found: list[Stored]
) -> Refusal | None:
    """Say why what goes on with a group is refused: ids or numbers ask for another message. at:
    where the handle is, if that counts. None if it is what is asked for.
    """
    if (
        at is None
        or not command.options & LOGICAL_ORDER
        or matching.is_asked_for(found[0], command)
    ):
        return None
    return Refusal(Reason.MATCH_OPTIONS_ERROR, queue.name)


def follow(
    qm: QueueManager,
    request: Request,
    command: Get,
    handle: QueueHandle,
    unit: bytes,
    last: MessageData,
) -> int:
    """Note where in a group a handle is after a get; returns the reason of a warning, or 0."""
    if handle.get_group is None and last.group_id == NO_ID:
        return 0
    warning = 0 if command.options & LOGICAL_ORDER else unfinished(handle.get_group)
    move_handle(qm, request, handle, "get_group", last, unit)
    return warning


def move_handle(
    qm: QueueManager,
    request: Request,
    handle: QueueHandle,
    kind: Kind,
    message: MessageData,
    unit: bytes,
) -> None:
    """Remember where a handle is now; in a unit also where it was, for a backout."""
    before: Progress | None = getattr(handle, kind)
    logical = bool(getattr(request.command, "options", 0) & LOGICAL_ORDER)
    now = progress_after(message, bool(unit), logical)
    if now == before:
        return
    if unit:
        restore = connection_of(qm, request).units[unit].restore
        restore.setdefault((handle, kind), partial(setattr, handle, kind, before))
    setattr(handle, kind, now)
