"""One queue manager's server: ledger, owner, listener and movers wired into an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import structlog
from msgspec import Struct, structs

from adapter.core.contract.parties import Principal, Proof
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import QueueStatus, Refused
from adapter.core.inputs import Stopped
from adapter.errors import StartError
from adapter.host import addresses, compiled, logs, release, watched
from adapter.runtime.network.directory import Directory
from adapter.runtime.owner import processes
from adapter.runtime.owner.clock import Clock
from adapter.runtime.owner.following import LedgerFollower
from adapter.runtime.owner.lifecycle import OwnerState
from adapter.runtime.owner.owner import Owner
from adapter.runtime.owner.parts import OwnerSettings
from adapter.runtime.owner.storage import Storage
from adapter.server.access.admission import DEMANDS, Admission, demand
from adapter.server.access.audit import AuditTrail
from adapter.server.access.credentials import Credentials
from adapter.server.access.groups import GroupsByUser, UserGroups
from adapter.server.access.passwords import FileThenDirectory, PasswordCheck
from adapter.server.access.token_port import TokenCheck
from adapter.server.access.token_settings import TokenSettings
from adapter.server.doors.gate import ClientGate
from adapter.server.doors.mqk.handler import MqkHandler
from adapter.server.listen.connections import ClientConnections
from adapter.server.listen.listener import Listener
from adapter.server.listen.tls import ServerTls
from adapter.server.process.figures import ServerFigures
from adapter.server.process.parts import Part
from adapter.server.services.commands import CommandService
from adapter.server.services.groups import GroupService
from adapter.server.services.movers import Movers, MoverService
from adapter.server.services.network import Network, NetworkLink
from adapter.server.services.topics import TopicLinks, TopicServices
from adapter.server.settings import ServerSettings
from adapter.server.standby.roles import ServerRoles
from adapter.storage.ledger.port import Ledger

START_GRACE_S = 3.0
"""How long a start may go on that was told to stop: what it has begun is soon done, if Kafka
answers."""

UNCHECKED_CLIENTS = "clients of this machine need no password: CHCKCLNT of CONNAUTH allows it"
ENTRY_S = 5.0
"""How long a start waits for the directory: for the queue manager's entry, and for the others."""

log = structlog.get_logger("mqk.server")


class StopOrder(Struct):
    """How the server was told to stop. for_good: no standby is to take over. ends: the process
    ends, whatever it handed over.
    """

    immediate: bool = False
    for_good: bool = False
    ends: bool = False


class ServerProgram(Struct, frozen=True):
    """What runs, and since when. compiled_modules: how many are machine code."""

    version: str
    compiled_modules: int
    started_s: float


def _admission(
    settings: ServerSettings, credentials: PasswordCheck | None, tls: ServerTls | None, clock: Clock
) -> Admission:
    return Admission(
        credentials,
        settings.bounds.passwords,
        tls.user_of if tls is not None else None,
        admits_operators=settings.authorities,
        tokens=_tokens(settings.tokens, clock) if settings.tokens.keys else None,
    )


def _owner_settings(settings: ServerSettings, groups: Callable[[], GroupsByUser]) -> OwnerSettings:
    return OwnerSettings(
        limits=settings.limits,
        heartbeat_s=settings.heartbeat_ms / 1000,
        attributes=settings.attributes,
        checks_authorities=settings.authorities,
        registry_topic=settings.registry_topic,
        audits=settings.audit,
        groups=groups,
    )


def _users(settings: ServerSettings) -> PasswordCheck | None:
    """Return what checks passwords; None: nothing does. Raises StartError."""
    file = Credentials(Path(settings.credentials_file)) if settings.credentials_file else None
    if not settings.ldap.server:
        return file
    try:
        from adapter.server.access.ldap_users import LdapUsers  # noqa: PLC0415 -- of an extra
    except ImportError as error:
        text = (
            f"ldap_server needs packages that are not installed ({error.name}): install mqk[ldap]"
        )
        raise StartError(text, "") from error
    directory = LdapUsers(settings.ldap)
    return directory if file is None else FileThenDirectory(file, directory)


def _tokens(settings: TokenSettings, clock: Clock) -> TokenCheck:
    """Return what checks tokens. Raises StartError."""
    try:
        from adapter.server.access.token_checks import TokenChecks  # noqa: PLC0415 -- of an extra
    except ImportError as error:
        text = f"jwt_keys needs packages that are not installed ({error.name}): install mqk[jwt]"
        raise StartError(text, "") from error
    return TokenChecks(settings, lambda: clock.now_ms() / 1000)


