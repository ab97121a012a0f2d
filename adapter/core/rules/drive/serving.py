"""Serving those who wait: who is given what when something has changed on a queue.

It does not know which message fits, nor how a wait begins or ends.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from adapter.core.attributes.objects import KINDS, QUEUE_MANAGER
from adapter.core.contract.broker import BrokerAwaitEvent
from adapter.core.contract.commands import Browse, Get
from adapter.core.contract.msmq import MsmqReceive
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.records import Record
from adapter.core.model.handles import QueueHandle
from adapter.core.model.manager import QueueManager
from adapter.core.model.waiters import Waiter
from adapter.core.rules.broker import events as broker_events
from adapter.core.rules.broker import verbs as broker_verbs
from adapter.core.rules.messages import browse, get, pages
from adapter.core.rules.messages.unit import unit_of
from adapter.core.rules.msmq import receive as msmq_receive
from adapter.core.rules.primitives import waiting
from adapter.core.rules.primitives.decision import Decision

COMMAND_QUEUE: Final[str] = KINDS[QUEUE_MANAGER]["command_queue"].default


def do_commands_wait(qm: QueueManager) -> bool:
    """Whether a message is on the command queue, by whatever way it came, and no program has that
    queue open for gets. Asked after every step.
    """
    queue = qm.queues.get(COMMAND_QUEUE)
    return queue is not None and queue.available_count > 0 and not queue.opens.input


def next_served(
    qm: QueueManager, key: Hashable, now_ms: int
) -> tuple[Waiter, Decision] | list[Record]:
    """Find the first waiter for a key that can be given something; else what expired on the way.

    One at a time: its records must be applied before the next waiter is looked at.
    """
    expired: list[Record] = []
    waiters = qm.waiters.waiting_for(key)
    while (waiter := next(waiters, None)) is not None:
        handle = waiter.handle
        if handle is not None and not handle.queue.available_count:
            break
        if waiting.has_no_room(qm, waiter.request):
            continue
        waiter.request.now_ms = now_ms
        try:
            given = _give(qm, waiter, handle, expired)
        except PageNeeded as needed:
            given = pages.refuse_damaged(qm, needed)
            if given is None:
                raise
        if given is not None:
            return waiter, given
        if expired:
            return expired
        if waiter.key != key:  # it waits for something else now
            waiters = qm.waiters.waiting_for(key)
    return []


def _give(
    qm: QueueManager, waiter: Waiter, handle: QueueHandle | None, expired: list[Record]
) -> Decision | None:
    if handle is None:
        if isinstance(waiter.command, BrokerAwaitEvent):
            return broker_events.serve(qm, waiter)
        return broker_verbs.serve(qm, waiter)
    if isinstance(waiter.command, MsmqReceive):
        return msmq_receive.serve(qm, waiter, expired)
    if isinstance(waiter.command, Get):
        request, command = waiter.request, waiter.command
        unit = unit_of(qm, request, command.unit) if command.unit else None
        return get.give(qm, request, command, handle, unit, expired)
    assert isinstance(waiter.command, Browse), "a get or a browse waits with a handle"
    return browse.look(qm, waiter.request, waiter.command, handle)
