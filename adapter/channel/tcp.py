"""Sockets: addresses, connecting, and one TCP connection that carries frames.

A Link is one connection from its start to its end; it is never opened again. Whatever goes wrong
with it is LinkLost. This module does not know what the frames mean.
"""

from __future__ import annotations

import re
import select
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct

from adapter.errors import InvalidType, InvalidValue
from adapter.wire.frames import FrameBuffer, Payload, ProtocolError

PORT = 1414
RECEIVE_BYTES = 65_536
TICK_S = 1.0
"""A blocked receive looks up this often: whether the other end has been silent too long."""
KEEPALIVE_S = 10
"""A peer that vanished is noticed after 10 + 3 * 5 s of silence, even if nothing is sent."""
SEND_STALL_S = 30.0
"""A peer that takes nothing for this long is as good as gone."""


class LinkLost(Exception):  # noqa: N818 -- it is an event, dealt with by connecting again
    """The TCP connection is of no more use."""


class HostNotReached(LinkLost):
    """No TCP connection could be made at all: there is no such host, or nothing listens there."""


class Address(Struct, frozen=True):
    """Where a queue manager listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


_FORMS = (
    re.compile(r"\[(?P<host>[^\[\]]+)\](:(?P<port>\d+))?"),  # [IPv6]:PORT
    re.compile(r"(?P<host>[^()\s]+)\s*\(\s*(?P<port>\d+)\s*\)"),  # HOST(PORT), as in a CONNAME
    re.compile(r"(?P<host>[^:()\[\]\s]+)(:(?P<port>\d+))?"),  # HOST:PORT
    re.compile(r"(?P<host>[0-9A-Fa-f:]+:[0-9A-Fa-f:]*)(?P<port>(?!))?"),  # bare IPv6
)


def parse_addresses(text: str) -> list[Address]:
    """Read HOST:PORT, HOST(PORT), [IPV6]:PORT or a comma list of them; without port it is 1414.

    Raises InvalidType or InvalidValue.
    """
    if not isinstance(text, str):
        raise InvalidType(f"address is a str such as '127.0.0.1:{PORT}', not {text!r}")
    return [_address(part.strip(), text) for part in text.split(",")]


def _address(part: str, text: str) -> Address:
    for form in _FORMS:
        match = form.fullmatch(part)
        if match is not None:
            port = int(match["port"] or PORT)
            if 0 < port < 65_536:
                return Address(match["host"], port)
    raise InvalidValue(f"{part!r} in address {text!r} is not HOST:PORT or HOST(PORT)")


def open_socket(address: Address, timeout_s: float, made: Callable[[socket.socket], None]) -> Link:
    """Connect within a time; made() gets each socket before it is used, to be able to end it.

    Raises HostNotReached.
    """
    deadline = time.monotonic() + timeout_s
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise HostNotReached(f"{address}: {error}") from error
    problem: OSError | None = None
    for family, kind, protocol, _, where in found:
        sock = socket.socket(family, kind, protocol)
        try:
            made(sock)
            sock.settimeout(max(0.05, deadline - time.monotonic()))
            sock.connect(where)
            return Link(sock, address)
        except OSError as error:
            sock.close()
            problem = error
    raise HostNotReached(f"{address}: {problem}")


def _tune(sock: socket.socket) -> None:
    """Blocking, so that a receive is one system call; its own timeout makes it look up."""
    sock.settimeout(None)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", KEEPALIVE_S),
        ("TCP_KEEPINTVL", 5),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", int(SEND_STALL_S * 1000)),
    ):
        option = getattr(socket, name, None)  # not every platform has each of them
        if option is not None:
            sock.setsockopt(socket.IPPROTO_TCP, option, value)


WhileFull = Callable[["Link"], object] | None


class Link:
    """One TCP connection to a queue manager. One thread receives, one at a time sends."""

    def __init__(self, sock: socket.socket, address: Address) -> None:
        self.address = address
        self.bytes_sent = 0
        self.bytes_received = 0
        self._sock = sock
        self._buffer = FrameBuffer()
        _tune(sock)
        self.look_up_every(TICK_S)

    def look_up_every(self, seconds: float) -> None:
        """Make a receive without data return after this time."""
        whole = int(seconds)
        timeval = struct.pack("@ll", whole, int((seconds - whole) * 1_000_000))
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval)

    def receive(self) -> list[Payload] | None:
        """Wait for bytes; return the frames that are complete now, or None when looking up.

        Raises LinkLost.
        """
        try:
            data = self._sock.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return None
        except OSError as error:
            raise LinkLost(f"{self.address}: {error}") from error
        if not data:
            raise LinkLost(f"{self.address}: the queue manager closed the connection")
        self.bytes_received += len(data)
        try:
            return self._buffer.feed(data)
        except ProtocolError as error:
            raise LinkLost(f"{self.address}: {error}") from error

    def send(self, frame: bytearray | bytes, while_full: WhileFull = None) -> None:
        """Send one frame; while_full is called when the other end takes none but has sent some.

        It must read, or see to it that somebody does: else each end would wait for the other for
        ever. Raises LinkLost.
        """
        try:
            sent = self._sock.send(frame, socket.MSG_DONTWAIT)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            raise LinkLost(f"{self.address}: {error}") from error
        self.bytes_sent += len(frame)
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
                raise LinkLost(f"{self.address}: {error}") from error

    def _wait_for_room(self, while_full: WhileFull, stalled_s: float) -> None:
        poll = select.poll()
        poll.register(self._sock, select.POLLIN | select.POLLOUT)
        events = poll.poll(TICK_S * 1000)
        if time.monotonic() - stalled_s > SEND_STALL_S:
            raise LinkLost(f"{self.address}: the queue manager takes no bytes")
        if while_full is not None and events and events[0][1] & select.POLLIN:
            while_full(self)

    def shutdown(self) -> None:
        """End it, from any thread: whoever receives or sends finds out at once."""
        with suppress(OSError):  # it has ended already
            self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Give the socket back. Only for the thread that receives, or when none does."""
        self._sock.close()
