"""Alerts of failed handshakes: the other end hears why its certificate is not accepted.

OpenSSL puts an alert among the bytes that leave when a handshake fails, and event loops drop these
with the connection: the other end would hear only that the connection was closed. So an event loop
is given an AlertingContext, which stands for a context of any kind, and sends them to the socket
that is known where the connection begins. This module knows no listener and no client.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Self, cast

SHAKING: ContextVar[socket.socket | None] = ContextVar("shaking", default=None)
"""The socket whose handshake begins in this context."""


@contextmanager
def alerts_on(sock: socket.socket) -> Iterator[None]:
    """Have the handshake that begins in this block send its alert to a socket."""
    before = SHAKING.set(sock)
    try:
        yield
    finally:
        SHAKING.reset(before)


class AlertingContext(ssl.SSLContext):
    """Stands for another context, for event loops alone; it has no certificates of its own."""

    stands_for: ssl.SSLContext

    def __new__(cls, context: ssl.SSLContext) -> Self:
        """context: makes the connections."""
        made = super().__new__(cls, ssl.PROTOCOL_TLS_CLIENT)
        made.stands_for = context
        return made

    def wrap_bio(
        self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *args: Any, **named: Any
    ) -> ssl.SSLObject:
        """Make an end of a connection on two buffers."""
        made = self.stands_for.wrap_bio(incoming, outgoing, *args, **named)
        sock = SHAKING.get()
        return made if sock is None else cast("ssl.SSLObject", AlertingEnd(made, outgoing, sock))


class AlertingEnd:
    """One end of a connection with TLS, which sends the alert of a handshake that fails."""

    def __init__(self, made: ssl.SSLObject, leaving: ssl.MemoryBIO, sock: socket.socket) -> None:
        self._made = made
        self._leaving = leaving
        self._sock = sock
        self.read, self.write = made.read, made.write  # for each record: not looked up below

    def do_handshake(self) -> None:
        """Go on with the handshake. Raises what SSLObject raises."""
        try:
            self._made.do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError:
            with suppress(OSError, ValueError):  # it has gone, or takes nothing now
                self._sock.send(self._leaving.read(), socket.MSG_DONTWAIT)
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)
