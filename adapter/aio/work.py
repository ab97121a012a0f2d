"""Getting in units: the loop that a worker is, with the messages that failed set aside.

What becomes of them is decided in adapter/client (work, retry, poison, prefetch), for threads and
tasks alike; here is how a task waits for it.
"""

from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Protocol, Self

from adapter.aio.commits import TaskCommits
from adapter.aio.context import TaskContext
from adapter.aio.prefetch import TaskPrefetch
from adapter.aio.producing import ProducingTaskUnit
from adapter.aio.unit import TaskUnit
from adapter.aio.unit_steps import carry_out
from adapter.client.retry import GotFrom, Retries
from adapter.client.work import STUCK_S, WorkBooks, left_open, log
from adapter.connection.channel.requests import Handle
from adapter.errors import ConnectionBroken, Error, NotOpen


class TaskWorkQueue(Protocol):
    """The queue that is worked on, as this loop sees it."""

    @property
    def is_closed(self) -> bool:
        """Whether it, or its connection, was closed."""

    async def pause(self, seconds: float) -> bool:
        """Wait so long, or until it is closed; whether it was."""


class TaskWork(WorkBooks, ProducingTaskUnit):
    """A unit that has got messages, as a loop shows it."""

    def __init__(
        self,
        context: TaskContext,
        commits: TaskCommits | None = None,
        retries: Retries | None = None,
    ) -> None:
        """commits: where leaving the with statement leaves the commit in flight."""
        self._context = context
        super().__init__(context.channel, retries)
        self._commits = commits

    async def _put_again(self, error: BaseException | None) -> bool:
        """Have its message tried later; whether that was done, and is to be committed."""
        steps = self._steps_again(error)
        if steps is None:
            return False
        try:
            await carry_out(self, steps)
        except Error:
            return False  # the unit is backed out
        except asyncio.CancelledError as cancelled:
            await self._leave(cancelled)
            raise
        return True

    async def _commit_at_end(self) -> None:
        if self._commits is None:
            await self.commit()
        else:
            await self.commit_among(self._commits)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        was_unended = self._is_unended
        is_put_again = await self._put_again(error)
        try:
            await self._leave(None if is_put_again else error)
        except Error as problem:
            if not self._comes_again(problem):
                raise
            error = problem
        return was_unended and self._note_failure(error, is_put_again)


class TaskSource:
    """Where a loop has its units from: they are got ahead, and their commits may be in flight."""

    def __init__(
        self,
        context: TaskContext,
        handle: Callable[[], Awaitable[Handle]],
        sizes: tuple[int, int, int],
        retries: Retries | None,
    ) -> None:
        """handle: returns the one to get by. sizes: see loop_sizes()."""
        size, ahead, in_flight = sizes
        self.shown: TaskWork | None = None
        """The unit that the loop has shown last."""
        self._context = context
        self._commits = TaskCommits(in_flight)
        commits = self._commits if in_flight > 1 else None
        self._prefetch = TaskPrefetch(
            context.channel, lambda: TaskWork(context, commits, retries), handle, size, ahead
        )

    async def take(self, wait_ms: int, until_s: float) -> TaskWork | None:
        """Return the next unit; None if nothing comes in time, or if a commit has failed."""
        if self._commits.has_failed():
            return None
        taken = await self._prefetch.take(wait_ms, until_s, self._commits.has_failed)
        if taken is None:
            return None
        work, found, by = taken
        work.begin()
        work.show(found, GotFrom.of(by), self._context.schemas)
        return work

    def return_all(self) -> None:
        """Give back what is ahead, before the next get: messages come again in their order."""
        self._prefetch.give_back()

    async def finish(self) -> None:
        """Wait for every commit in flight; raise what failed."""
        await self._commits.flush()

    def give_back(self) -> None:
        """Give back what is not shown: the queue is closed."""
        self._prefetch.close()

    def let_go(self) -> None:
        """Back out what the loop leaves open; the connection waits for commits in flight.

        The garbage collector may call it, in any thread.
        """
        shown, self.shown = self.shown, None
        if shown is not None:
            shown.let_go()
        self._prefetch.give_back()
        self._commits.hand_over(self._context.channel.commits)


class TaskUnits:
    """The loop of one `async for unit in queue.units()`."""

    def __init__(
        self,
        queue: TaskWorkQueue,
        context: TaskContext,
        handle: Callable[[], Awaitable[Handle]],
        source: TaskSource,
        wait_ms: int,
        retry_delay_s: float,
        retries: Retries | None,
    ) -> None:
        self._queue = queue
        self._channel = context.channel
        self._handle = handle
        self._source = source
        self._wait_ms = wait_ms
        self._retry_delay_s = retry_delay_s
        self._retries = retries
        weakref.finalize(self, source.let_go).atexit = False  # an async for says no word at its end

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> TaskWork:
        try:
            work = await self._next()
        except BaseException:
            self._source.let_go()
            raise
        if work is None:
            self._source.let_go()
            raise StopAsyncIteration
        self._source.shown = work
        return work

    async def aclose(self) -> None:
        """End the loop: a unit that is open is backed out, and what was got ahead is given back."""
        work, self._source.shown = self._source.shown, None
        self._source.give_back()
        self._source.let_go()
        if work is not None and work.is_open:
            with suppress(ConnectionBroken):  # it is gone with the connection
                await work.backout()

    async def _next(self) -> TaskWork | None:
        """Return the next unit that is to be shown; None at the end."""
        work, self._source.shown = self._source.shown, None
        has_ended = work is not None and await self._end(work)
        while not has_ended and not self._queue.is_closed:
            work = await self._take()
            if work is None:
                break
            if not await self._is_set_aside(work):
                return work
        self._channel.check_process()
        await self._source.finish()
        return None

    async def _end(self, work: TaskWork) -> bool:
        """See that the unit shown last has ended; return whether the loop has, too."""
        if work.is_open:
            with suppress(ConnectionBroken):  # it is gone with the connection
                await work.backout()
            raise left_open(work)
        if work.has_come_back:
            self._source.return_all()
            if self._retries is not None and self._retries.concern(work):
                await self._put_again(work, self._retries)
        return work.failed and await self._queue.pause(self._retry_delay_s)

    async def _take(self) -> TaskWork | None:
        """Return the next unit; None if none comes, also because the queue was closed."""
        try:
            return await self._source.take(self._wait_ms, time.monotonic() + self._wait_ms / 1000)
        except (ConnectionBroken, NotOpen):
            if self._queue.is_closed:
                return None
            raise

    async def _is_set_aside(self, work: TaskWork) -> bool:
        """Put a message elsewhere that is not to be shown now; whether that was done."""
        steps = work.steps_aside()
        problem = None if steps is None else await carry_out(work, steps)
        if problem is None:
            return False
        await self._pause_if_stuck(problem)
        return True

    async def _put_again(self, work: TaskWork, retries: Retries) -> None:
        """Have the message of a unit that was backed out tried later."""
        unit = TaskUnit(self._channel, ahead=True)  # a cancellation here is no attempt
        unit.begin()
        try:
            handle = await self._handle()
            problem = await carry_out(unit, retries.after_backout(unit, handle, work))
        except (ConnectionBroken, NotOpen):
            if self._queue.is_closed:  # it comes again, and is tried later then
                return
            raise
        await self._pause_if_stuck(problem)

    async def _pause_if_stuck(self, problem: str) -> None:
        """Say that a message that failed stays before the others, and wait for better times."""
        if problem:
            log.error("%s", problem)
            await self._queue.pause(STUCK_S)
