"""Waiting gets and browses: how a wait begins and ends. It does not know which message fits."""

from __future__ import annotations

from collections.abc import Hashable

from adapter.core.contract.broker import BrokerAwaitEvent, BrokerGetGroup
from adapter.core.contract.commands import THROUGH_QUIESCE, Browse, Get, Request
from adapter.core.contract.msmq import MsmqReceive
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Descriptions, Messages, Refused, Result
from adapter.core.model.broker_queue import PREFIX
from adapter.core.model.connection import ConnectionState
from adapter.core.model.handles import QueueHandle
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.waiters import Waiter
from adapter.core.rules.primitives.decision import connection_of


def begin(
    qm: QueueManager, request: Request, command: Get | Browse | MsmqReceive, handle: QueueHandle
) -> None:
    """Let a get or a browse wait for a message of its queue; refuse if too many wait already."""
    queue = handle.queue
    if qm.quiescing and not command.options & THROUGH_QUIESCE:
        raise Refusal(Reason.QUEUE_MANAGER_QUIESCING, qm.name)
    begin_for(qm, request, queue, command.wait_ms, handle)


def begin_for(
    qm: QueueManager,
    request: Request,
    key: Hashable,
    wait_ms: int,
    handle: QueueHandle | None = None,
    names: tuple[Hashable, ...] = (),
) -> Waiter:
    """Let a request wait for a key; refuse if too many wait already.

    names: what else its answer may depend on.
    """
    name = key.name if isinstance(key, LocalQueue) else ""
    if qm.waiters.count(key) >= qm.limits.waiters_per_queue:
        most = qm.limits.waiters_per_queue
        raise Refusal(Reason.LIMIT_REACHED, name, f"{most} requests wait already")
    connection = connection_of(qm, request)
    if len(connection.waiters) >= qm.limits.waiters_per_connection:
        most = qm.limits.waiters_per_connection
        raise Refusal(Reason.LIMIT_REACHED, name, f"{most} requests of this connection wait")
    if request.request in connection.waiters:
        text = f"request {request.request} of this connection waits already"
        raise Refusal(Reason.OUT_OF_ORDER, name, text)
    deadline = qm.elapsed_ms + wait_ms if wait_ms > 0 else 0
    waiter = Waiter(key, request, request.command, handle, deadline)
    waiter.names = names
    qm.waiters.add(waiter)
    connection.waiters[request.request] = waiter
    if deadline:
        qm.due.add_deadline(deadline, waiter)
    runs(qm, request)
    return waiter


def end(qm: QueueManager, waiter: Waiter) -> None:
    """Take a waiter out: it has been answered, or has gone."""
    waiter.ended = True
    connection = qm.connections[waiter.request.connection]
    qm.waiters.remove(waiter)
    connection.waiters.pop(waiter.request.request, None)
    runs_no_more(qm, waiter.request)


def has_no_room(qm: QueueManager, request: Request) -> bool:
    """Whether a get outside a unit is to wait until its client tells what it has seen.

    The message is kept until then, so that it can be given again; refusing the get would make
    programs fail that have done nothing wrong.
    """
    if not request.number or type(request.command) not in (Get, MsmqReceive):
        return False
    session = qm.sessions.get(qm.connections[request.connection].session)
    return session is not None and session.kept_bytes >= qm.limits.kept_bytes


def runs(qm: QueueManager, request: Request) -> None:
    """Note that a numbered command waits for something."""
    session = qm.sessions.get(qm.connections[request.connection].session)
    if request.number and session is not None:
        session.running.add(request.number)


def runs_no_more(qm: QueueManager, request: Request) -> None:
    """Note that a numbered command waits for nothing any more."""
    session = qm.sessions.get(qm.connections[request.connection].session)
    if session is not None:
        session.running.discard(request.number)


def end_all(qm: QueueManager, connection: ConnectionState) -> None:
    """End the waits of a connection that has gone; no reply is sent."""
    for waiter in list(connection.waiters.values()):
        end(qm, waiter)


def answer(qm: QueueManager, waiter: Waiter, result: Result) -> Reply:
    """End a wait with a result that no record carries."""
    end(qm, waiter)
    return tell(qm, waiter.request, result)


def tell(qm: QueueManager, request: Request, result: Result) -> Reply:
    """Answer a request that has waited with a result that no record carries."""
    session = qm.sessions.get(qm.connections[request.connection].session)
    if request.number and session is not None:
        session.record(request.number, result)
    return Reply(request.connection, request.request, result, qm.entry_n)


def cancellation(waiter: Waiter) -> Result:
    """Say how a wait ends whose handle is closed."""
    if isinstance(waiter.command, MsmqReceive) and waiter.handle is not None:
        return Refused(Reason.OPERATION_CANCELLED, waiter.handle.queue.name)
    return Messages([])


def nothing(command: object) -> Result:
    """Return the result of a command that has found no message, group or event."""
    is_of_messages = not isinstance(command, (BrokerGetGroup, BrokerAwaitEvent))
    return Messages([]) if is_of_messages else Descriptions([])


def unserved(waiter: Waiter) -> Result:
    """Return the result of a wait that ends without what it waited for."""
    if isinstance(waiter.key, tuple) and not isinstance(waiter.command, BrokerAwaitEvent):
        return lock_timeout(waiter.key[0])
    return nothing(waiter.command)


def lock_timeout(queue: str) -> Refused:
    """Say that another unit has had a conversation group locked for too long."""
    text = "another transaction has the conversation group locked"
    return Refused(Reason.LOCK_TIMEOUT, queue.removeprefix(PREFIX), text)


def refuse_all(qm: QueueManager, queue: LocalQueue, reason: Reason) -> list[Reply]:
    """Refuse the waiting gets of a queue that is inhibited now, or deleted."""
    result = Refused(reason, queue.name)
    return [answer(qm, waiter, result) for waiter in list(qm.waiters.waiting_for(queue))]


def end_unit_waits(qm: QueueManager, connection: ConnectionState, unit: bytes) -> list[Reply]:
    """End the waits of a unit that has ended, with no message: nothing can be given to it."""
    waiters = [
        waiter
        for waiter in connection.waiters.values()
        if not isinstance(waiter.command, Browse) and getattr(waiter.command, "unit", b"") == unit
    ]
    return [answer(qm, waiter, unserved(waiter)) for waiter in waiters]
