"""The movers, as a server sees them: how far they have copied, and started again when they end.

A mover that ends does not end the others. It is started again: at once, and after longer and longer
pauses if it ends again and again. It must not know what movers copy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

import structlog
from msgspec import Struct

from adapter.core.contract.parked import ParkedQueue
from adapter.host import logs, watched
from adapter.runtime.owner.owner import Owner
from adapter.runtime.owner.storage import CopyStatus
from adapter.server.process.parts import AcceptOwn, Part
from adapter.storage.format import names
from adapter.storage.movers.parking import Held
from adapter.storage.movers.settings import PARTITIONS, STREAM

log = structlog.get_logger("mqk.server")
repetitions = logs.Repetitions()


class Movers(Protocol):
    """What copies from the ledger to the topics."""

    def start(self) -> None:
        """Start copying."""

    def restart(self) -> None:
        """Start those again that have ended by themselves; bounded."""

    def stop(self) -> None:
        """Stop copying; bounded."""

    def failure(self) -> str | None:
        """Return why movers have ended by themselves, or None while all copy."""

    @property
    def failures(self) -> dict[str, str]:
        """Why movers have ended while others go on, by name; never waits."""

    @property
    def holding(self) -> str:
        """The faults that keep them from copying, or ""; never waits."""

    @property
    def parked(self) -> dict[str, Held]:
        """The topics that cannot be written, by name; never waits."""

    def statistics(self) -> dict[str, dict[str, int]]:
        """Return the figures of each mover, by its name; never waits."""


def copy_status(movers: Movers) -> CopyStatus:
    """Say how far the ledger has been copied."""
    figures = movers.statistics()
    parked = movers.parked  # after the figures: what they leave out is in here
    if STREAM not in figures:
        return CopyStatus()
    return CopyStatus(
        figures[STREAM]["position"],
        min(one["written"] for one in figures.values()),
        frozenset(parked_queues(parked)),
    )


def parked_queues(topics: dict[str, Held]) -> dict[str, ParkedQueue]:
    """Say of which queues these topics are; of several incarnations, of the last."""
    found: dict[str, ParkedQueue] = {}
    for topic, held in topics.items():
        _, queue, incarnation = names.parse_queue_topic(topic)
        if queue not in found or found[queue].incarnation < incarnation:
            found[queue] = ParkedQueue(incarnation, held.bytes, held.why)
    return found


class NoMovers:
    """A queue manager without Kafka has no topics to copy to."""

    def start(self) -> None:
        """Nothing to start."""

    def restart(self) -> None:
        """Nothing to start."""

    def stop(self) -> None:
        """Nothing to stop."""

    def failure(self) -> str | None:
        return None

    @property
    def failures(self) -> dict[str, str]:
        return {}

    @property
    def holding(self) -> str:
        return ""

    @property
    def parked(self) -> dict[str, Held]:
        return {}

    def statistics(self) -> dict[str, dict[str, int]]:
        return {}


class WatchBounds(Struct, kw_only=True):
    """When movers that end are started again, and when they count as unwell."""

    ends: int = 2
    """So many ends of the movers, one soon after the other, are no accident: they hold."""
    steady_s: float = 10.0
    """Movers that have run for so long since they were started again are well."""
    check_s: float = 0.5
    """How often the movers are looked at: dead ones are started again after this."""
    restarts_at_once: int = 4
    """So many, one soon after the other; before further ones come pauses, each twice as long."""
    pause_s_max: float = 10.0


class MoverWatch:
    """Looks at the movers now and then. report_parked hears of the parked queues each time."""

    def __init__(
        self,
        movers: Movers,
        report_parked: Callable[[dict[str, ParkedQueue]], None],
        bounds: WatchBounds | None = None,
    ) -> None:
        self._movers = movers
        self.bounds = bounds or WatchBounds()
        self._report_parked = report_parked
        self.restarts = 0
        self._ends = 0
        """Of movers, one soon after the other."""
        self._end = ""
        self._ended: frozenset[str] = frozenset()
        """Why a mover ended last, and which movers had ended then."""
        self._restart_s: float | None = None
        """When those that have ended are to be started again."""
        self._restarted_s = 0.0

    @property
    def trouble(self) -> str:
        """Why something is not copied to the topics, or ""."""
        holding = self._movers.holding
        end, ended = self._movers.failure(), frozenset(self._movers.failures)
        if end is None and self._ends >= self.bounds.ends:
            end, ended = f"{self._end} (and again: {self._ends} times now)", self._ended
        if end is None:
            return holding
        some = sorted(f"the {name} mover" for name in ended)
        who = "the movers" if len(some) in (0, len(PARTITIONS)) else " and ".join(some)
        return f"{who} ended: {end}{holding and '; '}{holding}"

    def figures(self) -> dict[str, dict[str, int]]:
        """Return the movers' figures; those that end again and again hold, also between."""
        figures = self._movers.statistics()
        if self._ends < self.bounds.ends:
            return figures
        held = {name: figures.get(name, {}) | {"holding": 1} for name in self._ended}
        return figures | held

    async def run(self) -> None:
        """Look for ever. Movers that have ended are started again: they know where to go on."""
        while True:
            await asyncio.sleep(self.bounds.check_s)
            await self._start_ended(asyncio.get_running_loop().time())
            self._report_parked(parked_queues(self._movers.parked))

    async def _start_ended(self, now_s: float) -> None:
        if now_s - self._restarted_s > self.bounds.steady_s:
            self._ends = 0
        end = self._movers.failure()
        if end is None:
            return
        if self._restart_s is None:
            self._ends += 1
            self._end = end
            self._ended = frozenset(self._movers.failures or PARTITIONS)
            repetitions.warn(log, "movers ended; restarting them", reason=end)
            doublings = max(0, self._ends - self.bounds.restarts_at_once)
            self._restart_s = now_s + min(
                self.bounds.check_s * (2**doublings - 1), self.bounds.pause_s_max
            )
        if now_s >= self._restart_s:
            self._restart_s = None
            await asyncio.get_running_loop().run_in_executor(None, self._movers.restart)
            self.restarts += 1
            self._restarted_s = asyncio.get_running_loop().time()


