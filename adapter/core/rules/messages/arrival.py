"""The put of a message of MQ that came from another queue manager, or from a topic.

A message that its queue does not take goes to the dead-letter queue. This module does not know what
came before, nor how a message travels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from adapter.core.contract.arrivals import Arrival
from adapter.core.contract.bounds import LATEST_MS
from adapter.core.contract.message import NO_ID, MessageData
from adapter.core.contract.object_names import SYSTEM
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.transmission import Transmission
from adapter.core.model.destination import TopicDefaults, TopicDestination
from adapter.core.model.manager import QueueManager
from adapter.core.model.routes import Target
from adapter.core.rules.messages import put, putters
from adapter.core.rules.messages.plan import Plan, dead_letter_queue
from adapter.core.rules.messages.receiving import ReceiverAuthority
from adapter.core.rules.network import routes
from adapter.core.rules.primitives import staging

Publish = Callable[[Plan, Target, MessageData], Reason | None]
"""Of the plan, the topic and a message: returns why it cannot be published."""
INVALID: Final = 2110
"""MQRC_FORMAT_ERROR: what came is no message."""
NOWHERE: Final = TopicDestination("", TopicDefaults(def_priority=0, def_persistence=False))
"""What a message is checked against that leads nowhere, and has no dead-letter queue to go to."""
LATER: Final = (Reason.MESSAGE_TOO_LONG, Reason.PERSISTENT_NOT_ALLOWED)
"""Said of a queue, and not of the message."""


def arrive(
    plan: Plan,
    arrival: Arrival,
    source: str,
    is_of_kafka: bool,
    delivered: list[MessageData],
    receiver: ReceiverAuthority | None,
    publish: Publish,
) -> str:
    """Plan the put of a message; returns the name of its queue if nothing can take it, else "".

    source: the queue manager that sent it. is_of_kafka: a client of Kafka wrote it, which reaches
    no queue of a queue manager's own, here or elsewhere, by whatever name. delivered: takes a
    message that its queue takes. receiver: by whose authorities it is put; None: it needs none.
    publish: plans the copies of a message for an alias of a topic.
    """
    message = msgspec.structs.replace(arrival.message, transmission=None)
    to = arrival.message.transmission or Transmission("")
    target = Target(reason=Reason.AUTHORITY_MISSING)
    if receiver is None or receiver.may_put(to.queue, to.queue_manager, message.user):
        target = routes.find(plan.qm, to.queue, to.queue_manager, plan.new_queues)
    if target.queue is not None and target.queue.name == source and target.transmission == to:
        # It would go back to where it came from, unchanged: and so for ever.
        target = Target(reason=Reason.UNKNOWN_REMOTE_QUEUE_MANAGER)
    if is_of_kafka and _is_of_system(to, target):
        target = Target(reason=Reason.AUTHORITY_MISSING)
    user = None if receiver is None else receiver.putter(message.user)
    putters.note_arrived(plan.qm, message, user)
    code = complete(plan.qm, target, message, plan.now_ms)
    if code or arrival.code:
        letter = message
        if code or not _keeps_descriptor(arrival.message):
            letter = as_bytes(plan.qm, message.body, plan.now_ms)
        reason = plan.bury([letter], to.queue, arrival.code or code, to.queue_manager)
    else:
        reason = plan.send(target, message)
        if reason is Reason.ALIAS_BASE_TYPE_ERROR:
            reason = publish(plan, target, message)
        if reason is None:
            delivered.append(message)
        else:
            reason = plan.give_up(message, to.queue, to.queue_manager, reason)
    if reason is None:
        return ""
    return to.queue or plan.qm.attributes.dead_letter_queue or "SYSTEM"


def _is_of_system(to: Transmission, target: Target) -> bool:
    """Whether a message is for a queue of a queue manager's own, as the one for commands, or what
    its name leads to is one, on another queue manager too.
    """
    names = [to.queue]
    if target.transmission is not None:
        names.append(target.transmission.queue)
    elif target.queue is not None:
        names.append(target.queue.name)
    return any(name.startswith(SYSTEM) for name in names)


def _keeps_descriptor(message: MessageData) -> bool:
    """Whether a message that shares the fate of its damaged unit can be read as one of MQ."""
    return bool(message.put_time_ms) and message.msmq is None and message.broker is None


def complete(qm: QueueManager, target: Target, message: MessageData, now_ms: int) -> int:
    """Fill in what a message that arrived leaves open, as the name that it came by says; returns
    why it is invalid, or 0.
    """
    message.destination = ""
    if message.put_time_ms:
        message.delay_ms = 0  # the queue manager that it was put to has seen to it
    times = message.put_time_ms, message.expires_at_ms, message.deliver_at_ms
    if min(times) < 0 or max(times) > LATEST_MS:
        return INVALID  # no queue manager says so; the copy on a topic could not have this time
    checked = target.destination or dead_letter_queue(qm) or NOWHERE
    defaults = target.defaults or checked.attributes
    try:
        if not message.put_time_ms:
            staging.check(qm, checked.name, message, now_ms)
        put.check(checked, message)  # what is refused later is said last
    except Refusal as refusal:
        if refusal.reason not in LATER:
            return INVALID
    put.default(checked, message, defaults)
    if not message.put_time_ms:
        put.resolve(qm, checked, message, now_ms)
    put.cap_life(message, checked.attributes, now_ms)
    put.cap_life(message, defaults, now_ms)
    return 0


def as_bytes(qm: QueueManager, body: bytes, now_ms: int) -> MessageData:
    """Make a message of the body of what is not a message."""
    return MessageData(
        body=body,
        message_id=qm.numbers.new_message_id(),
        correlation_id=NO_ID,
        group_id=NO_ID,
        priority=0,
        persistence=1,
        put_time_ms=now_ms,
    )
