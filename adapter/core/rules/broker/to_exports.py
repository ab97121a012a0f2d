"""Services at an export: what is sent to them is put to the export's queue, as messages of MQ.

The address of their route names the export. It is looked up with each message, so that an export
may be deleted and defined again meanwhile. What its queue does not take now, waits; only a message
that is too long for the queue never goes there. This module does not know what becomes of it then,
nor who writes the topic.
"""

from __future__ import annotations

from typing import Final

from msgspec import structs

from adapter.core.contract.broker import EXPORT_ADDRESS
from adapter.core.contract.exports import KEY
from adapter.core.contract.message import ID_LENGTH, NO_ID, MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.rules.broker.texts import shown
from adapter.core.rules.messages.plan import Plan
from adapter.core.rules.messages.put import cap_life
from adapter.core.rules.primitives import naming

RETRY_MS: Final = 1_000
"""How often it is looked whether the queues of exports take again what waits for them. That one has
room is said by no event.
"""
WHY: Final = {
    Reason.QUEUE_FULL: "is full",
    Reason.PUT_INHIBITED: "is inhibited for puts",
    Reason.QUEUE_PARKED: "takes no more before its messages are copied",
}


def export_of(address: str) -> str:
    """Return the export that an address names; empty: it names none."""
    return address.removeprefix(EXPORT_ADDRESS) if address.startswith(EXPORT_ADDRESS) else ""


def queue_of(qm: QueueManager, export: str) -> LocalQueue | None:
    """Return the queue of an export, if both are there."""
    found = qm.exports.get(export)
    return naming.mq_queue(qm, found.queue) if found is not None else None


def why_not(plan: Plan, export: str, message: MessageData, more: int = 0) -> Reason | None:
    """Return the reason for which a message cannot be put to the queue of an export, or None.

    more: how many others are to be put there beside those that are planned.
    """
    return plan.why_not(queue_of(plan.qm, export), message, more)


def may_pass(reason: Reason | None) -> bool:
    """Whether it may pass that a message cannot be put: its length does not."""
    return reason not in (None, Reason.MESSAGE_TOO_LONG)


def put(plan: Plan, export: str, message: MessageData) -> None:
    """Plan the put of a message to the queue of an export, which takes it."""
    queue = queue_of(plan.qm, export)
    assert queue is not None, "it takes the message"
    of_mq = _as_of_mq(plan.qm, message, plan.now_ms)
    cap_life(of_mq, queue.attributes, plan.now_ms)
    plan.put(queue, of_mq)


def _as_of_mq(qm: QueueManager, message: MessageData, now_ms: int) -> MessageData:
    """Return a message as one of MQ. What readers of the topic need of its conversation is in
    properties, which are headers there; the conversation is the record's key, so that its records
    are on one partition. It is the correlation id too.
    """
    header = message.broker
    assert header is not None, "it was sent on a conversation"
    conversation = shown(header.conversation)
    return structs.replace(
        message,
        broker=None,
        transmission=None,
        message_id=qm.numbers.new_message_id(),
        correlation_id=header.conversation.ljust(ID_LENGTH, b"\0"),
        group_id=NO_ID,
        group_seq=1,
        put_time_ms=now_ms,
        properties={
            KEY: conversation,
            "conversation_handle": conversation,
            "message_sequence_number": header.sequence,
            "message_type_name": header.message_type,
            "service_contract_name": header.contract,
            "from_service_name": header.from_service,
            "to_service_name": header.service,
        },
    )


def note_retry(qm: QueueManager, key: str) -> None:
    """Look again after a while whether the messages of a queue may leave: once for all of them."""
    then_ms = (qm.elapsed_ms // RETRY_MS + 1) * RETRY_MS
    qm.due.retries.push((then_ms, key), lambda one: one[1] in qm.queues)


def status(plan: Plan, export: str, message: MessageData) -> str:
    """Say why a message waits for an export, for people."""
    found = plan.qm.exports.get(export)
    if found is None:
        return f"Export {export} does not exist."
    reason = why_not(plan, export, message)
    of = f"Queue {found.queue} of export {export}"
    if reason is Reason.QUEUE_NOT_FOUND:
        return f"{of} does not exist."
    if reason is None:
        return f"{of} takes the message within a second."
    return f"{of} {WHY.get(reason, 'does not take the message')}."
