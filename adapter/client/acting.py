"""Putting by name, as parts of the queue manager do: a model queue is refused, as by MQPUT1.

What a name leads to, the queue manager is asked: two names may mean one queue, and one name two.

What is put for another user reaches where that user may put. Who connects as an operator puts with
its own authorities all the same; what others have put is put on for them. This module does not know
who the user is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from adapter.client.connection import Connection
from adapter.client.conversion import outgoing
from adapter.client.forwarding import as_it_was_put, as_own
from adapter.client.message import Message
from adapter.client.put_many import put_in_units
from adapter.connection.channel import arguments as a
from adapter.connection.channel.requests import open_request
from adapter.connection.channel.unit import AnyUnit, NoUnit, perform
from adapter.connection.channel.verbs import ask_to_open, close_handles, put_apart
from adapter.core.attributes.table import NAME_LENGTH_MAX
from adapter.core.contract import commands as c
from adapter.core.contract.results import Opened, PutDone
from adapter.errors import ConnectionBroken, Error, NotAuthorized

PROBES = 3
"""How often a publication is tried before a queue is taken for one that gets a copy: another
program may have put to it at the same moment."""


class ResolvedQueue(Struct, frozen=True):
    """Where what is put to a name goes.

    queue: the local queue, if queue_manager is "": else that queue manager's. is_topic: it is
    published, and queue is the whole topic string. is_transmission: messages wait there for other
    queue managers.
    """

    queue: str
    queue_manager: str = ""
    is_topic: bool = False
    is_transmission: bool = False


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


def resolve_queue(qm: Connection, queue: str, queue_manager: str = "") -> ResolvedQueue:
    """Ask where the queue manager puts what is put to a name: an alias, a remote queue, an alias of
    a queue manager are followed, as by the put.

    queue_manager: the queue's, or an alias of one; "": the connection's. Raises what put_by_name()
    raises for the name.
    """
    handle = qm._channel.new_handle(a.as_name(queue), c.OUTPUT | c.EXISTING)
    handle.queue_manager = a.as_text("queue_manager", queue_manager, NAME_LENGTH_MAX)
    opening = open_request(handle)
    ask_to_open(qm._channel, opening, handle)
    close_handles(qm._channel, [handle])
    opened = opening.answer
    if not isinstance(opened, Opened):  # it is the name of a local queue
        return ResolvedQueue(queue)
    return ResolvedQueue(
        opened.queue, opened.queue_manager, opened.is_topic, opened.is_transmission
    )


def comes_back(
    qm: Connection, source: str, queue: str, message: Message, queue_manager: str = ""
) -> bool:
    """Ask whether a message that was got would come to its queue again if it were put to a name.

    source: the local queue. queue, queue_manager: as of resolve_queue(). Whether a publication has
    a copy for the source is found out by one that is backed out. Raises what the put would raise,
    and for a topic NotAuthorized if the user may not display the source.
    """
    to = resolve_queue(qm, queue, queue_manager)
    if to.is_topic:
        return all(_has_copy(qm, source, queue, message, queue_manager) for _ in range(PROBES))
    return not to.queue_manager and to.queue == source


def _has_copy(
    qm: Connection, source: str, queue: str, message: Message, queue_manager: str
) -> bool:
    unit = qm.unit()
    unit.begin()  # beside that which the caller may be in
    try:
        before = qm.queue(source).status().uncommitted_puts
        qm.put(queue, message, queue_manager=queue_manager or None, unit=unit, **as_own(message))
        after = qm.queue(source).status().uncommitted_puts
    finally:
        if unit.is_open:
            unit.backout()
    return after > before


def local_source(qm: Connection, queue: str) -> str:
    """Ask which local queue messages are got from by a name: it is opened for that, or else for
    output. The name itself, if the user may open it for neither.

    Raises ConnectionBroken.
    """
    for modes in (c.INPUT, c.OUTPUT):
        handle = qm._channel.new_handle(queue, modes | c.EXISTING)
        try:
            ask_to_open(qm._channel, open_request(handle), handle)
        except ConnectionBroken:
            raise
        except Error:  # without the right, while another handle has it exclusively, deleted
            continue
        close_handles(qm._channel, [handle])
        return handle.source
    return queue


def leads_on(qm: Connection, queue: str) -> bool:
    """Ask whether what is put to a queue goes to another queue manager: it is a transmission queue,
    or a remote one. Raises what put_by_name() raises for its name.
    """
    to = resolve_queue(qm, queue)
    return to.is_transmission or bool(to.queue_manager)


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
