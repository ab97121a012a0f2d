"""Browse: an asynchronous iterator over a queue. Its place survives a lost connection."""

from __future__ import annotations

import time
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Self

from msgspec import Struct

from adapter.aio.context import TaskContext
from adapter.aio.handles import TaskHandles, close_handles, open_handle
from adapter.aio.unit import TaskUnit
from adapter.client.browse import (
    BATCH,
    NO_WAIT_SHARED,
    SHARED,
    BrowsePlace,
    BrowsePlaces,
    shared_command,
    unmark_command,
)
from adapter.client.conversion import shown
from adapter.client.message import Message
from adapter.connection.channel import requests as rq
from adapter.connection.channel.requests import Handle, Pending, StartOver
from adapter.connection.channel.unit import NoUnit
from adapter.core.contract import commands as c
from adapter.core.contract.message import Delivered
from adapter.core.contract.results import Messages
from adapter.errors import InvalidOption, NotOpen

Remove = Callable[[tuple[int, int, int], bytes, TaskUnit | NoUnit | None], Awaitable[bool]]
"""Get the message at a place that has this id, in a unit; whether it was there."""


class BrowsedMessage(Message, kw_only=True):
    """A message that is still on its queue, or was when it was browsed."""

    remover: Callable[[TaskUnit | NoUnit | None], Awaitable[bool]]
    unmarker: Callable[[], Awaitable[object]] | None = None

    async def remove(self, unit: TaskUnit | NoUnit | None = None) -> bool:
        """Get it off the queue, in a unit like any get; False if it is not there any more."""
        return await self.remover(unit)

    async def unmark(self) -> None:
        """Let those that cooperate be shown it again, before its mark is over by itself."""
        if self.unmarker is not None:
            await self.unmarker()


class TaskBrowsing(Struct, frozen=True):
    """What is browsed: a queue, the ids that are wanted, and the selection.

    handles: those of the queue object. remover: gets a message that was shown.
    """

    context: TaskContext
    handles: TaskHandles
    name: str
    wanted: tuple[bytes, bytes, bytes]
    remover: Remove
    selection: str


def browse(of: TaskBrowsing, wait_ms: int, is_shared: bool) -> TaskBrowse:
    """Browse in one of three ways; wait_ms: for each further message, -1: without limit."""
    if not wait_ms:
        return SharedBrowse(of) if is_shared else CursorBrowse(of)
    if is_shared:
        raise InvalidOption(NO_WAIT_SHARED, of.name)
    return FollowingBrowse(of, wait_ms)


class TaskBrowse(ABC):
    """One browse, under a handle of its own, which is closed when the iteration ends."""

    _modes = c.BROWSE

    def __init__(self, of: TaskBrowsing) -> None:
        self._of = of
        self._channel = of.context.channel
        self._found: deque[Delivered] = deque()
        self._opened: dict[int, Handle] = {}
        weakref.finalize(self, self._channel.let_go, self._opened).atexit = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> BrowsedMessage:
        if not self._found and not await self._look():
            await self.aclose()
            raise StopAsyncIteration
        return self._show(self._found.popleft())

    async def aclose(self) -> None:
        """End it. A browse that is let go of is ended too."""
        handles = list(self._opened.values())
        self._opened.clear()
        for handle in handles:
            self._of.handles.forget(handle)
        await close_handles(self._channel, handles)

    @abstractmethod
    async def _ask(self, handle: Handle) -> list[Delivered] | None:
        """Browse; None if the connection was lost, and with it the cursor and what was marked."""

    async def _look(self) -> bool:
        """Ask until some are found; return whether any are."""
        while not self._of.handles.is_closing and not self._found:
            found = await self._ask(await self._handle())
            if found is None:
                continue
            if not found:
                return False
            self._found.extend(filter(self._is_next, found))
        return bool(self._found)

    def _is_next(self, _delivered: Delivered) -> bool:
        """Whether a message is behind all that were found."""
        return True

    def _show(self, delivered: Delivered) -> BrowsedMessage:
        """Return a message as the program is shown it."""
        this = partial(self._of.remover, place_of(delivered), delivered.message.message_id)
        make = partial(BrowsedMessage, remover=this)
        return shown(make, delivered, self._of.context.schemas)

    async def _handle(self) -> Handle:
        for handle in self._opened.values():
            return handle
        of = self._of
        handle = await open_handle(self._channel, of.name, self._modes, None, of.selection)
        self._opened[handle.number] = handle
        of.handles.add(handle)
        return handle

    async def _exchange(self, request: Pending, handle: Handle) -> None:
        """Send a request. A cancellation closes the handle: a wait under it ends, and a cursor that
        has moved behind what was not shown is gone."""
        try:
            await self._channel.ask([request])
        except BaseException:
            self._opened.clear()
            self._of.handles.forget(handle)
            self._channel.close_soon(handle)
            raise

    def _answer(self, request: Pending) -> list[Delivered] | None:
        if isinstance(request.answer, StartOver):
            return None
        return self._channel.result(request, Messages).messages


