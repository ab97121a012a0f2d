"""Handles: opening and closing queues, and the end of a connection."""

from __future__ import annotations

from adapter.core.commands import (
    BROWSE,
    EXCLUSIVE,
    INPUT,
    INQUIRE,
    OUTPUT,
    SET,
    Close,
    Open,
    Request,
)
from adapter.core.model.connection import Connection, Handle
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import Queue
from adapter.core.reasons import Reason, Refusal
from adapter.core.records import Record
from adapter.core.results import Done, Messages
from adapter.core.rules import cursor, groups, pages, unit, waiting
from adapter.core.rules.decision import Decision, connection_of, queue_of

MODES = INPUT | EXCLUSIVE | OUTPUT | BROWSE | INQUIRE | SET
HANDLE_MAX = 2**31 - 1


def decide_open(qm: QueueManager, request: Request, command: Open) -> Decision:
    """MQOPEN: existence, sharing and the number of handles are checked here, once."""
    connection = connection_of(qm, request)
    if not command.modes or command.modes & ~MODES:
        raise Refusal(Reason.OPTIONS_ERROR, command.queue, f"modes {command.modes}")
    if command.handle in connection.handles or not 0 < command.handle <= HANDLE_MAX:
        raise Refusal(Reason.HANDLE_IN_USE, command.queue, f"handle {command.handle}")
    queue = queue_of(qm, command.queue)
    modes = _input_modes(queue, command.modes)
    if len(connection.handles) >= qm.limits.handles_per_connection:
        most = qm.limits.handles_per_connection
        raise Refusal(Reason.LIMIT_REACHED, queue.name, f"a connection has at most {most} handles")
    _count(queue, modes, 1)
    connection.handles[command.handle] = Handle(command.handle, queue, modes)
    return Decision([], Done(), qm.entry_n)


def _input_modes(queue: Queue, modes: int) -> int:
    """Settle shared or exclusive input, or refuse (MQRC_OBJECT_IN_USE)."""
    if modes & EXCLUSIVE:
        modes |= INPUT
    if not modes & INPUT:
        return modes
    attributes = queue.attributes
    if not attributes.share or attributes.def_input_open_option == "EXCLUSIVE":
        modes |= EXCLUSIVE  # as the queue says (MQOO_INPUT_AS_Q_DEF)
    if queue.exclusive or (modes & EXCLUSIVE and queue.open_input):
        raise Refusal(
            Reason.QUEUE_IN_USE,
            queue.name,
            "it is open for exclusive input, or is "
            "open for input and exclusive input was asked for",
        )
    return modes


def _count(queue: Queue, modes: int, step: int) -> None:
    if modes & INPUT:
        queue.open_input += step
        queue.exclusive = bool(modes & EXCLUSIVE) and step > 0
    if modes & OUTPUT:
        queue.open_output += step
    queue.open_handles += step


def decide_close(qm: QueueManager, request: Request, command: Close) -> Decision:
    """MQCLOSE. A get that waits under the handle is answered with no message."""
    connection = connection_of(qm, request)
    handle = connection.handles.get(command.handle)
    if handle is None:
        raise Refusal(Reason.HANDLE_NOT_OPEN, detail=f"handle {command.handle} is not open")
    waiters = [w for w in connection.waiters.values() if w.command.handle == handle.number]
    replies = [waiting.answer(qm, waiter, Messages([])) for waiter in waiters]
    _close(qm, connection, handle, request.now_ms)
    warning = groups.unfinished(handle.put_group) or groups.unfinished(handle.get_group)
    return Decision([], Done(), replies=replies, warning=warning)


def _close(qm: QueueManager, connection: Connection, handle: Handle, now_ms: int) -> None:
    cursor.release(qm, handle, now_ms)
    del connection.handles[handle.number]
    _count(handle.queue, handle.modes, -1)


def end_connection(qm: QueueManager, connection: Connection, now_ms: int) -> list[Record]:
    """Back out first, then close (S4.46); returns what to record of the backouts."""
    waiting.end_all(qm, connection)
    pages.forget(qm, connection)
    records = unit.backout_all(qm, connection, now_ms)
    for handle in list(connection.handles.values()):
        _close(qm, connection, handle, now_ms)
    session = qm.sessions.get(connection.session)
    if session is not None:
        session.last_seen_ms = now_ms
        del qm.attached[session.ident]
    del qm.connections[connection.number]
    return records
