"""Putting by name, as parts of the queue manager do: a model queue is refused, as by MQPUT1.

What is put for another user reaches where that user may put. Who connects as an operator puts with
its own authorities all the same. This module does not know who the user is.
"""

from __future__ import annotations

from collections.abc import Iterable

from adapter.channel.requests import open_request
from adapter.channel.unit import perform
from adapter.channel.verbs import ask_to_open, close_handles, put_apart
from adapter.client.connection import Connection
from adapter.client.conversion import outgoing
from adapter.client.message import Message
from adapter.client.put_many import put_in_units
from adapter.core.contract import commands as c
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


def put_by_name(
    qm: Connection,
    queue: str,
    messages: Iterable[Message],
    *,
    queue_manager: str = "",
    unit_size: int,
) -> None:
    """Put messages to a queue in units, as Queue.put_many() does; the queue exists already.

    queue_manager: the queue's, if it is another one. Raises OptionNotValidForType for a model
    queue: the queue that it makes would be unknown to all others, or gone with the messages.
    """
    channel = qm._channel
    handle = channel.new_handle(queue, c.OUTPUT | c.EXISTING)
    handle.queue_manager = queue_manager
    ask_to_open(channel, open_request(handle), handle)
    try:
        put_in_units(channel, handle, (outgoing(one, {}) for one in messages), unit_size)
    finally:
        close_handles(channel, [handle])
