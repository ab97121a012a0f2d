"""Sending messages of MSMQ: to queues here and on other computers, in a unit or alone.

Whether a queue accepts a message depends on both: transactional queues accept messages that are
sent in a transaction, others the rest. As from version 3 of MSMQ on, such a mismatch is no error of
the send: the message is not delivered. This module does not know what becomes of such a message.
"""

from __future__ import annotations

from msgspec import structs

from adapter.core.attributes.msmq import (
    PRIORITY_DEFAULT,
)
from adapter.core.contract.commands import Request
from adapter.core.contract.message import EXPIRY_UNLIMITED, NO_ID, MessageData
from adapter.core.contract.msmq import MsmqSend
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.results import put_done
from adapter.core.model.made_queues import check_queue_room
from adapter.core.model.manager import QueueManager
from adapter.core.model.msmq_handles import MsmqReader, MsmqSender
from adapter.core.model.msmq_queue import MsmqQueue
from adapter.core.rules.messages import context, putters
from adapter.core.rules.messages.plan import Plan
from adapter.core.rules.messages.plan_room import check_room
from adapter.core.rules.messages.unit import unit_of
from adapter.core.rules.msmq import checks, computers, queues
from adapter.core.rules.msmq import delivery as msmq_delivery
from adapter.core.rules.msmq.delivery import NOT_TRANSACTIONAL_MESSAGE, NOT_TRANSACTIONAL_QUEUE
from adapter.core.rules.msmq.opening import sender_of
from adapter.core.rules.primitives import parking
from adapter.core.rules.primitives.decision import (
    Decision,
    connection_of,
    done,
    outcome_of,
    own_unit,
    session_of,
)


def decide_send(qm: QueueManager, request: Request, command: MsmqSend) -> Decision:
    """MQSendMessage."""
    handle = sender_of(qm, request, command.handle)
    message = command.message
    if command.unit and command.single:
        text = "a single message is sent outside of transactions"
        raise Refusal(Reason.OPTIONS_ERROR, handle.name, text)
    checks.check(message, handle.name)
    context.write_sender(qm, request, message)
    unit = unit_of(qm, request, command.unit) if command.unit else None
    transactional = unit is not None or command.single
    message = _settle(qm, message, handle, request.now_ms, transactional=transactional)
    putters.note(qm, connection_of(qm, request).party.principal, [message])
    if unit is not None and unit.lifetime is not None:
        message.expires_at_ms, message.expiry_ms = unit.lifetime
        header = msmq_delivery.header_of(message)
        message.msmq = structs.replace(header, receive_by_ms=message.expires_at_ms)
    plan = Plan(qm, request.now_ms)
    _send_to_each(plan, handle, message)
    check_room(plan, request, unit, handle.name)
    if unit is not None:
        records = plan.hold(unit)
        unit.lifetime = message.expires_at_ms, message.expiry_ms
        return Decision(records, put_done([message.message_id], message), qm.entry_n)
    ident = own_unit(request, session_of(qm, request).ident)
    if plan.puts:
        return Decision(plan.record(ident, outcome=outcome_of(qm, request)))
    return done(qm, request, plan.record(ident))


def _send_to_each(plan: Plan, handle: MsmqSender | MsmqReader, message: MessageData) -> None:
    """Deliver a copy to each queue, or none, if a copy for a queue here is refused at once."""
    qm = plan.qm
    here = sum(computers.is_here(qm, name) for name in handle.targets)
    if not msmq_delivery.computer_has_room(plan, message, max(here, 1)):
        text = f"its computer holds {qm.attributes.msmq_quota_kb} KB of messages at most"
        raise Refusal(Reason.LIMIT_REACHED, handle.name, text)
    for name in handle.targets:
        if not computers.is_here(qm, name):
            continue
        queue = queues.find(qm, name.queue) or queues.of_mq(qm, name)
        if queue is None or (isinstance(queue, MsmqQueue) and queues.is_leaving(qm, queue)):
            raise Refusal(Reason.QUEUE_DELETED, name.text)
        if qm.parked or qm.uncopied.is_full:
            parking.check_put(qm, queue, [message])
        mismatch = msmq_delivery.why_not_accepted(plan, name, message)
        is_mismatch = mismatch in (NOT_TRANSACTIONAL_QUEUE, NOT_TRANSACTIONAL_MESSAGE)
        if is_mismatch and qm.attributes.msmq_level == 2:
            text = "the queue is transactional, and the message is sent without a transaction"
            if mismatch == NOT_TRANSACTIONAL_QUEUE:
                text = "the queue is not transactional, and the message is sent in a transaction"
            raise Refusal(Reason.TRANSACTION_USAGE, name.text, text)
    msmq_delivery.prepare_dead_letters(plan, message)
    for name in handle.targets:
        header = structs.replace(msmq_delivery.header_of(message), destination=name.text)
        copy = structs.replace(message, msmq=header)
        if computers.is_here(qm, name):
            msmq_delivery.deliver(plan, name, copy)
        elif not msmq_delivery.transmit(plan, name, copy):
            check_queue_room(qm, handle.name)
    msmq_delivery.copy_to_computer_journal(plan, message)
    if plan.new_queues.queues:
        check_queue_room(qm, handle.name, len(plan.new_queues.queues))


def _settle(
    qm: QueueManager,
    message: MessageData,
    handle: MsmqSender | MsmqReader,
    now_ms: int,
    *,
    transactional: bool,
) -> MessageData:
    """Return a message with what is left to the queue manager, and without what programs of MSMQ do
    not say.
    """
    header = msmq_delivery.header_of(message)
    ends = message.expiry_ms != EXPIRY_UNLIMITED
    expires_at_ms = max(1, now_ms + message.expiry_ms) if ends else 0
    return MessageData(
        body=message.body,
        message_id=message.message_id or qm.numbers.new_message_id(),
        correlation_id=message.correlation_id or NO_ID,
        group_id=NO_ID,
        priority=0 if transactional else _priority(message),
        persistence=1,
        expiry_ms=message.expiry_ms,
        user=message.user,
        application=message.application,
        reply_to_queue_manager=_acting_for(qm, handle.computer),
        put_time_ms=now_ms,
        expires_at_ms=expires_at_ms,
        msmq=structs.replace(
            header,
            message_class=0,
            transactional=transactional,
            recoverable=header.recoverable or transactional,
            source=handle.computer,
            sent_ms=now_ms,
            receive_by_ms=expires_at_ms,
            move_count=0,
            unit=b"",
            unit_index=0,
            unit_size=0,
        ),
    )


def _acting_for(qm: QueueManager, computer: str) -> str:
    """Return the computer to which the dead letters of a message return: this one, if the computer
    that sends it depends on this queue manager; empty: to that one. See delivery.acting_for().
    """
    return computers.computer_of(qm) if computers.depends_on(qm, computer) else ""


def _priority(message: MessageData) -> int:
    return PRIORITY_DEFAULT if message.priority < 0 else message.priority
