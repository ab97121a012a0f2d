"""The server's process: `python -m adapter.host.program adapter.server.main`.

It reads settings as JSON from standard input, prints one line of JSON when it serves, logs to
standard error, and ends with status 0 when it was told to stop, 1 otherwise. `mqk qmgr start` runs
the same code in its own process.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import msgspec
import structlog
import uvloop
from msgspec import Struct

from adapter.core.contract.limits import Limits
from adapter.errors import StartError
from adapter.host import addresses, compiled, logs, memory, release, watched
from adapter.host.logs import LogSettings
from adapter.host.settings.config import Config
from adapter.host.settings.setting_rows import AS_AUTHORITIES, WITH_PASSWORD
from adapter.registry.topic import TopicRegistry
from adapter.runtime.owner.clock import SystemClock
from adapter.runtime.owner.following import StoppedForGood
from adapter.runtime.owner.lifecycle import OwnerState
from adapter.runtime.owner.liveness import OwnedElsewhereError
from adapter.runtime.owner.replay import LedgerUnreadableError
from adapter.runtime.owner.storage import Storage
from adapter.server.access.ldap_settings import LdapSettings
from adapter.server.access.token_settings import TokenSettings
from adapter.server.listen.bounds import ConnectionBounds
from adapter.server.listen.listener import NotLoopbackError, SocketPathError
from adapter.server.listen.tls import TlsSettings
from adapter.server.monitor.visitors import Visitors
from adapter.server.process.supervisor import Supervisor
from adapter.server.server import START_GRACE_S, Server
from adapter.server.services import kafka_wiring
from adapter.server.services.kafka_wiring import KafkaSettings, LedgerError, TopicError
from adapter.server.services.own_schemas import OwnSchemas, SchemaService
from adapter.server.settings import ServerSettings
from adapter.storage.format import names
from adapter.storage.ledger.port import Ledger

if TYPE_CHECKING:
    from aiohttp import web

    from adapter.server.monitor.https import HttpsListener, HttpUsers

SWITCH_INTERVAL_S = 0.0001
"""How long a busy thread keeps the interpreter from the loop. With Python's 5 ms the median of a
commit beside a busy thread was up to 12 ms, with 0.1 ms about 2 ms."""
GC_THRESHOLD = 100_000
"""Messages make no cycles: looking for some every 700 allocations costs more than it frees."""
LOOK_S = 0.2
WITHOUT_KAFKA_S = 4.0
"""How long a stop may take when Kafka does not answer; the movers' process has ended by then."""
START_ERRORS = (
    LedgerError,
    LedgerUnreadableError,
    NotLoopbackError,
    OwnedElsewhereError,
    SocketPathError,
    TopicError,
)

DEPOSED_STATUS = 3
"""What a process ends with that was replaced, and was not told to stand by: started again it would
only be refused. A standby ends with 1, and is started again as the next standby.
"""

log = structlog.get_logger("mqk.server")


FLAGS = ("depth_trigger_disables", "every_triggers_on_backout")


class Ready(Struct):
    """The line that is printed when the server serves, or stands by.

    http: where it is monitored, or "".
    """

    queue_manager: str
    host: str
    port: int
    http: str = ""
    standby: bool = False


