"""Putting a message that was got somewhere else, in the unit that has got it.

The message keeps its id and who has put it. This module does not know why it is moved.
"""

from __future__ import annotations

from typing import Any

from adapter.channel.books import ChannelBooks
from adapter.channel.channel import Channel
from adapter.channel.requests import Pending
from adapter.channel.unit import AnyUnit, UnitBooks
from adapter.channel.verbs import put_apart
from adapter.client.message import Message, context_asked, outgoing
from adapter.core.contract.results import PutDone


def aside_requests(
    channel: ChannelBooks, target: str, work: UnitBooks, message: Message, **told: Any
) -> list[Pending]:
    """Make the open, put and close that put a message on a queue.

    told: the fields of the put that differ from the message's.
    """
    fields = {"user": message.user, "application": message.application, **told}
    return put_apart(channel, target, outgoing(message, fields), work, context_asked(fields))


def put_aside(channel: Channel, target: str, work: AnyUnit, message: Message, **told: Any) -> None:
    """Put a message on a queue, and wait for that; told: see aside_requests()."""
    opening, put, close = aside_requests(channel, target, work, message, **told)
    work.perform([opening, put, close], put, PutDone, after=opening)
