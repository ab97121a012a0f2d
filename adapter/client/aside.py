"""Putting a message that was got somewhere else, in the unit that has got it.

The message keeps its id, and who has put it where the user may say that of another: where not, the
user has put it, and it asks for no reports any more. Its life begins again. This module does not
know why it is moved.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from adapter.client.conversion import context_asked, outgoing
from adapter.client.forwarding import as_it_was_put, as_own
from adapter.client.message import Message
from adapter.client.unit_steps import Exchange, UnitSteps
from adapter.connection.channel.books import ChannelBooks
from adapter.connection.channel.requests import FROM_START, open_request
from adapter.connection.channel.unit import UnitBooks
from adapter.connection.channel.verbs import close_request, put_apart
from adapter.core.contract import commands as c
from adapter.core.contract.results import Done, Opened, PutDone
from adapter.errors import Error, NotAuthorized


def put_aside(unit: UnitBooks, target: str, message: Message, **told: Any) -> UnitSteps[None]:
    """Put a message on a queue, by a handle for this alone.

    told: the fields of the put that differ from the message's.
    """
    told = {**told, "expires_at": None}
    try:
        yield _put(unit, target, message, {**as_it_was_put(message), **told})
    except NotAuthorized:  # it may be that the user may put, and not say for whom
        yield _put(unit, target, message, {**as_own(message), **told})


def leads_to(channel: ChannelBooks, target: str, source: str) -> UnitSteps[bool]:
    """Whether a name is that of the local queue that messages came from, perhaps as its alias:
    there what has failed would come back at once.
    """
    if target == source:
        return True
    handle = channel.new_handle(target, c.OUTPUT | c.EXISTING)
    opening, closing = open_request(handle, FROM_START), close_request(handle)
    with suppress(Error):  # that the put to it says
        yield Exchange([opening, closing], closing, Done, opening, is_inside=False)
    opened = opening.answer
    if not isinstance(opened, Opened) or opened.is_topic or opened.queue_manager:
        return False
    return opened.queue == source


def _put(unit: UnitBooks, target: str, message: Message, fields: dict[str, Any]) -> Exchange:
    asked = context_asked(fields)
    requests = put_apart(unit.channel, target, [outgoing(message, fields)], unit, asked)
    return Exchange(requests, requests[1], PutDone, after=requests[0])