def settings_of(config: Config) -> ServerSettings:
    """Return what the effective settings mean for a server."""
    host, port = config.address
    http_host, http_port = config.http_address or ("127.0.0.1", 0)
    registry_host, registry_port = config.registry_address or ("", 0)
    tls_host, tls_port = config.tls_address or ("", 0)
    return ServerSettings(
        queue_manager=config["queue_manager"],
        kafka=KafkaSettings(
            bootstrap_servers=config["kafka.bootstrap_servers"],
            options=config.kafka_options,
            replication=config["kafka.replication"],
            min_insync_replicas=config["kafka.min_insync_replicas"],
            consumed_retention_ms=config["kafka.consumed_retention_ms"],
            events_retention_ms=config["kafka.events_retention_ms"],
            mover_interval_ms=config["mover_interval_ms"],
            ledger_key_file=config["ledger_key_file"],
        ),
        host=host,
        port=port,
        unix_path=config["listen_unix"],
        unix_mode=int(config["listen_unix_mode"], 8),
        http_host=http_host,
        http_port=http_port,
        http_if_free=config.is_default("http_port") and config.is_default("http_listen"),
        quiesce_ms=config["quiesce_ms"],
        heartbeat_ms=config["heartbeat_ms"],
        standby=config["standby"] == "yes",
        standby_priority=config["standby_priority"],
        log=LogSettings(level=config["log_level"], format=config["log_format"]),
        limits=Limits(
            unit_messages=config["max_uncommitted_messages"],
            handles_per_connection=config["max_handles"],
            queues=config["max_queues"],
            sessions=config["max_sessions"],
            session_expiry_ms=config["session_expiry_ms"],
            uncopied_bytes=config["uncopied_bytes"],
            statistics_interval_s=config["statistics_interval_s"],
        ),
        attributes=_attributes(config),
        credentials_file=config["credentials_file"],
        groups_file=config["groups_file"],
        authorities=config["authorities"] == "yes",
        audit=(config["authorities"] if config["audit"] == AS_AUTHORITIES else config["audit"])
        == "yes",
        registry=config["schema_registry"],
        registry_topic=config["schema_topic"],
        registry_host=registry_host,
        registry_port=registry_port,
        bounds=ConnectionBounds(heartbeat_ms=config["client_heartbeat_ms"]),
        http_tls=config["http_tls"] == "yes",
        remote_clients=config["remote_clients"] == WITH_PASSWORD,
        tls=config.section(TlsSettings, "tls_", host=tls_host, port=tls_port),
        ldap=config.section(LdapSettings, "ldap_"),
        tokens=config.section(TokenSettings, "jwt_"),
        network=config["network"] == "yes",
    )


def _attributes(config: Config) -> dict[str, Any]:
    """Return the attributes of the queue manager that its configuration sets; the others stay."""
    names = ("trigger_interval_ms", "dead_letter_queue", "statistics_interval_s", *FLAGS)
    given = {name: config[name] for name in names if not config.is_default(name)}
    return {name: value == "yes" if name in FLAGS else value for name, value in given.items()}


def run(settings: ServerSettings, out: TextIO = sys.stdout) -> None:
    """Serve until told to stop (SIGTERM, SIGINT or a client's Stop); StartError says why not."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.set_threshold(GC_THRESHOLD)
    memory.give_back_long_blocks()
    memory.keep_what_is_loaded()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve_in_turn(settings, out))


class StopSignals:
    """SIGTERM and SIGINT, for one server after the other."""

    def __init__(self, name: str) -> None:
        """name: of the queue manager."""
        self._name = name
        self.server: Server | None = None
        self.came = False
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._take)

    def tell(self, server: Server) -> None:
        """Tell this server, also of a signal that came before."""
        self.server = server
        if self.came:
            server.tell_to_stop()

    def _take(self) -> None:
        self.came = True
        if self.server is not None:
            self.server.tell_to_stop()
        else:
            asyncio.get_running_loop().call_later(START_GRACE_S, self._give_up_start)

    def _give_up_start(self) -> None:
        """End a start that waits for Kafka before there is a server that could be told."""
        if self.server is None:
            leave(
                f"queue manager {self._name} was told to stop while it started, and Kafka has not "
                "answered yet: it has taken nothing over"
            )


async def _serve_in_turn(settings: ServerSettings, out: TextIO) -> None:
    """Serve; after a switch to another process go on as its standby, made anew."""
    supervisor, signals = Supervisor(), StopSignals(settings.queue_manager)
    while (again := await _serve(settings, out, supervisor, signals)) is not None:
        settings, signals.server = again, None
        gc.collect()  # the queue manager that this process had in memory


async def _serve(
    settings: ServerSettings, out: TextIO, supervisor: Supervisor, signals: StopSignals
) -> ServerSettings | None:
    """Serve until told to stop; return the settings with which it is to stand by then, if it is."""
    loop = asyncio.get_running_loop()
    name = settings.queue_manager
    server: Server | None = None
    async with AsyncExitStack() as ends:
        try:
            wired = await loop.run_in_executor(
                None, kafka_wiring.wire, name, settings.kafka, settings.log
            )
            movers = wired.movers()
            network = wired.network() if settings.network else None
            storage = wired.storage(movers)
            registry = OwnSchemas.of(settings.registry, settings.registry_topic, settings.kafka)
            ledger = wired.ledger()
            server = Server(
                settings,
                ledger,
                SystemClock(),
                movers,
                storage,
                network,
                wired.topics(registry.make_registry),
                [SchemaService(registry)],
            )
            signals.tell(server)
            watched.event_loop(loop, server.owner.broke)
            http = await _monitor(settings, server, registry, ends)
            show = partial(_show, settings, server, supervisor, http, out)
            if not await _begin(settings, server, wired, ledger, storage, show):
                await stop(server, 0.0)
                return None
        except StoppedForGood as stopped:
            log.info("ends", queue_manager=name, reason=str(stopped))
            return None
        except START_ERRORS as error:
            if server is not None and server.stopping.is_set():
                leave(str(error))
            raise StartError(str(error), name) from error
        except OSError as error:
            address = f"{settings.host}:{settings.port}"
            raise StartError(_no_port(address, error, "--listen"), name) from error
        failure = await server.run()
        was_replaced = server.state is OwnerState.DEPOSED
        if not server.is_next_standby:
            supervisor.stops()
        await stop(server, settings.quiesce_ms / 1000)
    failure = failure or server.failure
    if failure:
        problem = StartError(failure, name)
        if was_replaced and not settings.standby:
            problem.exit_status = DEPOSED_STATUS
        raise problem
    return _as_standby(settings, server) if server.is_next_standby else None


def _as_standby(settings: ServerSettings, server: Server) -> ServerSettings:
    """Return the settings with which a server's process stands by: at the same addresses."""
    host, port = server.listener.tls_address
    return msgspec.structs.replace(
        settings,
        port=server.bound[1],
        tls=msgspec.structs.replace(settings.tls, host=host, port=port),
        standby=True,
        take_over=False,
    )


