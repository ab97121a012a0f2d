"""Queue managers for tests and single applications: in this process, in memory or on a Kafka.

    with adapter.testing.queue_manager() as manager:
        qm = manager.connect()

    async with adapter.testing.aio_queue_manager() as manager:
        qm = await manager.connect()

The queue manager runs on an event loop in a thread of its own and also listens on a loopback port,
so that other processes reach it. In memory, the ledger outlives restarts and crashes, not the
process. This module knows how things are wired; it knows no rule of queues.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import partial
from itertools import islice
from typing import Any, Literal, TypeVar

import uvloop

from adapter import aio
from adapter.administration.mqsc import execute
from adapter.aio.connection import connect_in_process as connect_task
from adapter.client.connection import Connection, connect_in_process
from adapter.connection.channel.link.in_process import ServingThread
from adapter.core.attributes.objects import KINDS, QUEUE_MANAGER
from adapter.core.contract.limits import Limits
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.parties import Principal, Proof
from adapter.core.contract.replies import Reply
from adapter.core.model.broker_queue import key_of
from adapter.errors import StartError
from adapter.host import logs
from adapter.msmq import connecting
from adapter.msmq.host import Host
from adapter.registry import topic
from adapter.registry.topic import TopicRegistry
from adapter.runtime.exports.memory import MemoryExports
from adapter.runtime.feeds.memory import MemoryFeeds
from adapter.runtime.feeds.schemas import FeedSchemas
from adapter.runtime.network.memory import MemoryNetwork
from adapter.runtime.owner.clock import Clock, ManualClock, SystemClock
from adapter.runtime.owner.loop import OwnerLoop
from adapter.runtime.owner.storage import SNAPSHOT_ENTRIES, HousekeepingBounds, Storage
from adapter.server.access.ldap_settings import LdapSettings
from adapter.server.access.token_settings import TokenSettings
from adapter.server.listen.bounds import BOUNDS
from adapter.server.listen.connections import ClientConnections
from adapter.server.listen.tls import TlsSettings
from adapter.server.server import Server
from adapter.server.services import kafka_wiring
from adapter.server.services.movers import Movers, NoMovers
from adapter.server.services.network import NetworkLink
from adapter.server.services.topics import TopicLinks
from adapter.server.settings import ServerSettings
from adapter.servicebroker.broker import ServiceBroker
from adapter.servicebroker.connecting import connect_in_process as open_session
from adapter.storage.ledger.memory import MemoryLedger, MemoryLog
from adapter.storage.ledger.port import Ledger
from adapter.storage.topics.memory import MemoryTopics
from adapter.storage.topics.specs import DAY_MS

CALL_TIMEOUT_S = 60.0  # no step of a queue manager in memory takes longer, nor on a healthy Kafka

Outcome = TypeVar("Outcome")


class DroppingConnections(ClientConnections):
    """Connections of which one can be cut in place of the next reply to it."""

    _drops_next = False

    def drop_next(self) -> None:
        """Cut the connection that the next reply is for."""
        self._drops_next = True

    def send(self, connection: int, replies: list[Reply]) -> None:
        if self._drops_next:
            self._drops_next = False
            self.cut(connection)
        else:
            super().send(connection, replies)


class TestServer(Server):
    """A server whose replies can be lost."""

    __test__ = False
    connections_type = DroppingConnections


class TestQueueManager:
    """A queue manager in this process."""

    __test__ = False  # the name is for people; pytest shall not collect it

    def __init__(
        self,
        settings: ServerSettings,
        clock: Clock,
        ledger: Callable[[], Ledger],
        movers: Movers,
        storage: Callable[[], Storage | None] = lambda: None,
        network: NetworkLink | None = None,
        topics: TopicLinks | None = None,
        memory_topics: MemoryTopics | None = None,
    ) -> None:
        self.name = settings.queue_manager
        self._settings = settings
        self._clock = clock
        self._make_ledger = ledger
        self._make_storage = storage
        self._movers = movers
        self._network = network
        self._links = topics
        self._topics = memory_topics
        self._server: Server | None = None
        self._port = _reserved_port()
        self._address: tuple[str, int] = self._port.getsockname()
        self._loop = uvloop.new_event_loop()
        self._thread = ServingThread(target=self._loop.run_forever, name=self.name, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """HOST:PORT, the same after every restart."""
        host, port = self._address
        return f"{host}:{port}"

    @property
    def tls_address(self) -> str:
        """HOST:PORT where it listens with TLS, if its setting tls says so."""
        host, port = self._running().listener.tls_address
        return f"{host}:{port}"

    @property
    def is_running(self) -> bool:
        """Whether it runs: it was started, and has not been stopped or crashed."""
        return self._server is not None

    @property
    def topics(self) -> MemoryTopics:
        """The topics in memory that its feeds read and its exports write: create them, append
        records, and read what is there.

        They outlive restarts and crashes; queue managers of one network share them. Raises
        ValueError on Kafka, which has its own.
        """
        if self._topics is None:
            raise ValueError("this queue manager runs on Kafka: read the topics there")
        return self._topics

    @property
    def clock(self) -> AdvancingClock:
        """The manual clock; ValueError if the queue manager runs on the machine's."""
        if not isinstance(self._clock, ManualClock):
            raise ValueError('this queue manager was not made with clock="manual"')
        return AdvancingClock(self._clock, self._tick)

    def connect(self, **options: Any) -> Connection:
        """Connect with the SDK, within this process; the options are those of adapter.connect.

        adapter.connect(manager.address) connects over TCP. Without proof it is an operator's.
        """
        accept = partial(self._accept, "password" in options or "token" in options)
        return connect_in_process(self._loop, accept, **options)

    async def connect_aio(self, **options: Any) -> aio.Connection:
        """Connect with adapter.aio, within this process; the options are those of connect().

        The event loop may be any but the queue manager's own.
        """
        accept = partial(self._accept, "password" in options or "token" in options)
        return await connect_task(self._loop, accept, **options)

    def connect_msmq(self, computer: str | None = None) -> Host:
        """Connect as a program of MSMQ, within this process. computer: see msmq.connect()."""
        return connecting.connect_in_process(self._loop, self._accept, computer)

    def connect_servicebroker(self) -> ServiceBroker:
        """Open a session of Service Broker, within this process."""
        return open_session(self._loop, self._accept)

    def mqsc(self, text: str) -> str:
        """Do MQSC commands, a line each, and return what `mqk mqsc` would print."""
        with self.connect(application="mqsc") as qm:
            return execute.run(qm, text)

    def start(self) -> None:
        """Start, after a stop or a crash, on the same ledger."""
        self._server = self._run(self._start())

    def stop(self, *, quiesce_s: float = 0.0) -> None:
        """Stop cleanly: units in flight are backed out, after this time if they have not ended."""
        self._run(self._running().stop(quiesce_s))
        self._server = None

    def restart(self) -> None:
        """Stop cleanly and start again on the same ledger."""
        self.stop()
        self.start()

    def crash(self) -> None:
        """Let the owner die without a word; start() brings another one."""
        self._run(self._running().crash())
        self._server = None

    def drop_next_reply(self) -> None:
        """Break the connection that the next reply would have gone to, instead of sending it."""
        connections = self._running().connections
        assert isinstance(connections, DroppingConnections)
        self._run(_call(connections.drop_next))

    def corrupt(self, queue: str, position: int = 0) -> None:
        """Damage a stored message, by its position in the order of delivery: who is to have it is
        refused with OBJECT_DAMAGED (2101). In memory, and until the queue manager starts again.

        queue: as programs name it. Raises KeyError if it does not exist, IndexError if it has no
        persistent message there, ValueError on Kafka, where damage is detected by its checksums.
        """
        if self._settings.kafka.bootstrap_servers:
            raise ValueError("only messages of a queue manager in memory can be damaged")
        owner = self._running().owner
        self._run(_call(lambda: _damage(owner.loop, queue, position)))

    def _await_known(self, *queue_managers: str) -> None:
        """Wait until messages can be sent to these; TimeoutError if that takes too long."""
        directory = self._running().directory
        for name in queue_managers:
            if not directory.await_entry(name, CALL_TIMEOUT_S):
                raise TimeoutError(f"{self.name} does not know queue manager {name}")
        self._run(_call(lambda: None))  # by now core has been told

    def statistics(self) -> dict[str, Any]:
        """Return the server's figures."""
        return self._run(_call(self._running().figures)).by_name()

    def close(self) -> None:
        """Stop, and end the thread."""
        if self._server is not None:
            self.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CALL_TIMEOUT_S)
        self._loop.close()
        self._port.close()

    async def _start(self) -> Server:
        storage = self._make_storage()
        server = TestServer(
            self._settings,
            self._make_ledger(),
            self._clock,
            self._movers,
            storage,
            self._network,
            self._links,
        )
        self._address = await server.start(*self._address)
        return server

    def _accept(self, is_client: bool = False) -> asyncio.Protocol:
        if self._server is None:
            raise ConnectionRefusedError
        is_operator = self._settings.authorities and not is_client
        return self._server.accept(Principal("", Proof.OPERATOR) if is_operator else None)

    def _tick(self) -> None:
        self._run(_call(self._running().owner.tick))

    def _running(self) -> Server:
        if self._server is None:
            raise RuntimeError(f"queue manager {self.name} does not run; start() it first")
        return self._server

    def _run(self, work: Coroutine[Any, Any, Outcome]) -> Outcome:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(CALL_TIMEOUT_S)