class CursorBrowse(TaskBrowse):
    """Shows what is there, in order. A lost cursor begins again; what was shown is left out."""

    def __init__(self, of: TaskBrowsing) -> None:
        super().__init__(of)
        self._shown = BrowsePlace()

    def _is_next(self, delivered: Delivered) -> bool:
        return self._shown.is_next(delivered)

    async def _ask(self, handle: Handle) -> list[Delivered] | None:
        command = c.Browse(handle.number, False, BATCH, *self._of.wanted)
        request = Pending(command, rq.FROM_START, handle=handle)
        await self._exchange(request, handle)
        self._shown.note_queue(handle.origin)
        return self._answer(request)


class FollowingBrowse(TaskBrowse):
    """Waits for what was not shown, also over another connection."""

    def __init__(self, of: TaskBrowsing, wait_ms: int) -> None:
        """wait_ms: for each further message; -1: without limit."""
        super().__init__(of)
        self._wait_ms = wait_ms
        self._places = BrowsePlaces()

    async def _ask(self, handle: Handle) -> list[Delivered] | None:
        command = c.Browse(handle.number, False, BATCH, *self._of.wanted)
        command.wait_ms = self._wait_ms
        self._places.tell(command)
        request = Pending(command, handle=handle)
        if self._wait_ms > 0:
            request.wait_until_s = time.monotonic() + self._wait_ms / 1000
        await self._exchange(request, handle)
        self._places.note_queue(handle.origin)
        try:
            return self._answer(request)
        except NotOpen:
            if self._of.handles.is_closing:
                return []
            raise

    def _show(self, delivered: Delivered) -> BrowsedMessage:
        self._places.note_shown(delivered)
        return super()._show(delivered)


class SharedBrowse(TaskBrowse):
    """Shows what no other program that cooperates was shown.

    A message whose answer a cancelled task did not wait for stays marked, for mark_interval_ms at
    most.
    """

    _modes = SHARED

    async def _ask(self, handle: Handle) -> list[Delivered] | None:
        return await self._mark(handle, shared_command(handle, self._of.wanted))

    async def _mark(self, handle: Handle, command: c.Browse) -> list[Delivered] | None:
        request = Pending(command, rq.FROM_START, handle=handle)
        await self._channel.ask([request])
        return self._answer(request)

    def _show(self, delivered: Delivered) -> BrowsedMessage:
        shown = super()._show(delivered)
        for handle in self._opened.values():
            unmarking = unmark_command(handle, place_of(delivered))
            shown.unmarker = partial(self._mark, handle, unmarking)
        return shown


def place_of(delivered: Delivered) -> tuple[int, int, int]:
    """Return where on its queue a message is."""
    return delivered.lane, delivered.seq, delivered.n
