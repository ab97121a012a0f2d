"""Purging and deleting queues of MSMQ: messages leave them without having been received.

Each message may ask for an acknowledgment, or to become a dead letter, so that each is looked at.
What is not in memory is read page by page: what has been read is removed, and the request waits for
the next page, so that a long queue needs no more memory than a short one. What is in memory is
removed by as many decisions as it takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from adapter.core.contract.commands import Request
from adapter.core.contract.format_names import JOURNAL
from adapter.core.contract.message import MessageData
from adapter.core.contract.msmq import RECEIVE_ACCESS, MsmqDelete, MsmqPurge
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import QueueDeleted, QueuePurged
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Refused
from adapter.core.contract.stored import Stored
from adapter.core.contract.weights import weight
from adapter.core.model.manager import QueueManager
from adapter.core.model.msmq_queue import MsmqQueue
from adapter.core.rules.messages import pages
from adapter.core.rules.messages.plan import Plan
from adapter.core.rules.messages.plan_room import weight_of
from adapter.core.rules.messages.unit import discard_records, taken_from
from adapter.core.rules.msmq import delivery as msmq_delivery
from adapter.core.rules.msmq import queues
from adapter.core.rules.msmq.opening import reader_of
from adapter.core.rules.primitives import waiting
from adapter.core.rules.primitives.decision import Decision, done, session_of
from adapter.core.rules.primitives.step_room import StepRoom

OVERGROWN = (
    "the queue was deleted, and what becomes of the messages sent to it is too long for one unit"
)
"""Why a unit can only be backed out."""


def decide_purge(qm: QueueManager, request: Request, command: MsmqPurge) -> Decision:
    """MQPurgeQueue."""
    queue = reader_of(qm, request, command.handle, RECEIVE_ACCESS).msmq
    plan, room = Plan(qm, request.now_ms), StepRoom(qm.limits.unit_messages)
    found = _first(queue, room)
    _report(plan, queue, found, msmq_delivery.QUEUE_PURGED)
    if room.is_over or _unread(qm, queue) is not None:
        return _go_on_later(plan, request, queue, found, room)
    count = queue.available_count + queue.purged.pop(_key(request), 0)
    kept = [taken_from(queue, one) for one in queue.stored.values() if one.locked]
    plan.records.append(QueuePurged(queue.name, kept, queue.available_count))
    return done(qm, request, plan.record(), count)


def decide_delete(qm: QueueManager, request: Request, command: MsmqDelete) -> Decision:
    """MQDeleteQueue: with its journal and its subqueues, and what is on them. Of a computer that
    depends on this queue manager system queues too: they are made again when they are needed.

    It is refused in its first step only, before anything is gone; see queues.is_leaving().
    """
    queue = queues.kept_at(qm, command.name, command.computer)
    if not queue.is_sent_to and not queue.is_of_dependent:
        text = "journals and subqueues go with their queue, the computer's system queues stay"
        raise Refusal(Reason.ACCESS_DENIED, command.name, text)
    plan = Plan(qm, request.now_ms)
    gone = msmq_delivery.with_subqueues(qm, queue)
    if not queues.is_leaving(qm, queue) and any(one.locked_count for one in gone):
        text = "transactions in flight have received messages of it"
        raise Refusal(Reason.QUEUE_IN_USE, command.name, text)
    plan.deleted = frozenset(one.name for one in gone)
    journal = queues.find(qm, f"{queue.name};{JOURNAL}")
    every = [*gone, *([journal] if journal is not None else [])]
    room = StepRoom(qm.limits.unit_messages)
    for one in gone:
        found = _first(one, room)
        if room.is_over or _unread(qm, one) is not None:
            _report(plan, one, found, msmq_delivery.QUEUE_DELETED)
            replies = _begin_deletion(qm, request, every)
            return _go_on_later(plan, request, one, found, room, replies)
    replies, count = _begin_deletion(qm, request, every), 0
    for one in every:
        count += one.available_count + one.purged.pop(_key(request), 0)
        if one.is_delivered_to:
            _report(plan, one, one.in_memory(), msmq_delivery.QUEUE_DELETED)
        _forget_in_units(plan, one)
    plan.records += [QueueDeleted(one.name) for one in every]
    return done(qm, request, plan.record(), count, replies)


def _begin_deletion(qm: QueueManager, request: Request, gone: list[MsmqQueue]) -> list[Reply]:
    """Have queues stay closed until their deletion ends, and refuse what waits for messages."""
    ident = session_of(qm, request).ident
    replies: list[Reply] = []
    for queue in gone:
        queue.deleter = ident
        replies += waiting.refuse_all(qm, queue, Reason.QUEUE_DELETED)
    return replies


def _key(request: Request) -> tuple[int, int]:
    return request.connection, request.request


def _unread(qm: QueueManager, queue: MsmqQueue) -> PageNeeded | None:
    """Return the page that is to be read before a queue can be cleared; None: nothing is left that
    asks for anything, or it proved to be lost.
    """
    if not queue.is_delivered_to:
        return None
    for lane in queue.lanes:
        seq = lane.paged.at_or_after(0)
        if seq is not None and qm.step.missing != (queue.name, lane.number, seq):
            return PageNeeded(queue.name, lane.number, seq)
    return None


def _first(queue: MsmqQueue, room: StepRoom) -> list[Stored]:
    """Return the messages in memory that one decision removes."""
    found: list[Stored] = []
    for stored in queue.in_memory() if queue.is_delivered_to else ():
        if room.is_over:
            break
        room.take(2 * weight(stored.message))  # its dead letter, an acknowledgment with its body
        found.append(stored)
    return found


def _go_on_later(
    plan: Plan,
    request: Request,
    queue: MsmqQueue,
    found: list[Stored],
    room: StepRoom,
    replies: Sequence[Reply] = (),
) -> Decision:
    """Remove what was found, and come back: at once for what else is in memory, or when the next
    page has been read. replies: to others.
    """
    qm = plan.qm
    places = [taken_from(queue, stored) for stored in found]
    known = {key: count for key, count in queue.purged.items() if key[0] in qm.connections}
    queue.purged = known | {_key(request): known.get(_key(request), 0) + len(places)}
    plan.records += discard_records(places, "purged")
    needed = None if room.is_over else _unread(qm, queue)
    if needed is None:
        pages.go_on(qm, request, queue)
    else:
        pages.suspend(qm, request, needed)
    return Decision(plan.record(), replies=list(replies))


def _report(plan: Plan, queue: MsmqQueue, found: Iterable[Stored], why: int) -> None:
    """Report messages that are about to be removed from their queue, as far as they ask for it."""
    for stored in found:
        msmq_delivery.leave_unreceived(plan, queue, stored, why)


def _forget_in_units(plan: Plan, queue: MsmqQueue) -> None:
    """Drop what units hold of a queue that is deleted. What they send to it is not delivered: its
    dead letters and acknowledgments are held by the units in its place. A unit without room for
    those can only be backed out.
    """
    for connection in plan.qm.connections.values():
        for unit in connection.units.values():
            undelivered = Plan(plan.qm, plan.now_ms, plan.new_queues)
            undelivered.deleted = plan.deleted
            lost = {_copy_key(message) for of, message in unit.puts if of is queue}
            for of, message in list(unit.puts) if lost else ():
                if of is queue:
                    unit.drop_put(of, message)
                    _return_undelivered(undelivered, message)
                elif _arrival_key(message) in lost:
                    unit.drop_put(of, message)
            if unit.weight + weight_of(undelivered) <= plan.qm.limits.unit_bytes:
                undelivered.hold(unit)  # the plan of the step records the queues that are made
            else:
                unit.refusal = unit.refusal or Refused(Reason.BACKED_OUT, queue.name, OVERGROWN)
            unit.forget(queue)


def _copy_key(message: MessageData) -> tuple[bytes, str]:
    """Say of which send a message is, and to which queue: copies for several have one id."""
    return message.message_id, msmq_delivery.header_of(message).destination


def _arrival_key(message: MessageData) -> tuple[bytes, str] | None:
    """The same of the message whose arrival is acknowledged; None: it is no such acknowledgment."""
    header = msmq_delivery.header_of(message)
    if header.message_class != msmq_delivery.REACHED_QUEUE:
        return None
    return message.correlation_id, header.response_queue


def _return_undelivered(plan: Plan, message: MessageData) -> None:
    """Say what becomes of a message, dead letter or acknowledgment for a queue that is deleted."""
    header = msmq_delivery.header_of(message)
    if not header.message_class:
        msmq_delivery.fail(plan, message, msmq_delivery.BAD_DESTINATION)
    elif header.transactional:
        msmq_delivery.bury(plan, message, header.message_class)
