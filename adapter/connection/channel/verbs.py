"""Requests for handles, puts and gets, as every part of the SDK makes them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from functools import partial

from adapter.connection.channel import arguments as a
from adapter.connection.channel import requests as rq
from adapter.connection.channel.books import ChannelBooks
from adapter.connection.channel.cancelling import CancelToken
from adapter.connection.channel.channel import Channel
from adapter.connection.channel.requests import Handle, Pending, open_request
from adapter.connection.channel.unit import AnyUnit, UnitBooks, perform
from adapter.core.contract import commands as c
from adapter.core.contract.message import NO_ID, Delivered, MessageData
from adapter.core.contract.results import Messages, Objects
from adapter.errors import Error

ANY_IDS = (b"", b"", b"")


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
    except BaseException as error:
        if channel.was_interrupted(error):
            leave_open(channel, handles)
        else:
            for handle in handles:
                channel.drop_handle(handle)
        raise


def leave_open(channel: Channel, handles: Sequence[Handle]) -> None:
    """Have handles closed that may be open at the queue manager: a signal handler has raised."""
    for handle in handles:
        handle.is_open = False
    channel.close_soon(handles)


def close_handles(channel: Channel, handles: list[Handle]) -> None:
    """Close handles; nothing is to be done if the connection is lost."""
    try:
        channel.send_deferred()
        if channel.is_inside:
            channel.close_soon(handles)
            return
        closing = [close_request(handle) for handle in handles]
        for handle in handles:
            channel.drop_handle(handle)
        if handles and channel.is_connected:
            channel.ask(closing)
    except BaseException as error:
        if channel.was_interrupted(error):
            for handle in handles:
                channel.keep_handle(handle)  # so that it is known what is closed
            leave_open(channel, handles)
        raise


def put_request(
    handle: Handle, messages: list[MessageData], unit: UnitBooks | None, options: int = 0
) -> Pending:
    """Make a put, in a unit or durable by itself. A message may say when it expires."""
    if any(one.expires_at_ms for one in messages):
        options |= c.KEEP_END
    command = c.Put(handle.number, messages, b"" if unit is None else unit.id, options)
    return Pending(command, handle=handle)


def put_apart(
    channel: ChannelBooks,
    name: str,
    messages: list[MessageData],
    unit: UnitBooks | None,
    options: int = 0,
    *,
    queue_manager: str = "",
    alternate_user: str = "",
) -> list[Pending]:
    """Make the open, put and close of messages by a handle for this alone (MQPUT1, of one).

    options: which context the put sets, which the handle is opened for. queue_manager: the queue's,
    if it is another one. alternate_user: see Handle. A model queue is refused: what it makes would
    go with the handle, and the messages with it.
    """
    handle = channel.new_handle(name, c.OUTPUT | c.EXISTING | options)
    handle.queue_manager, handle.alternate_user = queue_manager, alternate_user
    put = put_request(handle, messages, unit, options)
    return [open_request(handle, put.when_lost), put, close_request(handle)]


def get_request(handle: Handle, command: c.Get, unit: UnitBooks | None) -> Pending:
    """Make a get, in a unit or durable by itself."""
    command.handle = handle.number
    if unit is not None:
        command.unit = unit.id
    request = Pending(command, handle=handle)
    if command.wait_ms > 0:
        request.wait_until_s = time.monotonic() + command.wait_ms / 1000
    return request


def get_apart(
    channel: Channel,
    handle: Handle,
    command: c.Get,
    unit: AnyUnit | None,
    cancel: CancelToken | None,
) -> list[Delivered]:
    """Get under a handle that is opened for this alone; closing it is what ends the wait."""
    if cancel is not None and cancel.is_cancelled:
        return []
    get = get_request(handle, command, unit)
    opening, closing = open_request(handle, get.when_lost), close_request(handle)
    if not command.wait_ms:  # behind a get that waits the close would end that
        requests = [opening, get, closing]
        return perform(channel, unit, requests, get, Messages, after=opening).messages

    def end() -> None:
        get.wait_until_s = time.monotonic()  # if it is sent again, it does not wait again
        channel.close_soon([handle])

    waiting = nullcontext if cancel is None else partial(cancel.ending, end)
    channel.keep_handle(handle)
    try:
        return perform(
            channel, unit, [opening, get], get, Messages, after=opening, waiting=waiting
        ).messages
    finally:
        with suppress(Error):
            channel.submit([closing])
        channel.drop_handle(handle)


def dead_letter_question(channel: ChannelBooks) -> Pending:
    """Make the request for the name of the queue manager's dead-letter queue."""
    return Pending(c.InquireObjects("queue_manager", channel.queue_manager, True))


def dead_letter_answer(found: Objects) -> str:
    """Return the name of the dead-letter queue; "" if the queue manager has none."""
    (own,) = found.objects
    return str(own.attributes["dead_letter_queue"])


def dead_letter_queue(channel: Channel) -> str:
    """Ask for the name of the queue manager's dead-letter queue; "" if it has none."""
    request = dead_letter_question(channel)
    channel.ask([request])
    return dead_letter_answer(channel.result(request, Objects))


def get_command(
    ids: tuple[bytes, bytes, bytes],
    wait_ms: int,
    group_seq: object,
    logical_order: object,
    all_messages: object,
) -> c.Get:
    """Make the command of a get of one message; its handle and unit are missing."""
    command = c.Get(0, b"", wait_ms, 1, *ids)
    if a.as_flag("logical_order", logical_order):
        command.options |= c.LOGICAL_ORDER
    if a.as_flag("all_messages", all_messages):
        command.options |= c.ALL_MESSAGES
    if group_seq is not None:
        command.options |= c.MATCH_GROUP_SEQ
        command.group_seq = a.as_whole("group_seq", group_seq, 1, 999_999_999)
    return command


def take_command(place: object, message_id: object) -> c.Get:
    """Make the command that removes the message of this id at a place; see get_command()."""
    ident = a.as_identifier("message_id", message_id) or NO_ID
    return c.Get(0, message_id=ident, place=a.as_place(place))


def wanted_ids(
    message_id: a.Identifier | None,
    correlation_id: a.Identifier | None,
    group_id: a.Identifier | None,
) -> tuple[bytes, bytes, bytes]:
    """Check the ids that a get or browse asks for; b"" is any."""
    if message_id is None and correlation_id is None and group_id is None:
        return ANY_IDS
    return (
        a.as_wanted("message_id", message_id),
        a.as_wanted("correlation_id", correlation_id),
        a.as_wanted("group_id", group_id),
    )
