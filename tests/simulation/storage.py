"""What a simulated queue manager keeps elsewhere: pages, snapshots, and a ledger that is trimmed.

The production parts, but for threads: what is slow is done when the simulation says so, a page may
be read long before it is delivered, and writing and trimming may fail half-way.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, cast

from adapter.core import inputs
from adapter.core.contract.limits import Limits
from adapter.core.contract.pages import Paged, PageNeeded
from adapter.core.contract.records import MessageRestored
from adapter.core.effects import Effects
from adapter.core.model.manager import QueueManager
from adapter.runtime.owner import housekeeping
from adapter.runtime.owner.housekeeping import Housekeeping
from adapter.runtime.owner.lane_trimming import LaneTrimming
from adapter.runtime.owner.loop import OwnerLoop
from adapter.runtime.owner.replay import Replayed
from adapter.runtime.owner.storage import Storage
from adapter.runtime.owner.taking_over import Succession
from adapter.server.services.movers import NoMovers
from adapter.storage.format import chunks, descriptor, entries, names
from adapter.storage.ledger.memory import MemoryLedger, MemoryLedgerReader, MemoryLog
from adapter.storage.ledger.port import Ledger, LedgerUnavailable, Position
from adapter.storage.ledger.seals import NO_KEYS, SealKeys
from adapter.storage.ledger.snapshots import MemorySnapshots, Snapshot
from adapter.storage.movers.mover import Mover
from adapter.storage.movers.parking import Held
from adapter.storage.movers.settings import STREAM
from adapter.storage.topics.port import LaneKey, Page, PagesUnavailableError, Trimmed, paged
from tests.simulation import transactions as t
from tests.simulation.copies import joined
from tests.simulation.forger import Forger
from tests.support.by_hand import ByHand

PAGE_LATE = "page late"
SNAPSHOT_INTERRUPTED = "snapshot interrupted"
TRIM_INTERRUPTED = "trim interrupted"
TOPIC_TRIM_FAILS = "topic trim fails"
SNAPSHOT_AHEAD = "snapshot before the copies"
STORAGE_FAULTS = (
    PAGE_LATE,
    SNAPSHOT_INTERRUPTED,
    TRIM_INTERRUPTED,
    TOPIC_TRIM_FAILS,
    SNAPSHOT_AHEAD,
)
NAME = "SIM"
STOP_S = 20.0
PATIENCES = (0, 2)
"""Sweeps until a snapshot is written with what is not copied."""
PART_BYTES = 700
"""Of a snapshot: so that it has several parts, between which it may end."""
INTERRUPTED = 0.25


class Faults:
    """Whether what an owner keeps elsewhere fails now. still: nothing does any more."""

    def __init__(self, rng: random.Random, met: Counter[str]) -> None:
        self.rng = rng
        self.still = False
        self._met = met

    def count(self, fault: str) -> None:
        """Count one that is not drawn."""
        self._met[fault] += 1

    def meets(self, fault: str) -> bool:
        """Draw whether a fault is met, and count it."""
        is_met = not self.still and self.rng.random() < INTERRUPTED
        if is_met:
            self._met[fault] += 1
        return is_met


class Log(MemoryLog):
    """A ledger's log that says which faults were met, may fail to be trimmed, and has a forger."""

    def __init__(
        self, clock_ms: Callable[[], int], met: Counter[str], faults: Faults, forger: Forger
    ) -> None:
        super().__init__("simulated", clock_ms)
        self._met = met
        self._faults = faults
        self.forger = forger

    def write(self, value: bytes) -> int:
        """See MemoryLog; the forger may write too."""
        offset = super().write(value)
        forged = self.forger.following(value, self._records)
        if forged is not None:
            super().write(forged)
        return offset

    def next_fault(self) -> str:
        """See MemoryLog."""
        fault = super().next_fault()
        if fault:
            self._met[fault] += 1
        return fault

    def trim(self, before: int) -> None:
        """See MemoryLog; interrupted, it may have been done, or not."""
        if self._faults.meets(TRIM_INTERRUPTED):
            if self._faults.rng.randint(self.first, before) > self.first:
                super().trim(before)  # one record is never deleted without the others
            raise LedgerUnavailable("a request to trim was not answered")
        super().trim(before)


class Snapshots(MemorySnapshots):
    """Snapshots of which some are written in part."""

    def __init__(self, faults: Faults) -> None:
        super().__init__()
        self._faults = faults

    def write(self, snapshot: Snapshot, within_s: float | None = None) -> None:
        """See MemorySnapshots."""
        if self._faults.meets(SNAPSHOT_INTERRUPTED):
            self.interrupt_after = self._faults.rng.randrange(len(snapshot.parts))
        super().write(snapshot, within_s)
        records = entries.decode(snapshot.parts[-1])
        if isinstance(records[-1], MessageRestored):
            self._faults.count(SNAPSHOT_AHEAD)


