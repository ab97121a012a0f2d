"""Links over TCP, or over a Unix-domain socket, in the clear; those over TLS build on them.

An address of this machine leads to the known socket of its queue manager, if it has one.

Reading and writing are one system call each on the hot path: the socket blocks, its own receive
timeout makes a receive look up, and a send that would block says so at once (MSG_DONTWAIT), so that
the thread that sends can read meanwhile. This module does not know what the frames mean.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from adapter.connection.channel.addresses import Address
from adapter.connection.channel.link.port import (
    TIMINGS,
    HostNotReached,
    LinkLost,
    LinkTimings,
    WhileFull,
)
from adapter.connection.channel.places import may_lead
from adapter.connection.wire.codec import FrameBuffer, Payload
from adapter.connection.wire.frames import ProtocolError
from adapter.host import addresses

RECEIVE_BYTES: Final = 65_536
KEEPALIVE_S: Final = 10
"""A peer that vanished is noticed after 10 + 3 * 5 s of silence, even if nothing is sent."""


Shake = Callable[[socket.socket, Address, float], "TcpLink"]
"""Of a connected socket, its address and a deadline. Raises HostNotReached, OSError."""


class TcpDialer:
    """A Dialer of an address over TCP, or of a Unix-domain socket."""

    def __init__(
        self, address: Address, timings: LinkTimings = TIMINGS, shake: Shake | None = None
    ) -> None:
        """shake: makes the link of a connected socket; None: it carries frames as they are."""
        self._address = address
        self._timings = timings
        self._shake = shake
        self._connecting: socket.socket | None = None

    @property
    def place(self) -> str:
        return str(self._address)

    def toward(self, address: Address) -> TcpDialer | None:
        """See ManagerPlace."""
        return (
            TcpDialer(address, self._timings, self._shake)
            if may_lead(self._address, address, with_tls=self._shake is not None)
            else None
        )

    def dial(self, timeout_s: float) -> TcpLink:
        deadline_s = time.monotonic() + timeout_s
        try:
            return self._dial(deadline_s)
        finally:
            self._connecting = None

    def interrupt(self) -> None:
        connecting = self._connecting
        if connecting is not None:
            with suppress(OSError):  # it was not connecting any more
                connecting.shutdown(socket.SHUT_RDWR)

    def _dial(self, deadline_s: float) -> TcpLink:
        address = self._address
        try:
            found = _places(address, known=self._shake is None)
        except (OSError, UnicodeError) as error:
            raise HostNotReached(f"{address}: {error}") from error
        problem: OSError | None = None
        for family, kind, protocol, _, where in found:
            self._connecting = sock = socket.socket(family, kind, protocol)
            try:
                sock.settimeout(max(0.05, deadline_s - time.monotonic()))
                sock.connect(where)
                if self._shake is not None:
                    return self._shake(sock, address, deadline_s)
                return TcpLink(sock, address, self._timings)
            except OSError as error:
                sock.close()
                problem = error
            except BaseException:  # HostNotReached, or what a signal handler has raised
                sock.close()
                raise
        raise HostNotReached(f"{address}: {problem}")


def _places(address: Address, *, known: bool) -> list[tuple[Any, ...]]:
    """Return where to connect, as getaddrinfo() does. known: a known socket comes first."""
    if address.path:
        return [(socket.AF_UNIX, socket.SOCK_STREAM, 0, "", address.path)]
    found: list[tuple[Any, ...]] = [
        *socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    ]
    path = addresses.known_socket(address.host, address.port) if known else ""
    return [(socket.AF_UNIX, socket.SOCK_STREAM, 0, "", path), *found] if path else found


def _tune(sock: socket.socket, timings: LinkTimings) -> None:
    """Blocking, so that a receive is one system call; its own timeout makes it look up."""
    sock.settimeout(None)
    keep_alive(sock, timings)


def keep_alive(sock: socket.socket, timings: LinkTimings) -> None:
    """Have a peer noticed that has vanished; nothing waits for small frames to become large."""
    if sock.family == socket.AF_UNIX:
        return
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", KEEPALIVE_S),
        ("TCP_KEEPINTVL", 5),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", int(timings.stall_s * 1000)),
    ):
        option = getattr(socket, name, None)  # not every platform has each of them
        if option is not None:
            sock.setsockopt(socket.IPPROTO_TCP, option, value)


class TcpLink:
    """A Link: the socket's bytes are the frames' bytes."""

    leaves_process: Final = True

    def __init__(
        self, sock: socket.socket, address: Address, timings: LinkTimings = TIMINGS
    ) -> None:
        self.peer = str(address)
        self.bytes_received = 0
        self._sock = sock
        self._buffer = FrameBuffer()
        self._timings = timings
        _tune(sock, timings)
        self.look_up_every(timings.look_up_s)

    def look_up_every(self, seconds: float) -> None:
        whole = int(seconds)
        timeval = struct.pack("@ll", whole, int((seconds - whole) * 1_000_000))
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval)

    def receive(self) -> list[Payload] | None:
        data = self.receive_bytes()
        return None if data is None else self.frames_in(data)

    def receive_bytes(self) -> bytes | None:
        """Wait for bytes; None when looking up. Raises LinkLost."""
        try:
            data = self._sock.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return None
        except OSError as error:
            raise LinkLost(f"{self.peer}: {error}") from error
        if not data:
            raise LinkLost(f"{self.peer}: the queue manager closed the connection")
        return data

    def frames_in(self, data: bytes) -> list[Payload]:
        """Return the frames that are complete with these bytes. Raises LinkLost."""
        self.bytes_received += len(data)
        try:
            return self._buffer.feed(data)
        except ProtocolError as error:
            raise LinkLost(f"{self.peer}: {error}") from error

    def send(self, frame: bytearray | bytes, while_full: WhileFull = None) -> None:
        try:
            sent = self._sock.send(frame, socket.MSG_DONTWAIT)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            raise LinkLost(f"{self.peer}: {error}") from error
        if sent < len(frame):
            with memoryview(frame) as view:
                self._send_rest(view[sent:], while_full)

    def _send_rest(self, rest: memoryview, while_full: WhileFull) -> None:
        stalled_s = time.monotonic()
        while rest:
            try:
                sent = self._sock.send(rest, socket.MSG_DONTWAIT)
                rest = rest[sent:]
                stalled_s = time.monotonic()
            except BlockingIOError:
                self._wait_for_room(while_full, stalled_s)
            except OSError as error:
                raise LinkLost(f"{self.peer}: {error}") from error

    def _wait_for_room(self, while_full: WhileFull, stalled_s: float) -> None:
        poll = select.poll()
        poll.register(self._sock, select.POLLIN | select.POLLOUT)
        events = poll.poll(self._timings.look_up_s * 1000)
        if time.monotonic() - stalled_s > self._timings.stall_s:
            raise LinkLost(f"{self.peer}: the queue manager has stopped reading")
        if while_full is not None and events and events[0][1] & select.POLLIN:
            while_full(self)

    def has_arrived(self) -> bool:
        return self._is_ready(select.POLLIN)

    def has_room(self) -> bool:
        return self._is_ready(select.POLLOUT)

    def _is_ready(self, event: int) -> bool:
        """Whether something can be done now; so it is if the link has ended."""
        poll = select.poll()
        try:
            poll.register(self._sock, event)
        except (ValueError, OSError):  # it is closed
            return True
        return bool(poll.poll(0))

    def shutdown(self) -> None:
        with suppress(OSError):  # it has ended already
            self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._sock.close()

    def disown(self) -> None:
        """See Link. A close without a shutdown ends nothing: the parent has the socket too."""
        self._sock.close()
