"""Purging and deleting queues of MSMQ: messages leave them without having been received.

Each message may ask for an acknowledgment, or to become a dead letter, so that each is looked at.
What is not in memory is read page by page: what has been read is removed, and the request waits for
the next page, so that a long queue needs no more memory than a short one.
"""

from __future__ import annotations

from adapter.core.contract.commands import Request
from adapter.core.contract.format_names import JOURNAL
from adapter.core.contract.message import MessageData, weight
from adapter.core.contract.msmq import RECEIVE_ACCESS, MsmqDelete, MsmqPurge
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import QueueDeleted, QueuePurged, Record
from adapter.core.contract.replies import Reply
from adapter.core.model.manager import QueueManager
from adapter.core.model.msmq_queue import MsmqQueue
from adapter.core.rules.messages import pages
from adapter.core.rules.messages.admit import hold, put_records
from adapter.core.rules.messages.unit import discard_records, taken_from
from adapter.core.rules.msmq import delivery as msmq_delivery
from adapter.core.rules.msmq import queues
from adapter.core.rules.msmq.opening import reader_of
from adapter.core.rules.primitives import waiting
from adapter.core.rules.primitives.decision import Decision, done


def decide_purge(qm: QueueManager, request: Request, command: MsmqPurge) -> Decision:
    """MQPurgeQueue."""
    queue = reader_of(qm, request, command.handle, RECEIVE_ACCESS).msmq
    delivery = msmq_delivery.MsmqDelivery(qm, request.now_ms)
    _report(delivery, queue, msmq_delivery.QUEUE_PURGED)
    needed = _unread(qm, queue)
    if needed is not None:
        return _go_on_later(qm, request, delivery, queue, needed)
    count = queue.available_count + queue.purged.pop(_key(request), 0)
    kept = [taken_from(queue, one) for one in queue.stored.values() if one.locked]
    purged = QueuePurged(queue.name, kept, queue.available_count)
    return _finish(qm, request, delivery, [*delivery.new.records, purged], count, [])


def decide_delete(qm: QueueManager, request: Request, command: MsmqDelete) -> Decision:
    """MQDeleteQueue: with its journal and its subqueues, and what is on them."""
    queue = queues.queue_at(qm, command.name, command.computer)
    if not queue.is_sent_to:
        text = "journals and subqueues go with their queue, system queues stay"
        raise Refusal(Reason.ACCESS_DENIED, command.name, text)
    delivery = msmq_delivery.MsmqDelivery(qm, request.now_ms)
    gone = msmq_delivery.with_subqueues(qm, queue)
    if any(one.locked_count for one in gone):
        text = "transactions in flight have received messages of it"
        raise Refusal(Reason.QUEUE_IN_USE, command.name, text)
    delivery.gone = frozenset(one.name for one in gone)
    for one in gone:
        needed = _unread(qm, one)
        if needed is not None:
            _report(delivery, one, msmq_delivery.QUEUE_DELETED)
            return _go_on_later(qm, request, delivery, one, needed)
    journal = queues.find(qm, f"{queue.name};{JOURNAL}")
    replies: list[Reply] = []
    count = 0
    for one in [*gone, *([journal] if journal is not None else [])]:
        count += one.available_count + one.purged.pop(_key(request), 0)
        _report(delivery, one, msmq_delivery.QUEUE_DELETED)
        replies += waiting.refuse_all(qm, one, Reason.QUEUE_DELETED)
        _forget_in_units(qm, delivery, one)
    deletions = [QueueDeleted(one.name) for one in gone]
    if journal is not None:
        deletions.append(QueueDeleted(journal.name))
    records = [*delivery.new.records, *deletions]
    return _finish(qm, request, delivery, records, count, replies)


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


def _go_on_later(
    qm: QueueManager,
    request: Request,
    delivery: msmq_delivery.MsmqDelivery,
    queue: MsmqQueue,
    needed: PageNeeded,
) -> Decision:
    """Remove what is in memory, and come back when the next page has been read."""
    places = [taken_from(queue, stored) for stored in queue.loaded()]
    known = {key: count for key, count in queue.purged.items() if key[0] in qm.connections}
    queue.purged = known | {_key(request): known.get(_key(request), 0) + len(places)}
    records = delivery.new.records + discard_records(places, "purged")
    pages.suspend(qm, request, needed)
    return Decision(_with_puts(qm, delivery, records), made=delivery.new.made)


def _with_puts(
    qm: QueueManager, delivery: msmq_delivery.MsmqDelivery, records: list[Record]
) -> list[Record]:
    if not delivery.puts:
        return records
    ident = qm.numbers.new_message_id()
    return records + put_records(qm, ident, delivery.puts, delivery.now_ms)


def _finish(
    qm: QueueManager,
    request: Request,
    delivery: msmq_delivery.MsmqDelivery,
    records: list[Record],
    count: int,
    replies: list[Reply],
) -> Decision:
    decision = done(qm, request, _with_puts(qm, delivery, records), count, replies)
    decision.made = delivery.new.made
    return decision


def _report(delivery: msmq_delivery.MsmqDelivery, queue: MsmqQueue, why: int) -> None:
    """Report the messages of a queue that are about to be removed, as far as they ask for it."""
    for stored in queue.loaded() if queue.is_delivered_to else ():
        msmq_delivery.leave_unreceived(delivery, stored, why)


def _forget_in_units(
    qm: QueueManager, delivery: msmq_delivery.MsmqDelivery, queue: MsmqQueue
) -> None:
    """Drop what units hold of a queue that is deleted. What they send to it is not delivered: its
    dead letters and acknowledgments are held by the units in its place.
    """
    for connection in qm.connections.values():
        for unit in connection.units.values():
            undelivered = msmq_delivery.MsmqDelivery(qm, delivery.now_ms, delivery)
            lost = {message.message_id for of, message in unit.puts if of is queue}
            for of, message in list(unit.puts) if lost else ():
                if of is queue:
                    unit.drop_put(of, message)
                    _return_undelivered(undelivered, message)
                elif message.correlation_id in lost and _reports_arrival(message):
                    unit.drop_put(of, message)
            puts = undelivered.puts
            hold(qm, unit, puts, [weight(one) for _, one in puts], delivery.now_ms)
            unit.forget(queue)


def _reports_arrival(message: MessageData) -> bool:
    return msmq_delivery.header_of(message).message_class == msmq_delivery.REACHED_QUEUE


def _return_undelivered(delivery: msmq_delivery.MsmqDelivery, message: MessageData) -> None:
    """Say what becomes of a message, dead letter or acknowledgment for a queue that is deleted."""
    header = msmq_delivery.header_of(message)
    if not header.message_class:
        msmq_delivery.fail(delivery, message, msmq_delivery.BAD_DESTINATION)
    elif header.transactional:
        msmq_delivery.bury(delivery, message, header.message_class)