class AdvancingClock:
    """The manual clock of a queue manager: advancing it lets the queue manager notice."""

    def __init__(self, clock: ManualClock, tick: Callable[[], None]) -> None:
        self._clock = clock
        self._tick = tick

    def now_ms(self) -> int:
        """Return the time it shows, in milliseconds since the epoch."""
        return self._clock.now_ms()

    def advance(self, seconds: float) -> None:
        """Let time pass; what became due has been done when this returns."""
        self._clock.advance(seconds)
        self._tick()

    def step(self, seconds: float) -> None:
        """Set the time of day ahead, or back, as an operator may: no time passes.

        Messages expire by it and are put at it; waits and intervals go on as they were.
        """
        self._clock.step(seconds)
        self._tick()


class AioTestQueueManager:
    """A queue manager in this process, for tests that are coroutines.

    It has what TestQueueManager has, with await: while it stops or starts, the event loop runs.
    """

    def __init__(self, manager: TestQueueManager) -> None:
        self._manager = manager

    @property
    def name(self) -> str:
        """Its name."""
        return self._manager.name

    @property
    def address(self) -> str:
        """HOST:PORT, the same after every restart."""
        return self._manager.address

    @property
    def is_running(self) -> bool:
        """Whether it runs: it was started, and has not been stopped or crashed."""
        return self._manager.is_running

    @property
    def topics(self) -> MemoryTopics:
        """The topics in memory of its feeds and exports; see TestQueueManager.topics."""
        return self._manager.topics

    @property
    def clock(self) -> AioAdvancingClock:
        """The manual clock; ValueError if the queue manager runs on the machine's."""
        return AioAdvancingClock(self._manager.clock)

    async def connect(self, **options: Any) -> aio.Connection:
        """Connect with adapter.aio, within this process; the options are those of adapter.connect.

        adapter.aio.connect(manager.address) connects over TCP.
        """
        return await self._manager.connect_aio(**options)

    async def mqsc(self, text: str) -> str:
        """Do MQSC commands, a line each, and return what `mqk mqsc` would print."""
        return await asyncio.to_thread(self._manager.mqsc, text)

    async def start(self) -> None:
        """Start, after a stop or a crash, on the same ledger."""
        await asyncio.to_thread(self._manager.start)

    async def stop(self, *, quiesce_s: float = 0.0) -> None:
        """Stop cleanly: units in flight are backed out, after this time if they have not ended."""
        await asyncio.to_thread(self._manager.stop, quiesce_s=quiesce_s)

    async def restart(self) -> None:
        """Stop cleanly and start again on the same ledger."""
        await asyncio.to_thread(self._manager.restart)

    async def crash(self) -> None:
        """Let the owner die without a word; start() brings another one."""
        await asyncio.to_thread(self._manager.crash)

    async def drop_next_reply(self) -> None:
        """Break the connection that the next reply would have gone to, instead of sending it."""
        await asyncio.to_thread(self._manager.drop_next_reply)

    async def corrupt(self, queue: str, position: int = 0) -> None:
        """Damage a stored message; see TestQueueManager.corrupt()."""
        await asyncio.to_thread(self._manager.corrupt, queue, position)

    async def statistics(self) -> dict[str, Any]:
        """Return the server's figures."""
        return await asyncio.to_thread(self._manager.statistics)


