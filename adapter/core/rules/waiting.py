"""Waiting gets: how a wait ends. It does not know which message fits: that is core.rules.get."""

from __future__ import annotations

from adapter.core.contract.commands import Get, Request
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Messages, Refused, Result
from adapter.core.model.connection import Connection
from adapter.core.model.manager import QueueManager, Reply
from adapter.core.model.queue import Queue
from adapter.core.model.waiter import Waiter


def end(qm: QueueManager, waiter: Waiter) -> None:
    """Take a waiter out: it has been answered, or has gone."""
    waiter.ended = True
    connection = qm.connections[waiter.request.connection]
    connection.handles[waiter.command.handle].queue.waiters.remove(waiter)
    connection.waiters.pop(waiter.request.request, None)
    runs_no_more(qm, waiter.request)


def has_no_room(qm: QueueManager, request: Request) -> bool:
    """Whether a get outside a unit is to wait until its client tells what it has seen.

    The message is kept until then, so that it can be given again; refusing the get would make
    programs fail that have done nothing wrong.
    """
    if not request.number or type(request.command) is not Get:
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


def end_all(qm: QueueManager, connection: Connection) -> None:
    """End the waits of a connection that has gone; nobody is answered."""
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


def timed_out(qm: QueueManager) -> list[Reply]:
    """End the waits whose time is over, with no message."""
    replies = []
    for _, _, waiter in qm.due.deadlines.due(qm.elapsed_ms):
        if not waiter.ended:
            replies.append(answer(qm, waiter, Messages([])))
    return replies


def refused(qm: QueueManager, queue: Queue, reason: Reason) -> list[Reply]:
    """Refuse the waiting gets of a queue that is inhibited now, or deleted."""
    result = Refused(reason, queue.name)
    return [answer(qm, waiter, result) for waiter in list(queue.waiters)]


def unit_ended(qm: QueueManager, connection: Connection, unit: bytes) -> list[Reply]:
    """End the waits of a unit that has ended, with no message: nothing can be given to it."""
    waiters = [
        waiter
        for waiter in connection.waiters.values()
        if isinstance(waiter.command, Get) and waiter.command.unit == unit
    ]
    return [answer(qm, waiter, Messages([])) for waiter in waiters]
