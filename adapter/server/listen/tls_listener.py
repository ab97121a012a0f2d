"""The listener for TLS: accepts connections, and makes them clients once their handshakes are done.

A client has proved nothing during a handshake, so that is bounded: how long it may take, how
many there are at a time, and how many of one address. A connection that is too much for its address
ends the oldest handshake of that address; one that is too much for all, the oldest one of the
network that has most. So a new client, whose handshake takes some network delays, is not kept
waiting by those that are never done. Clients of this machine are not counted. This module does not
know what clients send.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
import ssl
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import structlog

from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from adapter.errors import StartError
from adapter.host import addresses, certificates, watched
from adapter.host.tls_alerts import alerts_on
from adapter.server.access.audit import AuditTrail
from adapter.server.access.guesses import network_of
from adapter.server.listen.tls import ServerTls
from adapter.server.process.repeating import LastingFault, RepeatingCall

HANDSHAKE_S = 5.0
SHUTDOWN_S = 2.0
"""How long a client that is said goodbye to may take to answer."""
HANDSHAKES = 256
HANDSHAKES_OF_ADDRESS = 32
NETWORK_BITS = {4: 24, 6: 48}
"""Of an address of each version: what may be of one owner."""
BACKLOG = 1024
LOOK_S = 2.0
"""How often it is looked whether the certificate has changed."""
OF_CERTIFICATES = ("CERTIFICATE", "UNKNOWN_CA")
"""What OpenSSL names in its reasons."""
SAY_S = 1.0
"""How often a certificate that is not accepted is worth a line in the log."""
PAUSE_S = 0.1
"""After a connection could not be accepted: files are missing, which others give back."""

log = structlog.get_logger("mqk.listener")


class Shaking(NamedTuple):
    """A handshake under way. address: that it is counted by; network: that of the address."""

    sock: socket.socket
    task: asyncio.Task[None]
    address: str
    network: str


class TlsListener:
    """Where clients connect with TLS. On the event loop's thread."""

    def __init__(
        self,
        tls: ServerTls,
        accept: Callable[[], asyncio.Protocol],
        broke: watched.Ended,
        audit: AuditTrail | None = None,
    ) -> None:
        """accept: makes the protocol of a new client. broke: hears of what must not fail. audit: of
        certificates that are not accepted.
        """
        self._audit = audit
        self._tls = tls
        self._accept = accept
        self._broke = broke
        self._socket: socket.socket | None = None
        self._accepting: asyncio.Task[None] | None = None
        self._look: RepeatingCall | None = None
        self._handshakes: dict[socket.socket, Shaking] = {}
        """Those under way, the oldest first."""
        self._silent_until_s = 0.0
        self._fault = LastingFault("the certificate before stays in use")
        self.refused = 0
        """Connections whose handshake failed, or was ended for one that came later."""

    def listen(self, host: str, port: int) -> tuple[str, int]:
        """Open the port; returns the address in use. Raises StartError."""
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self._socket = made = socket.create_server((host, port), family=family, backlog=BACKLOG)
        except OSError as error:
            raise StartError(
                f"{host}:{port} cannot be used to listen with TLS: {error.strerror or error}; "
                "choose another port"
            ) from error
        made.setblocking(False)
        self._accepting = watched.task("accepting TLS", self._accept_all(made), self._broke)
        self._look = RepeatingCall(
            "looking at certificates", self._look_at_files, LOOK_S, self._broke
        )
        name = made.getsockname()
        return name[0], name[1]

    def close(self) -> None:
        """Accept nothing more, and end handshakes."""
        if self._accepting is not None:
            self._accepting.cancel()
        for shaking in list(self._handshakes.values()):
            shaking.task.cancel()
        if self._look is not None:
            self._look.cancel()
        if self._socket is not None:
            self._socket.close()

    async def _accept_all(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                sock, address = await loop.sock_accept(listening)
            except OSError as error:
                log.warning("no connection can be accepted", reason=str(error))
                await asyncio.sleep(PAUSE_S)
                continue
            self._begin(sock, address)

    def _begin(self, sock: socket.socket, address: tuple[Any, ...]) -> None:
        """Begin a handshake, in the place of another one if there are too many."""
        known = network_of(address[0])
        self._make_room(known)
        shaking = self._shake(sock, known, addresses.written(*address[:2]))
        task = watched.task("a TLS handshake", shaking, self._broke)
        watched.when_done(
            "a TLS handshake",
            task,
            lambda ended: sock.close() if ended.cancelled() else None,
            self._broke,
        )
        self._handshakes[sock] = Shaking(sock, task, known, _owner_of(known))

    def _make_room(self, address: str) -> None:
        """End a handshake, if one more of an address would be too many."""
        if addresses.is_loopback(address):
            return
        strangers = [
            one for one in self._handshakes.values() if not addresses.is_loopback(one.address)
        ]
        of_address = [one for one in strangers if one.address == address]
        if len(of_address) >= HANDSHAKES_OF_ADDRESS:
            oldest = of_address[0]
        elif len(strangers) >= HANDSHAKES:
            (fullest, _), *_ = Counter(one.network for one in strangers).most_common(1)
            oldest = next(one for one in strangers if one.network == fullest)
        else:
            return
        self.refused += 1
        oldest.task.cancel()
        del self._handshakes[oldest.sock]

    async def _shake(self, sock: socket.socket, network: str, address: str) -> None:
        loop = asyncio.get_running_loop()
        try:
            with alerts_on(sock):
                await loop.connect_accepted_socket(
                    self._accept,
                    sock,
                    ssl=self._tls.context,
                    ssl_handshake_timeout=HANDSHAKE_S,
                    ssl_shutdown_timeout=SHUTDOWN_S,
                )
        except OSError as error:  # those of TLS and timeouts among them
            self.refused += 1
            sock.close()
            if isinstance(error, ssl.SSLCertVerificationError) and self._audit is not None:
                why = Refused(Reason.NOT_AUTHORIZED, "", certificates.said_of(error))
                self._audit.not_authenticated("", address, "", why)
            self._note_failure(network, error)
        finally:
            self._handshakes.pop(sock, None)

    def _note_failure(self, network: str, error: OSError) -> None:
        """Write why a certificate is not accepted, at either end; any other failure may be a
        scanner's. Once in SAY_S is enough, because clients try again.
        """
        now_s = asyncio.get_running_loop().time()
        said = getattr(error, "reason", None) or ""
        is_said = now_s >= self._silent_until_s and any(one in said for one in OF_CERTIFICATES)
        if is_said:
            self._silent_until_s = now_s + SAY_S
        level = logging.WARNING if is_said else logging.DEBUG
        log.log(
            level, "a TLS handshake failed", network=network, reason=certificates.said_of(error)
        )

    def _look_at_files(self) -> None:
        with self._fault.log():
            if self._tls.look():
                log.info("certificate read again")


def _owner_of(address: str) -> str:
    """Return the network of an address, or of what stands for one: see network_of."""
    try:
        found = ipaddress.ip_interface(address)
    except ValueError:
        return address
    bits = min(NETWORK_BITS[found.version], found.network.prefixlen)
    return str(found.network.supernet(new_prefix=bits))
