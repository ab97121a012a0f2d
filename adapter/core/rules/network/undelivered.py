"""What cannot be delivered: why a queue takes no message, and what goes to the dead-letter queue.

For messages that the queue manager itself puts: trigger messages, reports, copies of publications.
A put that a program makes is refused instead. This module does not know what becomes of a message
that the dead-letter queue does not take either.
"""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from adapter.core.attributes.objects import AliasAttributes
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.transmission import Transmission
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.routes import Made
from adapter.core.mq_layouts import dead_letter
from adapter.core.rules.network import remote
from adapter.core.rules.primitives import naming, parking


class Target(Struct):
    """The queue that a message of the queue manager's own goes to.

    transmission: what it carries to another queue manager, if queue is a transmission queue.
    reason: why no transmission queue leads there; without queue and reason no local queue is found.
    """

    queue: LocalQueue | None = None
    transmission: Transmission | None = None
    reason: Reason | None = None


def find(qm: QueueManager, name: str, queue_manager: str, made: Made) -> Target:
    """Find the queue that a name leads to, of this queue manager or another one.

    made: new transmission queues, see remote.route.
    """
    try:
        route = remote.route(qm, name, queue_manager, made)
        alias = qm.objects.get(("alias", name))
        if route is None and isinstance(alias, AliasAttributes) and alias.target_type == "QUEUE":
            route = remote.route(qm, alias.target, "", made)
    except Refusal as refusal:
        return Target(reason=refusal.reason)
    if route is not None:
        if route.is_inhibited:
            return Target(reason=Reason.PUT_INHIBITED)
        return Target(route.queue, route.transmission)
    return Target(destination(qm, name))


def destination(qm: QueueManager, name: str) -> LocalQueue | None:
    """Return the local queue of a name, its own or an alias, if it is there."""
    alias = qm.objects.get(("alias", name))
    if not isinstance(alias, AliasAttributes):
        return naming.mq_queue(qm, name)
    return naming.mq_queue(qm, alias.target) if alias.target_type == "QUEUE" else None


def why_no_destination(qm: QueueManager, name: str) -> Reason:
    """Return the reason for which no local queue is found under a name."""
    alias = qm.objects.get(("alias", name))
    if isinstance(alias, AliasAttributes) and alias.target_type == "TOPIC":
        return Reason.OBJECT_TYPE_ERROR
    return Reason.QUEUE_NOT_FOUND


def why_unresolved(qm: QueueManager, name: str) -> Reason:
    """Return the reason for which a name to reply to leads to no local queue."""
    alias = qm.objects.get(("alias", name))
    if not isinstance(alias, AliasAttributes):
        return Reason.QUEUE_NOT_FOUND
    is_topic = alias.target_type == "TOPIC"
    return Reason.ALIAS_BASE_TYPE_ERROR if is_topic else Reason.UNKNOWN_ALIAS_BASE


def why_undeliverable(
    qm: QueueManager, queue: LocalQueue | None, message: MessageData, planned: int = 0
) -> Reason | None:
    """Return the reason for which a queue cannot take one message more, or None.

    planned: how many are about to be put there that its depth does not count yet.
    """
    if queue is None:
        return Reason.QUEUE_NOT_FOUND
    attributes = queue.attributes
    if queue.is_temporary and message.persistence:
        return Reason.PERSISTENT_NOT_ALLOWED
    if attributes.inhibit_put:
        return Reason.PUT_INHIBITED
    if len(message.body) > attributes.max_message_length:
        return Reason.MESSAGE_TOO_LONG
    if queue.taken_room + planned >= attributes.max_depth:
        return Reason.QUEUE_FULL
    try:
        parking.check_put(qm, queue, [message])
    except Refusal:
        return Reason.QUEUE_PARKED
    return None


def dead_letter_queue(qm: QueueManager) -> LocalQueue | None:
    """Return the dead-letter queue, if there is one."""
    return naming.mq_queue(qm, qm.attributes.dead_letter_queue)


def as_dead_letter(
    qm: QueueManager,
    message: MessageData,
    destination: str,
    code: int,
    now_ms: int,
    destination_queue_manager: str = "",
) -> MessageData:
    """Make what goes to the dead-letter queue: the message under a header that says why.

    destination: where it was to go, of this queue manager unless another is named. code: the reason
    as IBM MQ numbers it.
    """
    return dead_letter.as_dead_letter(
        message, qm.name, destination, code, now_ms, destination_queue_manager
    )


def for_dead_letter_queue(
    qm: QueueManager,
    message: MessageData,
    destination: str,
    code: int,
    now_ms: int,
    destination_queue_manager: str = "",
    planned: Counter[str] | None = None,
) -> tuple[LocalQueue, MessageData] | None:
    """Return the dead-letter queue and what is to be put there; None if it takes nothing.

    planned: how many are about to be put to each queue; other arguments: see as_dead_letter().
    """
    queue = dead_letter_queue(qm)
    if queue is None:
        return None
    put = as_dead_letter(qm, message, destination, code, now_ms, destination_queue_manager)
    before = 0 if planned is None else planned[queue.name]
    return None if why_undeliverable(qm, queue, put, before) else (queue, put)