async def _begin(
    settings: ServerSettings,
    server: Server,
    wired: kafka_wiring.Wired,
    ledger: Ledger,
    storage: Storage,
    show: Callable[[bool], None],
) -> bool:
    """Serve, or stand by until it serves; False if it was told to stop before.

    show: is called when it stands by (True), and when it serves (False).
    """
    if settings.standby:
        await server.listen(settings.host, settings.port)
        loop = asyncio.get_running_loop()
        roles = server.roles
        follower = wired.follower(
            ledger,  # the owner's: it is prepared for the take-over
            storage,
            settings.limits,
            settings.heartbeat_ms / 1000,
            partial(loop.call_soon_threadsafe, roles.when_linked, partial(show, True)),
            roles.name,
            roles.make_link(),
        )
        if not await server.stand_by(follower):
            return False
    else:
        await server.start(settings.host, settings.port, take_over=settings.take_over)
    await server.await_entry()
    show(False)
    return True


def _show(
    settings: ServerSettings,
    server: Server,
    supervisor: Supervisor,
    http: str,
    out: TextIO,
    standby: bool,
) -> None:
    """Say in the log, on standard output and to the service manager that clients can connect."""
    name, (host, port) = settings.queue_manager, server.bound
    log.info(
        "stands by" if standby else "started",
        queue_manager=name,
        version=release.find_installed(),
        core=compiled.text(compiled.count()),
        address=server.address,
        unix=server.listener.unix_path,
        http=http,
        ledger=names.ledger_topic(name),
        kafka=settings.kafka.bootstrap_servers,
    )
    ready = Ready(name, host, port, http, standby)
    write_line(out, msgspec.json.encode(ready).decode())
    does = "a standby of " if standby else ""
    supervisor.serves(f"{does}queue manager {name} at {server.address}")


def write_line(out: TextIO, line: str) -> None:
    """Write a line at once, because the log may go there too.

    The program that has started a standby in the background has read its first line and ended when
    the standby takes over: that is no trouble of the queue manager.
    """
    try:
        out.write(line + "\n")
        out.flush()
    except OSError as error:
        # Else Python tries to write the line once more at its end, and ends with a failure.
        with contextlib.suppress(OSError), Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        log.info("standard output is read no more", reason=str(error))


