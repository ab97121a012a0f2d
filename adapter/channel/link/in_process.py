"""Links within one process: frames pass between a client's threads and a server's event loop.

The server's end is an asyncio protocol, as on a socket, with a transport that has the methods of a
socket's. To the server, bytes go through a deque that a call on its loop empties; to the client,
through a queue that the thread which leads waits at. No system call is made but the one that wakes
the other side, and no bytes are copied but those of a frame that its sender will use again.

Both directions are bounded, as a socket's buffers bound them: a client that sends waits while the
server reads nothing (pause_reading), and a server whose client reads nothing is told to write no
more (pause_writing). What a socket's buffers would hold does not count as unread.

The counters and flags that both sides see are each written by one side only. Where one side sets a
flag and then looks at a counter, and the other changes the counter and then looks at the flag, at
least one of them sees what the other did: no wake-up is lost.

This module does not know what frames mean, nor what the server is.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Event

from adapter.channel.link.port import TIMINGS, HostNotReached, LinkLost, LinkTimings, WhileFull
from adapter.wire.codec import FrameBuffer, Payload
from adapter.wire.frames import ProtocolError

PEER = "this process"
BUFFER_BYTES = 256 * 1024
"""What a socket's buffers would hold, in each direction."""
HIGH_BYTES = 64 * 1024
"""Unread bytes beyond BUFFER_BYTES at which a server is told to write no more, unless it says."""
ROOM_LOOK_S = 0.05
"""A thread that waits for room looks this often whether there is something to receive."""

Accept = Callable[[], asyncio.Protocol]
"""Makes the server's end of a new connection; called on the server's event loop."""


class InProcessDialer:
    """A Dialer of what accepts links on an event loop of this process."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, accept: Accept, timings: LinkTimings = TIMINGS
    ) -> None:
        self._loop = loop
        self._accept = accept
        self._timings = timings

    def dial(self, timeout_s: float) -> InProcessLink:  # noqa: ARG002 -- it waits for nothing
        """See Dialer. Whether anything accepts it shows when the link is first read."""
        link = InProcessLink(self._loop, self._timings)
        try:
            self._loop.call_soon_threadsafe(link.transport.begin, self._accept)
        except RuntimeError as error:  # the loop is closed
            raise HostNotReached(f"{PEER}: {error}") from error
        return link

    def interrupt(self) -> None:
        pass


class InProcessTransport(asyncio.Transport):
    """The server's end. Its methods are called on the loop's thread, but for those of the link."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.inbox = SimpleQueue[bytes | None]()
        """What was written and is unread; None behind the last of it."""
        self.has_room = Event()
        self.taken_bytes = 0  # read by the client, and counted by it
        self.fed_bytes = 0  # sent by the client, and counted by it
        self.delivered_bytes = 0
        self.written_bytes = 0
        self.is_write_paused = False
        self._loop = loop
        self._protocol: asyncio.Protocol | None = None
        self._arrived: deque[bytes] = deque()
        self._is_scheduled = False
        self._is_read_paused = False
        self._is_closing = False
        self.set_write_buffer_limits()

    def begin(self, accept: Accept) -> None:
        """Connect to a protocol; a server that accepts nothing closes the link at once."""
        try:
            protocol = accept()
        except ConnectionRefusedError:
            self._is_closing = True
            self.inbox.put(None)
            return
        self._protocol = protocol
        protocol.connection_made(self)
        self._deliver()

    # What the link calls, on a client's thread.

    def feed(self, data: bytes) -> None:
        """Hand bytes to the server."""
        self.fed_bytes += len(data)
        self._arrived.append(data)
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon_threadsafe(self._deliver)

    def note_taken(self, bytes_: int) -> None:
        """The client has read so many bytes."""
        self.taken_bytes += bytes_
        if self.is_write_paused and self._has_few_unread():
            with suppress(RuntimeError):  # the loop is closed: nothing more is written
                self._loop.call_soon_threadsafe(self._resume_if_read)

    def leave(self) -> None:
        """The client has ended the link."""
        with suppress(RuntimeError):  # the loop is closed, and the server gone
            self._loop.call_soon_threadsafe(self._lose, None)

    @property
    def undelivered_bytes(self) -> int:
        """What the client has sent and the server not read."""
        return self.fed_bytes - self.delivered_bytes

    # What the server calls.

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._is_closing:
            return
        self.written_bytes += len(data)
        self.inbox.put(bytes(data))
        if not self.is_write_paused and self.get_write_buffer_size() > self._high_bytes:
            self.is_write_paused = True
            if self._protocol is not None:
                self._protocol.pause_writing()
            self._resume_if_read()

    def get_write_buffer_size(self) -> int:
        """Return what is unread beyond what a socket would hold."""
        return max(0, self.written_bytes - self.taken_bytes - BUFFER_BYTES)

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
        if self._arrived:
            self._loop.call_soon(self._deliver)

    def close(self) -> None:
        """Close it once the client has read what was written."""
        self._end()

    def abort(self) -> None:
        """Close it; what the client has not read is lost."""
        with suppress(Empty):
            while not self._is_closing:
                self.inbox.get_nowait()
        self._end()

    def _end(self) -> None:
        if not self._is_closing:
            self.inbox.put(None)
            self._loop.call_soon(self._lose, None)
        self._is_closing = True

    def _lose(self, error: Exception | None) -> None:
        """Tell the protocol, once, that the link is gone."""
        if error is None and not self._is_closing:
            self._deliver()  # what the client sent before it left
        self._is_closing = True
        self._arrived.clear()
        self.inbox.put(None)
        self.has_room.set()
        protocol, self._protocol = self._protocol, None
        if protocol is not None:
            protocol.connection_lost(error)

    def _deliver(self) -> None:
        self._is_scheduled = False
        while self._arrived and not self._is_read_paused and not self._is_closing:
            protocol = self._protocol
            if protocol is None:  # it is not connected yet
                return
            data = self._arrived.popleft()
            self.delivered_bytes += len(data)
            try:
                protocol.data_received(data)
            except Exception as error:  # noqa: BLE001 -- as a socket's transport does
                text = "data_received() of a protocol failed"
                self._loop.call_exception_handler({"message": text, "exception": error})
                self._lose(error)
        if self.undelivered_bytes <= BUFFER_BYTES:
            self.has_room.set()

    def _has_few_unread(self) -> bool:
        return self.get_write_buffer_size() <= self._low_bytes

    def _resume_if_read(self) -> None:
        if self.is_write_paused and self._has_few_unread():
            self.is_write_paused = False
            if self._protocol is not None:
                self._protocol.resume_writing()


