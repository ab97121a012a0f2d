"""One term of a queue manager: from a take-over of its ledger to a doubt, or to the end.

A term has a core that the ledger describes, the loop that drives it, pages and housekeeping, and
the timer of what time makes due. It is thrown away as a whole: the next term begins with another
core, to which everything that is not in the ledger is carried over. It must not know in which state
the queue manager is, beyond whether it serves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial

import structlog

from adapter.core import inputs
from adapter.core.contract.audit import KINDS, AuditNote
from adapter.core.contract.commands import Request
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.parked import ParkedQueue
from adapter.core.contract.parties import Party
from adapter.core.contract.reasons import Reason
from adapter.core.contract.records import EventRaised, Record
from adapter.core.contract.results import QueueStatus, Refused
from adapter.core.dispatch import idle_connections, is_between_units, waits
from adapter.core.rules.objects.queues import statuses
from adapter.host import memory
from adapter.runtime.owner.figures import TermFigures
from adapter.runtime.owner.housekeeping import SWEEP_S, Housekeeping, figures_of
from adapter.runtime.owner.inquiries import Inquiries
from adapter.runtime.owner.loop import OwnerLoop
from adapter.runtime.owner.outgoing import Outgoing
from adapter.runtime.owner.paging import Paging
from adapter.runtime.owner.parts import OwnerSettings, TermParts
from adapter.runtime.owner.replay import Replayed, carry_over
from adapter.runtime.owner.term_timer import TermTimer
from adapter.storage.topics.port import Page

log = structlog.get_logger("mqk.owner")


class OwnerTerm:
    """The surroundings of one OwnerLoop. All methods are called on the owner's thread."""

    def __init__(self, parts: TermParts, owner_id: bytes, replayed: Replayed) -> None:
        self._parts = parts
        self._owner_id = owner_id
        self._clock = parts.clock
        self._calls = parts.calls
        self._moves = parts.moves
        self._serves = parts.serves
        self._turn_of_loop: Callable[[], None] = _nothing
        self._watched_turn = parts.calls.watch("a turn of the owner", self._turn)
        self.qm = qm = replayed.qm
        self.loop = loop = OwnerLoop(
            qm, parts.ledger, parts.clock, parts.clients, self._soon, self._want_page,
            parts.failures,
        )  # fmt: skip
        self._paging: Paging | None = None
        self.housekeeping: Housekeeping | None = None
        self._paged_out = memory.Burst()
        self._sweeper: asyncio.TimerHandle | None = None
        self._timer = TermTimer(loop, parts.clock, parts.calls, parts.serves)
        self._unwritten: list[AuditNote] = []
        loop.take(inputs.Restarted())
        storage = parts.storage
        if storage is not None:
            broke = parts.calls.broke
            self._paging = Paging(storage.pages, loop.page, loop.page_missing, broke)
            self.housekeeping = Housekeeping(storage, parts.ledger, loop, replayed, broke)

    def begin(self, settings: OwnerSettings) -> None:
        """Give the queue manager its settings, and begin to keep memory and ledger small."""
        self.loop.take(settings.as_input())
        self.know_groups(settings.groups())
        if self.housekeeping is not None:
            self._sweep_later()

    def carry_over(self, replayed: Replayed) -> list[AuditNote]:
        """End, and bring to the core of the next term what is not in the ledger.

        Of a core that failed nothing is brought, as after a crash: it is half changed. Returns what
        was to be on record and is not: facts, which do not depend on what became of the entry.
        """
        behind = self.loop.end(replayed.last_n_of.get(self._owner_id, 0))
        unwritten = [*notes_in(behind.records), *self._unwritten]
        if self.loop.has_failed:
            log.warning("not carried over: messages that are not persistent", of=self.qm.name)
            return unwritten
        brought = carry_over(self.qm, replayed.qm, behind)
        log.info("carried over", queue_manager=self.qm.name, non_persistent_messages=brought)
        return unwritten

    def let_go(self) -> None:
        """Write, read and promise nothing more."""
        self.loop.halt()
        self._stop_timers()

    def _stop_timers(self) -> None:
        self._timer.stop()
        if self._sweeper is not None:
            self._sweeper.cancel()
        self._sweeper = None
        if self._paging is not None:
            self._paging.end()

    async def write_last(self, within_s: float) -> str:
        """Write a snapshot of how things are at the end, if everything is durable.

        Returns why the next start will be refused, or "".
        """
        loop = self.loop
        if not self.housekeeping or not loop.idle or loop.ended or self._parts.moves.hurried:
            return ""
        return await self.housekeeping.write_last(within_s)

    async def finish(self, within_s: float | None = None) -> None:
        """Do nothing more by itself, and wait for what housekeeping is writing."""
        self._stop_timers()
        if self.housekeeping is not None:
            await self.housekeeping.finish(within_s)

    # Time.

    def tick(self) -> None:
        """Let core do what time has made due."""
        self._timer.tick()

    def _sweep_later(self) -> None:
        self._sweeper = self._calls.later("the owner's housekeeping", SWEEP_S, self._sweep)

    def _sweep(self) -> None:
        self._sweep_later()
        if self._parts.serves() and self.housekeeping is not None:
            self.housekeeping.sweep()
            if self._paging is not None:
                self._paging.look()
            self._paged_out.look(self.loop.paged_out)

    # What the connections ask.

    @property
    def outgoing(self) -> Outgoing:
        """What waits to leave it."""
        return Outgoing(self.qm)

    @property
    def inquiries(self) -> Inquiries:
        """Questions about the state of the queue manager."""
        return Inquiries(self.qm)

    @property
    def end_offset(self) -> int:
        """Where the ledger ends, behind what is durable."""
        return self._parts.ledger.durable().offset + 1

    @property
    def undurable_bytes(self) -> int:
        """Of entries that are closed and not durable yet."""
        return self.loop.appends.undurable_bytes

    def is_between_units(self, connection: int) -> bool:
        """Whether a connection could end without a unit that its program knows of."""
        return is_between_units(self.qm, connection)

    def waits(self, connection: int) -> bool:
        """Whether a connection waits for a message."""
        return waits(self.qm, connection)

    def connect(self, connection: int, party: Party) -> None:
        """Make an admitted client known."""
        self.loop.take(inputs.Connected(connection))
        self.introduce(connection, party)

    def introduce(self, connection: int, party: Party) -> None:
        """Say who a client is, from now on."""
        self.loop.take(inputs.Introduced(connection, party))

    def disconnect(self, connection: int) -> None:
        """End a connection: its units are backed out."""
        self.loop.take(inputs.Disconnected(connection))

    def acknowledge(self, connection: int, numbers: list[int]) -> None:
        """Drop outcomes that a client has seen."""
        self.loop.take(inputs.OutcomesSeen(connection, numbers))

    def request(self, request: Request) -> None:
        """Execute a client's request."""
        self.loop.request(request)

    @property
    def replies_pending(self) -> int:
        """How many requests are decided and wait for Kafka to acknowledge what they have done."""
        return self.loop.statistics()["replies_pending"]

    def know_groups(self, by_user: Mapping[str, tuple[str, ...]]) -> None:
        """Take in which groups users are in."""
        self.loop.take(inputs.GroupsKnown(dict(by_user)))

    def note_parked(self, parked: dict[str, ParkedQueue]) -> None:
        """Take in which queues' topics cannot be written; idempotent."""
        if parked != self.qm.parked:
            self.loop.take(inputs.MoversReported(parked))

    def beat(self, notes: list[AuditNote]) -> None:
        """Show that the owner lives, and look at sessions that have expired. notes: see below."""
        self.loop.take(inputs.Tick())
        self.note_audit(notes)
        self.loop.heartbeat()

    def note_audit(self, notes: list[AuditNote]) -> None:
        """Take in what is to be on record; what is not in the ledger then, the next term writes."""
        if self.loop.has_failed:
            self._unwritten += notes
        elif notes:
            self.loop.take(inputs.Audited(notes))

    async def await_units(self, grace_s: float, is_quiescing: Callable[[], bool]) -> None:
        """Wait until units in flight have ended, for so long at most, while the owner quiesces."""
        moves = self._parts.moves
        try:
            async with asyncio.timeout(grace_s):
                await moves.next()
                while is_quiescing() and not moves.hurried and self._release_idle():
                    await moves.next()
        except TimeoutError:
            units = self.units()["units"]
            log.warning("units did not end in time", queue_manager=self.qm.name, units=units)

    def _release_idle(self) -> bool:
        """End the connections that have nothing in flight; return whether others are left."""
        if self.loop.idle:  # all their replies are sent
            reason = Refused(Reason.QUEUE_MANAGER_QUIESCING, self.qm.name)
            for connection in idle_connections(self.qm):
                self.loop.take(inputs.Disconnected(connection))
                self._parts.clients.close(connection, reason)
        return bool(self.qm.connections)

    async def drain(self, within_s: float, last: inputs.Stopped) -> None:
        """Back out what connections hold, and wait until everything is durable."""
        loop, moves = self.loop, self._parts.moves
        for connection in list(self.qm.connections):
            loop.take(inputs.Disconnected(connection))
        loop.take(last)
        try:
            async with asyncio.timeout(within_s):
                while not loop.idle and not loop.ended and not moves.hurried:
                    await moves.next()
        except TimeoutError:
            log.warning("stopped before everything was durable", queue_manager=self.qm.name)

    @property
    def trouble(self) -> str:
        """Say what housekeeping found wrong, or cannot do, that endangers the next start."""
        keeping = self.housekeeping
        return (keeping.audit.text or keeping.trouble) if keeping else ""

    @property
    def undone(self) -> dict[str, str]:
        """What failed and is left out, and what of housekeeping is not done for now; why."""
        return self._parts.failures.undone | (self.housekeeping.undone if self.housekeeping else {})

    def statistics(self) -> TermFigures:
        """Return figures of this term."""
        ledger = self._parts.ledger.statistics()
        return TermFigures(
            **self.loop.statistics(),
            **{f"ledger_{name}": count for name, count in ledger.items()},
            ledger_waits_s=self.loop.appends.waits_ms / 1000,
            sessions=len(self.qm.sessions),
            queues=len(self.qm.queues),
            **figures_of(self.qm, self._paging, self.housekeeping),
            **self.units(),
            undone=self.undone,
        )

    def queue_statuses(self) -> list[QueueStatus]:
        """Return the figures of every queue."""
        return statuses(self.qm, self.qm.queues.values(), self._clock.now_ms())

    def units(self) -> dict[str, int]:
        """Return how many units are open, and how many have ended."""
        qm = self.qm
        return {
            "units": sum(len(connection.units) for connection in qm.connections.values()),
            "commits": qm.tally.commits,
            "backouts": qm.tally.backouts,
        }

    # What the loop asks of its surroundings.

    def _soon(self, call: Callable[[], None]) -> None:
        """Run the loop's turn when what has arrived has been handled, then set the clock."""
        self._turn_of_loop = call
        self._calls.soon(self._watched_turn)

    def _turn(self) -> None:
        self._turn_of_loop()
        self._moves.note()
        if self._serves():
            self._timer.arm()

    def _want_page(self, needed: PageNeeded, incarnation: int, count: int) -> None:
        """Read a page for the loop; what core has at hand comes behind what others have sent."""
        if needed.at_hand:
            look = partial(self.loop.page, needed, incarnation, Page(-1, []))
            self._calls.soon(self._calls.watch("a look at what is at hand", look))
        elif self._paging is not None:
            self._paging.want(needed, incarnation, count)


def notes_in(records: Iterable[Record]) -> list[AuditNote]:
    """Return the notes of the audit that these records are of."""
    return [
        AuditNote(one.kind, one.name, one.details)
        for one in records
        if isinstance(one, EventRaised) and one.kind in KINDS
    ]


def _nothing() -> None:
    """Before the loop has asked for a turn."""
