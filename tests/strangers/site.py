"""A queue manager in a process of its own that listens in every way, and has users.

onslaught.running() starts it as `python -m tests.strangers.site FOLDER`. It prints its ports as a
line of JSON, logs to standard error as JSON, and ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import uvloop

from adapter.host import logs
from adapter.host.logs import LogSettings
from adapter.registry import http as registry_api
from adapter.registry import topic
from adapter.runtime.owner.clock import SystemClock
from adapter.server.access import credentials
from adapter.server.listen.bounds import ConnectionBounds
from adapter.server.monitor.http import Monitor
from adapter.server.monitor.https import HttpsListener, HttpUsers
from adapter.server.monitor.registry_gate import RegistryGate
from adapter.server.monitor.visitors import Visitors
from adapter.server.server import Server
from adapter.server.services.kafka_wiring import KafkaSettings
from adapter.server.services.movers import NoMovers
from adapter.server.settings import ServerSettings
from adapter.storage.ledger.memory import MemoryLedger, MemoryLog
from tests.support.certificates import Authority
from tests.support.passwords import hash_cheaply

USER, PASSWORD = "ann", "the right one"
AUTHORITY = "ca"
SILENT_S = 1.0


class Ports(msgspec.Struct):
    """Where it listens: the clients' protocol and HTTP, with the registry, each with and without
    TLS; the registry with TLS is for users only.
    """

    mqk: int
    mqk_tls: int
    http: int
    https: int
    registry: int


async def serve(folder: Path) -> None:
    """Serve until standard input ends."""
    authority = Authority(folder, AUTHORITY)
    credentials.write(folder / "users", {USER: hash_cheaply(PASSWORD)})
    settings = ServerSettings(
        queue_manager="QM1",
        kafka=KafkaSettings(bootstrap_servers=""),
        credentials_file=str(folder / "users"),
        tls=authority.server(client_ca=str(authority.path), min_version="1.2"),
        bounds=ConnectionBounds(hello_s=SILENT_S, silent_s=SILENT_S, look_s=SILENT_S / 4),
    )
    async with AsyncExitStack() as ends:
        ledger = MemoryLedger(MemoryLog("in memory"))
        server = Server(settings, ledger, SystemClock(), NoMovers())
        _, mqk = await server.start("127.0.0.1", 0)
        ends.push_async_callback(server.stop)
        tls = server.listener.tls
        assert tls is not None
        broke = server.owner.broke
        visitors = Visitors.of(server.connections, checks_authorities=False)
        users = HttpUsers(server.name, server.admission, visitors)
        monitors = Monitor(server, topic.in_memory(), users), Monitor(server, None, users)
        plain = await monitors[0].start(0)
        https = await monitors[1].start(
            0, "127.0.0.1", lambda pages: HttpsListener(pages, tls, broke)
        )
        for one in monitors:
            ends.push_async_callback(one.stop)
        api = registry_api.application(topic.in_memory(), RegistryGate(users))
        api.middlewares.append(users.prove)
        registry = HttpsListener(api, tls, broke)
        ends.push_async_callback(registry.stop)
        urls = plain, https, await registry.start("127.0.0.1", 0)
        ports = Ports(mqk, server.listener.tls_address[1], *(map(_port, urls)))
        sys.stdout.buffer.write(msgspec.json.encode(ports) + b"\n")
        sys.stdout.flush()
        end = asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.read)
        ended = asyncio.ensure_future(server.owner.ended.wait())
        await asyncio.wait({end, ended}, return_when=asyncio.FIRST_COMPLETED)
        assert not server.failure, server.failure


def _port(url: str) -> int:
    return int(url.rpartition(":")[2].rstrip("/"))


if __name__ == "__main__":
    logs.configure(LogSettings(level="info", format="json"))
    uvloop.run(serve(Path(sys.argv[1])))
