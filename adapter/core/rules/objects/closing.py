"""Closing handles of every kind, and the end of a connection.

This module knows what each kind of handle holds; what becomes of that is in the kind's own family.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from adapter.core.contract import commands as c
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import Record
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Done
from adapter.core.model import handles
from adapter.core.model.connection import ConnectionState
from adapter.core.model.manager import QueueManager
from adapter.core.model.msmq_handles import MsmqReader, MsmqSender
from adapter.core.rules.consumers import timeouts as consumer_timeouts
from adapter.core.rules.messages import delays, pages, unit
from adapter.core.rules.msmq import queues as msmq_queues
from adapter.core.rules.network import opening
from adapter.core.rules.primitives import (
    cursor,
    groups,
    marks,
    matching,
    naming,
    trigger_events,
    waiting,
)
from adapter.core.rules.primitives.decision import Decision, connection_of
from adapter.core.rules.pubsub import managed, subscriptions


def decide_close(qm: QueueManager, request: c.Request, command: c.Close) -> Decision:
    """MQCLOSE. A get that waits under the handle is answered with no message."""
    connection = connection_of(qm, request)
    handle = connection.handles.get(command.handle)
    if handle is None:
        raise Refusal(Reason.HANDLE_NOT_OPEN, detail=f"handle {command.handle} is not open")
    if command.delete:
        _check_deletion(handle, command.delete)
    waiters = [w for w in connection.waiters.values() if w.handle is handle]
    replies = [waiting.answer(qm, waiter, waiting.cancellation(waiter)) for waiter in waiters]
    records = _close(HandleClose(qm, connection, request.now_ms, replies), handle)
    warning = 0
    if isinstance(handle, handles.QueueHandle):
        if command.delete and not handle.queue.is_temporary and not handle.queue.is_deleted:
            records += delays.deletion(qm, handle.queue)
        warning = groups.unfinished(handle.put_group) or groups.unfinished(handle.get_group)
    after = qm.entry_n if records else -1
    return Decision(records, Done(), after, replies=replies, warning=warning)


def close(
    qm: QueueManager,
    connection: ConnectionState,
    number: int,
    now_ms: int,
    replies: list[Reply],
) -> list[Record]:
    """Close a handle that its program does not close; nothing, if it is not open.

    Returns what to record of it. replies: takes answers to others.
    """
    handle = connection.handles.get(number)
    if handle is None:
        return []
    return _close(HandleClose(qm, connection, now_ms, replies), handle)


def _check_deletion(handle: handles.Handle | MsmqSender, delete: int) -> None:
    """Refuse a deletion at the close: of dynamic queues only, that no other handle uses."""
    queue = handle.queue if isinstance(handle, handles.QueueHandle) else None
    definition = queue.attributes.definition_type if queue is not None else "PREDEFINED"
    if queue is None or definition == "PREDEFINED" or delete not in (c.DELETE, c.PURGE):
        raise Refusal(Reason.OPTIONS_ERROR, handle.name, "only a dynamic queue goes with its close")
    if definition == "TEMPDYN":
        return
    if queue.is_deleted:
        return  # whatever has its name now is another queue
    if queue.opens.handles > 1 or queue.uncommitted_puts or queue.locked_count:
        text = "others have it open, or units in flight hold it"
        raise Refusal(Reason.QUEUE_IN_USE, queue.name, text)
    count = queue.available_count + queue.claimed_count + queue.delayed
    if count and delete == c.DELETE:
        text = f"{naming.on_it(count)}; PURGE deletes {'it' if count == 1 else 'them'} too"
        raise Refusal(Reason.QUEUE_NOT_EMPTY, queue.name, text)


class HandleClose(Struct):
    """What closes a handle: its owner, at what time. replies: takes answers to verbs that waited.

    broke_off: the close is implied by the end of the connection.
    """

    qm: QueueManager
    connection: ConnectionState
    now_ms: int
    replies: list[Reply]
    broke_off: bool = False


def _close(closing: HandleClose, handle: handles.Handle | MsmqSender) -> list[Record]:
    del closing.connection.handles[handle.number]
    closing.connection.openings.pop(handle.number, None)
    rule = CLOSE.get(type(handle))
    return rule(closing, handle) if rule is not None else []


def _close_queue(closing: HandleClose, handle: handles.QueueHandle) -> list[Record]:
    """Close a queue. A temporary one is deleted with the handle that made it, one of a subscription
    with its last handle, if the subscription has ended before.
    """
    qm, queue = closing.qm, handle.queue
    cursor.release(qm, handle)
    if handle.selection:
        matching.deselect(handle)
    opening.count(queue, handle.modes, -1)
    marks.forget_handle(handle)
    if handle.modes & c.INPUT:
        trigger_events.note_close(qm, queue, closing.now_ms)
    goes = handle.is_maker or (queue.goes_unopened and not queue.opens.handles)
    if not goes or not queue.is_temporary or queue.is_deleted:
        return []
    return managed.removal(qm, queue, closing.replies)


def _close_consumer(closing: HandleClose, handle: handles.ConsumerHandle) -> list[Record]:
    consumer_timeouts.note_close(closing.qm, handle, closing.broke_off)
    return _close_queue(closing, handle)


def _end_subscription(closing: HandleClose, handle: handles.SubscriptionHandle) -> list[Record]:
    return managed.end_subscription(closing.qm, handle.subscription, closing.replies)


CLOSE: Final[dict[type, Callable[[HandleClose, Any], list[Record]]]] = {
    handles.QueueHandle: _close_queue,
    handles.ConsumerHandle: _close_consumer,
    handles.SubscriptionHandle: _end_subscription,
    MsmqReader: lambda _, handle: msmq_queues.close(handle),
}
"""What a close does to what a handle holds; handles of other kinds hold nothing."""


def decide_close_subscription(
    qm: QueueManager, request: c.Request, command: c.CloseSubscription
) -> Decision:
    """MQCLOSE of a subscription; a durable one stays, unless it is to be removed."""
    subscription = subscriptions.of_handle(qm, request, command.handle)
    decision = decide_close(qm, request, c.Close(command.handle))
    if command.remove and subscription.is_durable:
        decision.records += subscriptions.removal(qm, subscription, decision.replies)
        decision.after = qm.entry_n
    return decision


def end_connection(qm: QueueManager, connection: ConnectionState, now_ms: int) -> Decision:
    """Back out first, then close (S4.46); returns what to record of it, and answers to others."""
    waiting.end_all(qm, connection)
    pages.forget(qm, connection)
    records = unit.backout_all(qm, connection, now_ms)
    closing = HandleClose(qm, connection, now_ms, [], broke_off=True)
    for handle in list(connection.handles.values()):
        records += _close(closing, handle)
    session = qm.sessions.get(connection.session)
    if session is not None:
        session.last_seen_ms, session.away_since_ms = now_ms, qm.elapsed_ms
        del qm.attached[session.ident]
    del qm.connections[connection.number]
    return Decision(records, replies=closing.replies)
