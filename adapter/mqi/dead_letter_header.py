"""Putting a message on the dead-letter queue, as programs do that cannot deliver it.

This module knows the header; it does not know why a message could not be delivered.
"""

from __future__ import annotations

from datetime import UTC, datetime

from adapter.client.connection import Connection
from adapter.client.message import DeadLetter, Message
from adapter.errors import Error

APPLICATION_TYPE = 6
"""MQAT_UNIX: what our own programs are."""


def addressed(
    message: Message,
    reason: int,
    *,
    queue: str,
    queue_manager: str,
    application: str,
    now: datetime | None = None,
) -> Message:
    """Return the message with a header that says why it was not delivered to a queue, and by whom.

    reason: an MQRC or MQFB number, which the message gets as its feedback too.
    """
    when = now or datetime.now(UTC)
    header = DeadLetter(
        reason=reason,
        destination=queue,
        destination_queue_manager=queue_manager,
        application_type=APPLICATION_TYPE,
        application=application,
        put_date=f"{when:%Y%m%d}",
        put_time=f"{when:%H%M%S}{when.microsecond // 10_000:02}",
    )
    buried = Message(**{name: getattr(message, name) for name in Message.__struct_fields__})
    buried.dead_letter, buried.feedback = header, reason
    return buried


class NoDeadLetterQueue(Error):  # noqa: N818 -- it says what is missing
    """A queue manager has no dead-letter queue."""

    reason, reason_name = 2085, "MQRC_UNKNOWN_OBJECT_NAME"


def dead_letter_queue(qm: Connection) -> str:
    """Ask a queue manager for the name of its dead-letter queue. Raises NoDeadLetterQueue."""
    (own,) = qm.objects("queue_manager")
    name = own.attributes["dead_letter_queue"]
    if not name:
        raise NoDeadLetterQueue(
            f"queue manager {qm.name} has no dead-letter queue: name one with "
            'alter_queue_manager(dead_letter_queue="SYSTEM.DEAD.LETTER.QUEUE")',
            qm.name,
        )
    return str(name)
