"""Requests for handles, puts and gets, as every part of the SDK makes them."""

from __future__ import annotations

import time

from adapter.client import arguments as a
from adapter.client import requests as rq
from adapter.client.channel import Channel
from adapter.client.requests import Handle, Pending, open_request
from adapter.client.unit import AnyUnit
from adapter.core import commands as c
from adapter.core.model.message import Message


def close_request(handle: Handle) -> Pending:
    """Make the request that closes a handle; a lost connection does the same."""
    return Pending(c.Close(handle.number), rq.FORGOTTEN, handle=handle)


def open_handle(
    channel: Channel, name: str, modes: int, handle: Handle | None = None, selection: str = ""
) -> Handle:
    """Open a queue, under a handle that lost its queue if one is given."""
    if handle is None:
        handle = channel.new_handle(name, modes)
        handle.selection = selection
    ask_to_open(channel, open_request(handle), handle)
    return handle


def ask_to_open(channel: Channel, request: Pending, *handles: Handle) -> None:
    """Ask for what opens handles; they are opened again whenever needed if that is granted."""
    for handle in handles:
        channel.keep_handle(handle)  # first: the connection may be lost right behind the answer
    try:
        channel.ask([request])
        channel.check_opened(request)
    except BaseException:
        for handle in handles:
            channel.drop_handle(handle)
        raise


def close_handles(channel: Channel, handles: list[Handle]) -> None:
    """Close handles; nothing is to be done if the connection is lost."""
    for handle in handles:
        channel.drop_handle(handle)
    if handles and channel.is_connected:
        channel.ask([close_request(handle) for handle in handles])


def put_request(handle: Handle, messages: list[Message], unit: AnyUnit | None) -> Pending:
    """Make a put, in a unit or durable by itself."""
    if unit is None:
        return Pending(c.Put(handle.number, messages), durable=True, handle=handle)
    return Pending(c.Put(handle.number, messages, unit.id), rq.WITH_UNIT, handle=handle)


def get_request(handle: Handle, command: c.Get, unit: AnyUnit | None) -> Pending:
    """Make a get, in a unit or durable by itself."""
    command.handle = handle.number
    if unit is None:
        request = Pending(command, durable=True, handle=handle)
    else:
        command.unit = unit.id
        request = Pending(command, rq.WITH_UNIT, handle=handle)
    if command.wait_ms > 0:
        request.wait_until_s = time.monotonic() + command.wait_ms / 1000
    return request


def wanted_ids(
    message_id: bytes | None, correlation_id: bytes | None, group_id: bytes | None
) -> tuple[bytes, bytes, bytes]:
    """Check the ids that a get or browse asks for; b"" is any."""
    return (
        a.as_wanted("message_id", message_id),
        a.as_wanted("correlation_id", correlation_id),
        a.as_wanted("group_id", group_id),
    )
