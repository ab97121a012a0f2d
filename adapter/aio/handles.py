"""The handles of one queue object: opened when first needed, and closed with the object.

This module does not know what is put or got by a handle.
"""

from __future__ import annotations

import asyncio
import weakref
from contextlib import suppress

from adapter.aio.channel import TaskChannel
from adapter.client.handles import IN_ORDER
from adapter.client.producing import TOPIC_CLOSED, topic_handle, topic_refusals
from adapter.connection.channel.requests import Handle, Pending, open_request
from adapter.connection.channel.verbs import close_request
from adapter.core.contract import commands as c
from adapter.errors import NotAuthorized, NotOpen

SELECTIVE = (c.INPUT, c.EXCLUSIVE, c.BROWSE)


async def open_handle(
    channel: TaskChannel, name: str, modes: int, handle: Handle | None = None, selection: str = ""
) -> Handle:
    """Open a queue, under a handle that lost its queue if one is given."""
    if handle is None:
        handle = channel.new_handle(name, modes)
        handle.selection = selection
    await ask_to_open(channel, open_request(handle), handle)
    return handle


async def ask_to_open(channel: TaskChannel, request: Pending, *handles: Handle) -> None:
    """Ask for what opens handles; they are opened again whenever needed if that is granted."""
    for handle in handles:
        channel.keep_handle(handle)  # first: the connection may be lost right behind the answer
    try:
        await channel.ask([request])
        channel.check_opened(request)
    except asyncio.CancelledError:
        for handle in handles:
            channel.close_soon(handle)  # it may have been opened
        raise
    except BaseException:
        for handle in handles:
            channel.drop_handle(handle)
        raise


async def close_handles(channel: TaskChannel, handles: list[Handle]) -> None:
    """Close handles; nothing is to be done if the connection is lost.

    A cancellation that comes first, as one that was put off by the last put, leaves none open.
    """
    if channel.is_closed:
        return
    channel.send_deferred()
    if handles and channel.is_connected:
        try:
            await channel.room()
        except asyncio.CancelledError:
            for handle in handles:
                channel.close_soon(handle)
            raise
    for handle in handles:
        channel.drop_handle(handle)
    if handles and channel.is_connected:
        await channel.ask([close_request(handle) for handle in handles])


class TaskHandles:
    """One handle for each way of opening a queue."""

    _closed = "queue {name} is closed: open it again with queue()"

    def __init__(self, channel: TaskChannel, selection: str) -> None:
        """selection: of the handles that messages are got or browsed by."""
        self.is_closing = False
        self.closing = asyncio.Event()
        self.lock = asyncio.Lock()
        """Held while a handle is opened."""
        self._channel = channel
        self._selection = selection
        self._open: dict[int, Handle] = {}
        self._in_order = c.OUTPUT | c.SET_CONTEXT
        """The modes of the handle for what is put in logical order."""
        weakref.finalize(self, channel.let_go, self._open).atexit = False

    def check_open(self, name: str) -> None:
        """Refuse to go on with a queue object that has been closed, or with its connection."""
        self._channel.check_usable()
        if self.is_closing:
            raise NotOpen(self._closed.format(name=name), name)

    async def get(self, name: str, modes: int, use: int = 0) -> Handle:
        """Return an open handle of a queue, opening it if need be. use: 0 or IN_ORDER."""
        key = modes | use
        handle = self._open.get(key)
        if handle is not None and handle.is_open:
            return handle
        async with self.lock:
            self.check_open(name)
            handle = self._open.get(key)
            if handle is None or not handle.is_open:
                if handle is not None and handle.queue != name:
                    handle = None  # a subscription has another queue now
                handle = await self._open_new(name, modes, handle)
                self._open[key] = handle
        self.check_open(name)
        return handle

    async def _open_new(self, name: str, modes: int, handle: Handle | None) -> Handle:
        """Open a queue, under a handle that lost its queue if one is given."""
        chosen = self._selection if modes in SELECTIVE else ""
        return await open_handle(self._channel, name, modes, handle, chosen)

    async def output(self, name: str, options: int) -> Handle:
        """Return an open handle for a put with these options; see QueueHandles.output()."""
        modes = c.OUTPUT | options & c.SET_CONTEXT
        if options & c.LOGICAL_ORDER:
            with suppress(NotAuthorized):
                return await self.get(name, self._in_order, IN_ORDER)
            handle = await self.get(name, modes, IN_ORDER)
            self._in_order = modes
            return handle
        return await self.get(name, modes)

    def add(self, handle: Handle) -> None:
        """Have close() close a handle that was not opened here."""
        self._open[-handle.number] = handle

    def forget(self, handle: Handle) -> None:
        """Leave the closing of such a handle to its opener."""
        self._open.pop(-handle.number, None)

    def close_soon(self) -> None:
        """Close every handle, and do not wait for it: nothing may come between what was got and its
        program.
        """
        self.is_closing = True
        self.closing.set()
        handles = list(self._open.values())
        self._open.clear()
        for handle in handles:
            self._channel.close_soon(handle)

    async def close(self) -> None:
        """Close every handle; none is opened any more."""
        self.is_closing = True
        self.closing.set()
        async with self.lock:
            handles = list(self._open.values())
            self._open.clear()
        await close_handles(self._channel, handles)


class TaskTopicHandles(TaskHandles):
    """The handle of the queue whose messages are written to a topic, by the topic's name."""

    _closed = TOPIC_CLOSED

    def __init__(self, channel: TaskChannel) -> None:
        super().__init__(channel, "")

    async def _open_new(self, name: str, modes: int, handle: Handle | None) -> Handle:
        with topic_refusals(name):
            handle = handle or topic_handle(self._channel, name, modes)
            return await open_handle(self._channel, name, modes, handle)
