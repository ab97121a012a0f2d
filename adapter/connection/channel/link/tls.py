"""Links over TLS.

The TLS state is shared by the thread that receives and the one that sends: it is kept behind a lock
that is held while plain bytes become records or back, in memory, and never while the network is
waited for. What TLS has to say by itself (an answer to a change of keys) leaves before the next
frame that is sent. This module does not know what the frames mean.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from contextlib import suppress
from functools import partial

from adapter.connection.channel.addresses import Address
from adapter.connection.channel.link.port import (
    TIMINGS,
    LinkLost,
    LinkTimings,
    TlsRefused,
    WhileFull,
)
from adapter.connection.channel.link.tcp import RECEIVE_BYTES, TcpDialer, TcpLink
from adapter.connection.wire.codec import Payload
from adapter.errors import InvalidOption
from adapter.host.certificates import said_of

SHAKE_S_MIN = 0.05
"""Of the time to connect so much is left for TLS, at least."""


class TlsLink(TcpLink):
    """A Link: the socket's bytes are TLS records, in which are the frames' bytes."""

    def __init__(
        self,
        sock: socket.socket,
        address: Address,
        tls: ssl.SSLObject,
        arrived: ssl.MemoryBIO,
        leaving: ssl.MemoryBIO,
        timings: LinkTimings = TIMINGS,
    ) -> None:
        """tls: after its handshake. arrived, leaving: records from, and for, the other end."""
        super().__init__(sock, address, timings)
        self._tls = tls
        self._arrived = arrived
        self._leaving = leaving
        self._lock = threading.Lock()
        self._has_ended = False
        """The other end has said that nothing more comes."""
        self._frames_before = self._take(b"")
        """What came with the end of the handshake."""

    def receive(self) -> list[Payload] | None:
        """See Link."""
        if self._frames_before:
            frames, self._frames_before = self._frames_before, []
            return frames
        if self._has_ended:
            raise LinkLost(f"{self.peer}: the queue manager closed the connection")
        data = self.receive_bytes()
        return None if data is None else self._take(data)

    def _take(self, data: bytes) -> list[Payload]:
        plain = bytearray()
        try:
            with self._lock:
                self._arrived.write(data)
                while chunk := self._tls.read(RECEIVE_BYTES):
                    plain += chunk
            self._has_ended = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            raise LinkLost(f"{self.peer}: {said_of(error)}") from error
        return self.frames_in(bytes(plain))

    def send(self, frame: bytearray | bytes, while_full: WhileFull = None) -> None:
        """See Link."""
        try:
            with self._lock:
                self._tls.write(frame)
                records = self._leaving.read()
        except ssl.SSLError as error:
            raise LinkLost(f"{self.peer}: {said_of(error)}") from error
        super().send(records, while_full)


def check_can_have_tls(address: Address) -> None:
    """Refuse a socket of this machine where a program asks for TLS. Raises InvalidOption."""
    if address.path:
        raise InvalidOption(
            f"{address} is a socket of this machine, which has no TLS: leave out tls"
        )


def dialer_of(
    address: Address, context: ssl.SSLContext | None = None, timings: LinkTimings = TIMINGS
) -> TcpDialer:
    """Make the dialer of an address. context: of TLS; None: in the clear."""
    if context is None:
        return TcpDialer(address, timings)
    check_can_have_tls(address)
    return TcpDialer(address, timings, partial(shake, context, timings, address.host))


def shake(
    context: ssl.SSLContext,
    timings: LinkTimings,
    host: str,
    sock: socket.socket,
    address: Address,
    deadline_s: float,
) -> TlsLink:
    """Begin TLS on a connected socket. Raises TlsRefused; the socket stays open then.

    host: what the certificate must name: that of the program's address, also where a queue manager
    has named another one: who can say an address could have a certificate of it.
    """
    arrived, leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
    deadline_s = max(deadline_s, time.monotonic() + SHAKE_S_MIN)
    name = host if context.check_hostname else None
    try:
        tls = context.wrap_bio(arrived, leaving, server_hostname=name)
        while True:
            try:
                tls.do_handshake()
                is_done = True
            except ssl.SSLWantReadError:
                is_done = False
            except ssl.SSLError:
                with suppress(OSError):  # so that the queue manager's log has the reason too
                    sock.send(leaving.read(), socket.MSG_DONTWAIT)
                raise
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:  # whatever comes, byte by byte
                raise TimeoutError("timed out")
            sock.settimeout(left_s)
            sock.sendall(leaving.read())
            if is_done:
                break
            data = sock.recv(RECEIVE_BYTES)
            if not data:
                raise TlsRefused(f"{address}: it closed the connection: does it speak TLS?")
            arrived.write(data)
    except (OSError, ValueError) as error:
        raise TlsRefused(f"{address}: TLS failed: {said_of(error)}") from error
    return TlsLink(sock, address, tls, arrived, leaving, timings)