class AioAdvancingClock:
    """The manual clock of an AioTestQueueManager."""

    def __init__(self, clock: AdvancingClock) -> None:
        self._clock = clock

    def now_ms(self) -> int:
        """Return the time it shows, in milliseconds since the epoch."""
        return self._clock.now_ms()

    async def advance(self, seconds: float) -> None:
        """Let time pass; what became due has been done when this returns."""
        await asyncio.to_thread(self._clock.advance, seconds)

    async def step(self, seconds: float) -> None:
        """Set the time of day ahead, or back; see AdvancingClock.step()."""
        await asyncio.to_thread(self._clock.step, seconds)


def _damage(loop: OwnerLoop, name: str, position: int) -> None:
    """Let the content of a message leave memory: there is no topic to read it back from."""
    names = (name, key_of(name), name.removeprefix(".\\").lower())
    queue = next((loop.qm.queues[one] for one in names if one in loop.qm.queues), None)
    if queue is None:
        raise KeyError(name)
    stored = next(islice(queue.in_order(), position, None), None) if position >= 0 else None
    if stored is None or stored.place[2]:
        raise IndexError(f"queue {name} has no persistent message at position {position}")
    lane = queue.lanes[-stored.place[0]]
    lane.remove(stored)
    queue.let_go(lane, [stored])

    def miss(needed: PageNeeded, incarnation: int, count: int) -> None:
        del count
        asyncio.get_running_loop().call_soon(loop.page_missing, needed, incarnation)

    loop._want_page = miss


