"""Handles: opening and closing queues, and the end of a connection."""

from __future__ import annotations

from adapter.core.contract.commands import (
    BROWSE,
    CO_OP,
    DELETE,
    EXCLUSIVE,
    INPUT,
    INQUIRE,
    OUTPUT,
    PURGE,
    SET,
    Close,
    Open,
    Request,
)
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import QueueDeleted, Record
from adapter.core.contract.results import Done, Opened, Result
from adapter.core.model.connection import ConnectionState
from adapter.core.model.handles import (
    ConsumerHandle,
    Handle,
    QueueHandle,
    SubscriptionHandle,
)
from adapter.core.model.manager import QueueManager, Reply
from adapter.core.model.msmq_handles import MsmqReader, MsmqSender
from adapter.core.model.queue import LocalQueue
from adapter.core.rules import (
    consumer_timeouts,
    cursor,
    groups,
    managed,
    marks,
    matching,
    msmq_queues,
    naming,
    pages,
    remote,
    resolve,
    staging,
    trigger_events,
    unit,
    waiting,
)
from adapter.core.rules.decision import Decision, connection_of

MODES = INPUT | EXCLUSIVE | OUTPUT | BROWSE | INQUIRE | SET | CO_OP
HANDLE_MAX = 2**31 - 1


def decide_open(qm: QueueManager, request: Request, command: Open) -> Decision:
    """MQOPEN: existence, sharing and the number of handles are checked here, once."""
    connection = connection_of(qm, request)
    if not command.modes or command.modes & ~MODES:
        raise Refusal(Reason.OPTIONS_ERROR, command.queue, f"modes {command.modes}")
    if command.modes & CO_OP and not command.modes & BROWSE:
        raise Refusal(Reason.OPTIONS_ERROR, command.queue, "CO_OP goes with BROWSE")
    check_numbers(qm, connection, command.queue, command.handle)
    found = resolve.find(qm, command)
    queue = found.queue
    route = found.route
    handle = QueueHandle(command.handle, queue, command.modes, found.alias, found.is_made, route)
    fits = matching.selection_for(queue, command.selection) if command.selection else None
    open_queue(qm, connection, handle, request.now_ms)
    if fits is not None:
        matching.select_by(handle, command.selection, fits)
    result: Result = Done()
    if route is not None:
        result = Opened(route.transmission.queue, queue_manager=route.transmission.queue_manager)
    else:
        is_transmission = queue.attributes.usage == remote.XMITQ
        control = (found.alias or queue.attributes).property_control
        opened = Opened(queue.name, found.is_made, False, "", is_transmission, control)
        result = Done() if opened == Opened(command.queue) else opened
    return Decision(found.records, result, qm.entry_n, made=found.made)


def check_numbers(qm: QueueManager, connection: ConnectionState, name: str, *numbers: int) -> None:
    """Refuse handle numbers that are in use, or more handles than a connection may have."""
    for number in numbers:
        if number in connection.handles or not 0 < number <= HANDLE_MAX:
            raise Refusal(Reason.HANDLE_IN_USE, name, f"handle {number}")
    most = qm.limits.handles_per_connection
    if len(connection.handles) + len(numbers) > most:
        raise Refusal(Reason.LIMIT_REACHED, name, f"a connection has at most {most} handles")


def open_queue(
    qm: QueueManager, connection: ConnectionState, handle: QueueHandle, now_ms: int
) -> None:
    """Open a queue by a handle, or refuse for the sake of others who have it open."""
    queue = handle.queue
    if handle.modes & ~(BROWSE | INQUIRE | CO_OP):
        staging.check_own(queue.name)
    handle.modes = _input_modes(queue, handle.modes)
    _count(queue, handle.modes, 1)
    if handle.modes & INPUT:
        trigger_events.note_open(qm, queue, now_ms)
    connection.handles[handle.number] = handle


def _input_modes(queue: LocalQueue, modes: int) -> int:
    """Settle shared or exclusive input, or refuse (MQRC_OBJECT_IN_USE)."""
    if modes & EXCLUSIVE:
        modes |= INPUT
    if not modes & INPUT:
        return modes
    attributes = queue.attributes
    if not attributes.share or attributes.def_input_open_option == "EXCLUSIVE":
        modes |= EXCLUSIVE  # as the queue says (MQOO_INPUT_AS_Q_DEF)
    if queue.opens.exclusive or (modes & EXCLUSIVE and queue.opens.input):
        raise Refusal(
            Reason.QUEUE_IN_USE,
            queue.name,
            "it is open for exclusive input, or is "
            "open for input and exclusive input was asked for",
        )
    return modes


