"""The listener: client connections, on loopback unless more is asked for; the owner's front.

It knows who is connected and what all of them together may hold; one of them is in connection.py.
"""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Callable
from typing import Any

import structlog

from adapter import addresses, watched
from adapter.core import inputs
from adapter.core.contract.commands import OUTPUT, Open, Request
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Refused
from adapter.core.model.connection import Party
from adapter.core.model.manager import Reply
from adapter.owner.clock import Clock
from adapter.owner.owner import Owner
from adapter.server.admission import Admission
from adapter.server.audit import AuditTrail, by
from adapter.server.commands import COMMAND_QUEUE
from adapter.server.connection import ClientConnection
from adapter.server.frame_budget import FrameBudget
from adapter.wire import frames
from adapter.wire.session import Incoming

CONNECTIONS_MAX = 10_000
"""Each costs a few KB at rest; files_max() may allow less."""
FILES_RESERVED = 128
"""Open files for the ledger's connections to brokers, for logs, and for saying goodbye."""
UNDURABLE_BYTES_MAX = 64 * 1024 * 1024
"""Of entries that Kafka has not confirmed: while it is away, clients that send on without waiting
for answers are read no further. Some seconds of what a broker takes."""
LOOK_S = 5.0
"""How often clients are looked at that have left something half done."""

log = structlog.get_logger("mqk.listener")


class NotLoopbackError(ValueError):
    """The address is reachable from other machines, and nobody has said that it may be."""


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


def files_max() -> int:
    """Let this process open as many files as the system allows it; return how many."""
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS_MAX + FILES_RESERVED
    if limit < wanted:
        limit = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))
    return limit


