"""Serving those who wait: who is given what when something has changed on a queue.

It does not know which message fits, nor how a wait begins or ends.
"""

from __future__ import annotations

from adapter.core.contract.commands import Get
from adapter.core.contract.records import Record
from adapter.core.model.connection import Handle
from adapter.core.model.lane import PageNeeded
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import Queue
from adapter.core.model.waiter import Waiter
from adapter.core.rules import browse, get, pages, waiting
from adapter.core.rules.decision import Decision


def next_served(
    qm: QueueManager, queue: Queue, now_ms: int
) -> tuple[Waiter, Decision] | list[Record]:
    """Find the first waiter that can be given something; else what expired on the way.

    One at a time: its records must be applied before the next waiter is looked at.
    """
    expired: list[Record] = []
    for waiter in queue.waiters:
        if not queue.available_count:
            break
        if waiting.has_no_room(qm, waiter.request):
            continue
        waiter.request.now_ms = now_ms
        handle = qm.connections[waiter.request.connection].handles[waiter.command.handle]
        try:
            given = _give(qm, waiter, handle, expired)
        except PageNeeded as needed:
            given = pages.damaged(qm, needed)
            if given is None:
                raise
        if given is not None:
            return waiter, given
        if expired:
            return expired
    return []


def _give(
    qm: QueueManager, waiter: Waiter, handle: Handle, expired: list[Record]
) -> Decision | None:
    if isinstance(waiter.command, Get):
        return get.give(qm, waiter.request, waiter.command, handle, expired)
    return browse.look(qm, waiter.request, waiter.command, handle)