async def stop(server: Server, quiesce_s: float) -> None:
    """Stop a server; if Kafka does not answer, end the process when that has taken long enough."""
    stopping = watched.task("the stop", server.stop(quiesce_s), server.owner.broke)
    while not stopping.done() and not server.owner.is_cut_off:
        await asyncio.wait({stopping}, timeout=LOOK_S)
    await asyncio.wait({stopping}, timeout=WITHOUT_KAFKA_S if server.owner.is_cut_off else None)
    if server.owner.is_cut_off:
        leave(server.failure or server.owner.not_written)
    await stopping


def leave(failure: str) -> NoReturn:
    """End the process and say why, without waiting for threads that wait for Kafka.

    Python would wait for them at its end, and each may be in a call of half a minute. As after a
    crash, nothing that was acknowledged is lost.
    """
    logs.tell(f"mqk: {failure}")
    sys.stdout.flush()
    os._exit(1)


async def _monitor(
    settings: ServerSettings, server: Server, registry: OwnSchemas, ends: AsyncExitStack
) -> str:
    """Open what is served over HTTP, if anything is to be; return where it is monitored, or ""."""
    if not settings.registry_port and not settings.http_port:
        return ""
    # Half a second, which a server without the endpoint does not spend.
    from adapter.server.monitor.http import Monitor  # noqa: PLC0415
    from adapter.server.monitor.https import HttpUsers  # noqa: PLC0415

    visitors = Visitors.of(server.connections, checks_authorities=settings.authorities)
    users = HttpUsers(server.name, server.admission, visitors)
    listener_of = partial(_https, server) if settings.http_tls else None
    if settings.registry_port and registry.embedded is not None:
        await serve_registry(settings, registry.embedded, ends, users, listener_of)
    if not settings.http_port:
        return ""
    embedded = None if settings.registry_port else registry.embedded
    monitor = Monitor(server, embedded, users)
    ends.push_async_callback(monitor.stop)
    try:
        return await monitor.start(settings.http_port, settings.http_host, listener_of)
    except OSError as error:
        address = addresses.written(settings.http_host, settings.http_port)
        text = _no_port(address, error, "--http-listen, or --http-port 0 for none")
        if not settings.http_if_free:
            raise StartError(text, settings.queue_manager) from error
        log.warning("not monitored", queue_manager=settings.queue_manager, reason=text)
        return ""


async def serve_registry(
    settings: ServerSettings,
    registry: TopicRegistry,
    ends: AsyncExitStack,
    users: HttpUsers,
    listener_of: Callable[[web.Application], HttpsListener] | None = None,
) -> None:
    """Serve the schema registry's API at an address of its own.

    listener_of: makes a listener with TLS, which is for users only; without one the address is on
    loopback.
    """
    from adapter.host.web import HttpListener  # noqa: PLC0415
    from adapter.registry import http  # noqa: PLC0415 -- as above
    from adapter.server.monitor.registry_gate import RegistryGate  # noqa: PLC0415

    application = http.application(registry, RegistryGate(users))
    if listener_of is None:
        http.check_loopback(settings.registry_host)
    else:
        application.middlewares.append(users.prove)
    listener = (listener_of or HttpListener)(application)
    ends.push_async_callback(listener.stop)
    try:
        await listener.start(settings.registry_host, settings.registry_port)
    except OSError as error:
        address = addresses.written(settings.registry_host, settings.registry_port)
        text = _no_port(address, error, "--registry-listen")
        raise StartError(text, settings.queue_manager) from error


def _https(server: Server, application: web.Application) -> HttpsListener:
    from adapter.server.monitor.https import HttpsListener  # noqa: PLC0415 -- as above

    tls = server.listener.tls
    assert tls is not None, "http_tls is set"
    return HttpsListener(application, tls, server.owner.broke, server.connections.audit)


def _no_port(address: str, error: OSError, remedy: str) -> str:
    why = error.strerror or error
    return f"{address} cannot be used to listen: {why}; choose another port with {remedy}"


def main() -> int:
    """Read settings from standard input and serve."""
    try:
        settings = msgspec.json.decode(sys.stdin.buffer.read(), type=ServerSettings)
        logs.configure(settings.log)
        run(settings)
    except (StartError, msgspec.DecodeError) as error:
        logs.tell(f"mqk: {error}")
        return error.exit_status if isinstance(error, StartError) else 1
    return 0