class Pages:
    """Reads pages from the simulated topics, as a reader of committed records does."""

    def __init__(self, kafka: t.Kafka, rng: random.Random) -> None:
        self._kafka = kafka
        self._rng = rng
        self._found: dict[t.Partition, tuple[int, list[tuple[int, t.Record]]]] = {}
        self._joiners: dict[t.Partition, chunks.Joiner] = {}
        self._begins: dict[t.Partition, int] = {}
        self._descriptors = descriptor.DescriptorReader()

    def read(self, queue: str, incarnation: int, lane: int, seq: int, count: int) -> Page:
        """See PageReader; mostly fewer messages than were asked for."""
        topic = topic_of(queue, incarnation)
        partitions = self._kafka.topics.get(topic)
        records = self._committed(partitions[lane]) if partitions else []
        end = seq - 1 + self._rng.randint(1, count)
        found = records[seq - 1 : end]
        if not found:
            raise PagesUnavailableError(f"{topic}[{lane}] has {len(records)} messages, not {seq}")
        if partitions and found[0][0] < partitions[lane].first:
            raise PagesUnavailableError(f"message {seq} of {topic}[{lane}] has been deleted")
        page = [self._paged(record) for _, record in found]
        assert page[0].seq == seq, (page[0].seq, seq)
        return Page(page[-1].seq, page)

    def rest(self) -> None:
        """See PageReader."""

    def close(self) -> None:
        """See PageReader."""

    def _committed(self, partition: t.Partition) -> list[tuple[int, t.Record]]:
        """Return all that was ever committed, with offsets: what was deleted too."""
        start, records = self._found.get(partition, (0, []))
        end = partition.stable
        if end > start:
            joiner = self._joiners.setdefault(partition, chunks.Joiner())
            for offset, record in partition.ever_committed(start):
                if chunks.place_of(dict(record.headers).get(chunks.HEADER))[0] == 0:
                    self._begins[partition] = offset
                records += [(self._begins[partition], one) for one in joined(joiner, [record])]
            self._found[partition] = end, records
        return records

    def _paged(self, record: t.Record) -> Paged:
        header = dict(record.headers)[descriptor.HEADER]
        message, at = self._descriptors.read(header, record.value or b"")
        return paged(message, at)


class Trimmer:
    """Deletes consumed messages from the simulated topics; of some lanes it does not."""

    def __init__(self, kafka: t.Kafka, faults: Faults, watch: Callable[..., None]) -> None:
        self._kafka = kafka
        self._faults = faults
        self._watch = watch
        self._descriptors = descriptor.DescriptorReader()

    def trim(self, lanes: Mapping[LaneKey, int]) -> Trimmed:
        """See the port."""
        trimmed = Trimmed(0, {})
        for lane, seq in lanes.items():
            if self._faults.meets(TOPIC_TRIM_FAILS):
                trimmed.undone[lane] = "not answered"
                if self._faults.rng.random() < 0.5:
                    continue  # else it was done, and the answer was lost
            queue, incarnation, number = lane
            topic = topic_of(queue, incarnation)
            if topic in self._kafka.topics:
                trimmed.offsets += self._trim(queue, self._kafka.topics[topic][number], seq)
        return trimmed

    def _trim(self, queue: str, partition: t.Partition, seq: int) -> int:
        first = partition.first
        before = first
        bodies: list[str] = []
        joiner = chunks.Joiner()
        for offset, record in partition.committed(first):
            header = dict(record.headers)[descriptor.HEADER]
            if self._descriptors.read(header, b"")[1].seq >= seq:
                break
            bodies += [(one.value or b"").decode() for one in joined(joiner, [record])]
            before = offset + 1
        if bodies:
            self._watch(queue, bodies)
            partition.first = before
        return before - first


class Wanted:
    """A page that was asked for, and when it has been read, what was."""

    __slots__ = ("count", "incarnation", "needed", "page")

    def __init__(self, needed: PageNeeded, incarnation: int, count: int) -> None:
        self.needed = needed
        self.incarnation = incarnation
        self.count = count
        self.page: Page | None = None


class Movers(NoMovers):
    """One mover, as a server sees its movers."""

    def __init__(self, mover: Mover) -> None:
        self._mover = mover

    @property
    def parked(self) -> dict[str, Held]:
        """See adapter.server.services.movers.Movers."""
        return self._mover.parked

    def statistics(self) -> dict[str, dict[str, int]]:
        """See adapter.server.services.movers.Movers."""
        return {STREAM: self._mover.statistics()}


class Ended:
    """Stands for work in another thread, which has ended."""

    def __init__(self, failure: Exception | None = None) -> None:
        self._failure = failure

    def cancelled(self) -> bool:
        """See asyncio.Future."""
        return False

    def exception(self) -> Exception | None:
        """See asyncio.Future."""
        return self._failure


