"""The queue manager of scripted.py behind a loopback port, in a thread of its own.

For tests of clients: what a client is answered, when, and how its connection breaks is scripted.
`python -m tests.support.loopback` runs one in a process of its own and prints its address.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import uvloop

import adapter
from adapter.client.context import Context
from adapter.connection.channel.addresses import parse_addresses
from adapter.connection.channel.channel import Channel
from adapter.connection.channel.handshake import Handshake
from adapter.connection.channel.link.tcp import TcpDialer
from adapter.connection.channel.timeouts import Timeouts
from adapter.core.contract.results import Refused
from tests.support.loop_thread import LoopThread
from tests.support.scripted import Budget, Command, ScriptedManager

Outcome = TypeVar("Outcome")


class Loopback(ScriptedManager):
    """The server, on an event loop in a thread of its own.

    Tests reach what its thread changes through call().
    """

    def __init__(self, name: str = "QM1") -> None:
        super().__init__(name, uvloop.new_event_loop())
        self._server: asyncio.AbstractServer | None = None
        self._thread = LoopThread(self._loop)
        self.port = self._thread.run(self._listen(0))

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    # -- what tests do to it

    def call(self, work: Callable[[], Outcome]) -> Outcome:
        """Do something on the server's thread."""
        return self._thread.run(_async(work))

    def bodies(self, queue: str) -> list[bytes]:
        """Return what is available on a queue."""
        return self.call(lambda: [s.message.body for s in self.qm.queues[queue].in_order()])

    def count(self, kind: type) -> int:
        """Return how many commands of a kind core has seen."""
        return sum(isinstance(command, kind) for command in self.executed)

    def cut_all(self) -> None:
        """Break every connection."""
        self.call(self.cut_here)

    def stall(self, *, ends: bool = False) -> None:
        """Take nothing from any client, or go on with it."""

        def stall() -> None:
            for client in self.clients.values():
                client.stall(ends=ends)

        self.call(stall)

    def cut_after(self, received: int = 1 << 60, sent: int = 1 << 60) -> None:
        """Break the present connections after so many more bytes in one direction."""

        def arm() -> None:
            for client in self.clients.values():
                client.budget = Budget(received, sent)
                if not received or not sent:
                    client.cut()

        self.call(arm)

    def crash(self) -> None:
        """Break every connection and close the port; only what was logged is left."""

        def crash() -> None:
            assert self._server is not None
            self._server.close()
            self.die()

        self.call(crash)

    def start(self) -> None:
        """Open the port again."""
        self._thread.run(self._listen(self.port))

    def release(self) -> None:
        """Send what was held back, and hold nothing more."""
        self.call(self.let_go)

    def close(self) -> None:
        """End it, with every connection."""

        async def end() -> None:
            assert self._server is not None
            self._server.close()
            self.cut_here()

        self._thread.run(end())
        self._thread.close()

    async def _listen(self, port: int) -> int:
        server = await self._loop.create_server(self.accept, "127.0.0.1", port)
        self._server = server
        return int(server.sockets[0].getsockname()[1])


class OnCommand:
    """Notes when the first command of a kind arrives, and may act on it, on the server's thread."""

    def __init__(self, server: Loopback, kind: type, act: Callable[[], None] | None = None) -> None:
        self.arrived = threading.Event()
        self._kind = kind
        self._act = act
        server.before = self

    def __call__(self, _number: int, command: Command) -> Refused | None:
        if isinstance(command, self._kind) and not self.arrived.is_set():
            self.arrived.set()
            if self._act is not None:
                self._act()
        return None


async def _async(work: Callable[[], Outcome]) -> Outcome:
    return work()


@contextmanager
def loopback(name: str = "QM1") -> Iterator[Loopback]:
    """Run one for a with statement."""
    server = Loopback(name)
    try:
        yield server
    finally:
        server.close()


def main() -> None:
    """Serve until standard input ends."""
    with loopback() as server:
        print(server.address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()


def connection_to(server: Loopback, timeouts: Timeouts) -> adapter.Connection:
    """Connect with timeouts of one's own."""
    dialers = [TcpDialer(one) for one in parse_addresses(server.address)]
    channel = Channel(Handshake(dialers, "", ""), timeouts)
    return adapter.Connection(Context(channel, "", adapter.Schemas(None)))
