"""Putting a message on the dead-letter queue, as programs do that cannot deliver it.

This module knows the header; it does not know why a message could not be delivered.
"""

from __future__ import annotations

from typing import Any

from adapter.client.connection import Connection
from adapter.client.message import Message
from adapter.core.mq_layouts.dead_letter import made_at
from adapter.errors import Error

APPLICATION_TYPE = 6
"""MQAT_UNIX: what our own programs are."""


def with_header(
    message: Message, reason: int, *, queue: str, queue_manager: str, application: str, now_ms: int
) -> Message:
    """Return the message with a header that says why it was not delivered to a queue, and by whom.

    reason: an MQRC or MQFB number, which the message gets as its feedback too. now_ms: since the
    epoch. Names that have no room in the header are cut.
    """
    header = made_at(
        now_ms,
        reason=reason,
        destination=queue,
        destination_queue_manager=queue_manager,
        application_type=APPLICATION_TYPE,
        application=application,
    )
    return copy_of(message, dead_letter=header, feedback=reason)


def copy_of(message: Message, **fields: Any) -> Message:
    """Return a message of its own with the same fields, but for those that are given."""
    same = {name: getattr(message, name) for name in Message.__struct_fields__}
    return Message(**same | fields)


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
