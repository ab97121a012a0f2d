"""What MSMQ programs ask of the queue manager, over a channel: handles, reads and sends.

It translates; what a command means is decided in core.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from typing import Any, TypeVar, cast

from adapter.connection.channel import requests as rq
from adapter.connection.channel.channel import Channel
from adapter.connection.channel.requests import Handle, Pending, StartOver
from adapter.connection.channel.unit import Unit, perform
from adapter.connection.channel.verbs import ask_to_open
from adapter.core.contract import msmq as c
from adapter.core.contract.message import Delivered
from adapter.core.contract.results import Descriptions, Done, Messages, PutDone, QueueDescription
from adapter.msmq.computers import ComputerChannel, QueueRoute
from adapter.msmq.error_codes import MessageQueueErrorCode as Code
from adapter.msmq.errors import MessageQueueException, as_msmq

ResultT = TypeVar("ResultT")
SENT = cast("type[PutDone | Done]", PutDone | Done)
"""Answers to a send; Done: the queue manager discarded the message."""


def errors_of(channel: Channel, name: str) -> AbstractContextManager[None]:
    """Have errors of a connection raised as MSMQ's. name: of the queue."""
    return as_msmq(name, channel.computer if isinstance(channel, ComputerChannel) else "")


def open_handle(route: QueueRoute, name: str, access: int, deny_receive: bool) -> Handle:
    """Open a queue for some access; it is opened again on every new connection."""
    channel = route.channel
    handle = channel.new_handle(name, 0)
    handle.opening = c.MsmqOpen(
        handle.number, name, access, deny_receive, route.computer, route.level
    )
    with errors_of(channel, name):
        ask_to_open(channel, rq.open_request(handle), handle)
    return handle


def ask(channel: Channel, command: Any, kind: type[ResultT], name: str) -> ResultT:
    """Ask for something that is part of no transaction."""
    request = Pending(command)
    with errors_of(channel, name):
        channel.ask([request])
        return channel.result(request, kind)


def inquire(route: QueueRoute, name: str) -> list[QueueDescription]:
    """Return the queues that a name or pattern names."""
    return ask(route.channel, c.MsmqInquire(name, route.computer), Descriptions, name).queues


def read_request(handle: Handle, command: c.MsmqReceive, unit: Unit | None) -> Pending:
    """Make a receive or peek. What a lost connection leaves of it: see Pending."""
    if unit is not None:
        command.unit = unit.id
    has_position = unit is None and command.peek and command.cursor
    when_lost = rq.FROM_START if has_position else rq.AGAIN
    request = Pending(command, when_lost, handle=handle)
    if command.wait_ms > 0:
        request.wait_until_s = time.monotonic() + command.wait_ms / 1000
    return request


def read(channel: Channel, request: Pending, unit: Unit | None, name: str) -> Delivered | None:
    """Receive or peek; None if no message came in time. Raises MessageQueueException."""
    with errors_of(channel, name):
        if unit is None:
            channel.ask([request])
            return read_answer(channel, request, name)
        messages = perform(channel, unit, [request], request, Messages).messages
    return messages[0] if messages else None


def read_answer(channel: Channel, request: Pending, name: str) -> Delivered | None:
    """Return what a receive or peek, outside a transaction, has been answered with."""
    if isinstance(request.answer, StartOver):
        raise MessageQueueException(
            Code.STALE_HANDLE,
            f"the connection was lost, and with it a cursor of queue {name}: create another",
            name,
        )
    with errors_of(channel, name):
        messages = channel.result(request, Messages).messages
    return messages[0] if messages else None


def send(
    channel: Channel, handle: Handle, command: c.MsmqSend, unit: Unit | None, name: str
) -> bytes:
    """Send a message, and return its id; empty if the queue manager discarded the message."""
    if unit is not None:
        command.unit = unit.id
    request = Pending(command, handle=handle)
    with errors_of(channel, name):
        done = perform(channel, unit, [request], request, SENT)
    return done.message_ids[0] if isinstance(done, PutDone) else b""


def perform_in(
    channel: Channel, handle: Handle, command: Any, unit: Unit | None, name: str
) -> None:
    """Ask for something that is done in a unit, or durably by itself."""
    if unit is not None:
        command.unit = unit.id
    request = Pending(command, handle=handle)
    with errors_of(channel, name):
        perform(channel, unit, [request], request, Done)
