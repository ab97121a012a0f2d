"""Verbs as steps: what a verb asks and how it reads the answers, once for threads and for tasks.

A verb is a generator. It submits requests, yields what it waits for, and returns its result. It
yields requests that it has submitted, ROOM before it submits some, or a call of the program's that
may block (Aside). Threads drive it by run(), tasks by TaskChannel.run().

This is for verbs that are not on the path of messages: put and get save the generator. This module
knows no verb.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Final, Generic, TypeVar

from adapter.connection.channel.books import ChannelBooks
from adapter.connection.channel.channel import Channel
from adapter.connection.channel.requests import AGAIN, Handle, Pending, UnitOnWire
from adapter.connection.wire.frames import ServerCommand
from adapter.core.contract.commands import Command

ResultT = TypeVar("ResultT")
Steps = Generator[Sequence[Pending], None, ResultT]
ROOM: Final[Sequence[Pending]] = ()
"""Yielded before something is submitted: a task waits until the link takes more."""


class Aside(tuple[Pending, ...], Generic[ResultT]):  # noqa: SLOT001 -- a tuple can have none
    """No requests: a function of the program is called, which may block. A task has a thread call
    it, so that the event loop goes on.
    """

    _work: Callable[[], ResultT]
    _result: ResultT
    _error: Exception | None = None

    @classmethod
    def of(cls, work: Callable[[], ResultT]) -> Aside[ResultT]:
        """Have this called when it is yielded."""
        made = cls()
        made._work = work
        return made

    def call(self) -> None:
        """Call it."""
        try:
            self._result = self._work()
        except Exception as error:  # noqa: BLE001 -- it is raised in the verb
            self._error = error

    @property
    def result(self) -> ResultT:
        """What it returned. Raises what it raised."""
        if self._error is not None:
            raise self._error
        return self._result


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
            waits_for = next(steps)
            if isinstance(waits_for, Aside):
                waits_for.call()
            else:
                channel.await_all(waits_for)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    finally:
        steps.close()
