"""Owner and standbys of one ledger in memory, each with a listener of its own on this machine.

This module knows no test; it ends what it has started.
"""

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager

from adapter.runtime.network.memory import MemoryNetwork
from adapter.runtime.owner.clock import SystemClock
from adapter.runtime.owner.following import LedgerFollower
from adapter.runtime.owner.lifecycle import OwnerState
from adapter.server.server import Server
from adapter.server.services.kafka_wiring import KafkaSettings
from adapter.server.services.movers import NoMovers
from adapter.server.services.network import NetworkLink
from adapter.server.settings import ServerSettings
from adapter.storage.ledger.memory import MemoryLedger, MemoryLedgerReader, MemoryLog
from adapter.storage.ledger.snapshots import MemorySnapshots
from tests.support.awaited import until

HOST = "127.0.0.1"
WAIT_S = 20.0
LONG_S = 600.0
"""Between heartbeats, so that no silence of the ledger counts."""


def in_loop(test: Callable[..., Coroutine[None, None, None]]) -> Callable[..., None]:
    """Make a test of a coroutine."""

    @functools.wraps(test)
    def run(*given: object, **named: object) -> None:
        asyncio.run(asyncio.wait_for(test(*given, **named), 3 * WAIT_S))

    return run


class Site:
    """One ledger in memory, and the servers on it."""

    def __init__(self) -> None:
        self.log = MemoryLog()
        self.network = MemoryNetwork()
        self.servers: list[Server] = []
        self.tasks: list[asyncio.Task[bool]] = []
        self.stand_by: list[str] = []
        """The standbys that have reported that they stand by, each time that they did."""

    def server(self, priority: int = 0, **more: object) -> Server:
        """Make a server; it does not listen yet. more: further settings."""
        settings = ServerSettings(
            queue_manager="QM1",
            kafka=KafkaSettings(bootstrap_servers=""),
            heartbeat_ms=round(LONG_S * 1000),
            standby_priority=priority,
            **more,  # type: ignore[arg-type]
        )
        link = NetworkLink(self.network, lambda: "QM1")
        made = Server(settings, MemoryLedger(self.log), SystemClock(), NoMovers(), network=link)
        self.servers.append(made)
        return made

    async def owner(self, **more: object) -> Server:
        """Return a server that owns the ledger."""
        made = self.server(0, **more)
        await made.start(HOST, 0)
        return made

    async def standby(self, priority: int = 0) -> Server:
        """Return a server that is linked to the owner."""
        made, loop = self.server(priority), asyncio.get_running_loop()
        await made.listen(HOST, 0)
        link, report = made.roles.make_link(), lambda: self.stand_by.append(made.roles.name)
        follower = LedgerFollower(
            "QM1",
            MemoryLedger(self.log),
            lambda position: MemoryLedgerReader(self.log, position),
            MemorySnapshots(),
            None,
            LONG_S,
            functools.partial(loop.call_soon_threadsafe, made.roles.when_linked, report),
            standby=made.roles.name,
            signs=link,
        )
        self.tasks.append(asyncio.create_task(made.stand_by(follower)))
        await until(lambda: made.roles.name in self.stand_by)
        return made

    async def close(self) -> None:
        """End all."""
        for one in self.servers:
            one.owner.standby.give_up()
        for task in self.tasks:
            await asyncio.wait_for(task, WAIT_S)
        for one in self.servers:
            if one.state is not OwnerState.STOPPED:
                await one.crash()
            await one.connections.until_none(WAIT_S)
        for _ in range(2):  # turns of the loop in which transports close their sockets
            await asyncio.sleep(0)


@asynccontextmanager
async def site() -> AsyncIterator[Site]:
    made = Site()
    try:
        yield made
    finally:
        await made.close()
