"""The verbs on conversations: each is tried, and waits if it must, for a lock or for messages.

A verb that waits has changed nothing: it is tried again, as if it had just come, when a lock was
released or a message has come. This module does not know what a verb means.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adapter.core.contract import broker as b
from adapter.core.contract.bounds import WAIT_MAX_MS
from adapter.core.contract.commands import Request
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.model.broker_queue import BrokerQueue
from adapter.core.model.manager import QueueManager
from adapter.core.model.unit import UnitOfWork
from adapter.core.model.waiters import Waiter
from adapter.core.rules.broker import dialogs, end, receive
from adapter.core.rules.broker.activation import note_empty
from adapter.core.rules.broker.catalog import queue_named
from adapter.core.rules.broker.locks import (
    LockNeeded,
    begin_wait,
    check_circle,
    check_own_waits,
    locked_count,
    wake_own,
)
from adapter.core.rules.broker.wakes import named_by
from adapter.core.rules.messages.unit import backout_records, unit_of
from adapter.core.rules.primitives import waiting
from adapter.core.rules.primitives.decision import Decision, refused

Verb = Callable[[QueueManager, Request, Any, UnitOfWork], Decision | None]

VERBS: dict[type, Verb] = {
    b.BrokerBegin: dialogs.begin,
    b.BrokerSend: dialogs.send,
    b.BrokerReceive: receive.receive,
    b.BrokerGetGroup: receive.get_group,
    b.BrokerMove: dialogs.move,
    b.BrokerTimer: dialogs.set_timer,
    b.BrokerEnd: end.end,
}


def decide(qm: QueueManager, request: Request, command: Any) -> Decision:
    """Carry out a verb, or let it wait. A deadlock's victim is backed out."""
    unit = unit_of(qm, request, command.unit)
    wait_ms = getattr(command, "wait_ms", 0)
    lock_ms = getattr(command, "lock_ms", -1)
    if not -1 <= wait_ms <= WAIT_MAX_MS or not -1 <= lock_ms <= WAIT_MAX_MS:
        raise Refusal(Reason.WAIT_INTERVAL_ERROR, detail=f"{wait_ms} ms, {lock_ms} ms for locks")
    locked = locked_count(unit)
    try:
        decision = VERBS[type(command)](qm, request, command, unit)
    except LockNeeded as needed:
        return _wait_for_lock(qm, request, command, unit, needed)
    if decision is not None:
        return _unless_circle(qm, request, unit, decision, locked)
    if wait_ms == 0:
        return _nothing(qm, command)
    begin_wait(qm, request, unit, queue_named(qm, command.queue), wait_ms)
    return Decision([])


def _nothing(qm: QueueManager, command: Any) -> Decision:
    note_empty(qm, queue_named(qm, command.queue), command)
    return Decision([], waiting.nothing(command), qm.entry_n)


def _wait_for_lock(
    qm: QueueManager, request: Request, command: Any, unit: UnitOfWork, needed: LockNeeded
) -> Decision:
    """Wait for a group; a receive within WAITFOR waits for it as for its messages."""
    try:
        check_circle(qm, unit, needed)
    except Refusal as refusal:
        return _victim(qm, request, unit, refusal)
    if isinstance(command, b.BrokerReceive) and command.wait_ms:
        begin_wait(qm, request, unit, needed.queue, command.wait_ms)
    elif command.lock_ms == 0:
        return Decision([], waiting.lock_timeout(needed.queue.name), qm.entry_n)
    else:
        begin_wait(qm, request, unit, needed.key, command.lock_ms, named_by(command))
    return Decision([])


def _victim(qm: QueueManager, request: Request, unit: UnitOfWork, refusal: Refusal) -> Decision:
    """Back out a unit whose verb would wait in a circle; its other verbs learn of it."""
    wake_own(qm, unit)
    answer = refused(refusal)
    return Decision(backout_records(qm, unit, None, request.now_ms), answer, qm.entry_n)


def serve(qm: QueueManager, waiter: Waiter) -> Decision | None:
    """Try a verb that waits once more; None if it goes on waiting, maybe for another group."""
    request = waiter.request
    command: Any = request.command
    if _has_nothing(qm, waiter, command):
        return None
    try:
        unit = unit_of(qm, request, command.unit)
        locked = locked_count(unit)
        decision = VERBS[type(command)](qm, request, command, unit)
    except LockNeeded as needed:
        return _wait_elsewhere(qm, waiter, unit, needed)
    except Refusal as refusal:
        return Decision([], refused(refusal), qm.entry_n)
    if decision is not None:
        return _unless_circle(qm, request, unit, decision, locked, waiter)
    if isinstance(waiter.key, tuple):  # the group is not locked any more, and has no messages
        return _nothing(qm, command)
    return None


def _unless_circle(
    qm: QueueManager,
    request: Request,
    unit: UnitOfWork,
    decision: Decision,
    locked: int,
    served: Waiter | None = None,
) -> Decision:
    """Let a verb have been carried out, unless what it has locked closes a circle. locked: how many
    groups its unit had locked before; served: the verb, if it had to wait.
    """
    try:
        if locked_count(unit) > locked:
            check_own_waits(qm, unit, served)
    except Refusal as refusal:
        return _victim(qm, request, unit, refusal)
    wake_own(qm, unit, served)
    return decision


def _wait_elsewhere(
    qm: QueueManager, waiter: Waiter, unit: UnitOfWork, needed: LockNeeded
) -> Decision | None:
    """Let a verb wait for the group that it needs by now: its conversation may have been moved."""
    if waiter.key == needed.key:
        return None
    try:
        check_circle(qm, unit, needed)
    except Refusal as refusal:
        return _victim(qm, waiter.request, unit, refusal)
    if isinstance(waiter.key, tuple):
        qm.waiters.move(waiter, needed.key)
    return None


def _has_nothing(qm: QueueManager, waiter: Waiter, command: Any) -> bool:
    """Whether a receive from one conversation waits on: it has no messages. A queue may have many
    such receives, and what is put to it is for one of them.
    """
    if not isinstance(command, b.BrokerReceive) or not isinstance(waiter.key, BrokerQueue):
        return False
    endpoint = qm.conversations.endpoints.get(command.conversation)
    if endpoint is None or endpoint.rows or not waiter.key.attributes.status:
        return False
    return command.conversation in endpoint.group.endpoints