def _count(queue: LocalQueue, modes: int, step: int) -> None:
    opens = queue.opens
    if modes & INPUT:
        opens.input += step
        opens.exclusive = bool(modes & EXCLUSIVE) and step > 0
    if modes & OUTPUT:
        opens.output += step
    if modes & CO_OP:
        opens.cooperating += step
    opens.handles += step


def decide_close(qm: QueueManager, request: Request, command: Close) -> Decision:
    """MQCLOSE. A get that waits under the handle is answered with no message."""
    connection = connection_of(qm, request)
    handle = connection.handles.get(command.handle)
    if handle is None:
        raise Refusal(Reason.HANDLE_NOT_OPEN, detail=f"handle {command.handle} is not open")
    if command.delete:
        _check_deletion(handle, command.delete)
    waiters = [w for w in connection.waiters.values() if w.handle is handle]
    replies = [waiting.answer(qm, waiter, waiting.cancellation(waiter)) for waiter in waiters]
    records = _close(qm, connection, handle, replies, request.now_ms, broke_off=False)
    warning = 0
    if isinstance(handle, QueueHandle):
        if command.delete and not handle.queue.is_temporary:
            records.append(QueueDeleted(handle.queue.name))
        warning = groups.unfinished(handle.put_group) or groups.unfinished(handle.get_group)
    after = qm.entry_n if records else -1
    return Decision(records, Done(), after, replies=replies, warning=warning)


def _check_deletion(handle: Handle | MsmqSender, delete: int) -> None:
    """Refuse a deletion at the close: of dynamic queues only, and of such as nobody else uses."""
    queue = handle.queue if isinstance(handle, QueueHandle) else None
    definition = queue.attributes.definition_type if queue is not None else "PREDEFINED"
    if queue is None or definition == "PREDEFINED" or delete not in (DELETE, PURGE):
        raise Refusal(Reason.OPTIONS_ERROR, handle.name, "only a dynamic queue goes with its close")
    if definition == "TEMPDYN":
        return
    if queue.opens.handles > 1 or queue.uncommitted_puts or queue.locked_count:
        text = "others have it open, or units in flight hold it"
        raise Refusal(Reason.QUEUE_IN_USE, queue.name, text)
    count = queue.available_count + queue.claimed_count + queue.delayed
    if count and delete == DELETE:
        text = f"{naming.on_it(count)}; PURGE deletes {'it' if count == 1 else 'them'} too"
        raise Refusal(Reason.QUEUE_NOT_EMPTY, queue.name, text)


def _close(
    qm: QueueManager,
    connection: ConnectionState,
    handle: Handle | MsmqSender,
    replies: list[Reply],
    now_ms: int,
    *,
    broke_off: bool,
) -> list[Record]:
    """Close a handle of any kind. broke_off: nobody has asked for it; the connection ends."""
    del connection.handles[handle.number]
    if isinstance(handle, MsmqReader):
        return msmq_queues.close(handle)
    if isinstance(handle, QueueHandle):
        return _close_queue(qm, handle, replies, now_ms, broke_off)
    if isinstance(handle, SubscriptionHandle):
        return managed.end_subscription(qm, connection, handle.subscription, replies)
    return []


def _close_queue(
    qm: QueueManager, handle: QueueHandle, replies: list[Reply], now_ms: int, broke_off: bool
) -> list[Record]:
    """Close a queue; a temporary one goes with the handle that made it, whoever else uses it."""
    queue = handle.queue
    cursor.release(qm, handle, now_ms)
    if handle.selection:
        matching.deselect(handle)
    _count(queue, handle.modes, -1)
    if isinstance(handle, ConsumerHandle):
        consumer_timeouts.note_close(qm, handle, broke_off)
    marks.forget_handle(handle)
    if handle.modes & INPUT:
        trigger_events.note_close(qm, queue, now_ms)
    if not (handle.is_maker and queue.is_temporary and not queue.is_deleted):
        return []
    return [managed.removal(qm, queue, replies)]


def end_connection(qm: QueueManager, connection: ConnectionState, now_ms: int) -> Decision:
    """Back out first, then close (S4.46); returns what to record of it, and answers to others."""
    waiting.end_all(qm, connection)
    pages.forget(qm, connection)
    records = unit.backout_all(qm, connection, now_ms)
    replies: list[Reply] = []
    for handle in list(connection.handles.values()):
        records += _close(qm, connection, handle, replies, now_ms, broke_off=True)
    session = qm.sessions.get(connection.session)
    if session is not None:
        session.last_seen_ms, session.away_since_ms = now_ms, qm.elapsed_ms
        del qm.attached[session.ident]
    del qm.connections[connection.number]
    return Decision(records, replies=replies)
