"""An owner and its standby in this process, on one ledger in memory: the real servers and clients.

The owner is reached through a proxy that can swallow one reply. When the owner has crashed, the
standby is told that time has passed, and takes over by itself.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from adapter.connection.wire import codec, frames
from adapter.core.contract.results import Result
from adapter.runtime.exports.memory import MemoryExports
from adapter.runtime.feeds.memory import MemoryFeeds
from adapter.runtime.feeds.schemas import FeedSchemas
from adapter.runtime.network.memory import MemoryNetwork
from adapter.runtime.owner.clock import SystemClock
from adapter.runtime.owner.following import LedgerFollower
from adapter.server.server import Server
from adapter.server.services.kafka_wiring import KafkaSettings
from adapter.server.services.movers import NoMovers
from adapter.server.services.network import NetworkLink
from adapter.server.services.topics import TopicLinks
from adapter.server.settings import ServerSettings
from adapter.storage.format import entries
from adapter.storage.ledger.memory import MemoryLedger, MemoryLedgerReader, MemoryLog
from adapter.storage.ledger.snapshots import MemorySnapshots
from adapter.storage.topics.memory import MemoryTopics
from adapter.testing import TestQueueManager, TestServer, schema_registry
from mqk_demo.proxy import HOST, Proxy

HEARTBEAT_S = 5.0
LONG_S = 1000.0
"""A silence that counts."""
LOOK_S = 0.02
WAIT_S = 30.0


class StandbyTime:
    """The standby's clock: it stands still until it is told otherwise."""

    def __init__(self) -> None:
        self.s = 0.0

    def now_s(self) -> float:
        return self.s


class MemoryStandby(TestQueueManager):
    """A queue manager that follows another one's ledger when it is started."""

    def __init__(self, log: MemoryLog, *parts: Any, **more: Any) -> None:
        super().__init__(*parts, **more)
        self._log = log
        self._time = StandbyTime()
        self._follows = threading.Event()
        self._standing_by: asyncio.Task[bool] | None = None

    async def _start(self) -> Server:
        server = TestServer(
            self._settings,
            self._make_ledger(),
            self._clock,
            self._movers,
            None,
            self._network,
            self._links,
        )
        self._address = await server.listen(*self._address)
        follower = LedgerFollower(
            self.name,
            MemoryLedger(self._log),
            partial(MemoryLedgerReader, self._log),
            MemorySnapshots(),
            self._settings.limits,
            HEARTBEAT_S,
            self._follows.set,
            now_s=self._time.now_s,
        )
        self._standing_by = asyncio.get_running_loop().create_task(server.stand_by(follower))
        return server

    def await_following(self) -> None:
        """Wait until it has found the owner that it follows."""
        assert self._follows.wait(WAIT_S)

    def replace(self) -> None:
        """Let the owner be silent for long, and wait until this one serves.

        What it had not yet read of the owner is news to it: then it waits for another silence.
        """

        async def served() -> bool:
            waited = self._standing_by
            assert waited is not None
            async with asyncio.timeout(WAIT_S):
                while not waited.done():
                    self._time.s += LONG_S
                    await asyncio.wait({waited}, timeout=LOOK_S)
            return waited.result()

        assert self._run(served())


class SwallowedReply:
    """A tap for a proxy: swallows the answer of the first durable command of one kind.

    kind: named when the client is about to send it. command, number, answer: what it was.
    """

    def __init__(self) -> None:
        self.kind: type | None = None
        self.number = 0
        self.answer: Result | frames.Figures | None = None
        self.swallowed = threading.Event()
        self.proxy: Proxy | None = None
        self._asked: tuple[int, int] | None = None
        self._buffers: dict[tuple[int, bool], codec.FrameBuffer] = {}

    def __call__(self, connection: int, from_client: bool, data: bytes) -> None:
        """Read bytes on their way, before they go on."""
        key = connection, from_client
        if not data:
            self._buffers.pop(key, None)
            return
        payloads = list(self._buffers.setdefault(key, codec.FrameBuffer()).feed(data))
        for payload in payloads:
            if from_client:
                self._asks(connection, codec.decode_client_frame(payload))
            elif self._asked is not None and self._asked[0] == connection:
                self._answers(connection, codec.decode_server_frame(payload))

    def _asks(self, connection: int, frame: object) -> None:
        if not isinstance(frame, frames.Requests) or self.kind is None or self._asked:
            return
        for one in frame.operations:
            if one.number and type(codec.decode_command(one.command)) is self.kind:
                self._asked, self.number = (connection, one.request), one.number

    def _answers(self, connection: int, frame: frames.ServerFrame) -> None:
        if not isinstance(frame, frames.AnyReplies) or self.swallowed.is_set():
            return
        for one in frame.answers:
            if self._asked == (connection, one.request):
                self.answer = one.result
                assert self.proxy is not None
                self.proxy.hold_replies_of(connection)
                self.swallowed.set()


class MemoryPair:
    """The two of them, their ledger, and what stands before the owner."""

    def __init__(
        self, log: MemoryLog, owner: TestQueueManager, standby: MemoryStandby, proxy: Proxy
    ) -> None:
        self.log = log
        self.owner = owner
        self.standby = standby
        self.addresses = f"{proxy.address},{standby.address}"

    def fail_over(self) -> None:
        """Crash the owner; return when the standby serves."""
        self.owner.crash()
        self.standby.replace()

    def outcomes(self, number: int) -> list[Any]:
        """What the ledger says of the durable commands with this number, in order."""
        reader = MemoryLedgerReader(self.log)
        records = [record for entry in reader.read(0.0) for record in entries.decode(entry.payload)]
        outcomes = [getattr(record, "outcome", None) for record in records]
        return [
            record
            for record, outcome in zip(records, outcomes, strict=True)
            if outcome is not None and outcome.number == number
        ]


@contextmanager
def memory_pair(
    tap: SwallowedReply, name: str = "QM1", network: MemoryNetwork | None = None
) -> Iterator[MemoryPair]:
    """Run an owner that serves, and a standby that follows it. network: how they reach others."""
    link = None if network is None else NetworkLink(network, lambda: f"the ledger of {name}")
    log, topics = MemoryLog(f"{name} in memory"), MemoryTopics()
    registry = schema_registry()
    links = [
        TopicLinks(MemoryFeeds(topics, FeedSchemas(lambda: registry)), MemoryExports(topics))
        for _ in range(2)
    ]
    settings = ServerSettings(queue_manager=name, kafka=KafkaSettings(bootstrap_servers=""))
    parts = settings, SystemClock(), lambda: MemoryLedger(log), NoMovers()
    owner = TestQueueManager(*parts, network=link, topics=links[0], memory_topics=topics)
    standby = MemoryStandby(log, *parts, network=link, topics=links[1], memory_topics=topics)
    try:
        owner.start()
        standby.start()
        standby.await_following()
        host, port = owner.address.split(":")
        assert host == HOST
        with Proxy(host, int(port), tap=tap) as proxy:
            tap.proxy = proxy
            yield MemoryPair(log, owner, standby, proxy)
    finally:
        owner.close()
        standby.close()