async def _call(call: Callable[[], Outcome]) -> Outcome:
    return call()


@contextmanager
def queue_manager(
    name: str = "QM1",
    *,
    clock: Literal["manual"] | None = None,
    bootstrap_servers: str | None = None,
    **settings: Any,
) -> Iterator[TestQueueManager]:
    """Run a queue manager in this process; it reaches no other one.

    clock: "manual" for one that stands still until advanced. bootstrap_servers: the Kafka to run
    on; None runs in memory. settings: the fields of core.contract.limits.Limits,
    max_uncommitted_messages, snapshot_entries of owner.storage.Storage, consumed_retention_ms of
    the configuration, credentials_file, groups_file, authorities (True: they are checked), audit
    (True: its events are raised), tls (TlsSettings), tokens (TokenSettings), ldap (LdapSettings),
    unix_path (its listen_unix), bounds (ConnectionBounds), housekeeping, registry (as
    schema_registry() makes it), and attributes of the queue manager. Raises StartError.
    """
    with _running(name, clock, bootstrap_servers, settings, None, MemoryTopics()) as manager:
        yield manager


@asynccontextmanager
async def aio_queue_manager(
    name: str = "QM1",
    *,
    clock: Literal["manual"] | None = None,
    bootstrap_servers: str | None = None,
    **settings: Any,
) -> AsyncIterator[AioTestQueueManager]:
    """Run a queue manager in this process, for tests that are coroutines.

    The arguments and errors are those of queue_manager().
    """
    running = queue_manager(name, clock=clock, bootstrap_servers=bootstrap_servers, **settings)
    manager = await asyncio.to_thread(running.__enter__)
    try:
        yield AioTestQueueManager(manager)
    finally:
        await asyncio.to_thread(running.__exit__, None, None, None)


@contextmanager
def network(
    *queue_managers: str,
    clock: Literal["manual"] | None = None,
    bootstrap_servers: str | None = None,
    **settings: Any,
) -> Iterator[tuple[TestQueueManager, ...]]:
    """Run queue managers of these names in this process that reach each other.

    Each knows the others when this yields. clock, bootstrap_servers, settings, errors: as of
    queue_manager(), the same for each; each has a clock of its own.
    """
    shared, topics = MemoryNetwork(), MemoryTopics()
    with ExitStack() as running:
        managers = tuple(
            running.enter_context(
                _running(name, clock, bootstrap_servers, dict(settings), shared, topics)
            )
            for name in queue_managers
        )
        for manager in managers:
            manager._await_known(*queue_managers)
        yield managers


