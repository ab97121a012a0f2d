"""Putting for another user: what a part of the queue manager puts reaches where that user may put.

Who connects as an operator puts with its own authorities all the same. This module does not know
who the user is.
"""

from __future__ import annotations

from collections.abc import Iterable

from adapter.channel.requests import open_request
from adapter.channel.unit import perform
from adapter.channel.verbs import close_request, put_request
from adapter.client.connection import Connection
from adapter.client.conversion import outgoing
from adapter.client.message import Message
from adapter.core.contract import commands as c
from adapter.core.contract.results import PutDone


def put_for(qm: Connection, user: str, queue: str, messages: Iterable[Message]) -> None:
    """Put messages to a queue by the authorities of a user, all of them or none.

    user: not "", which would be the connection's own. Raises NotAuthorized, and what a put raises.
    """
    channel = qm._channel
    handle = channel.new_handle(queue, c.OUTPUT | c.EXISTING)
    handle.alternate_user = user
    opening = open_request(handle)
    with qm.unit() as unit:
        put = put_request(handle, [outgoing(one, {}) for one in messages], unit)
        perform(channel, unit, [opening, put, close_request(handle)], put, PutDone, opening)
