"""Putting on a message that was got: it keeps who has put it, and the end of its life.

The queue manager puts the reports that a message asks for by the authorities of who has put the
message. A program that puts it on as its own would lend it its authorities. So every program of
mqk's that forwards messages puts them by the fields that stand here. This module does not know
where a message goes, nor why.
"""

from __future__ import annotations

from typing import Any, Final

from adapter.client.message import Message

QUEUE_MANAGER_REPORTS: Final = 0x07E0_3F00
"""MQRO_EXCEPTION, EXPIRATION, COA and COD, each also with data and with full data: what the queue
manager itself puts for a message."""


def as_it_was_put(message: Message) -> dict[str, Any]:
    """Return the fields of a put that says who has put a message before, and when it expires.

    For users who may set the context: NotAuthorized else. {} for a message that was not got.
    """
    if message.place is None:
        return {}
    return {
        "user": message.user,
        "application": message.application,
        "expires_at": message.expires_at,
    }


def as_own(message: Message) -> dict[str, Any]:
    """Return the fields of a put of a message as the user's own, for users who may not set the
    context: it asks the queue manager for no reports, which would be put by this user's
    authorities. {} for a message that was not got.
    """
    if message.place is None:
        return {}
    return {
        "report": message.report & ~QUEUE_MANAGER_REPORTS,
        "expires_at": message.expires_at,
    }