class InProcessLink:
    """The client's end, a Link."""

    def __init__(self, loop: asyncio.AbstractEventLoop, timings: LinkTimings) -> None:
        self.peer = PEER
        self.bytes_received = 0
        self.transport = InProcessTransport(loop)
        self._inbox = self.transport.inbox
        self._buffer = FrameBuffer()
        self._timings = timings
        self._look_up_s = timings.look_up_s
        self._has_ended = False

    def look_up_every(self, seconds: float) -> None:
        self._look_up_s = seconds

    def receive(self) -> list[Payload] | None:
        try:
            data = self._inbox.get(timeout=self._look_up_s)
        except Empty:
            return None
        if data is None:
            self._inbox.put(None)  # for every receive that comes
            raise LinkLost(f"{PEER}: the queue manager closed the connection")
        self.bytes_received += len(data)
        self.transport.note_taken(len(data))
        try:
            return self._buffer.feed(data)
        except ProtocolError as error:
            raise LinkLost(f"{PEER}: {error}") from error

    def send(self, frame: bytearray | bytes, while_full: WhileFull = None) -> None:
        transport = self.transport
        if self._has_ended or transport.is_closing():
            raise LinkLost(f"{PEER}: the connection is closed")
        try:
            transport.feed(bytes(frame))
        except RuntimeError as error:  # the loop is closed
            raise LinkLost(f"{PEER}: {error}") from error
        if transport.undelivered_bytes > BUFFER_BYTES:
            self._wait_for_room(while_full)

    def _wait_for_room(self, while_full: WhileFull) -> None:
        """Wait until the server has read, and receive meanwhile what it sends."""
        transport = self.transport
        delivered, since_s = transport.delivered_bytes, time.monotonic()
        while True:
            transport.has_room.clear()
            if transport.undelivered_bytes <= BUFFER_BYTES or transport.is_closing():
                return
            if while_full is not None and not self._inbox.empty() and while_full(self):
                continue
            transport.has_room.wait(ROOM_LOOK_S)
            if transport.delivered_bytes != delivered:
                delivered, since_s = transport.delivered_bytes, time.monotonic()
            if time.monotonic() - since_s > self._timings.stall_s:
                raise LinkLost(f"{PEER}: the queue manager has stopped reading")

    def shutdown(self) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._inbox.put(None)
            self.transport.has_room.set()
            self.transport.leave()

    def close(self) -> None:
        self.shutdown()

    def disown(self) -> None:
        """See Link. No thread of a child runs the event loop, which is the parent's."""
        self._has_ended = True

    def __del__(self) -> None:
        self.shutdown()  # as a socket that is let go of is closed
