"""The listener: where clients connect, on loopback unless more is asked for, and at a path.

It opens and closes the port, and has connections looked at. It must not know what clients send.
"""

from __future__ import annotations

import asyncio
import errno
import resource
import socket
import time
from collections.abc import Callable
from pathlib import Path

import structlog

from adapter.core.contract.results import Refused
from adapter.host import addresses, watched
from adapter.server.listen.bounds import BOUNDS
from adapter.server.listen.connections import ClientConnections
from adapter.server.listen.tls import ServerTls
from adapter.server.listen.tls_listener import TlsListener
from adapter.server.process.repeating import RepeatingCall

BACKLOG = 1024
"""How many clients may wait until they are accepted."""
GOODBYE_S = 1.0
"""How long clients may take to read what they were told last."""
AUTO = "auto"
"""In place of a path: the known socket of the port, if there is a folder for it."""
FILES_RESERVED = 128
"""Open files for the ledger's connections to brokers, for logs, and for saying goodbye."""


log = structlog.get_logger("mqk.listener")


class NotLoopbackError(ValueError):
    """The address is reachable from other machines, and no setting says that it may be."""


def check_loopback(host: str) -> None:
    """Refuse to listen where other machines could connect."""
    try:
        is_local = addresses.reaches_only_this_machine(host)
    except OSError as error:
        raise NotLoopbackError(f"{host!r} is not an address of this machine: {error}") from error
    if not is_local:
        raise NotLoopbackError(
            f"{host!r} is reachable from other machines: listen on loopback, such as 127.0.0.1, or "
            "say remote_clients = with_password and read what that means"
        )


def files_max(connections: int = BOUNDS.connections) -> int:
    """Let this process open files for so many connections, or as many as the system allows it.

    Returns how many files it may open.
    """
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + FILES_RESERVED
    if limit < wanted:
        limit = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))
    return limit


class SocketPathError(ValueError):
    """A Unix-domain socket cannot be made at the path."""


def bind_path(path: str, mode: int) -> socket.socket:
    """Return a Unix-domain socket that listens at a path. Raises SocketPathError.

    One that a killed queue manager has left there is replaced. It listens at once, because one that
    does not looks left over to a queue manager that starts at the same time.
    """
    made = socket.socket(socket.AF_UNIX)
    place = Path(path)
    try:
        if place.exists() and not place.is_socket():
            raise FileExistsError(errno.EEXIST, "there is a file or folder that is not a socket")
        if place.is_socket() and _is_left_over(path):
            place.unlink()
        made.bind(path)
        place.chmod(mode)  # before it listens, so that nobody connects earlier
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        raise SocketPathError(
            f"{path} cannot be used to listen: {error.strerror or error}; choose another path with "
            "--listen-unix"
        ) from error
    return made


def _is_left_over(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as asking:
        asking.setblocking(False)
        try:
            asking.connect(path)
        except ConnectionRefusedError:
            return True
    return False


class Listener:
    """Where the clients of one queue manager connect."""

    def __init__(
        self,
        connections: ClientConnections,
        accept: Callable[[], asyncio.Protocol],
        broke: watched.Ended,
        *,
        remote_clients: bool = False,
        unix_path: str = "",
        unix_mode: int = 0o600,
        tls: ServerTls | None = None,
        tls_address: tuple[str, int] = ("", 0),
    ) -> None:
        """accept: makes the protocol of a new connection. broke: hears of what must not fail and
        did. remote_clients: listen also where other machines could connect; admission asks these
        for a password. unix_path: of a Unix-domain socket to listen at too, AUTO, or ""
        for none. tls: what is used where the queue manager listens with TLS. tls_address: where
        clients do; no host for nowhere.
        """
        self._connections = connections
        self._accept = accept
        self._broke = broke
        self._remote_clients = remote_clients
        self._looks: list[RepeatingCall] = []
        self.unix_path = unix_path
        """Where it listens too, once it listens; "" for nowhere."""
        self._unix_mode = unix_mode
        self._servers: list[asyncio.Server] = []
        self.tls = tls
        """Of this queue manager, wherever it listens with TLS."""
        self._tls: TlsListener | None = None
        if tls and tls_address[0]:
            self._tls = TlsListener(tls, accept, broke, connections.audit)
        self.tls_address = tls_address
        """Where it listens with TLS; port 0 for any free port until it listens."""

    @property
    def written_tls_address(self) -> str:
        """HOST:PORT where clients connect with TLS; "" for nowhere."""
        return addresses.written(*self.tls_address) if self.tls_address[0] else ""

    async def listen(self, host: str, port: int) -> tuple[str, int]:
        """Open the port, and the socket at the path; returns the address in use."""
        if not self._remote_clients:
            check_loopback(host)
        loop = asyncio.get_running_loop()
        server = await loop.create_server(self._accept, host, port, backlog=BACKLOG)
        self._servers.append(server)
        bound = self._bind_path(*addresses.listening(server))
        if bound is not None:
            self._servers.append(
                await loop.create_unix_server(self._accept, sock=bound, backlog=BACKLOG)
            )
        if self._tls is not None:
            self.tls_address = self._tls.listen(*self.tls_address)
        most = self._connections.connections_max
        self._connections.connections_max = min(most, files_max(most) - FILES_RESERVED)
        self._look_from_now_on()
        return addresses.listening(server)

    def _bind_path(self, host: str, port: int) -> socket.socket | None:
        """Return a socket at the path, None if there is to be none, or AUTO cannot have one."""
        is_auto = self.unix_path == AUTO
        if is_auto:
            self.unix_path = addresses.socket_to_make(host, port)
        if not self.unix_path:
            return None
        try:
            return bind_path(self.unix_path, self._unix_mode)
        except SocketPathError as error:
            if not is_auto:
                raise
            log.warning("not listening at the known socket", reason=str(error))
            self.unix_path = ""
            return None

    async def shut(self, reason: Refused) -> None:
        """Close the port and say goodbye to every client.

        A connection with TLS has ended when its client has said goodbye too. One that is left when
        an event loop is closed would keep that from ending.
        """
        self._stop_listening()
        self._connections.close_all(reason)
        await self._connections.until_none(GOODBYE_S)
        await asyncio.sleep(0)

    def abandon(self) -> None:
        """Close the port and break every connection without a word."""
        self._stop_listening()
        self._connections.abandon()

    def _stop_listening(self) -> None:
        if len(self._servers) > 1:  # else the path is not ours
            Path(self.unix_path).unlink(missing_ok=True)
        for server in self._servers:
            server.close()
        self._servers.clear()
        if self._tls is not None:
            self._tls.close()
        for look in self._looks:
            look.cancel()

    def _look_from_now_on(self) -> None:
        connections, broke = self._connections, self._broke

        def look() -> None:
            connections.look(time.monotonic())

        every_s = connections.bounds.look_s
        self._looks.append(RepeatingCall("looking at connections", look, every_s, broke))
        beat, beat_s = connections.beat, connections.bounds.heartbeat_look_s
        if beat_s:
            self._looks.append(RepeatingCall("heartbeats of connections", beat, beat_s, broke))
