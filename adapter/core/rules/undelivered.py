"""What cannot be delivered: why a queue takes no message, and what goes to the dead-letter queue.

For messages that the queue manager itself puts: trigger messages, reports, copies of publications.
A put that a program makes is refused instead. This module does not know what becomes of a message
that the dead-letter queue does not take either.
"""

from __future__ import annotations

import msgspec

from adapter.core.attributes.objects import AliasAttributes
from adapter.core.contract.details import APPL_TYPE_QMGR
from adapter.core.contract.message import Message
from adapter.core.contract.reasons import Refusal
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import Queue
from adapter.core.mq_layouts import dead_letter
from adapter.core.rules import parking

ALIAS_BASE_Q_TYPE_ERROR = 2001  # MQRC_ALIAS_BASE_Q_TYPE_ERROR
MSG_TOO_BIG_FOR_Q = 2030  # MQRC_MSG_TOO_BIG_FOR_Q
PERSISTENT_NOT_ALLOWED = 2048  # MQRC_PERSISTENT_NOT_ALLOWED
PUT_INHIBITED = 2051  # MQRC_PUT_INHIBITED
Q_FULL = 2053  # MQRC_Q_FULL
UNKNOWN_ALIAS_BASE_Q = 2082  # MQRC_UNKNOWN_ALIAS_BASE_Q
UNKNOWN_OBJECT_NAME = 2085  # MQRC_UNKNOWN_OBJECT_NAME
STORAGE_MEDIUM_FULL = 2192  # MQRC_STORAGE_MEDIUM_FULL
ALIAS_TARGTYPE_CHANGED = 2480  # MQRC_ALIAS_TARGTYPE_CHANGED


def destination(qm: QueueManager, name: str) -> Queue | None:
    """Return the local queue of a name, its own or an alias, if it is there."""
    alias = qm.objects.get(("alias", name))
    if not isinstance(alias, AliasAttributes):
        return qm.queues.get(name)
    return qm.queues.get(alias.target) if alias.target_type == "QUEUE" else None


def why_missing(qm: QueueManager, name: str) -> int:
    """Say why there is no destination of a name, as an MQRC number."""
    alias = qm.objects.get(("alias", name))
    if isinstance(alias, AliasAttributes) and alias.target_type == "TOPIC":
        return ALIAS_TARGTYPE_CHANGED
    return UNKNOWN_OBJECT_NAME


def why_unresolved(qm: QueueManager, name: str) -> int:
    """Say why a name to reply to leads to no local queue, as an MQRC number."""
    alias = qm.objects.get(("alias", name))
    if not isinstance(alias, AliasAttributes):
        return UNKNOWN_OBJECT_NAME
    return ALIAS_BASE_Q_TYPE_ERROR if alias.target_type == "TOPIC" else UNKNOWN_ALIAS_BASE_Q


def obstacle(qm: QueueManager, queue: Queue | None, message: Message, planned: int = 0) -> int:
    """Say why a queue cannot take one message more, as an MQRC number; 0 if it can.

    planned: how many are about to be put there that its depth does not count yet.
    """
    if queue is None:
        return UNKNOWN_OBJECT_NAME
    attributes = queue.attributes
    if queue.is_temporary and message.persistence:
        return PERSISTENT_NOT_ALLOWED
    if attributes.inhibit_put:
        return PUT_INHIBITED
    if len(message.body) > attributes.max_message_length:
        return MSG_TOO_BIG_FOR_Q
    if queue.taken_room + planned >= attributes.max_depth:
        return Q_FULL
    try:
        parking.check_put(qm, queue, [message])
    except Refusal:
        return STORAGE_MEDIUM_FULL
    return 0


def dead_letter_queue(qm: QueueManager) -> Queue | None:
    """Return the dead-letter queue, if there is one."""
    return qm.queues.get(qm.attributes.dead_letter_queue)


def buried(
    qm: QueueManager,
    message: Message,
    destination: str,
    reason: int,
    now_ms: int,
    destination_queue_manager: str = "",
) -> Message:
    """Make what goes to the dead-letter queue: the message under a header that says why.

    destination: where it was to go, of this queue manager unless another is named.
    """
    put_date, put_time = dead_letter.stamps(now_ms)
    header = dead_letter.DeadLetter(
        reason=reason,
        destination=destination,
        destination_queue_manager=destination_queue_manager or qm.name,
        encoding=message.encoding,
        ccsid=message.ccsid,
        format=message.format,
        application_type=APPL_TYPE_QMGR,
        application=qm.name,
        put_date=put_date,
        put_time=put_time,
    )
    body = dead_letter.to_dlh(header) + message.body
    return msgspec.structs.replace(
        message,
        body=body,
        format=dead_letter.FORMAT,
        encoding=dead_letter.ENCODING,
        ccsid=dead_letter.CCSID,
    )
