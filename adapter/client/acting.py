"""Putting by name, as parts of the queue manager do: a model queue is refused, as by MQPUT1.

What is put for another user reaches where that user may put. Who connects as an operator puts with
its own authorities all the same; what others have put is put on for them. This module does not know
who the user is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from adapter.client.connection import Connection
from adapter.client.conversion import outgoing
from adapter.client.forwarding import as_it_was_put, as_own
from adapter.client.message import Message
from adapter.client.put_many import put_in_units
from adapter.connection.channel.requests import open_request
from adapter.connection.channel.unit import AnyUnit, NoUnit, perform
from adapter.connection.channel.verbs import ask_to_open, close_handles, put_apart
from adapter.core.contract import commands as c
from adapter.core.contract.results import Opened, PutDone
from adapter.errors import NotAuthorized


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


def leads_on(qm: Connection, queue: str) -> bool:
    """Ask whether what is put to a queue goes to another queue manager: it is a transmission queue,
    or a remote one. Raises what put_by_name() raises for its name.
    """
    handle = qm._channel.new_handle(queue, c.OUTPUT | c.EXISTING)
    opening = open_request(handle)
    ask_to_open(qm._channel, opening, handle)
    close_handles(qm._channel, [handle])
    opened = opening.answer
    return isinstance(opened, Opened) and (opened.is_transmission or bool(opened.queue_manager))


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


def put_on(
    qm: Connection,
    target: str,
    message: Message,
    *,
    unit: AnyUnit | NoUnit | None = None,
    **fields: Any,
) -> None:
    """Put a message that was got on a queue, for who has put it; as the user's own where the user
    may not say that. One that was not got is the user's own.

    fields: of the put, which differ from the message's; with expiry_s it lives anew. Raises what a
    put raises.
    """
    try:
        qm.put(target, message, unit=unit, **_merge(as_it_was_put(message), fields))
    except NotAuthorized:  # it may be that the user may put, and not say for whom
        qm.put(target, message, unit=unit, **_merge(as_own(message), fields))


def _merge(told: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    if "expiry_s" in fields:
        told.pop("expires_at", None)
    return {**told, **fields}
