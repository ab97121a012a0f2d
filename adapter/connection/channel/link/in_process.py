"""Links within one process: frames pass between a client's threads and a server's event loop.

The server's end is an asyncio protocol, as on a socket, with a transport that has the methods of a
socket's. To the server, bytes go through a deque that a call on its loop empties; to the client,
through a queue that the thread which leads waits at. No system call is made but the one that wakes
the other side, and no bytes are copied but those of a frame that its sender will use again.

A client that sends waits while the server reads nothing; for the rest of the bounds see pipe.

This module does not know what frames mean, nor what the server is.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Event, Thread, current_thread

from adapter.connection.channel.addresses import Address
from adapter.connection.channel.link.pipe import BUFFER_BYTES, PEER, Accept, PipeTransport
from adapter.connection.channel.link.port import (
    TIMINGS,
    HostNotReached,
    LinkLost,
    LinkTimings,
    WhileFull,
)
from adapter.connection.wire.codec import FrameBuffer, Payload
from adapter.connection.wire.frames import ProtocolError

ROOM_LOOK_S = 0.05
"""A thread that waits for room looks this often whether there is something to receive."""


class ServingThread(Thread):
    """A thread that serves clients of this process: what waits for an answer there gets none."""


def serves_here() -> bool:
    """Whether the calling thread is one that serves clients of this process."""
    return isinstance(current_thread(), ServingThread)


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

    @property
    def place(self) -> str:
        return PEER

    def toward(self, address: Address) -> None:
        """See ManagerPlace: nothing leaves this process."""

    def interrupt(self) -> None:
        pass


class InProcessTransport(PipeTransport):
    """The server's end. Its methods are called on the loop's thread, but for those of the link."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.inbox = SimpleQueue[bytes | None]()
        """What was written and is unread; None behind the last of it."""
        self.has_room = Event()
        self.taken_bytes = 0  # read by the client, and counted by it
        self.fed_bytes = 0  # sent by the client, and counted by it
        self._is_scheduled = False

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
        return self.fed_bytes - self.read_bytes

    # What the server calls.

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
        if error is None and not self._is_closing:
            self._deliver()  # what the client sent before it left
        self._is_closing = True
        self.inbox.put(None)
        self.has_room.set()
        super()._lose(error)

    # What PipeTransport asks for.

    @property
    def unread_bytes(self) -> int:
        return self.written_bytes - self.taken_bytes

    def _send(self, data: bytes) -> None:
        self.inbox.put(data)

    def _deliver(self) -> None:
        self._is_scheduled = False
        super()._deliver()

    def _note_delivery(self) -> None:
        if self.undelivered_bytes <= BUFFER_BYTES:
            self.has_room.set()

    def _fail(self, error: Exception) -> None:
        self._lose(error)


class InProcessLink:
    """The client's end, a Link."""

    leaves_process = False

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
        delivered, since_s = transport.read_bytes, time.monotonic()
        while True:
            transport.has_room.clear()
            if transport.undelivered_bytes <= BUFFER_BYTES or transport.is_closing():
                return
            if while_full is not None and not self._inbox.empty() and while_full(self):
                continue
            transport.has_room.wait(ROOM_LOOK_S)
            if transport.read_bytes != delivered:
                delivered, since_s = transport.read_bytes, time.monotonic()
            if time.monotonic() - since_s > self._timings.stall_s:
                raise LinkLost(f"{PEER}: the queue manager has stopped reading")

    def has_arrived(self) -> bool:
        return not self._inbox.empty()

    def has_room(self) -> bool:
        return self.transport.undelivered_bytes <= BUFFER_BYTES

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
