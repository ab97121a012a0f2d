"""Verbs as steps: what a verb asks and how it reads the answers, once for threads and for tasks.

A verb is a generator. It submits requests, yields what it waits for, and returns its result. It
yields requests that it has submitted, or ROOM before it submits some. Threads drive it by run(),
tasks by TaskChannel.run().

This is for verbs that are not on the path of messages: put and get save the generator. This module
knows no verb.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final, TypeVar

from adapter.channel.books import ChannelBooks
from adapter.channel.channel import Channel
from adapter.channel.requests import AGAIN, Handle, Pending, UnitOnWire
from adapter.core.contract.commands import Command
from adapter.wire.frames import ServerCommand

ResultT = TypeVar("ResultT")
Steps = Generator[Sequence[Pending], None, ResultT]
ROOM: Final[Sequence[Pending]] = ()
"""Yielded before something is submitted: a task waits until the link takes more."""


def exchange(
    channel: ChannelBooks, requests: list[Pending], unit: UnitOnWire | None = None
) -> Steps[None]:
    """Send requests in one frame, and wait until each has an answer."""
    yield ROOM
    channel.submit(requests, unit)
    yield requests


def ask(
    channel: ChannelBooks,
    command: Command | ServerCommand,
    kind: type[ResultT],
    when_lost: int = AGAIN,
    handle: Handle | None = None,
) -> Steps[ResultT]:
    """Send one command; return its answer, or raise the error that it is."""
    request = Pending(command, when_lost, handle=handle)
    yield from exchange(channel, [request])
    return channel.result(request, kind)


def run(channel: Channel, steps: Steps[ResultT]) -> ResultT:
    """Drive a verb in this thread; return its result."""
    try:
        while True:
            channel.await_all(next(steps))
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    finally:
        steps.close()
