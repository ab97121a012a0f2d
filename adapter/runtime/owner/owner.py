"""The owner: one live queue manager, through every term of its ledger.

It takes the ledger over, again when an append is in doubt, and steps down when another process owns
the ledger; what happens within a term is the term's. All methods are called on the event loop's
thread.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final

import structlog

from adapter.core import inputs
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import QueueStatus, Refused
from adapter.runtime.owner import liveness
from adapter.runtime.owner.calls import Moves, OwnerCalls
from adapter.runtime.owner.client_sink import ClientSink
from adapter.runtime.owner.clock import Clock
from adapter.runtime.owner.failed_steps import FailedStep, FailedSteps
from adapter.runtime.owner.figures import OwnerFigures
from adapter.runtime.owner.ledger_reports import LedgerReports
from adapter.runtime.owner.lifecycle import SERVING, Lifecycle, OwnerState, why_not
from adapter.runtime.owner.loop import OwnerLoop
from adapter.runtime.owner.parts import OwnerSettings, TermParts
from adapter.runtime.owner.recovery import IN_DOUBT, OwnerRecovery
from adapter.runtime.owner.stall import Stall, not_written
from adapter.runtime.owner.standby import OwnerStandby
from adapter.runtime.owner.storage import Storage
from adapter.runtime.owner.taking_over import GIVE_UP_S, Succession, TakeOvers
from adapter.runtime.owner.term import OwnerTerm
from adapter.runtime.owner.term_begin import begin_term
from adapter.storage.ledger.port import Deposed, Ledger, RefusedByKafka

QUIESCE_S: Final = 4.0
"""How long units in flight may take to end, by default: with parts.DRAIN_S, and what movers take to
end, a stop takes less than 10 s."""

STOPPED: Final = inputs.Stopped()

OVER: Final = frozenset(
    {OwnerState.FAILED, OwnerState.DEPOSED, OwnerState.STOPPING, OwnerState.STOPPED}
)

IN_TERM: Final = SERVING | {OwnerState.STOPPING}
"""While there is a term that an end of it concerns."""

log = structlog.get_logger("mqk.owner")


class Owner:
    """One queue manager in this process."""

    def __init__(
        self,
        name: str,
        ledger: Ledger,
        clock: Clock,
        clients: ClientSink,
        storage: Storage | None = None,
        settings: OwnerSettings | None = None,
    ) -> None:
        self.name = name
        self.settings = settings or OwnerSettings()
        self.lifecycle = Lifecycle()
        self.failure = ""
        self.ended = asyncio.Event()
        self._moves = Moves()
        self._stall = Stall(name)
        self._calls = OwnerCalls(self.broke)
        tell, now_s = self._calls.from_thread, self._calls.now_s
        self._parts = TermParts(
            ledger=ledger,
            clock=clock,
            clients=clients,
            storage=storage,
            calls=self._calls,
            serves=lambda: self.running,
            moves=self._moves,
            failures=FailedSteps(name, partial(tell, "a failed step", self._step_failed), now_s),
        )
        self._reports = LedgerReports(self._calls, self._durable, self._doubt)
        self.taking = TakeOvers(name, self._parts, self.settings)
        self._term: OwnerTerm | None = None
        self._terms = 0
        self._cut_off = False  # a stop could not write what it had to
        self._heartbeat: asyncio.TimerHandle | None = None
        self._recovery = OwnerRecovery(
            name, self.lifecycle, self._stall, self._calls, self._take_over, self._fail
        )
        self.standby = OwnerStandby(name, self.lifecycle, self.taking, self._take_over, self._beat)
        self._taken_over_s = self.replay_s = 0.0

    @property
    def running(self) -> bool:
        """Whether requests are served, be it only those of units in flight."""
        return self.lifecycle.serves

    @property
    def stopping(self) -> bool:
        """Whether nothing is served any more, for good."""
        return self.lifecycle.state in (OwnerState.STOPPING, OwnerState.STOPPED)

    @property
    def quiescing(self) -> bool:
        """Whether only units in flight are served."""
        return self.lifecycle.state is OwnerState.QUIESCING

    @property
    def trouble(self) -> str:
        """Say what keeps clients waiting, or endangers what is stored, or nothing."""
        stalled = self._stall.text(self._waits_ms)
        return stalled or (self.term.trouble if self.running else "")

    @property
    def _waits_ms(self) -> int:
        return self.loop.appends.waits_ms if self.running else 0

    @property
    def why_not(self) -> str:
        """Say why requests are not served."""
        return self.failure or self.trouble or self.standby.text or why_not(self.lifecycle.state)

    @property
    def is_cut_off(self) -> bool:
        """Whether Kafka cannot be reached, as far as is known, so that nothing can be written."""
        in_doubt = self.lifecycle.state in IN_DOUBT
        return self._cut_off or in_doubt or bool(self._stall.text(self._waits_ms))

    @property
    def term(self) -> OwnerTerm:
        """The current term; only while running."""
        assert self._term is not None
        return self._term

    @property
    def loop(self) -> OwnerLoop:
        """The loop of the current term; only while running."""
        return self.term.loop

    async def start(self, *, take_over: bool = True) -> None:
        """Take the ledger over; LedgerUnavailable or LedgerUnreadableError say why it failed.

        take_over: also from an owner that is alive; else that raises OwnedElsewhereError.
        """
        try:
            if not take_over:
                await self.taking.check_free()
            await self._take_over(None)
        except Exception as error:
            self.failure = self.failure or str(error)
            self.lifecycle.fail()
            raise
        self._beat()

    async def quiesce(self, grace_s: float = QUIESCE_S) -> None:
        """Take no new work, and give units in flight some time to end; stop() comes next."""
        if self.lifecycle.state is not OwnerState.RUNNING:
            return
        self.lifecycle.to(OwnerState.QUIESCING)
        self.loop.take(inputs.Quiesced())
        await self.term.await_units(grace_s, lambda: self.quiescing)

    def hurry(self) -> None:
        """Wait for nothing any more while stopping."""
        self._moves.hurry()

    async def stop(self, last: inputs.Stopped = STOPPED) -> None:
        """Take no more requests, wait for what is on its way, close the ledger. last: how it
        stops, which a recovery that is under way has to write; a standby that it hands over to
        knows all, and needs no snapshot.
        """
        deadline_s = self._calls.now_s() + self.settings.drain_s
        await self._recovery.finish(self.settings.drain_s, self._moves)
        was_running = self.running
        self._cut_off = self.is_cut_off
        self.lifecycle.to(OwnerState.STOPPING)
        if was_running:
            await self.term.drain(max(0.0, deadline_s - self._calls.now_s()), last)
            self._cut_off = not self.loop.idle and (self._cut_off or not self._moves.hurried)
            left_s = deadline_s - self._calls.now_s()
            refused = "" if last.to else await self.term.write_last(left_s)
            if refused:
                self.failure = (
                    f"queue manager {self.name} has stopped, and its next start will be "
                    f"refused: {refused}; restore it from a backup (mqk ledger restore)"
                )
                log.error("stopped without a snapshot", reason=self.failure)
        if self._cut_off and not self.failure:
            self.failure = self.not_written
        await self._end()

    @property
    def not_written(self) -> str:
        """Say what a stop leaves that could not write, and why it could not."""
        pending = self._term.replies_pending if self._term is not None else 0
        failed = self._term is not None and self.loop.has_failed
        step = self._parts.failures.last if failed else ""
        return not_written(self.name, self._parts.ledger.place, pending, step)

    async def abandon(self) -> None:
        """End as a crash would: nothing more is decided, written or answered."""
        self._recovery.cancel()
        self._reports.end()
        if self._term is not None:
            self._term.let_go()
        self.lifecycle.to(OwnerState.STOPPING)
        await self._end()

    async def _end(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.cancel()
        if self._term is not None:
            await self._term.finish(GIVE_UP_S if self._cut_off else None)
        await self.taking.close()
        self.lifecycle.to(OwnerState.STOPPED)
        self.ended.set()

    def tick(self) -> None:
        """Let core do what time has made due."""
        if self.running:
            self.term.tick()

    def statistics(self) -> OwnerFigures:
        """Return figures of this owner."""
        term = self.term.statistics() if self.running else None
        failed, storage = self._parts.failures.count, self._parts.storage
        state, cluster = self.lifecycle.state.value, storage.cluster_id if storage else ""
        return OwnerFigures(state, self._terms, self.replay_s, failed, term, cluster)

    def queue_statuses(self) -> list[QueueStatus]:
        """Return the figures of every queue; none while nothing is served."""
        return self.term.queue_statuses() if self.running else []

    def _beat(self) -> None:
        """Show that this owner lives, and look at sessions that have expired."""
        heartbeat_s = self.settings.heartbeat_s
        self._heartbeat = self._calls.later("the owner's heartbeat", heartbeat_s, self._beat)
        self._stall.report(self._waits_ms, serves=self.running)
        if self.running and self.loop.ended and not self.loop.has_failed:
            self._doubt("the ledger was closed without a report")
        if self.running:
            self.term.beat(self.taking.take_notes())

    def broke(self, what: str) -> None:
        """End by name, when something has ended without which nothing can go on."""
        self._fail(
            f"queue manager {self.name} ends, because {what}. Start it again: nothing that was "
            "acknowledged is lost. Please report this"
        )

    def _fail(self, why: str, to: OwnerState = OwnerState.FAILED) -> None:
        """Serve nothing any more, and say why; run() of the server then returns."""
        log.error("ends", queue_manager=self.name, reason=why)
        self.failure = self.failure or why
        if self.lifecycle.state not in OVER:
            self.lifecycle.to(to)
            self._recovery.cancel()
            self.standby.refuse(self.failure)
            try:
                self._let_all_go(self.failure)
            except Exception:  # whatever a client's connection does, the process must end
                log.exception("connections not closed", queue_manager=self.name)
        self._moves.note()
        self.ended.set()

    def _let_all_go(self, text: str) -> None:
        reason = Refused(Reason.QUEUE_MANAGER_NOT_AVAILABLE, self.name, str(text))  # as frames need
        self._parts.clients.close_all(reason)
        if self._term is not None:
            self._term.let_go()

    # Terms.

    async def _take_over(self, old: OwnerTerm | None, succession: Succession | None = None) -> None:
        began_s = self._calls.now_s()
        owner_id = liveness.new_owner_id()
        self._reports.begin_take_over(self._parts.ledger)
        tally = old.qm.tally if old is not None else None
        replayed = await self.taking.replay(owner_id, tally, succession)
        self._terms += 1
        self._stall.unavailable = ""
        self._term = term = begin_term(self._parts, self.settings, replayed, old)
        self._taken_over_s = self._calls.now_s()
        self.replay_s = self._taken_over_s - began_s
        self.lifecycle.to(OwnerState.RUNNING)
        log.info(
            "ledger taken over", queue_manager=self.name, entries=replayed.taken.entries,
            queues=len(term.qm.queues), seconds=round(self.replay_s, 3),
            sealed_with=replayed.taken.key.hex(),
        )  # fmt: skip
        term.note_audit([*self.taking.take_notes(), *self._parts.failures.take_notes()])
        self._moves.note()
        self._reports.begin_term()

    def _durable(self, n: int) -> None:
        self.loop.durable(n)
        self._moves.note()

    def _step_failed(self, failed: object) -> None:
        """Go on with what the ledger says, unless that has not helped before."""
        assert isinstance(failed, FailedStep)
        if self.lifecycle.state not in IN_TERM or self._term is None or not self.loop.has_failed:
            return
        self._let_all_go(f"{failed.what} failed; reconnect and ask for the outcomes")
        self._moves.note()
        if self.stopping:
            return
        if failed.is_hopeless:
            self.broke(f"{failed.what} fails again and again: {failed.why}")
        else:
            self._recovery.begin(self.term, self._calls.now_s() - self._taken_over_s)

    def _doubt(self, doubt: object) -> None:
        if self.lifecycle.state not in IN_TERM:
            return
        log.warning("ledger in doubt", queue_manager=self.name, reason=doubt)
        self._let_all_go("an append is in doubt; reconnect and ask for the outcomes")
        self._moves.note()
        if isinstance(doubt, Deposed):
            self.failure = doubt
        if self.lifecycle.state is OwnerState.STOPPING:
            return  # what was not durable by now, the next owner finds in the ledger or not
        if isinstance(doubt, Deposed):
            self.lifecycle.to(OwnerState.DEPOSED)
            self.ended.set()
        elif isinstance(doubt, RefusedByKafka):
            self._fail(doubt)
        else:
            self._recovery.begin(self.term, self._calls.now_s() - self._taken_over_s)
