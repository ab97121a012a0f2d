"""The owner: one live queue manager, through every term of its ledger.

It ties core, loop and ledger together, takes over again when an append is in doubt, and steps
down when another process owns the ledger. All methods are called on the event loop's thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

import structlog

from adapter import watched
from adapter.core.contract.commands import Request
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import QueueStatus, Refused
from adapter.core.dispatch import idle_connections, restarted
from adapter.core.model.lane import PageNeeded
from adapter.core.model.limits import Limits
from adapter.core.model.manager import ParkedQueue, QueueManager, Reply
from adapter.core.rules.objects import statuses
from adapter.ledger.port import (
    Deposed,
    Ledger,
    LedgerError,
    LedgerUnavailable,
    RefusedByKafka,
)
from adapter.owner import liveness
from adapter.owner.clock import Clock, ManualClock
from adapter.owner.housekeeping import SWEEP_S, Keeping
from adapter.owner.lifecycle import Lifecycle, State, why_not
from adapter.owner.loop import OwnerLoop
from adapter.owner.paging import Paging
from adapter.owner.replay import LedgerUnreadableError, Replayed, carry_over, take_over
from adapter.owner.retention import Retention
from adapter.owner.storage import FOREVER, Storage

HEARTBEAT_S = 5.0
"""An idle owner writes a sign of life this often."""
RECOVERY_PAUSES_S = (0.0, 0.1, 0.5, 1.0, 2.0, 5.0)
"""Before each attempt to take over again; the last one is repeated for ever."""
CALM_S = 10.0
"""A doubt that comes sooner after a take-over counts as one more attempt: pauses go on growing."""
TIMER_SLACK_S = 0.002
"""A timer that fires so much too late is left alone: rounding moves it by 1 ms each turn."""
SLOW_S = 5.0
"""When nothing has become durable for so long, people are told. Nothing else comes of it: the
ledger decides when an append is in doubt."""
DRAIN_S = 2.5
"""How long a stop waits for the last entries to become durable, and for a snapshot."""
QUIESCE_S = 4.0
"""How long units in flight are given to end, unless told otherwise: with DRAIN_S, and what movers
take to end, a stop takes less than 10 s."""

OVER = frozenset({State.FAILED, State.DEPOSED, State.STOPPING, State.STOPPED})

log = structlog.get_logger("mqk.owner")


class Front(Protocol):
    """The connections, as the owner sees them."""

    def send(self, connection: int, replies: list[Reply]) -> None:
        """Give replies to one connection, in order."""
        ...

    def close(self, connection: int, reason: Refused | None) -> None:
        """End one connection."""
        ...

    def close_all(self, reason: Refused) -> None:
        """End every connection; none of them is reported to the owner again."""
        ...


class Owner:
    """One queue manager in this process."""

    def __init__(
        self,
        name: str,
        ledger: Ledger,
        clock: Clock,
        front: Front,
        limits: Limits | None = None,
        storage: Storage | None = None,
        heartbeat_s: float = HEARTBEAT_S,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """settings: attributes that the queue manager is given whenever it takes over."""
        self.name = name
        self._settings = dict(settings or {})
        self.lifecycle = Lifecycle()
        self.failure = ""
        self.ended = asyncio.Event()
        self._moved = asyncio.Event()  # something was written or became durable
        self._hurried = False
        self._unavailable = ""  # why the ledger cannot be taken over, while it is tried
        self._told = ""
        self._ledger = ledger
        self._clock = clock
        self._front = front
        self._limits = limits
        self._storage = storage
        self._paging: Paging | None = None
        self._keeping: Keeping | None = None
        self._sweeper: asyncio.TimerHandle | None = None
        self._asyncio = asyncio.get_running_loop()
        self._loop: OwnerLoop | None = None
        self._owner_id = b""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_s: float | None = None
        self._heartbeat: asyncio.TimerHandle | None = None
        self._recovery: asyncio.Task[None] | None = None
        self._replaying: asyncio.Future[Replayed] | None = None
        self._heartbeat_s = heartbeat_s
        self._terms = 0
        self._attempts = 0
        """To take over again, since the ledger was last without doubt for a while."""
        self._taken_over_s = 0.0
        self.replay_s = 0.0

    @property
    def running(self) -> bool:
        """Whether requests are served, be it only those of units in flight."""
        return self.lifecycle.state in (State.RUNNING, State.QUIESCING)

    @property
    def stopping(self) -> bool:
        """Whether nothing is served any more, for good."""
        return self.lifecycle.state in (State.STOPPING, State.STOPPED)

    @property
    def quiescing(self) -> bool:
        """Whether only units in flight are served."""
        return self.lifecycle.state is State.QUIESCING

    @property
    def trouble(self) -> str:
        """Say what keeps clients waiting, or endangers what is stored, or nothing."""
        audit = self._keeping.audit if self.running and self._keeping else None
        return self._stall or (audit.text if audit else "")

    @property
    def _stall(self) -> str:
        """Say what keeps clients waiting until Kafka is well again, or nothing."""
        waits_s = self.loop.waits_ms / 1000 if self.running else 0.0
        if waits_s < SLOW_S:
            return self._unavailable
        return (
            f"Kafka has acknowledged no writes for {waits_s:.0f} s: puts and commits wait until it "
            "does, and nothing is lost; check the brokers"
        )

    @property
    def why_not(self) -> str:
        """Say why requests are not served."""
        return self.failure or self.trouble or why_not(self.lifecycle.state)

    @property
    def loop(self) -> OwnerLoop:
        """The loop of the current term; only while running."""
        assert self._loop is not None
        return self._loop

    async def start(self, *, take_over: bool = True) -> None:
        """Take the ledger over; LedgerUnavailable or LedgerUnreadableError say why it failed.

        take_over: also from an owner that is alive; else that raises OwnedElsewhereError.
        """
        try:
            if not take_over:
                await self._check_free()
            await self._take_over(None)
        except Exception as error:
            self.failure = str(error)
            self.lifecycle.to(State.FAILED)
            raise
        self._beat()
        if self._storage is not None:
            self._sweep()

    async def _check_free(self) -> None:
        looking = self._asyncio.run_in_executor(
            None, liveness.check_free, self.name, self._ledger, self._heartbeat_s
        )
        await asyncio.shield(looking)

    async def quiesce(self, grace_s: float = QUIESCE_S) -> None:
        """Take no new work, and give units in flight some time to end; stop() comes next."""
        if self.lifecycle.state is not State.RUNNING:
            return
        self.lifecycle.to(State.QUIESCING)
        self.loop.quiesce()
        try:
            async with asyncio.timeout(grace_s):
                await self._next_move()
                while self.quiescing and not self._hurried and self._let_go():
                    await self._next_move()
        except TimeoutError:
            units = self._units()["units"]
            log.warning("units did not end in time", queue_manager=self.name, units=units)

    def _let_go(self) -> bool:
        """End the connections that have nothing in flight; return whether others are left."""
        loop = self.loop
        if loop.idle:  # whoever is let go has got all its replies
            told = Refused(Reason.QUEUE_MANAGER_QUIESCING, self.name)
            for connection in idle_connections(loop.qm):
                loop.disconnect(connection)
                self._front.close(connection, told)
        return bool(loop.qm.connections)

    async def _next_move(self) -> None:
        self._moved.clear()
        await self._moved.wait()

    def hurry(self) -> None:
        """Wait for nothing any more while stopping."""
        self._hurried = True
        self._moved.set()

    async def stop(self) -> None:
        """Take no more requests, wait for what is on its way, close the ledger."""
        if self._recovery is not None:
            self._recovery.cancel()
        was_running = self.running
        self.lifecycle.to(State.STOPPING)
        if was_running:
            deadline_s = self._asyncio.time() + DRAIN_S
            await self._drain()
            if self._keeping and self.loop.idle and not self.loop.ended and not self._hurried:
                refused = await self._keeping.write_last(deadline_s - self._asyncio.time())
                if refused:
                    self.failure = (
                        f"queue manager {self.name} has stopped, and its next start will be "
                        f"refused: {refused}; restore it from a backup (mqk ledger restore)"
                    )
                    log.error("stopped without a snapshot", reason=self.failure)
        await self._end()

    async def abandon(self) -> None:
        """End as a crash would: nothing more is decided, written or answered. For tests."""
        if self._recovery is not None:
            self._recovery.cancel()
        self._terms += 1
        if self._loop is not None:
            self._loop.halt()
        self.lifecycle.to(State.STOPPING)
        await self._end()

    async def _end(self) -> None:
        for timer in (self._timer, self._heartbeat, self._sweeper):
            if timer is not None:
                timer.cancel()
        self._end_paging()
        if self._keeping is not None:
            await self._keeping.finish()
        if self._replaying is not None:
            await asyncio.wait({self._replaying})  # nobody closes a ledger while it is taken over
        await self._asyncio.run_in_executor(None, self._ledger.close)
        if self._storage is not None:
            await self._asyncio.run_in_executor(None, self._storage.pages.close)
        self.lifecycle.to(State.STOPPED)
        self.ended.set()

    def request(self, request: Request) -> None:
        """Execute a client's request."""
        self.loop.request(request)

    def tick(self) -> None:
        """Let core do what time has made due."""
        self._timer_s = None
        if self.running:
            self.loop.tick()
            while isinstance(self._clock, ManualClock) and self._due():
                self.loop.tick()
            self._arm()

    def movers_told(self, parked: dict[str, ParkedQueue]) -> None:
        """Take in which queues' topics cannot be written; told as often as one likes."""
        if self.running and parked != self.loop.qm.parked:
            self.loop.movers_told(parked)

    def _due(self) -> bool:
        due_in_ms = self._due_in_ms()
        return due_in_ms is not None and due_in_ms <= 0

    def _due_in_ms(self) -> int | None:
        qm = self.loop.qm
        qm.elapsed_ms = self._clock.elapsed_ms()
        return qm.due_in_ms(self._clock.now_ms())

    def statistics(self) -> dict[str, object]:
        """Return figures of this owner."""
        figures: dict[str, object] = {
            "state": self.lifecycle.state.value,
            "terms": self._terms,
            "replay_s": self.replay_s,
        }
        if self.running:
            figures |= self.loop.statistics()
            figures |= {f"ledger_{k}": v for k, v in self._ledger.statistics().items()}
            figures["ledger_waits_s"] = self.loop.waits_ms / 1000
            figures["sessions"] = len(self.loop.qm.sessions)
            figures["queues"] = len(self.loop.qm.queues)
            figures |= self._storage_figures()
            figures |= self._units()
        return figures

    def queue_statuses(self) -> list[QueueStatus]:
        """Return the figures of every queue; none while nothing is served."""
        if not self.running:
            return []
        qm = self.loop.qm
        return statuses(qm, qm.queues.values(), self._clock.now_ms())

    def _units(self) -> dict[str, int]:
        qm = self.loop.qm
        return {
            "units": sum(len(connection.units) for connection in qm.connections.values()),
            "commits": qm.tally.commits,
            "backouts": qm.tally.backouts,
        }

    def _storage_figures(self) -> dict[str, object]:
        stored = sum(len(queue.stored) for queue in self.loop.qm.queues.values())
        paging, keeping = self._paging, self._keeping
        return {
            "messages_in_memory": stored,
            "pages_read": paging.read if paging else 0,
            "page_failures": paging.failures if paging else 0,
            "snapshots": keeping.snapshots if keeping else 0,
            "snapshot_failures": keeping.snapshot_failures if keeping else 0,
            "topic_problems": len(keeping.audit.problems) if keeping else 0,
            **(keeping.retention if keeping else Retention(FOREVER, ())).statistics(),
        }

    # What the loop asks of its surroundings.

    def send(self, connection: int, replies: list[Reply]) -> None:
        """Pass replies on."""
        self._front.send(connection, replies)

    def close(self, connection: int, told: Refused) -> None:
        """End a connection that core has ended."""
        self._front.close(connection, told)

    def soon(self, call: Callable[[], None]) -> None:
        """Run the loop's turn when what has arrived has been handled, then set the clock."""
        self._asyncio.call_soon(self._watched("a turn of the owner", partial(self._turn, call)))

    def _turn(self, call: Callable[[], None]) -> None:
        call()
        self._moved.set()
        if self.running:
            self._arm()

    def _arm(self) -> None:
        due_in_ms = self._due_in_ms()
        if due_in_ms is None or isinstance(self._clock, ManualClock):
            return
        delay_s = max(0, due_in_ms) / 1000
        due_s = self._asyncio.time() + delay_s
        if self._timer_s is not None and self._timer_s <= due_s + TIMER_SLACK_S:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_s = due_s
        self._timer = self._later("the owner's timer", delay_s, self.tick)

    def _beat(self) -> None:
        """Show that this owner lives, and look at sessions that have expired."""
        self._heartbeat = self._later("the owner's heartbeat", self._heartbeat_s, self._beat)
        self._tell_of_trouble()
        if self.running:
            self.loop.tick()
            self.loop.heartbeat()

    def _tell_of_trouble(self) -> None:
        """Log that Kafka keeps everybody waiting, once, and that it is over."""
        told, self._told = self._told, self._stall
        if self._told and not told:
            log.warning("Kafka acknowledges no writes", queue_manager=self.name, reason=self._told)
        elif told and not self._told:
            log.info("Kafka acknowledges writes again", queue_manager=self.name)

    def _watched(self, name: str, call: Callable[[], None]) -> Callable[[], None]:
        return watched.callback(name, call, self.broke)

    def _later(self, name: str, delay_s: float, call: Callable[[], None]) -> asyncio.TimerHandle:
        return self._asyncio.call_later(delay_s, self._watched(name, call))

    def broke(self, what: str) -> None:
        """End by name, when something has ended without which nothing can go on."""
        self._fail(
            f"queue manager {self.name} ends, because {what}. Start it again: nothing that was "
            "acknowledged is lost. Please report this"
        )

    def _fail(self, why: str) -> None:
        """Serve nothing any more, and say why; run() of the server then returns."""
        log.error("ends", queue_manager=self.name, reason=why)
        self.failure = self.failure or why
        if self.lifecycle.state not in OVER:
            self._let_all_go(self.failure)
            self.lifecycle.to(State.FAILED)
        self._moved.set()
        self.ended.set()

    def _let_all_go(self, text: str) -> None:
        self._front.close_all(Refused(Reason.QUEUE_MANAGER_NOT_AVAILABLE, self.name, text))
        if self._loop is not None:
            self._loop.halt()
        self._end_paging()

    def want_page(self, needed: PageNeeded, incarnation: int, count: int) -> None:
        """Read a page for the loop."""
        if self._paging is not None:
            self._paging.want(needed, incarnation, count)

    def _sweep(self) -> None:
        """Keep memory and ledger small."""
        self._sweeper = self._later("the owner's housekeeping", SWEEP_S, self._sweep)
        if self.running and self._keeping is not None:
            self._keeping.sweep()

    def _end_paging(self) -> None:
        if self._paging is not None:
            self._paging.end()
            self._paging = None

    # Terms.

    async def _take_over(self, old: QueueManager | None) -> None:
        began = self._asyncio.time()
        owner_id = liveness.new_owner_id()
        term = self._terms + 1
        self._ledger.on_durable = partial(self._from_ledger, self._durable, term)
        self._ledger.on_doubt = partial(self._from_ledger, self._doubt, term)
        who = liveness.announcement(self.name)
        work = partial(
            take_over, self.name, owner_id, who, self._ledger, self._limits, self._storage
        )
        # What this process was confirmed itself, its ledger object checks.
        self._replaying = self._asyncio.run_in_executor(None, partial(work, check=old is None))
        replayed = await asyncio.shield(self._replaying)
        qm = replayed.qm
        self._terms = term
        self._unavailable = ""
        if old is not None:
            last_n = replayed.last_n_of.get(self._owner_id, 0)
            brought = carry_over(old, qm, self.loop.end(last_n))
            qm.tally = old.tally
            log.info("carried over", queue_manager=self.name, non_persistent_messages=brought)
        self._owner_id = owner_id
        qm.elapsed_ms = self._clock.elapsed_ms()
        restarted(qm, self._clock.now_ms())
        self._loop = loop = OwnerLoop(qm, self._ledger, self._clock, self)
        self._end_paging()
        if self._storage is not None:
            self._paging = Paging(self._storage.pages, loop.page, loop.page_missing, self.broke)
            self._keeping = Keeping(self._storage, self._ledger, loop, replayed, self.broke)
        loop.configure(self._settings)
        self._taken_over_s = self._asyncio.time()
        self.replay_s = self._taken_over_s - began
        self.lifecycle.to(State.RUNNING)
        log.info(
            "ledger taken over",
            queue_manager=self.name,
            entries=replayed.taken.entries,
            queues=len(qm.queues),
            seconds=round(self.replay_s, 3),
        )

    def _from_ledger(self, call: Callable[[int, object], None], term: int, what: object) -> None:
        """Bring a call of the ledger's thread to this one."""
        taken = self._watched("what the ledger reports", partial(call, term, what))
        self._asyncio.call_soon_threadsafe(taken)

    def _durable(self, term: int, n: object) -> None:
        if term == self._terms and self._loop is not None and isinstance(n, int):
            self._loop.durable(n)
            self._moved.set()

    def _doubt(self, term: int, doubt: object) -> None:
        if term != self._terms:
            return
        log.warning("ledger in doubt", queue_manager=self.name, reason=doubt)
        self._let_all_go("an append is in doubt; reconnect and ask for the outcomes")
        self._moved.set()
        if isinstance(doubt, Deposed):
            self.failure = doubt
        if self.lifecycle.state is State.STOPPING:
            return  # what was not durable by now, the next owner finds in the ledger or not
        if isinstance(doubt, Deposed):
            self.lifecycle.to(State.DEPOSED)
            self.ended.set()
        elif isinstance(doubt, RefusedByKafka):
            self._fail(doubt)
        else:
            self.lifecycle.to(State.DOUBTFUL)
            if self._asyncio.time() - self._taken_over_s > CALM_S:
                self._attempts = 0
            self._recovery = watched.task("recovery", self._recover(), self.broke)

    async def _recover(self) -> None:
        """Take over again until it succeeds; only what the ledger says happened."""
        old = self.loop.qm
        while True:
            await asyncio.sleep(RECOVERY_PAUSES_S[min(self._attempts, len(RECOVERY_PAUSES_S) - 1)])
            self._attempts += 1
            try:
                self.lifecycle.to(State.TAKING_OVER)
                await self._take_over(old)
                return
            except (LedgerError, LedgerUnreadableError) as error:
                if not isinstance(error, LedgerUnavailable) or not error.retriable:
                    self._fail(str(error))
                    return
                self._unavailable = str(error)
                log.warning("ledger not available", queue_manager=self.name, reason=str(error))
                self.lifecycle.to(State.DOUBTFUL)

    async def _drain(self) -> None:
        """Back out what connections hold, and wait until everything is durable."""
        loop = self.loop
        for connection in list(loop.qm.connections):
            loop.disconnect(connection)
        loop.mark_stop()
        try:
            async with asyncio.timeout(DRAIN_S):
                while not loop.idle and not loop.ended and not self._hurried:
                    await self._next_move()
        except TimeoutError:
            log.warning("stopped before everything was durable", queue_manager=self.name)
