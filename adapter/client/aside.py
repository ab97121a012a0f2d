"""Putting a message that was got somewhere else, in the unit that has got it.

The message keeps its id, and who has put it where the user may say that of another: where not, the
user has put it, and it asks for no reports any more. Its life begins again. This module does not
know why it is moved.
"""

from __future__ import annotations

from typing import Any

from adapter.client.conversion import context_asked, outgoing
from adapter.client.forwarding import as_it_was_put, as_own
from adapter.client.message import Message
from adapter.client.unit_steps import Exchange, UnitSteps
from adapter.connection.channel.unit import UnitBooks
from adapter.connection.channel.verbs import put_apart
from adapter.core.contract.results import PutDone
from adapter.errors import NotAuthorized


def put_aside(unit: UnitBooks, target: str, message: Message, **told: Any) -> UnitSteps[None]:
    """Put a message on a queue, by a handle for this alone.

    told: the fields of the put that differ from the message's.
    """
    told = {**told, "expires_at": None}
    try:
        yield _put(unit, target, message, {**as_it_was_put(message), **told})
    except NotAuthorized:  # it may be that the user may put, and not say for whom
        yield _put(unit, target, message, {**as_own(message), **told})


def _put(unit: UnitBooks, target: str, message: Message, fields: dict[str, Any]) -> Exchange:
    asked = context_asked(fields)
    requests = put_apart(unit.channel, target, [outgoing(message, fields)], unit, asked)
    return Exchange(requests, requests[1], PutDone, after=requests[0])
