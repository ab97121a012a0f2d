"""The listener: the port at which clients connect, on loopback unless more is asked for.

It opens and closes the port, and has connections looked at. It must not know what clients send.
"""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Callable

from adapter import addresses, watched
from adapter.core.contract.results import Refused
from adapter.server.bounds import BOUNDS
from adapter.server.connections import ClientConnections

FILES_RESERVED = 128
"""Open files for the ledger's connections to brokers, for logs, and for saying goodbye."""


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


class Listener:
    """Where the clients of one queue manager connect."""

    def __init__(
        self,
        connections: ClientConnections,
        accept: Callable[[], asyncio.Protocol],
        broke: watched.Ended,
        *,
        remote_clients: bool = False,
    ) -> None:
        """accept: makes the protocol of a new connection. broke: hears of what must not fail and
        did. remote_clients: listen also where other machines could connect; admission asks these
        for a password.
        """
        self._connections = connections
        self._accept = accept
        self._broke = broke
        self._remote_clients = remote_clients
        self._look: asyncio.TimerHandle | None = None
        self._server: asyncio.Server | None = None

    async def listen(self, host: str, port: int) -> tuple[str, int]:
        """Open the port; returns the address in use."""
        if not self._remote_clients:
            check_loopback(host)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._accept, host, port, backlog=1024)
        most = self._connections.connections_max
        self._connections.connections_max = min(most, files_max(most) - FILES_RESERVED)
        self._look_again()
        return addresses.listening(self._server)

    async def shut(self, reason: Refused) -> None:
        """Close the port and say goodbye to every client."""
        self._stop_listening()
        self._connections.close_all(reason)
        await asyncio.sleep(0)

    def abandon(self) -> None:
        """Close the port and break every connection without a word."""
        self._stop_listening()
        self._connections.abandon()

    def _stop_listening(self) -> None:
        if self._server is not None:
            self._server.close()
        if self._look is not None:
            self._look.cancel()

    def _look_again(self) -> None:
        look = watched.callback("looking at connections", self._look_at_all, self._broke)
        self._look = asyncio.get_running_loop().call_later(self._connections.bounds.look_s, look)

    def _look_at_all(self) -> None:
        self._connections.look(time.monotonic())
        self._look_again()
