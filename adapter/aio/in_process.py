"""Links within one process: a pair of transports between two event loops, or within one.

What one end writes arrives at the protocol of the other by a call on the other's loop. Both
directions are bounded, as a socket's buffers bound them: an end that writes is told to pause while
the other reads nothing. The two counters of a direction are each written by one end only.

This module does not know what frames mean, nor what the server is.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from adapter.aio.link import TaskLink
from adapter.channel.link.in_process import BUFFER_BYTES, HIGH_BYTES, PEER, Accept
from adapter.channel.link.port import HostNotReached


class InProcessTaskDialer:
    """A TaskDialer of what accepts links on an event loop of this process."""

    def __init__(self, loop: asyncio.AbstractEventLoop, accept: Accept) -> None:
        """accept: see adapter.channel.link.in_process; called on that loop."""
        self._loop = loop
        self._accept = accept

    async def dial(self, timeout_s: float) -> TaskLink:  # noqa: ARG002 -- it waits for nothing
        """See TaskDialer. Whether anything accepts it shows when the link is first read."""
        ours = PipeEnd(asyncio.get_running_loop())
        theirs = PipeEnd(self._loop)
        ours.join(theirs)
        link = TaskLink(PEER)
        ours.begin(lambda: link)
        try:
            self._loop.call_soon_threadsafe(theirs.begin, self._accept)
        except RuntimeError as error:  # the loop is closed
            raise HostNotReached(f"{PEER}: {error}") from error
        return link


class PipeEnd(asyncio.Transport):
    """One of two ends. Its methods are called on its event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.read_bytes = 0
        """Of those that the other end has written."""
        self.written_bytes = 0
        self.is_write_paused = False
        self._loop = loop
        self._other: PipeEnd = self
        self._protocol: asyncio.Protocol | None = None
        self._arrived: deque[bytes] = deque()
        self._is_read_paused = False
        self._is_closing = False
        self._has_ended = False
        """The other end has: nothing more arrives."""
        self.set_write_buffer_limits()

    def join(self, other: PipeEnd) -> None:
        """Make these two the ends of one link."""
        self._other, other._other = other, self

    def begin(self, accept: Accept) -> None:
        """Connect to a protocol; if none is accepted the link is closed at once."""
        try:
            protocol = accept()
        except ConnectionRefusedError:
            self.close()
            return
        self._protocol = protocol
        protocol.connection_made(self)
        self._deliver()

    def call(self, work: Callable[[], None]) -> None:
        """Do something on the loop of this end. The other end calls it."""
        with suppress(RuntimeError):  # the loop is closed, and with it this end
            self._loop.call_soon_threadsafe(work)

    # -- as asyncio.Transport has them

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._is_closing or not data:
            return
        self.written_bytes += len(data)
        other, sent = self._other, bytes(data)
        other.call(lambda: other._arrive(sent))
        if not self.is_write_paused and self.get_write_buffer_size() > self._high_bytes:
            self.is_write_paused = True
            if self._protocol is not None:
                self._protocol.pause_writing()
            self._resume_if_read()

    def get_write_buffer_size(self) -> int:
        """Return what is unread beyond what a socket would hold."""
        return max(0, self.written_bytes - self._other.read_bytes - BUFFER_BYTES)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high_bytes = HIGH_BYTES if high is None else high
        self._low_bytes = self._high_bytes // 4 if low is None else low

    def is_closing(self) -> bool:
        return self._is_closing

    def is_reading(self) -> bool:
        return not self._is_read_paused and not self._is_closing

    def pause_reading(self) -> None:
        self._is_read_paused = True

    def resume_reading(self) -> None:
        self._is_read_paused = False
        self._loop.call_soon(self._deliver)

    def close(self) -> None:
        """Close it behind what was written."""
        if self._is_closing:
            return
        self._is_closing = True
        self._other.call(self._other._end)
        self._loop.call_soon(self._lose, None)

    def abort(self) -> None:
        self.close()

    # -- what the other end causes

    def _arrive(self, data: bytes) -> None:
        self._arrived.append(data)
        self._deliver()

    def _deliver(self) -> None:
        """Hand to the protocol what has arrived, unless it reads nothing now."""
        while self._arrived and not self._is_read_paused and not self._is_closing:
            protocol = self._protocol
            if protocol is None:  # it is not connected yet
                return
            data = self._arrived.popleft()
            self.read_bytes += len(data)
            try:
                protocol.data_received(data)
            except Exception as error:  # noqa: BLE001 -- as a socket's transport does
                text = "data_received() of a protocol failed"
                self._loop.call_exception_handler({"message": text, "exception": error})
                self._fail(error)
        if self._other.is_write_paused:
            self._other.call(self._other._resume_if_read)
        if self._has_ended and not self._arrived:
            self._fail(None)

    def _end(self) -> None:
        """Note that the other end has closed the link."""
        self._has_ended = True
        self._deliver()

    def _fail(self, error: Exception | None) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._other.call(self._other._end)
            self._loop.call_soon(self._lose, error)

    def _lose(self, error: Exception | None) -> None:
        """Report to the protocol, once, that the link has gone."""
        self._arrived.clear()
        protocol, self._protocol = self._protocol, None
        if protocol is not None:
            protocol.connection_lost(error)

    def _resume_if_read(self) -> None:
        if self.is_write_paused and self.get_write_buffer_size() <= self._low_bytes:
            self.is_write_paused = False
            if self._protocol is not None:
                self._protocol.resume_writing()
