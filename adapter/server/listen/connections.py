"""The client connections of one queue manager: who is connected, and what all may hold together.

A connection is *open* from its beginning, and *admitted* once its client has said who it is and has
been let in: only then does the owner know of it. The owner gives replies to connections by number.
This module knows neither the protocol of a client nor how one is admitted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import structlog

from adapter.core.contract.audit import AuditNote
from adapter.core.contract.authorities import Denial
from adapter.core.contract.parties import Party
from adapter.core.contract.reasons import Reason
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Refused
from adapter.runtime.owner.client_sink import ClientSink
from adapter.runtime.owner.owner import Owner
from adapter.runtime.owner.term import OwnerTerm
from adapter.server.access.audit import AuditTrail, by, level_of
from adapter.server.listen.bounds import BOUNDS, ConnectionBounds
from adapter.server.listen.clients import ServedClient
from adapter.server.listen.frame_budget import FrameBudget
from adapter.server.listen.held_clients import HeldClients, may_wait

UNDURABLE_BYTES_MAX: Final = 64 * 1024 * 1024
"""Of entries that Kafka has not confirmed: while it is away, clients that send on without waiting
for answers are read no further. Some seconds of what a broker takes."""

PART_LOOK_S: Final = 0.02
"""How often clients that are to part are looked at: those that asked nothing meanwhile are idle."""

log = structlog.get_logger("mqk.listener")


class ClientConnections(ClientSink):
    """All client connections: what a connection belongs to, and where the owner's replies go."""

    def __init__(
        self,
        queue_manager: str,
        audit: AuditTrail,
        why_not: Callable[[], str] = lambda: "it does not serve yet",
        bounds: ConnectionBounds = BOUNDS,
    ) -> None:
        """why_not: says why requests are not served, while they are not."""
        self.queue_manager = queue_manager
        self.budget = FrameBudget()
        self.bounds = bounds
        self.connections_max = bounds.connections
        self.unanswered_max = bounds.unanswered
        self.slice_s = bounds.slice_s
        self.audit = audit
        self._why_not = why_not
        self.is_standby: Callable[[], bool] = lambda: False
        """Whether they are not because another process owns the queue manager."""
        self.moved_to: Callable[[bool], str] = lambda _: ""
        """Where clients are to go when their connection ends; given whether they use TLS."""
        self.need_commands: Callable[[], None] = lambda: None
        """Starts the command server, if it does not run."""
        self.parting: Refused | None = None
        """With what each client is let go when it has nothing under way."""
        self._owner: Owner | None = None
        self._open: set[ServedClient] = set()
        self._silent: dict[ServedClient, None] = {}
        """Those that have sent no hello, the oldest first."""
        self._admitted: dict[int, ServedClient] = {}
        self._emptied: asyncio.Event | None = None
        self._without_room: set[ServedClient] = set()
        self._numbers = 0
        self.held = HeldClients(self._why_unserved)
        """Clients that are admitted as soon as requests are served."""

    def serve(self, owner: Owner) -> None:
        """Admit clients, for this owner."""
        self._owner = owner
        self.audit.write(self._put_on_record)

    @property
    def term(self) -> OwnerTerm | None:
        """The owner's term, while requests are served."""
        owner = self._owner
        return owner.term if owner is not None and owner.running else None

    @property
    def count(self) -> int:
        """How many clients are connected: open connections that have been admitted."""
        return len(self._admitted)

    def next_number(self) -> int:
        """Draw the number of a new connection."""
        self._numbers += 1
        return self._numbers

    # What a connection calls.

    def begin(self, client: ServedClient) -> Refused | None:
        """Note an open connection; return why it cannot be served, if so, and is not to be held.

        Where there are too many, the oldest goes that has said nothing: a client says who it is at
        once.
        """
        self._open.add(client)
        if len(self._open) > self.connections_max:
            text = f"{self.connections_max} clients are connected"
            why = Refused(Reason.LIMIT_REACHED, self.queue_manager, text)
            silent = next(iter(self._silent), None)
            if silent is None:
                return self._why_unserved() or why
            self.greeted(silent)
            self._open.discard(silent)
            silent.goodbye(why)
        self._silent[client] = None
        refused = self._why_unserved()
        return None if refused is None or may_wait(refused) else refused

    def greeted(self, client: ServedClient) -> None:
        """A client has sent its hello."""
        self._silent.pop(client, None)

    def is_open(self, client: ServedClient) -> bool:
        """Whether a connection has not ended yet."""
        return client in self._open

    def admit(self, client: ServedClient, party: Party) -> Refused | None:
        """Make a client known to the owner; return why it cannot be served any more, if so."""
        refused = self._why_unserved()
        if refused is None and self._owner is not None:
            client.party = party
            self._admitted[client.number] = client
            self._owner.term.connect(client.number, party)
            if client.number not in self._admitted:  # it has no authority to connect
                return Refused(Reason.AUTHORITY_MISSING, self.queue_manager)
            log.log(level_of(party), "client connected", **by(client.number, party))
        return refused

    def gone(self, client: ServedClient) -> None:
        """A connection has ended."""
        party = client.party
        if party is not None:
            log.log(level_of(party), "client disconnected", **by(client.number, party))
            self.audit.gone(client.number)
        self._open.discard(client)
        self.greeted(client)
        if not self._open and self._emptied is not None:
            self._emptied.set()
        self._without_room.discard(client)
        self.held.gone(client)
        known = self._admitted.pop(client.number, None)
        term = self.term
        if known is not None and term is not None:
            term.disconnect(client.number)

    def has_room(self) -> bool:
        """Whether more may be done than Kafka has confirmed."""
        term = self.term
        return term is None or term.undurable_bytes < UNDURABLE_BYTES_MAX

    def wait_for_room(self, client: ServedClient) -> None:
        """Let a connection go on when there is room."""
        self._without_room.add(client)

    def _why_unserved(self) -> Refused | None:
        owner = self._owner
        if self.parting is not None:
            return self.parting
        if owner is not None and owner.stopping:
            return Refused(Reason.QUEUE_MANAGER_STOPPING, self.queue_manager)
        if owner is None or not owner.running:
            if self.is_standby():
                reason = Reason.STANDBY_QUEUE_MANAGER
                return Refused(reason, self.queue_manager, self._why_not())
            text = f"{self._why_not()}; try again"
            return Refused(Reason.QUEUE_MANAGER_NOT_AVAILABLE, self.queue_manager, text)
        if owner.quiescing:
            return Refused(Reason.QUEUE_MANAGER_QUIESCING, self.queue_manager)
        return None

    # What the listener calls.

    def look(self, now_s: float) -> None:
        """End the connections that have left something half done for too long."""
        for client in list(self._open):
            client.look(now_s)
        self._make_room()

    async def part(self, within_s: float) -> None:
        """Let each client go at the end of its unit, with the answer to its commit: what it does
        next it does elsewhere. Those that begin a unit meanwhile may end it. Those that wait for
        messages stay. within_s: at most so long.
        """
        reason = self.parting = Refused(Reason.QUEUE_MANAGER_QUIESCING, self.queue_manager)
        until_s = asyncio.get_running_loop().time() + within_s
        while asyncio.get_running_loop().time() < until_s:
            under_way = [client.part(reason) for client in list(self._admitted.values())]
            if not any(under_way):
                return
            await asyncio.sleep(PART_LOOK_S)

    def beat(self) -> None:
        """Say something to clients that hear nothing else, and end connections of dead ones."""
        for client in list(self._admitted.values()):
            client.beat()

    def abandon(self) -> None:
        """Break every connection without a word."""
        self._admitted.clear()
        for client in list(self._open):
            client.cut()

    # What the owner calls.

    def send(self, connection: int, replies: list[Reply]) -> None:
        """Write replies to their connection, if it is still there."""
        self._make_room()
        self.audit.answered(replies)
        client = self._admitted.get(connection)
        if client is not None:
            client.reply(replies)

    def close(self, connection: int, reason: Refused | None) -> None:
        """End one connection; the owner knows already."""
        client = self._admitted.pop(connection, None)
        if client is not None:
            client.goodbye(reason or Refused(Reason.QUEUE_MANAGER_NOT_AVAILABLE))

    def serve_commands(self) -> None:
        """Have the command queue served. What waits when the owner begins is served then."""
        if self._owner is not None:
            self.need_commands()

    def denied(self, denials: Sequence[Denial]) -> None:
        """Note for the audit which authorities clients lacked."""
        for one in denials:
            client = self._admitted.get(one.connection)
            self.audit.denied(one, client.party if client is not None else None)

    def cut(self, connection: int) -> None:
        """Break one connection without a word."""
        client = self._admitted.get(connection)
        if client is not None:
            client.cut()

    def close_all(self, reason: Refused) -> None:
        """End every connection; the owner knows already."""
        self._admitted.clear()
        for client in list(self._open):
            client.goodbye(reason)

    async def until_none(self, timeout_s: float) -> None:
        """Wait until every connection has ended; after this time break those that have not."""
        if self._open:
            self._emptied = asyncio.Event()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._emptied.wait(), timeout_s)
        self.abandon()

    def _put_on_record(self, notes: list[AuditNote]) -> None:
        """Have notes of the audit written; while nothing is served, only the log has them."""
        term = self.term
        if term is not None:
            term.note_audit(notes)

    def _make_room(self) -> None:
        if self._without_room and self.has_room():
            clients, self._without_room = self._without_room, set()
            for client in clients:
                client.go_on()
