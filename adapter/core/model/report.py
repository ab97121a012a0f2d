"""Reports: which of them a message asks for (MQMD.Report), and what they look like.

It knows messages and no queue: where a report goes, and whose unit it belongs to, is said in
core.rules.messages.report.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from adapter.core.contract.answers import DISCARD, PASS_DISCARD_AND_EXPIRY, ids_of_answer
from adapter.core.contract.details import APPL_TYPE_QMGR, Details
from adapter.core.contract.message import EXPIRY_UNLIMITED, NO_ID, MessageData
from adapter.core.contract.stored import Stored
from adapter.core.model.queue import LocalQueue

# MQMD.Report, as MQ numbers it. A kind's two bits above its own ask for 100 bytes, or for all.
EXCEPTION: Final = 0x0100_0000
EXPIRATION: Final = 0x0020_0000
CONFIRM_ON_ARRIVAL: Final = 0x0100
CONFIRM_ON_DELIVERY: Final = 0x0800
POSITIVE_ACTION: Final = 0x0001
NEGATIVE_ACTION: Final = 0x0002
ASKS: Final = (
    EXCEPTION
    | EXPIRATION
    | CONFIRM_ON_ARRIVAL
    | CONFIRM_ON_DELIVERY
    | POSITIVE_ACTION
    | NEGATIVE_ACTION
)
"""What needs a queue to reply to."""

FEEDBACK: Final = {EXPIRATION: 258, CONFIRM_ON_ARRIVAL: 259, CONFIRM_ON_DELIVERY: 260}
REQUEST, REPORT = 1, 4  # MQMT_REQUEST, MQMT_REPORT
DATA_LENGTH: Final = 100


class MsmqExpiry(Struct):
    """A message of MSMQ that has expired on a queue: it may be a dead letter, and be reported."""

    queue: LocalQueue
    stored: Stored


class ReportDue(Struct):
    """A message that has expired, or has been released, whose program wants to know.

    time_ms: of the report; 0: when the message expired.
    """

    message: MessageData
    kind: int = EXPIRATION
    time_ms: int = 0


def make(
    queue_manager: str,
    message: MessageData,
    kind: int,
    message_id: bytes,
    now_ms: int,
    code: int = 0,
) -> MessageData:
    """Make the report of a kind about a message. message_id: a new one, if that is asked for.

    code: of an exception, the reason as IBM MQ numbers it.
    With PASS_DISCARD_AND_EXPIRY it lives as long as the message had left.
    """
    passed_id, correlation_id = ids_of_answer(
        message.report, message.message_id, message.correlation_id
    )
    body = message.body[: data_length(message, kind)]
    passes = bool(message.report & PASS_DISCARD_AND_EXPIRY)
    expiry_ms = EXPIRY_UNLIMITED
    if passes and message.expires_at_ms > now_ms:
        expiry_ms = message.expires_at_ms - now_ms
    return MessageData(
        body=body,
        message_id=passed_id or message_id,
        correlation_id=correlation_id,
        group_id=NO_ID,
        priority=message.priority,
        persistence=message.persistence,
        expiry_ms=expiry_ms,
        format=message.format if body else "",
        message_type=REPORT,
        report=message.report & DISCARD if passes else 0,
        feedback=code or FEEDBACK[kind],
        encoding=message.encoding,
        ccsid=message.ccsid,
        reply_to_queue_manager=queue_manager,
        user=message.user,
        application=queue_manager,
        put_time_ms=now_ms,
        expires_at_ms=now_ms + expiry_ms if expiry_ms > 0 else 0,
        details=Details(appl_type=APPL_TYPE_QMGR, original_length=len(message.body)),
    )


def data_length(message: MessageData, kind: int) -> int:
    """Return how many bytes of a message its report of a kind has; 0 if it asks for none."""
    if not message.report & kind:
        return 0
    length = len(message.body)
    if message.report & kind * 4:
        return length
    return min(length, DATA_LENGTH) if message.report & kind * 2 else 0
