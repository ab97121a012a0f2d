"""Segments: cutting a long message into some that a queue takes, and joining them again.

It knows messages and no queue: how long a segment may be is said by others.
"""

from __future__ import annotations

from typing import Final

import msgspec

from adapter.core.contract.details import (
    LAST_SEGMENT,
    SEGMENT,
    SEGMENTATION_ALLOWED,
    Details,
)
from adapter.core.contract.message import NO_ID, Delivered, MessageData
from adapter.core.contract.stored import Stored, delivered
from adapter.core.model.groups import is_in_group

STEP: Final = 16
"""Segments but the last one have a multiple of this many bytes, as MQ's have."""


def may_be_split(message: MessageData) -> bool:
    """Whether its program allows the queue manager to cut it (MQMF_SEGMENTATION_ALLOWED)."""
    return message.details is not None and bool(message.details.flags & SEGMENTATION_ALLOWED)


def starts(message: MessageData, longest: int) -> range:
    """Say where the segments of a message begin, of at most so many bytes, which are not none."""
    size = longest - longest % STEP if longest >= STEP else longest
    return range(0, len(message.body), size) if len(message.body) > longest else range(0, 1, size)


def split(message: MessageData, longest: int) -> list[MessageData]:
    """Cut an admitted message into segments of at most so many bytes, if it is longer.

    All have the message's id, its group and what else it says; a segment may be cut like any other.
    """
    where = starts(message, longest)
    if len(where) == 1:
        return [message]
    details = message.details or Details()
    last = details.flags & LAST_SEGMENT if details.flags & SEGMENT else LAST_SEGMENT
    flags = details.flags & ~LAST_SEGMENT | SEGMENT
    return [
        msgspec.structs.replace(
            message,
            body=message.body[at : at + where.step],
            details=msgspec.structs.replace(
                details,
                offset=details.offset + at,
                flags=flags | last if at == where[-1] else flags,
            ),
        )
        for at in where
    ]


def join(parts: list[Stored]) -> Delivered:
    """Show the segments of a message, all of them and in their order, as that message."""
    shown = delivered(parts[0])
    if len(parts) == 1:
        return shown
    first = parts[0].message
    details = first.details or Details()
    shown.message = msgspec.structs.replace(
        first,
        body=b"".join(part.message.body for part in parts),
        group_id=first.group_id if is_in_group(first) else NO_ID,
        details=msgspec.structs.replace(
            details, flags=details.flags & ~(SEGMENT | LAST_SEGMENT), offset=0
        ),
    )
    shown.backout_count = max(part.backout_count for part in parts)
    return shown
