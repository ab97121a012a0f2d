"""Alerts of failed handshakes: a client hears why its certificate is not accepted.

OpenSSL puts an alert among the bytes that leave when a handshake fails, and the event loop drops
these with the connection: the client would hear only that the connection was closed. A context of
AlertingContext sends them to the socket that is set for the task which accepts the connection. This
module knows no listener.
"""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

ACCEPTED: ContextVar[socket.socket | None] = ContextVar("accepted", default=None)
"""The socket whose handshake begins in this context."""


class AlertingObject(ssl.SSLObject):
    """One end of a connection with TLS, which sends the alert of a handshake that fails."""

    leaving: ssl.MemoryBIO | None = None
    sock: socket.socket | None = None

    def do_handshake(self) -> None:
        """Go on with the handshake. Raises what SSLObject raises."""
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError:
            if self.leaving is not None and self.sock is not None:
                with suppress(OSError, ValueError):  # it has gone, or takes nothing now
                    self.sock.send(self.leaving.read(), socket.MSG_DONTWAIT)
            raise


class AlertingContext(ssl.SSLContext):
    """A context whose connections send such alerts."""

    sslobject_class = AlertingObject

    def wrap_bio(
        self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *args: Any, **named: Any
    ) -> ssl.SSLObject:
        """Make an end of a connection on two buffers."""
        made = super().wrap_bio(incoming, outgoing, *args, **named)
        assert isinstance(made, AlertingObject)
        made.leaving, made.sock = outgoing, ACCEPTED.get()
        return made
