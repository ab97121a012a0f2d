"""The browse cursor of a handle: the message under it, and the one message that it may lock.

A browse lock is soft: it hides a message from everybody else as a get in a unit does, and ends with
the next browse, with a get under the cursor, or with the handle.
"""

from __future__ import annotations

from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.stored import Stored
from adapter.core.model.handles import QueueHandle
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.rules.primitives import groups, matching


def under(handle: QueueHandle, now_ms: int, *, whole: bool = False) -> list[Stored]:
    """Return the message under the cursor; refuse if it has gone, or another unit has locked it.

    whole: all its segments (MQGMO_COMPLETE_MSG): the cursor has to be at the first of them, and the
    others have to be there.
    """
    queue = handle.queue
    stored = matching.at_place(queue, handle.cursor)
    if stored is None or (stored.locked and stored is not handle.locked):
        raise Refusal(Reason.NO_MESSAGE_UNDER_CURSOR, queue.name)
    if matching.is_over(stored, now_ms):
        raise Refusal(Reason.NO_MESSAGE_UNDER_CURSOR, queue.name, "it has expired")
    if not whole:
        return [stored]
    if stored.message.offset:
        raise Refusal(Reason.INVALID_MESSAGE_UNDER_CURSOR, queue.name)
    found = groups.parts(queue, stored)
    if not found or any(one.locked and one is not handle.locked for one in found):
        raise Refusal(Reason.NO_MESSAGE_UNDER_CURSOR, queue.name, "its segments are not all there")
    return found


def lock(handle: QueueHandle, stored: Stored) -> None:
    """Hide an available message from everybody else."""
    handle.queue.lock(stored)
    handle.locked = stored


def release(qm: QueueManager, handle: QueueHandle) -> Stored | None:
    """Make the message that a handle has locked available again; returns it, if there is one."""
    stored, handle.locked = handle.locked, None
    if stored is None:
        return None
    handle.queue.unlock(stored)
    offer(qm, handle.queue, stored)
    return stored


def lift(handle: QueueHandle) -> Stored:
    """Unlock what a handle has locked, for a look that may end with locking it again.

    No waiting get is woken: one who waits under that handle would look for ever.
    """
    stored, handle.locked = handle.locked, None
    assert stored is not None, "the caller has looked"
    handle.queue.unlock(stored)
    return stored


def offer(qm: QueueManager, queue: LocalQueue, stored: Stored) -> None:
    """Let others find what is locked no more, and time: its end may have come meanwhile."""
    qm.add_expiry(queue, stored)
    qm.wake(queue)