class Listener:
    """All client connections of one queue manager: the owner's front."""

    def __init__(
        self,
        queue_manager: str,
        clock: Clock,
        on_stop: Callable[[bool], None],
        on_commands: Callable[[], None] = lambda: None,
        admission: Admission | None = None,
        kafka: str = "",
        *,
        remote_clients: bool = False,
        why_not: Callable[[], str] = lambda: "it does not serve yet",
    ) -> None:
        """on_commands: called when somebody opens the command queue to put to it. admission: who is
        let in; everybody, if nothing is said. kafka: where clients are told that the topics are.
        remote_clients: listen also where other machines could connect; admission asks these for a
        password. why_not: says why requests are not served, while they are not.
        """
        self._remote_clients = remote_clients
        self._admission = admission or Admission()
        self._kafka = kafka
        self.queue_manager = queue_manager
        self._clock = clock
        self.on_broken: watched.Ended = lambda _what: None
        """Hears of what must not fail and did; the server sets it."""
        self._on_stop = on_stop
        self._on_commands = on_commands
        self._owner: Owner | None = None
        self._clients: dict[int, ClientConnection] = {}
        self._open: set[ClientConnection] = set()
        self._connections_max = CONNECTIONS_MAX
        self._numbers = 0
        self._look: asyncio.TimerHandle | None = None
        self._server: asyncio.Server | None = None
        self._extra_figures: Callable[[], dict[str, object]] = dict
        self.budget = FrameBudget()
        self._without_room: set[ClientConnection] = set()
        self._audit = AuditTrail()
        self._why_not = why_not
        self.drop_next = False

    async def listen(self, host: str, port: int) -> tuple[str, int]:
        """Open the port; returns the address in use. Call serve() when the owner is running."""
        if not self._remote_clients:
            check_loopback(host)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self.accept, host, port, backlog=1024)
        self._connections_max = min(CONNECTIONS_MAX, files_max() - FILES_RESERVED)
        self._look_again()
        return addresses.listening(self._server)

    def serve(self, owner: Owner, figures: Callable[[], dict[str, object]] = dict) -> None:
        """Let connections through to the owner."""
        self._owner = owner
        self._extra_figures = figures

    async def shut(self, reason: Refused) -> None:
        """Close the port and say goodbye to everybody."""
        self._stop_listening()
        self.close_all(reason)
        await asyncio.sleep(0)

    def abandon(self) -> None:
        """Break every connection without a word."""
        self._stop_listening()
        clients, self._clients = self._clients, {}
        for client in clients.values():
            client.cut()

    @property
    def open_connections(self) -> int:
        """How many clients are connected."""
        return len(self._clients)

    def _stop_listening(self) -> None:
        if self._server is not None:
            self._server.close()
            self._admission.close()
        if self._look is not None:
            self._look.cancel()

    def _look_again(self) -> None:
        look = watched.callback("looking at connections", self._look_at_all, self.on_broken)
        self._look = asyncio.get_running_loop().call_later(LOOK_S, look)

    def _look_at_all(self) -> None:
        now_s = time.monotonic()
        for client in list(self._open):
            client.look(now_s)
        self._make_room()
        self._look_again()

    def accept(self) -> ClientConnection:
        """Make the protocol of a new connection, over TCP or of a client in this process."""
        self._numbers += 1
        return ClientConnection(self, self._numbers)

    # What a connection tells.

    def admit(self, client: ClientConnection) -> Refused | None:
        """Say whether one more connection is welcome."""
        self._open.add(client)
        if self._owner is not None and self._owner.stopping:
            return Refused(Reason.QUEUE_MANAGER_STOPPING, self.queue_manager)
        if self._owner is None or not self._owner.running:
            text = f"{self._why_not()}; try again"
            return Refused(Reason.QUEUE_MANAGER_NOT_AVAILABLE, self.queue_manager, text)
        if self._owner.quiescing:
            return Refused(Reason.QUEUE_MANAGER_QUIESCING, self.queue_manager)
        if len(self._open) > self._connections_max:
            text = f"{self._connections_max} clients are connected"
            return Refused(Reason.LIMIT_REACHED, self.queue_manager, text)
        self._clients[client.number] = client
        self._owner.loop.take(inputs.Connected(client.number))
        return None

    def gone(self, client: ClientConnection) -> None:
        """A connection has ended."""
        if client.party is not None:
            log.info("client disconnected", **by(client.number, client.party))
            self._audit.gone(client.number)
        self._open.discard(client)
        self._without_room.discard(client)
        known = self._clients.pop(client.number, None)
        if known is not None and self._owner is not None and self._owner.running:
            self._owner.loop.take(inputs.Disconnected(client.number))

    def welcome(self, client: ClientConnection, hello: frames.Hello) -> None:
        """Answer a client's first frame, when it is known that it may come in."""

        def decided(refused: Refused | None) -> None:
            if refused is not None:
                client.goodbye(refused)
            else:
                self._let_in(client, hello)

        owner = self._owner
        qm = owner.loop.qm if owner is not None and owner.running else None
        self._admission.ask(
            qm,
            hello,
            decided,
            address=client.host,
            remote=bool(client.host) and not addresses.is_loopback(client.host),
            wanted=lambda: client in self._open,
        )

    def _let_in(self, client: ClientConnection, hello: frames.Hello) -> None:
        client.write(
            frames.encode(
                frames.Welcome(
                    version=frames.common_version(hello),
                    queue_manager=self.queue_manager,
                    connection=client.number,
                    kafka=self._kafka,
                )
            )
        )
        now_ms = self._clock.now_ms()
        client.party = Party(hello.application, hello.user, client.address, now_ms, hello.channel)
        if self._owner is not None and self._owner.running:
            self._owner.loop.take(inputs.Introduced(client.number, client.party))
        log.info("client connected", **by(client.number, client.party))
        client.let_in()

    def seen(self, client: ClientConnection, numbers: list[int]) -> None:
        """A client has seen these outcomes."""
        if self._owner is not None and self._owner.running:
            self._owner.loop.take(inputs.OutcomesSeen(client.number, numbers))

    def operation(self, client: ClientConnection, operation: Incoming) -> None:
        """Have one operation executed, or answer it here."""
        command = operation.command
        if isinstance(command, Refused):
            client.answer(frames.Answer(operation.request, command))
        elif isinstance(command, frames.Stop):
            client.answer(frames.Answer(operation.request, Done()))
            who = by(client.number, client.party)
            log.info("stop requested by a client", immediate=command.immediate, **who)
            self._on_stop(command.immediate)
        elif isinstance(command, frames.AskServer):
            figures = frames.Figures(self.figures())
            client.answer(frames.AnyAnswer(operation.request, figures))
        elif self._owner is not None and self._owner.running:
            if type(command) is Open and command.modes & OUTPUT:
                self._look_at_open(self._owner, command.queue)
            qm = self._owner.loop.qm
            self._audit.asked(qm, client.number, operation.request, command, client.party)
            self._owner.request(
                Request(
                    client.number,
                    operation.request,
                    operation.number,
                    self._clock.now_ms(),
                    command,
                )
            )

    def _look_at_open(self, owner: Owner, name: str) -> None:
        alias: Any = owner.loop.qm.objects.get(("alias", name))
        if COMMAND_QUEUE in (name, alias and alias.target):
            self._on_commands()

    def has_room(self) -> bool:
        """Whether more may be done than Kafka has confirmed."""
        owner = self._owner
        if owner is None or not owner.running:
            return True
        return owner.loop.undurable_bytes < UNDURABLE_BYTES_MAX

    def wait_for_room(self, client: ClientConnection) -> None:
        """Let a connection go on when there is room."""
        self._without_room.add(client)

    def _make_room(self) -> None:
        if self._without_room and self.has_room():
            clients, self._without_room = self._without_room, set()
            for client in clients:
                client.go_on()

    def figures(self) -> dict[str, object]:
        """Return what `mqk qmgr status` shows."""
        figures: dict[str, object] = {
            "queue_manager": self.queue_manager,
            "connections": len(self._clients),
        }
        if self._owner is not None:
            figures |= self._owner.statistics()
        return figures | self._extra_figures()

    # What the owner tells.

    def send(self, connection: int, replies: list[Reply]) -> None:
        """Write replies to their connection, if it is still there."""
        self._make_room()
        self._audit.answered(replies)
        client = self._clients.get(connection)
        if client is None:
            return
        if self.drop_next:
            self.drop_next = False
            client.cut()
            return
        client.answer(*[frames.Answer(reply.request, reply.result) for reply in replies])

    def close(self, connection: int, reason: Refused | None) -> None:
        """End one connection; the owner knows already."""
        client = self._clients.pop(connection, None)
        if client is not None:
            client.goodbye(reason or Refused(Reason.QUEUE_MANAGER_NOT_AVAILABLE))

    def close_all(self, reason: Refused) -> None:
        """End every connection; the owner knows already."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            client.goodbye(reason)