def _reserved_port() -> socket.socket:
    """Bind a free port that stays ours while nothing listens on it: clients of a queue manager that
    is started again come back to its address.
    """
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    found.bind(("127.0.0.1", 0))
    return found


@contextmanager
def _running(
    name: str,
    clock: Literal["manual"] | None,
    bootstrap_servers: str | None,
    settings: dict[str, Any],
    shared: MemoryNetwork | None,
    topics: MemoryTopics,
) -> Iterator[TestQueueManager]:
    """Run one queue manager. shared: how it reaches others in memory; None: it reaches none.
    topics: of other programs, in memory.
    """
    logs.quieten()
    if "max_uncommitted_messages" in settings:
        settings["unit_messages"] = settings.pop("max_uncommitted_messages")
    attributes = {name: settings.pop(name) for name in OF_QUEUE_MANAGER & settings.keys()}
    users = settings.pop("credentials_file", "")
    unix_path = settings.pop("unix_path", "")
    bounds = settings.pop("bounds", BOUNDS)
    housekeeping = settings.pop("housekeeping", None)
    registry = settings.pop("registry", None) or schema_registry()
    entries = settings.pop("snapshot_entries", SNAPSHOT_ENTRIES)
    retention_ms = settings.pop("consumed_retention_ms", DAY_MS)
    ledger, movers, storage, link, links = (
        _in_memory(name, shared, topics, registry)
        if bootstrap_servers is None
        else _on_kafka(name, bootstrap_servers, entries, retention_ms, housekeeping)
    )
    manager = TestQueueManager(
        ServerSettings(
            queue_manager=name,
            kafka=kafka_wiring.KafkaSettings(bootstrap_servers=bootstrap_servers or ""),
            authorities=settings.pop("authorities", False),
            audit=settings.pop("audit", False),
            groups_file=str(settings.pop("groups_file", "")),
            tls=settings.pop("tls", TlsSettings()),
            tokens=settings.pop("tokens", TokenSettings()),
            ldap=settings.pop("ldap", LdapSettings()),
            limits=Limits(**settings),
            attributes=attributes,
            credentials_file=str(users),
            unix_path=str(unix_path),
            bounds=bounds,
        ),
        ManualClock() if clock == "manual" else SystemClock(),
        ledger,
        movers,
        storage,
        link if shared is not None else None,
        links,
        topics if bootstrap_servers is None else None,
    )
    try:
        manager.start()
        yield manager
    finally:
        manager.close()


OF_QUEUE_MANAGER = {name for name, row in KINDS[QUEUE_MANAGER].items() if not row.attribute.fixed}

Parts = tuple[Callable[[], Ledger], Movers, Callable[[], Storage | None], NetworkLink, TopicLinks]


def schema_registry() -> TopicRegistry:
    """Return a schema registry in memory: for connect(registry=), as a real one is."""
    return topic.in_memory()


def _in_memory(
    name: str, shared: MemoryNetwork | None, topics: MemoryTopics, registry: TopicRegistry
) -> Parts:
    """Everything stays in memory: there are no topics to read messages back from."""
    log = MemoryLog(f"{name} in memory")
    ident = secrets.token_hex(16)
    link = NetworkLink(shared or MemoryNetwork(), lambda: ident)
    links = TopicLinks(MemoryFeeds(topics, FeedSchemas(lambda: registry)), MemoryExports(topics))
    return lambda: MemoryLedger(log), NoMovers(), lambda: None, link, links


def _on_kafka(
    name: str,
    bootstrap_servers: str,
    snapshot_entries: int,
    retention_ms: int,
    housekeeping: HousekeepingBounds | None,
) -> Parts:
    settings = kafka_wiring.KafkaSettings(
        bootstrap_servers=bootstrap_servers, consumed_retention_ms=retention_ms
    )
    try:
        wired = kafka_wiring.wire(name, settings)
    except (kafka_wiring.TopicError, kafka_wiring.LedgerError) as error:
        raise StartError(str(error), name) from error
    movers = wired.mover_thread()
    storage = partial(wired.storage, movers, snapshot_entries, housekeeping)
    return wired.ledger, movers, storage, wired.network(), wired.topics()