class SteppedTrimming(LaneTrimming):
    """Deletes consumed messages when go_on() is called, if ever."""

    _lanes: dict[LaneKey, int] | None = None

    def go_on(self) -> None:
        """Delete what is to go."""
        if self._lanes:
            lanes, self._lanes, self._trimming = self._lanes, None, None
            assert self._trimmer is not None
            self._retention.done(lanes, self._trimmer.trim(lanes))

    def _trim(self, lanes: dict[LaneKey, int]) -> None:
        self._trimming = cast("Any", Ended())
        self._lanes = lanes


class SteppedHousekeeping(Housekeeping):
    """Housekeeping whose slow work is done when go_on() is called, if ever."""

    def __init__(
        self, storage: Storage, ledger: Ledger, loop: OwnerLoop, replayed: Replayed
    ) -> None:
        super().__init__(storage, ledger, loop, replayed, _broke)
        self._left: tuple[Callable[[], None], Callable[[], None], str] | None = None
        self._lane_trimming = self.trimming = SteppedTrimming(
            storage.trimmer, self.retention, _broke
        )

    def go_on(self) -> None:
        """Do what is to be done, and hear that it has ended."""
        if self._left is None:
            return
        (work, done, failed), self._left = self._left, None
        failure: Exception | None = None
        try:
            work()
        except Exception as error:  # noqa: BLE001 -- as an executor does
            failure = error
        self._worked(done, failed, cast("Any", Ended(failure)))

    async def finish(self, within_s: float | None = None) -> None:
        """See Keeping."""
        self.go_on()

    def _work(
        self,
        work: Callable[[], None],
        done: Callable[[], None],
        failed: str = housekeeping.SNAPSHOT_FAILED,
    ) -> None:
        self._working = cast("Any", Ended())
        self._left = work, done, failed


class Watched(OwnerLoop):
    """An owner's loop that says what each step caused, when it does."""

    steps: list[Effects]

    def _take(self, effects: Effects) -> None:
        self.steps.append(effects)
        super()._take(effects)


class Owner(ByHand):
    """An owner by hand that keeps messages on topics, and snapshots beside its ledger."""

    loop: Watched
    keeping: SteppedHousekeeping

    def __init__(
        self,
        limits: Limits,
        log: MemoryLog,
        storage: Storage,
        part_bytes: int,
        forger: Forger | None = None,
    ) -> None:
        """forger: has the keys; without one the ledger is not sealed."""
        self._forger = forger
        self.steps: list[Effects] = []
        self.wanted: dict[tuple[str, int, str], Wanted] = {}
        self.kept = storage
        super().__init__(limits, log, storage, part_bytes)

    def new_ledger(self) -> MemoryLedger:
        """See ByHand."""
        keys = self._forger.owners_keys() if self._forger is not None else NO_KEYS
        return MemoryLedger(self.log, pumped=True, part_bytes=self._part_bytes, keys=keys)

    def new_reader(self, position: Position | None) -> MemoryLedgerReader:
        """Make what a mover reads, or a standby."""
        return MemoryLedgerReader(self.log, position, self.readers_keys())

    def readers_keys(self) -> SealKeys:
        """Return the keys of all who are not the owner."""
        return self._forger.readers_keys() if self._forger is not None else NO_KEYS

    def take_over(
        self, old: QueueManager | None = None, succession: Succession | None = None
    ) -> None:
        """See ByHand. What the housekeeping of a process that lives on had begun, it ends."""
        if old is not None:
            self.keeping.go_on()
            self.keeping.trimming.go_on()
        super().take_over(old, succession)

    def stop(self) -> None:
        """Write what is decided, then a snapshot, as adapter.runtime.owner.owner does; crash()
        follows.
        """
        self.log.disarm()
        self.ledger.release()
        self.loop.take(inputs.Stopped())
        self.settle()
        if self.loop.idle and not self.doubts:
            asyncio.run(self.keeping.write_last(STOP_S))

    def new_loop(self) -> OwnerLoop:
        """See ByHand."""
        loop = Watched(self.qm, self.ledger, self.clock, self, self.soon, self.want_page)
        loop.steps = self.steps
        self.steps.clear()
        self.wanted.clear()
        self.keeping = SteppedHousekeeping(self.kept, self.ledger, loop, self.began)
        return loop

    def took(self) -> list[Effects]:
        """What was done since this was asked for last."""
        steps = list(self.steps)
        self.steps.clear()
        return steps

    def want_page(self, needed: PageNeeded, incarnation: int, count: int) -> None:
        """Keep the wish; one of the same lane is not read twice at a time, as in Paging."""
        key = (needed.queue, needed.lane, needed.field)
        self.wanted.setdefault(key, Wanted(needed, incarnation, count))


def _broke(reason: str) -> None:
    raise AssertionError(reason)


def topic_of(queue: str, incarnation: int) -> str:
    """Name a queue's topic."""
    return names.queue_topic(NAME, queue, incarnation)
