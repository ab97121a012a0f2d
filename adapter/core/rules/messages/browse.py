"""Browse: show messages without removing them. It does not know how a browsed one is removed."""

from __future__ import annotations

from functools import partial
from typing import Final

from adapter.core.contract.commands import (
    BOUNDED,
    BROWSE,
    COMPLETE,
    INPUT,
    LOCK,
    LOGICAL_ORDER,
    UNDER_CURSOR,
    UNLOCK,
    UNMARKED,
    Browse,
    Request,
)
from adapter.core.contract.message import NO_ID
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.results import Messages, Result
from adapter.core.contract.stored import Stored
from adapter.core.model.handles import QueueHandle
from adapter.core.model.manager import QueueManager
from adapter.core.model.paged_index import START
from adapter.core.rules.messages.get import (
    check_allowed,
    show,
    shown_length,
    why_too_long,
)
from adapter.core.rules.primitives import cursor, groups, marks, matching, selection, waiting
from adapter.core.rules.primitives.decision import Decision, handle_of, refused

BROWSE_OPTIONS: Final = matching.BROWSE_OPTIONS | marks.OPTIONS


def decide_browse(qm: QueueManager, request: Request, command: Browse) -> Decision:
    """MQGET with MQGMO_BROWSE_FIRST or _NEXT: the next messages behind the cursor.

    A message of higher priority that arrived behind the cursor is not seen until a restart; with
    seen, which has a position for each lane in place of the cursor, it is. What
    other units have put is not seen before their commit; what they have got is not seen at all.
    """
    handle = handle_of(qm, request, command.handle, BROWSE, Reason.NOT_OPEN_FOR_BROWSE)
    queue = handle.queue
    check_allowed(handle)
    matching.check(command, queue, BROWSE_OPTIONS)
    if command.options & marks.OPTIONS:
        marks.check(handle, command)
    if command.seen is not None and (command.options or command.restart):
        raise Refusal(Reason.OPTIONS_ERROR, queue.name, "seen goes with no option and no restart")
    if command.options & LOCK and not handle.modes & INPUT:
        raise Refusal(Reason.NOT_OPEN_FOR_INPUT, queue.name)
    if command.options & UNLOCK:
        return _unlock(qm, request, handle)
    if command.options & marks.UNMARKING:
        return marks.take_away(qm, handle, command)
    shown = look(qm, request, command, handle)
    if shown is not None:
        return shown
    if command.wait_ms == 0:
        return Decision([], Messages([]), qm.entry_n)
    waiting.begin(qm, request, command, handle)
    return Decision([])


def look(
    qm: QueueManager, request: Request, command: Browse, handle: QueueHandle
) -> Decision | None:
    """Show a browse what there is now, or None."""
    before = (handle.cursor, handle.browse_head)
    locked = handle.locked
    if command.options & UNMARKED:
        marks.expire(qm, handle.queue)
    if handle.locked is None:
        found = _select(handle, command, request.now_ms)
    else:
        found = _select_beside_lock(qm, handle, command, request.now_ms)
    if not found:
        return None
    answer = _why_not_shown(qm, command, handle, found)
    if answer is not None:
        handle.cursor, handle.browse_head = before
        if command.restart and isinstance(answer, Messages):  # it is shown, and not passed
            _move_cursor(handle, command, [], inside=False)
        if locked is not None:
            cursor.lock(handle, locked)
        return Decision([], answer, qm.entry_n)
    shown = show(command.options, found)
    last = shown[-1].message
    if handle.browse_group is not None or last.group_id != NO_ID:
        groups.move_handle(qm, request, handle, "browse_group", last, b"")
    if command.options & LOCK:
        cursor.lock(handle, found[0])
    if command.options & marks.MARKING:
        marks.mark(qm, handle, command.options, found[0])
    return Decision([], Messages(shown), qm.entry_n)


def _why_not_shown(
    qm: QueueManager, command: Browse, handle: QueueHandle, found: list[Stored]
) -> Result | None:
    """Return what is answered where a message is too long for who asks, or for an answer."""
    at = None if command.restart else handle.browse_group
    mismatch = groups.why_no_match(handle.queue, command, at, found)
    if mismatch is not None:
        return refused(mismatch)
    if command.options & COMPLETE and (why := why_too_long(qm, found)):
        return refused(Refusal(Reason.UNIT_TOO_LARGE, handle.queue.name, why))
    if command.options & BOUNDED:
        shown = show(command.options, found)
        if shown_length(shown[0]) > command.length_max:
            return Messages(shown, Reason.MESSAGE_TRUNCATED)
    return None


def _unlock(qm: QueueManager, request: Request, handle: QueueHandle) -> Decision:
    """MQGMO_UNLOCK: give up the lock of the handle; the cursor stays."""
    if cursor.release(qm, handle) is None:
        raise Refusal(Reason.NO_MESSAGE_LOCKED, handle.queue.name)
    return Decision([], Messages([]), qm.entry_n)


def _select_beside_lock(
    qm: QueueManager, handle: QueueHandle, command: Browse, now_ms: int
) -> list[Stored]:
    """Choose while the handle has a lock: it sees that message, and gives it up if it finds any."""
    locked = cursor.lift(handle)
    try:
        found = _select(handle, command, now_ms)
    except (PageNeeded, Refusal):
        cursor.lock(handle, locked)
        raise
    if found:
        cursor.offer(qm, handle.queue, locked)
    else:
        cursor.lock(handle, locked)
    return found


def _select(handle: QueueHandle, command: Browse, now_ms: int) -> list[Stored]:
    options = command.options
    if command.seen is not None:
        queue = handle.queue
        is_of = command.seen_of in (None, (queue.name, queue.incarnation))
        unseen = matching.behind_each(handle, command, command.seen if is_of else ())
        return selection.first_of(unseen, command.limit, now_ms, [])
    if options & UNDER_CURSOR:
        return cursor.under(handle, now_ms, whole=bool(options & COMPLETE))
    if command.place is not None:
        found = matching.available_at(handle.queue, command, command.place, now_ms, [])
        if found and options & UNMARKED and marks.is_hidden(handle, found[0].place):
            found = []
        _move_cursor(handle, command, found, inside=False)
        return found
    in_order = bool(options & LOGICAL_ORDER)
    after = START if command.restart else handle.browse_head if in_order else handle.cursor
    at = handle.browse_group if in_order and not command.restart else None

    def is_passed_over(stored: Stored) -> bool:
        if options & UNMARKED and marks.is_hidden(handle, stored.place):
            return True
        return bool(options & COMPLETE) and selection.is_incomplete(handle.queue, stored)

    skips = partial(marks.is_hidden, handle) if options & UNMARKED else None
    fitting = selection.source(handle, command, at, after, skips)
    found = selection.first_of(fitting, command.limit, now_ms, [], is_passed_over)
    if found and options & COMPLETE:
        found = groups.parts(handle.queue, found[0])
    _move_cursor(handle, command, found[:1] if options else found, at is not None)
    return found


def _move_cursor(handle: QueueHandle, command: Browse, found: list[Stored], inside: bool) -> None:
    """inside: what was found goes on with the group that the handle was in."""
    if found:
        handle.cursor = found[-1].place
    elif command.restart:
        handle.cursor = START
        handle.browse_group = None
    else:
        return
    if not inside:
        handle.browse_head = handle.cursor
