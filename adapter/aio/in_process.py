"""Links within one process: a pair of transports between two event loops, or within one.

What one end writes arrives at the protocol of the other by a call on the other's loop. For the
bounds see adapter.connection.channel.link.pipe.

This module does not know what frames mean, nor what the server is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from adapter.aio.link import TaskLink
from adapter.connection.channel.addresses import Address
from adapter.connection.channel.link.pipe import PEER, Accept, PipeTransport
from adapter.connection.channel.link.port import HostNotReached


class InProcessTaskDialer:
    """A TaskDialer of what accepts links on an event loop of this process."""

    def __init__(self, loop: asyncio.AbstractEventLoop, accept: Accept) -> None:
        """accept: see adapter.connection.channel.link.pipe; called on that loop."""
        self._loop = loop
        self._accept = accept

    @property
    def place(self) -> str:
        return PEER

    def toward(self, address: Address) -> None:
        """See ManagerPlace: nothing leaves this process."""

    async def dial(self, timeout_s: float) -> TaskLink:  # noqa: ARG002 -- it waits for nothing
        """See TaskDialer. Whether anything accepts it shows when the link is first read."""
        ours = PipeEnd(asyncio.get_running_loop())
        theirs = PipeEnd(self._loop)
        ours.join(theirs)
        link = TaskLink(PEER, leaves_process=False)
        ours.begin(lambda: link)
        try:
            self._loop.call_soon_threadsafe(theirs.begin, self._accept)
        except RuntimeError as error:  # the loop is closed
            raise HostNotReached(f"{PEER}: {error}") from error
        return link


class PipeEnd(PipeTransport):
    """One of two ends. Its methods are called on its event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._other: PipeEnd = self
        self._has_ended = False
        """The other end has: nothing more arrives."""

    def join(self, other: PipeEnd) -> None:
        """Make these two the ends of one link."""
        self._other, other._other = other, self

    def call(self, work: Callable[[], None]) -> None:
        """Do something on the loop of this end. The other end calls it."""
        with suppress(RuntimeError):  # the loop is closed, and with it this end
            self._loop.call_soon_threadsafe(work)

    def close(self) -> None:
        """Close it behind what was written."""
        self._fail(None)

    def abort(self) -> None:
        self.close()

    # What PipeTransport asks for.

    @property
    def unread_bytes(self) -> int:
        return self.written_bytes - self._other.read_bytes

    def _send(self, data: bytes) -> None:
        other = self._other
        other.call(lambda: other._arrive(data))

    def _note_delivery(self) -> None:
        if self._other.is_write_paused:
            self._other.call(self._other._resume_if_read)
        if self._has_ended and not self._arrived:
            self._fail(None)

    def _fail(self, error: Exception | None) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._other.call(self._other._end)
            self._loop.call_soon(self._lose, error)

    # What the other end causes.

    def _arrive(self, data: bytes) -> None:
        self._arrived.append(data)
        self._deliver()

    def _end(self) -> None:
        """Note that the other end has closed the link."""
        self._has_ended = True
        self._deliver()