def _warn_of_clients_without_password(owner: Owner, admission: Admission) -> None:
    demanded = demand(owner.term.inquiries.password_check, has_users=True, remote=False)
    if admission.has_users and demanded != DEMANDS["REQUIRED"]:
        log.warning(UNCHECKED_CLIENTS, queue_manager=owner.name, demanded=demanded)


class Server:
    """One queue manager that clients can connect to."""

    connections_type = ClientConnections

    def __init__(
        self,
        settings: ServerSettings,
        ledger: Ledger,
        clock: Clock,
        movers: Movers,
        storage: Storage | None = None,
        network: NetworkLink | None = None,
        topics: TopicLinks | None = None,
        parts: Sequence[Part] = (),
    ) -> None:
        """network: how other queue managers are reached; without one none is. topics: those of
        other programs, for feeds and exports; without them none is read or written. parts: further
        ones, which start last.
        """
        self.name = name = settings.queue_manager
        self.stopping = asyncio.Event()
        self._order = StopOrder()
        self._serves = False
        self.bound = ("", 0)
        """The host and port that clients connect to, once it listens."""
        kafka = self._kafka = settings.kafka.bootstrap_servers
        self._program = ServerProgram(release.find_installed(), compiled.count(), time.monotonic())
        credentials = _users(settings)
        groups = UserGroups(Path(settings.groups_file) if settings.groups_file else None)
        audit = AuditTrail(is_on=settings.audit)
        self.connections = self.connections_type(
            name, audit, lambda: self.owner.why_not, settings.bounds
        )
        tls = ServerTls(settings.tls) if settings.tls.host or settings.http_tls else None
        self.admission = _admission(settings, credentials, tls, clock)
        owned = _owner_settings(settings, lambda: groups.groups)
        self.owner = Owner(name, ledger, clock, self.connections, storage, owned)
        self.roles = roles = ServerRoles(self.owner, settings.standby_priority)
        self.connections.is_standby = lambda: roles.is_mere_standby
        self.connections.moved_to = lambda with_tls: roles.moved_to(with_tls=with_tls)
        self.gate = ClientGate(self.connections, self.admission, audit, clock, self)
        """What doors let their clients through."""
        self.accept = MqkHandler(self.connections, self.gate, roles.standbys, kafka).accept
        """Makes the server's end of a connection; on the event loop's thread."""
        self.listener = Listener(
            self.connections,
            self.accept,
            self.owner.broke,
            remote_clients=settings.remote_clients,
            unix_path=settings.unix_path,
            unix_mode=settings.unix_mode,
            tls=tls,
            tls_address=(settings.tls.host, settings.tls.port),
        )
        self._commands = CommandService(self.owner, self.accept)
        self.connections.need_commands = self.need_commands
        self.movers = MoverService(movers, self.owner)
        self._network = Network(network, self.owner) if network is not None else None
        services = TopicServices(topics, self.owner) if topics is not None else None
        own = (GroupService(groups, self.owner), self._network, services, self._commands)
        self._parts = (*(part for part in own if part is not None), self.movers, *parts)
        """In the order of their starts; they stop in the opposite order."""

    async def start(self, host: str, port: int, *, take_over: bool = True) -> tuple[str, int]:
        """Open the port, take the ledger over, serve; returns the address in use.

        take_over: also from another owner that is alive.
        """
        address = await self.listen(host, port)
        with self._closed_if_it_fails():
            await self.owner.start(take_over=take_over)
            await self._serve()
        return address

    async def listen(self, host: str, port: int) -> tuple[str, int]:
        """Open the port; returns the address in use. Clients are told that nothing is served."""
        with self._closed_if_it_fails():
            self.bound = await self.listener.listen(host, port)
        self.owner.taking.place = structs.replace(
            self.owner.taking.place,
            address=addresses.reached_at(*self.bound),
            tls_address=addresses.reached_at(*self.listener.tls_address),
        )
        return self.bound

    async def stand_by(self, follower: LedgerFollower) -> bool:
        """Follow the ledger, take it over when its owner is gone, and serve.

        Returns False if it was told to stop before. Raises what OwnerStandby.follow raises.
        """
        self.roles.follow(follower)
        for part in self._parts:
            part.stand_by()
        with self._closed_if_it_fails():
            took_over = await self.owner.standby.follow(follower)
            if took_over:
                await self._serve()
        return took_over

    @contextlib.contextmanager
    def _closed_if_it_fails(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.roles.stop()
            self.listener.abandon()
            self.admission.close()
            for part in self._parts:
                part.abandon()
            raise

    async def _serve(self) -> None:
        self.roles.own()
        accept_own = partial(self.accept, Principal(self.name, Proof.OWN))
        try:
            for part in self._parts:
                await part.prepare()
            self.connections.serve(self.owner)
            for part in self._parts:
                await part.start(accept_own)
        except BaseException:
            await self.owner.abandon()
            raise
        self._serves = True
        _warn_of_clients_without_password(self.owner, self.admission)

    async def await_entry(self) -> None:
        """Wait until it was tried to enter it in the directory, if any, and to read it; bounded."""
        if self._network is not None:
            waits = (self._network.entry_tried.wait(), self.stopping.wait())
            await watched.first(waits, self.owner.broke, ENTRY_S)

    def need_commands(self) -> None:
        self._commands.need()

    async def run(self) -> str:
        """Serve until told to stop, or until the owner ends; returns why it ended, "" if told."""
        await watched.first((self.stopping.wait(), self.owner.ended.wait()), self.owner.broke)
        return self.owner.failure

    def tell_to_stop(self, immediate: bool = False, for_good: bool = False) -> None:
        """Let run() return, so that stop() follows. Told twice: stop without waiting.

        for_good: no standby is to take over.
        """
        if self.stopping.is_set():
            self.owner.hurry()
        self._order.ends = True
        if not self._serves:  # it is starting
            asyncio.get_running_loop().call_later(START_GRACE_S, self._give_up_start)
        self._order.immediate |= immediate
        self._order.for_good |= for_good
        self.roles.note_stop()
        self.stopping.set()

    def switch_owner(self, to: str, answered: Callable[[dict[str, Any]], None]) -> None:
        self.roles.switch(to, answered, self.stopping.set)

    @property
    def is_next_standby(self) -> bool:
        """Whether it has handed over, and its process goes on as a standby."""
        return self.roles.successor is not None and not self._order.ends and not self.failure

    def _give_up_start(self) -> None:
        if not self._serves:
            self.owner.taking.give_up()

    async def stop(self, quiesce_s: float = 0.0) -> None:
        """Refuse new work, back out what is open, write what is decided, and close.

        quiesce_s: how long units in flight are given to end; none if told to stop immediately.
        """
        text = "the queue manager is stopping"
        log.info("stopping", queue_manager=self.name, immediate=self._order.immediate)
        is_cut_off = self.owner.is_cut_off
        for part in reversed(self._parts):
            await part.stop()
        if quiesce_s and not self._order.immediate and not is_cut_off:
            began_s = time.monotonic()
            if self.roles.successor is not None:
                await self.connections.part(quiesce_s)
            await self.owner.quiesce(max(0.0, began_s + quiesce_s - time.monotonic()))
        await self.owner.stop(Stopped(self._order.for_good, self.roles.successor_name))
        self.roles.stop()
        self.admission.close()
        await self.listener.shut(Refused(Reason.QUEUE_MANAGER_STOPPING, self.name, text))
        for part in reversed(self._parts):
            await part.end()
        log.info("stopped", queue_manager=self.name, failure=self.owner.failure)

    async def crash(self) -> None:
        """End without a word: nothing is backed out, nothing more is written. For tests."""
        self.roles.stop()
        await self.owner.abandon()
        self.listener.abandon()
        self.admission.close()
        for part in reversed(self._parts):
            await part.stop()
        for part in reversed(self._parts):
            await part.end()

    @property
    def address(self) -> str:
        """Where clients connect: HOST:PORT."""
        return addresses.written(*self.bound)

    @property
    def state(self) -> OwnerState:
        return self.owner.lifecycle.state

    @property
    def role(self) -> str:
        return self.roles.role

    @property
    def failure(self) -> str:
        return self.owner.failure

    @property
    def trouble(self) -> str:
        return self.owner.trouble

    @property
    def movers_hold(self) -> str:
        return self.movers.watch.trouble

    @property
    def directory(self) -> Directory:
        """What is known of other queue managers; empty without a network."""
        return self._network.directory if self._network is not None else Directory()

    def figures(self) -> ServerFigures:
        owner = self.owner.statistics()
        undone = owner.term.undone if owner.term is not None else {}
        figures: dict[str, Any] = {}
        for part in self._parts:
            figures |= part.figures()
            undone = undone | part.undone()
        return ServerFigures(
            queue_manager=self.name,
            connections=self.connections.count,
            owner=owner,
            undone=undone,
            log_lines_dropped=logs.dropped_lines(),
            version=self._program.version,
            compiled_modules=self._program.compiled_modules,
            uptime_s=round(time.monotonic() - self._program.started_s, 1),
            roles=self.roles.figures(),
            address=self.address,
            process={"id": os.getpid(), "machine": processes.machine().hex()},
            kafka=self._kafka,
            authorities_checked=self.owner.settings.checks_authorities,
            **figures,
        )

    def queue_statuses(self) -> list[QueueStatus]:
        return self.owner.queue_statuses()
