"""Browsing with marks: what was browsed is not shown again, to one handle or to a set of them.

Handles that are open for CO_OP are the set of their queue. A mark ends when its message is got,
even in a unit that is backed out, or expires; with its handle, or with the last one of the set;
when it is taken away; and the set's marks when the queue manager's mark_interval_ms is over.
"""

from __future__ import annotations

from typing import Final

from adapter.core.contract import commands as c
from adapter.core.contract.message import Place
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.results import Messages
from adapter.core.contract.stored import Stored, delivered
from adapter.core.model.handles import QueueHandle
from adapter.core.model.manager import QueueManager
from adapter.core.model.marks import Marks
from adapter.core.model.queue import LocalQueue
from adapter.core.rules.primitives import matching
from adapter.core.rules.primitives.decision import Decision

MARKING: Final = c.MARK_HANDLE | c.MARK_CO_OP
UNMARKING: Final = c.UNMARK_HANDLE | c.UNMARK_CO_OP
OPTIONS: Final = MARKING | UNMARKING | c.UNMARKED
FOR_EVER: Final = -1


def check(handle: QueueHandle, command: c.Browse) -> None:
    """Refuse what cannot be marked, and what goes with no mark (MQRC_OPTIONS_ERROR)."""
    asked, name = command.options, handle.queue.name
    if asked & UNMARKING and asked not in (c.UNMARK_HANDLE, c.UNMARK_CO_OP):
        raise Refusal(
            Reason.OPTIONS_ERROR,
            name,
            "an option that removes a mark cannot be combined with other options",
        )
    if asked & UNMARKING and command.place is None:
        raise Refusal(Reason.OPTIONS_ERROR, name, "the place of the marked message is missing")
    if asked & MARKING == MARKING:
        raise Refusal(Reason.OPTIONS_ERROR, name, "a mark is for one handle, or for the set")
    if asked & (matching.WHOLE | c.LOCK | c.UNLOCK):
        text = "groups, segments and locks go with no mark"
        raise Refusal(Reason.OPTIONS_ERROR, name, text)
    if asked & (c.MARK_CO_OP | c.UNMARK_CO_OP) and not handle.modes & c.CO_OP:
        raise Refusal(Reason.OPTIONS_ERROR, name, "the handle is not open for CO_OP")


def is_hidden(handle: QueueHandle, place: Place) -> bool:
    """Whether a browse for what is not marked passes over the message at a place."""
    marks = handle.queue.marks
    if marks is None:
        return False
    return marks.is_marked(place, handle, cooperates=bool(handle.modes & c.CO_OP))


def mark(qm: QueueManager, handle: QueueHandle, options: int, stored: Stored) -> None:
    """Mark what a browse shows."""
    queue = handle.queue
    if queue.marks is None:
        queue.marks = Marks()
    queue.marks.mark(stored.place, handle, qm.elapsed_ms if options & c.MARK_CO_OP else None)
    _look_again(qm, queue, queue.marks)


def _look_again(qm: QueueManager, queue: LocalQueue, marks: Marks) -> None:
    """Schedule a check for when the oldest mark of the set is over."""
    oldest_ms, interval_ms = marks.oldest_ms(), qm.attributes.mark_interval_ms
    if marks.wake_ms or oldest_ms is None or interval_ms == FOR_EVER:
        return
    marks.wake_ms = oldest_ms + interval_ms
    end = (marks.wake_ms, queue.name, queue.incarnation)
    qm.due.mark_ends.push(end, lambda one: _queue_of(qm, *one))


def _queue_of(qm: QueueManager, wake_ms: int, name: str, incarnation: int) -> LocalQueue | None:
    """Return the queue whose marks are to be looked at then; None if they are not any more."""
    queue = qm.that_queue(name, incarnation)
    marks = queue.marks if queue else None
    return queue if marks is not None and marks.wake_ms == wake_ms else None


def expire(qm: QueueManager, queue: LocalQueue) -> None:
    """Take away the set's marks whose time is over."""
    interval_ms = qm.attributes.mark_interval_ms
    if queue.marks is None or interval_ms == FOR_EVER:
        return
    if queue.marks.expire(qm.elapsed_ms - interval_ms):
        qm.wake(queue)


def tick(qm: QueueManager) -> None:
    """Look at the queues whose oldest marks are over."""
    for end in qm.due.mark_ends.due(qm.elapsed_ms):
        queue = _queue_of(qm, *end)
        if queue is not None and queue.marks is not None:
            queue.marks.wake_ms = 0
            expire(qm, queue)
            _look_again(qm, queue, queue.marks)


def note_interval(qm: QueueManager) -> None:
    """Note that the interval has been altered: marks that are there end by the new one."""
    for queue in qm.queues.values():
        if queue.marks is not None:
            queue.marks.wake_ms = 0  # what was scheduled is void
            _look_again(qm, queue, queue.marks)


def take_away(qm: QueueManager, handle: QueueHandle, command: c.Browse) -> Decision:
    """MQGMO_UNMARK_BROWSE_HANDLE, _CO_OP: the message is shown, if it is still there."""
    assert command.place is not None, "it was checked"
    queue, (lane, seq, n) = handle.queue, command.place
    stored = matching.at_place(queue, (-lane, seq, n))
    if stored is None:
        return Decision([], Messages([]), qm.entry_n)
    if queue.marks is not None:
        of = None if command.options & c.UNMARK_CO_OP else handle
        queue.marks.unmark(stored.place, of)
        qm.wake(queue)
    return Decision([], Messages([] if stored.locked else [delivered(stored)]), qm.entry_n)


def forget_handle(handle: QueueHandle) -> None:
    """End what a handle has marked, and the set's marks with its last one."""
    marks = handle.queue.marks
    if marks is not None:
        marks.forget_handle(handle)
        if handle.modes & c.CO_OP and not handle.queue.opens.cooperating:
            marks.forget_set()
