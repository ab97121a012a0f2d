"""One end of a link within this process, as an asyncio transport: its protocol, and flow control.

The other end is another such transport, or a thread. Both directions are bounded, as a socket's
buffers bound them: an end that writes is told to pause (pause_writing) while the other reads
nothing, and what arrives waits while its own protocol reads nothing (pause_reading). What a
socket's buffers would hold does not count as unread.

The counters and flags that both ends see are each written by one of them only. Where one end sets a
flag and then looks at a counter, and the other changes the counter and then looks at the flag, at
least one of them sees what the other did: no wake-up is lost.

This module does not know how bytes get from one end to the other, nor what they mean.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable

PEER = "this process"
BUFFER_BYTES = 256 * 1024
"""What a socket's buffers would hold, in each direction."""
HIGH_BYTES = 64 * 1024
"""Unread bytes beyond BUFFER_BYTES at which an end is told to write no more, unless it says."""

Accept = Callable[[], asyncio.Protocol]
"""Makes the server's end of a new connection; called on the server's event loop."""


class PipeTransport(asyncio.Transport, ABC):
    """What is the same whatever the other end is. Its methods are called on the loop's thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.read_bytes = 0
        """Of those that the other end has written; counted by this one."""
        self.written_bytes = 0
        self.is_write_paused = False
        self._loop = loop
        self._protocol: asyncio.Protocol | None = None
        self._arrived: deque[bytes] = deque()
        self._is_read_paused = False
        self._is_closing = False
        self.set_write_buffer_limits()

    # What depends on the other end.

    @property
    @abstractmethod
    def unread_bytes(self) -> int:
        """How much of what was written the other end has not read."""

    @abstractmethod
    def _send(self, data: bytes) -> None:
        """Let the other end have what is written."""

    @abstractmethod
    def _note_delivery(self) -> None:
        """Do what follows once the protocol has what it reads now."""

    @abstractmethod
    def _fail(self, error: Exception) -> None:
        """End the link: its protocol has failed with what arrived."""

    # As asyncio.Transport has them.

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._is_closing or not data:
            return
        self.written_bytes += len(data)
        self._send(bytes(data))
        if not self.is_write_paused and self.get_write_buffer_size() > self._high_bytes:
            self.is_write_paused = True
            if self._protocol is not None:
                self._protocol.pause_writing()
            self._resume_if_read()

    def get_write_buffer_size(self) -> int:
        """Return what is unread beyond what a socket would hold."""
        return max(0, self.unread_bytes - BUFFER_BYTES)

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

    # The protocol.

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
        self._note_delivery()

    def _lose(self, error: Exception | None) -> None:
        """Report to the protocol, once, that the link is gone."""
        self._arrived.clear()
        protocol, self._protocol = self._protocol, None
        if protocol is not None:
            protocol.connection_lost(error)

    def _has_few_unread(self) -> bool:
        return self.get_write_buffer_size() <= self._low_bytes

    def _resume_if_read(self) -> None:
        if self.is_write_paused and self._has_few_unread():
            self.is_write_paused = False
            if self._protocol is not None:
                self._protocol.resume_writing()
