"""Purging and deleting queues of MSMQ: messages leave them without having been received."""

from __future__ import annotations

from adapter.core.contract.commands import Request
from adapter.core.contract.format_names import JOURNAL
from adapter.core.contract.msmq import RECEIVE_ACCESS, MsmqDelete, MsmqPurge
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import QueueDeleted, QueuePurged, Record
from adapter.core.model.manager import QueueManager, Reply
from adapter.core.model.msmq_queue import MsmqQueue
from adapter.core.rules import msmq_delivery, msmq_queues, waiting
from adapter.core.rules.admit import put_records
from adapter.core.rules.decision import Decision, done
from adapter.core.rules.msmq_open import reader_of
from adapter.core.rules.unit import taken_from


def decide_purge(qm: QueueManager, request: Request, command: MsmqPurge) -> Decision:
    """MQPurgeQueue."""
    queue = reader_of(qm, request, command.handle, RECEIVE_ACCESS).msmq
    delivery = msmq_delivery.MsmqDelivery(qm, request.now_ms)
    _report(delivery, queue, msmq_delivery.QUEUE_PURGED)
    count = queue.available_count
    kept = [taken_from(queue, one) for one in queue.stored.values() if one.locked]
    records: list[Record] = [*delivery.new.records, QueuePurged(queue.name, kept, count)]
    return _done(qm, request, delivery, records, count, [])


def decide_delete(qm: QueueManager, request: Request, command: MsmqDelete) -> Decision:
    """MQDeleteQueue: with its journal and its subqueues, and what is on them."""
    queue = msmq_queues.queue_at(qm, command.name, command.computer)
    if not queue.is_sent_to:
        text = "journals and subqueues go with their queue, system queues stay"
        raise Refusal(Reason.ACCESS_DENIED, command.name, text)
    delivery = msmq_delivery.MsmqDelivery(qm, request.now_ms)
    gone = msmq_delivery.with_subqueues(qm, queue)
    journal = msmq_queues.find(qm, f"{queue.name};{JOURNAL}")
    replies: list[Reply] = []
    count = 0
    for one in [*gone, *([journal] if journal is not None else [])]:
        count += one.available_count
        if one is not journal:
            _report(delivery, one, msmq_delivery.QUEUE_DELETED)
        replies += waiting.refuse_all(qm, one, Reason.QUEUE_DELETED)
        _forget_in_units(qm, delivery, one)
        delivery.new.records.append(QueueDeleted(one.name))
    return _done(qm, request, delivery, delivery.new.records, count, replies)


def _done(
    qm: QueueManager,
    request: Request,
    delivery: msmq_delivery.MsmqDelivery,
    records: list[Record],
    count: int,
    replies: list[Reply],
) -> Decision:
    if delivery.puts:
        ident = qm.numbers.new_message_id()
        records = records + put_records(qm, ident, delivery.puts, request.now_ms)
    decision = done(qm, request, records, count, replies)
    decision.made = delivery.new.made
    return decision


def _report(delivery: msmq_delivery.MsmqDelivery, queue: MsmqQueue, why: int) -> None:
    """Report the messages of a queue that are about to be removed, as far as they ask for it."""
    for stored in queue.loaded() if queue.is_delivered_to else ():
        msmq_delivery.left_unreceived(delivery, stored, why)


def _forget_in_units(
    qm: QueueManager, delivery: msmq_delivery.MsmqDelivery, queue: MsmqQueue
) -> None:
    """Let go of what units hold of a queue that goes; what they send to it is not delivered."""
    for connection in qm.connections.values():
        for unit in connection.units.values():
            for of, message in list(unit.puts):
                if of is queue:
                    unit.drop_put(of, message)
                    msmq_delivery.fail(delivery, message, msmq_delivery.BAD_DESTINATION)
            unit.forget(queue)
