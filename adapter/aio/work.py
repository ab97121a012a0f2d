"""Getting in units: the loop that a worker is, with its poison messages set aside.

A message that was backed out before comes in a unit of its own, so that no innocent neighbour's
count rises with its own.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Protocol, Self

from adapter.aio.context import TaskContext
from adapter.aio.unit import TaskUnit
from adapter.channel.requests import Handle, Pending
from adapter.channel.unit import GONE, UnitState
from adapter.channel.verbs import get_request
from adapter.client.admin import one_of, read_descriptions
from adapter.client.aside import aside_requests
from adapter.client.message import Message, incoming
from adapter.client.prefetch import left_ms
from adapter.client.work import judge, left_open, log_aside, log_failed
from adapter.core.contract import commands as c
from adapter.core.contract.backout import explain
from adapter.core.contract.results import Descriptions, Messages, PutDone
from adapter.errors import (
    BackedOut,
    BackoutThresholdReached,
    ConnectionBroken,
    Error,
    InDoubt,
    NotOpen,
)


class TaskWorkQueue(Protocol):
    """The queue that is worked on, as this loop sees it."""

    name: str

    @property
    def is_closed(self) -> bool:
        """Whether it, or its connection, was closed."""

    async def pause(self, seconds: float) -> bool:
        """Wait so long, or until it is closed; whether it was."""


class TaskWork(TaskUnit):
    """A unit that has got messages. failed: it was backed out, and its messages come again."""

    def __init__(self, context: TaskContext, queue: str) -> None:
        super().__init__(context.channel)
        self._queue = queue
        self.messages: list[Message] = []
        self.failed = False

    @property
    def message_ids(self) -> list[bytes]:
        """The messages that it has got, and those put with wait=False."""
        return [message.message_id for message in self.messages] + self._put_ids

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        was_open = self._state is UnitState.ACTIVE or self._state in GONE
        try:
            await self._leave(error)
        except Error as problem:
            if not isinstance(problem, BackedOut) and not self._put_refused:
                raise
            error = problem
        if not was_open or error is None or not isinstance(error, Exception):
            return False
        self.failed = True
        log_failed(self._queue, len(self.messages), error)
        return True


class TaskUnits:
    """The loop of one `async for unit in queue.units()`."""

    def __init__(
        self,
        queue: TaskWorkQueue,
        context: TaskContext,
        handle: Callable[[], Awaitable[Handle]],
        size: int,
        wait_ms: int,
        retry_delay_s: float,
    ) -> None:
        self._queue = queue
        self._context = context
        self._channel = context.channel
        self._handle = handle
        self._size = size
        self._wait_ms = wait_ms
        self._retry_delay_s = retry_delay_s
        self._until_s = 0.0
        self._shown: TaskWork | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> TaskWork:
        if await self._end_shown():
            raise StopAsyncIteration
        while not self._queue.is_closed:
            self._until_s = time.monotonic() + self._wait_ms / 1000
            work = await self._take()
            if work is None:
                break
            if not await self._set_aside(work):
                self._shown = work
                return work
        self._channel.check_process()
        raise StopAsyncIteration

    async def _end_shown(self) -> bool:
        """See that the unit shown last has ended; return whether the loop has, too."""
        work, self._shown = self._shown, None
        if work is None:
            return False
        if work.is_open:
            with suppress(ConnectionBroken):  # it is gone with the connection
                await work.backout()
            raise left_open(work)
        return work.failed and await self._queue.pause(self._retry_delay_s)

    async def _take(self) -> TaskWork | None:
        """Return the next unit; None if none comes, also because the queue was closed."""
        while not self._queue.is_closed:
            work = TaskWork(self._context, self._queue.name)
            try:
                return await self._got(work)
            except BackedOut:
                if self._channel.holds(work.on_wire):
                    raise
                # The connection was lost while the get waited: nothing was got.
            except (ConnectionBroken, NotOpen):
                if _has_ended(self._queue):
                    return None
                raise
        return None

    async def _got(self, work: TaskWork) -> TaskWork | None:
        work.begin()
        wait_ms = left_ms(self._wait_ms, self._until_s)
        command = c.Get(0, wait_ms=wait_ms, limit=self._size, alone=True)
        request = get_request(await self._handle(), command, work)
        try:
            found = (await work.perform([request], request, Messages)).messages
        except Error:
            work.give_up()
            raise
        if not found:
            work.give_up()
            return None
        work.messages = [incoming(delivered, self._context.schemas) for delivered in found]
        return work

    async def _set_aside(self, work: TaskWork) -> bool:
        """Move a message that came back too often to the backout queue, in the unit that got it."""
        try:
            return await self._judged(work, work.messages[0])
        except asyncio.CancelledError:
            work.give_up()
            raise

    async def _judged(self, work: TaskWork, message: Message) -> bool:
        name = self._queue.name
        if not message.backout_count:
            return False
        asked = Pending(c.Inquire(name, False))
        await self._channel.ask([asked])
        found = read_descriptions(self._channel.result(asked, Descriptions))
        verdict = judge(name, message, one_of(found, name).attributes)
        if verdict is None:
            return False
        if verdict.problem:
            await work.backout()
            raise BackoutThresholdReached(verdict.problem, name)
        told = explain(message.properties, name, message.backout_count)
        put = aside_requests(self._channel, verdict.target, work, message, properties=told)
        try:
            await work.perform(put, put[1], PutDone, after=put[0])
            await work.commit()
        except BackedOut:
            return True  # the connection was lost: it comes again
        except (InDoubt, ConnectionBroken):
            raise
        except Error as error:
            await work.backout()
            raise BackoutThresholdReached(verdict.failure(error), name) from error
        log_aside(name, verdict.target, message)
        return True


def _has_ended(queue: TaskWorkQueue) -> bool:
    """Whether a queue was closed meanwhile."""
    return queue.is_closed
