"""What the report options of a message (MQMD.Report) say of its answers: of the reports that the
queue manager makes, and of the replies that programs put. MQ means each of these options for both.
"""

from __future__ import annotations

from typing import Final

PASS_MESSAGE_ID: Final = 0x0080
PASS_CORRELATION_ID: Final = 0x0040
PASS_DISCARD_AND_EXPIRY: Final = 0x4000
DISCARD: Final = 0x0800_0000


def ids_of_answer(report: int, message_id: bytes, correlation_id: bytes) -> tuple[bytes, bytes]:
    """Return the message id, b"" for a new one, and the correlation id of an answer to a message.

    report, message_id, correlation_id: of the message.
    """
    return (
        message_id if report & PASS_MESSAGE_ID else b"",
        correlation_id if report & PASS_CORRELATION_ID else message_id,
    )
