"""Putting for another user: what a part of the queue manager puts reaches where that user may put.

Who connects as an operator puts with its own authorities all the same. This module does not know
who the user is.
"""

from __future__ import annotations

from collections.abc import Iterable

from adapter.channel.unit import perform
from adapter.channel.verbs import put_apart
from adapter.client.connection import Connection
from adapter.client.conversion import outgoing
from adapter.client.message import Message
from adapter.core.contract.results import PutDone


def put_for(
    qm: Connection, user: str, queue: str, messages: Iterable[Message], *, queue_manager: str = ""
) -> None:
    """Put messages to a queue by the authorities of a user, all of them or none.

    user: not "", which would be the connection's own. queue_manager: the queue's, if it is another
    one. Raises NotAuthorized, and what a put raises.
    """
    channel = qm._channel
    with qm.unit() as unit:
        sent = [outgoing(one, {}) for one in messages]
        requests = put_apart(
            channel, queue, sent, unit, alternate_user=user, queue_manager=queue_manager
        )
        opening, put, _ = requests
        perform(channel, unit, requests, put, PutDone, after=opening)
