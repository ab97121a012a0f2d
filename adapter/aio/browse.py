"""Browse: an asynchronous iterator over a queue. Its place survives a lost connection."""

from __future__ import annotations

import time
import weakref
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Self

from adapter.aio.context import TaskContext
from adapter.aio.handles import TaskHandles, close_handles, open_handle
from adapter.aio.unit import TaskUnit
from adapter.channel import requests as rq
from adapter.channel.requests import Handle, Pending, StartOver
from adapter.channel.unit import NoUnit
from adapter.client.browse import BATCH, BrowsePlace
from adapter.client.message import Message, got, readable
from adapter.core.contract import commands as c
from adapter.core.contract.message import Delivered
from adapter.core.contract.results import Messages
from adapter.errors import NotOpen

Remove = Callable[[tuple[int, int, int], bytes, TaskUnit | NoUnit | None], Awaitable[bool]]
"""Get the message at a place that has this id, in a unit; whether it was there."""


class BrowsedMessage(Message, kw_only=True):
    """A message that is still on its queue, or was when it was browsed."""

    remover: Callable[[TaskUnit | NoUnit | None], Awaitable[bool]]

    async def remove(self, unit: TaskUnit | NoUnit | None = None) -> bool:
        """Get it off the queue, in a unit like any get; False if it is not there any more."""
        return await self.remover(unit)


class TaskBrowse:
    """One browse, under a handle of its own, which is closed when the iteration ends.

    wait_ms: for each further message; -1: without limit, 0: not at all.
    """

    def __init__(
        self,
        context: TaskContext,
        handles: TaskHandles,
        name: str,
        wanted: tuple[bytes, bytes, bytes],
        selection: str,
        wait_ms: int,
        remover: Remove,
    ) -> None:
        self._context = context
        self._channel = context.channel
        self._handles = handles
        self._name = name
        self._wanted = wanted
        self._selection = selection
        self._wait_ms = wait_ms
        self._remover = remover
        self._found: deque[Delivered] = deque()
        self._shown = BrowsePlace()
        self._seen: dict[int, tuple[int, int, int]] = {}
        self._opened: dict[int, Handle] = {}
        weakref.finalize(self, self._channel.let_go, self._opened).atexit = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> BrowsedMessage:
        if not self._found and not await self._look():
            await self.aclose()
            raise StopAsyncIteration
        delivered = self._found.popleft()
        place = (delivered.lane, delivered.seq, delivered.n)
        self._seen[delivered.lane] = place
        this = partial(self._remover, place, delivered.message.message_id)
        return readable(BrowsedMessage(remover=this, **got(delivered)), self._context.schemas)

    async def aclose(self) -> None:
        """End it. A browse that is let go of is ended too."""
        handles = list(self._opened.values())
        self._opened.clear()
        for handle in handles:
            self._handles.forget(handle)
        await close_handles(self._channel, handles)

    async def _look(self) -> bool:
        """Ask until some are found; return whether any are."""
        while not self._handles.is_closing and not self._found:
            handle = await self._handle()
            found = await (self._await(handle) if self._wait_ms else self._ask(handle))
            if found is None:
                continue  # the cursor is before the first message again; what was shown is not
            if not found:
                return False
            self._found.extend(found if self._wait_ms else filter(self._shown.is_next, found))
        return bool(self._found)

    async def _handle(self) -> Handle:
        for handle in self._opened.values():
            return handle
        handle = await open_handle(self._channel, self._name, c.BROWSE, None, self._selection)
        self._opened[handle.number] = handle
        self._handles.add(handle)
        return handle

    async def _ask(self, handle: Handle) -> list[Delivered] | None:
        """Browse; None if the connection was lost, and with it the cursor."""
        command = c.Browse(handle.number, False, BATCH, *self._wanted)
        request = Pending(command, rq.FROM_START, handle=handle)
        await self._channel.ask([request])
        if isinstance(request.answer, StartOver):
            return None
        return self._channel.result(request, Messages).messages

    async def _await(self, handle: Handle) -> list[Delivered]:
        """Wait for what was not shown, also over another connection; nothing if it is closed.

        It has a position for each lane, so that what arrives with a higher priority is shown too.
        """
        seen = list(self._seen.values())
        command = c.Browse(
            handle.number, False, BATCH, *self._wanted, wait_ms=self._wait_ms, seen=seen
        )
        request = Pending(command, handle=handle)
        if self._wait_ms > 0:
            request.wait_until_s = time.monotonic() + self._wait_ms / 1000
        try:
            await self._channel.ask([request])
        except BaseException:  # cancelled: the close of the handle ends the wait
            self._opened.clear()
            self._handles.forget(handle)
            self._channel.close_soon(handle)
            raise
        try:
            return self._channel.result(request, Messages).messages
        except NotOpen:
            if self._handles.is_closing:
                return []
            raise