class MoverService(Part):
    """The movers of one server. They end after the owner: what it writes last is copied too."""

    def __init__(self, movers: Movers, owner: Owner) -> None:
        self.watch = MoverWatch(movers, self._report_parked)
        self._movers = movers
        self._owner = owner
        self._watching: asyncio.Task[None] | None = None
        self._ending: asyncio.Future[None] | None = None

    async def start(self, accept: AcceptOwn) -> None:  # noqa: ARG002 -- movers are no clients
        await asyncio.get_running_loop().run_in_executor(None, self._movers.start)
        self._watching = watched.task("movers' watch", self.watch.run(), self._owner.broke)

    async def stop(self) -> None:
        """End the watch; without Kafka nothing more is copied, and the movers begin to end too."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait({self._watching})  # whatever it ended with was heard
        if self._owner.is_cut_off:
            self._begin_end()

    async def end(self) -> None:
        await self._begin_end()

    def figures(self) -> dict[str, Any]:
        return {
            "mover_restarts": self.watch.restarts,
            "movers": self.watch.figures(),
            "movers_hold": self.watch.trouble,
            "movers_parked": {topic: held.why for topic, held in self._movers.parked.items()},
        }

    def _begin_end(self) -> asyncio.Future[None]:
        if self._ending is None:
            loop = asyncio.get_running_loop()
            self._ending = loop.run_in_executor(None, self._movers.stop)
        return self._ending

    def _report_parked(self, parked: dict[str, ParkedQueue]) -> None:
        if self._owner.running:
            self._owner.term.note_parked(parked)
