"""A durable consumer of a queue, for tasks; see adapter/client/consumer.py."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from datetime import timedelta
from typing import Any, Self

from adapter.aio.channel import ResultT, TaskChannel
from adapter.aio.closing import TaskClosing
from adapter.aio.handles import ask_to_open, close_handles
from adapter.client.consumer import ConsumerVerbs
from adapter.client.verb import TaskFace
from adapter.connection.channel.requests import open_request
from adapter.connection.channel.steps import Steps


class Consumer(TaskFace, ConsumerVerbs, TaskClosing):
    """An open consumer; leaving it closes it.

    Batches are numbered from 1 on, without gaps, and are consumed in that order. claim: an id that
    is another one after the consumer was away too long and lost what it had. If a task is cancelled
    while it waits for an answer, asking again is harmless: what was claimed meanwhile is in one of
    the batches up to `last`.
    """

    _channel: TaskChannel

    def __init__(
        self,
        channel: TaskChannel,
        queue: str,
        name: str,
        timeout: float | timedelta,
        may_break_off: bool = False,
    ) -> None:
        super().__init__(channel, queue, name, timeout, may_break_off)
        self._lock = asyncio.Lock()

    def __await__(self) -> Generator[Any, None, Self]:
        """Open it."""
        return self._open().__await__()

    async def _open(self) -> Self:
        """Open it, or open it anew if that failed when the connection was lost."""
        async with self._lock:
            self._check_open()
            if not self._handle.is_open:
                request = open_request(self._handle)
                await ask_to_open(self._channel, request, self._handle)
                self._note_opening(request)
        return self

    async def close(self) -> None:
        """Let go of the name: another program may open it, and is given the same batches."""
        async with self._lock:
            was_open, self._is_closed = not self._is_closed, True
        if was_open:
            await close_handles(self._channel, [self._handle])

    async def _run(self, steps: Steps[ResultT]) -> ResultT:
        await self._open()
        return await super()._run(steps)
