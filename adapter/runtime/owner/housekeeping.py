"""Housekeeping of one term: what leaves memory, when a snapshot is made, and of what.

It is called now and then on the owner's thread; writing goes on in another. Nothing of it decides
what a command does: without it a queue manager works as well, with all messages in memory and a
ledger that only grows. So nothing that fails here ends the owner: it is tried again, see retries.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

import structlog
from msgspec import Struct

from adapter.core import inputs
from adapter.core.model.manager import QueueManager
from adapter.host import watched
from adapter.runtime.owner.audit import TopicAudit, look
from adapter.runtime.owner.lane_trimming import LaneTrimming
from adapter.runtime.owner.loop import OwnerLoop
from adapter.runtime.owner.paging import Paging
from adapter.runtime.owner.replay import Replayed
from adapter.runtime.owner.retention import Retention
from adapter.runtime.owner.retries import HousekeepingRetries
from adapter.runtime.owner.snapshots import EntryProgress, SnapshotCut, publish
from adapter.runtime.owner.storage import FOREVER, NOTHING, CopyStatus, Storage
from adapter.storage.ledger.port import Ledger, LedgerError, Position

AUDIT_LAST_S = 2.0
"""For a look at the topics at the end, when no snapshot could be written."""
NEEDED_LAST_S = 10.0
"""For the last snapshot, if the next start would be refused without it, and Kafka answers."""
SWEEP_S = 0.2
"""How often it looks: what is copied leaves memory after this, if there is too much of it."""
LOOK_S = 0.02
"""Poll interval for the movers' progress during a stop (movers send no notification)."""

SNAPSHOT_FAILED = "a snapshot was not finished; another follows"
NOT_LOOKED_AT = "the topics were not looked at"
NOT_ANNOUNCED = "it was not written again who owns the ledger; trying again"
NOT_TRIMMED = "the ledger was not trimmed; trying again"
NOT_DELETED = "consumed messages were not deleted; trying again"

log = structlog.get_logger("mqk.owner")


class Cuts(Struct):
    """What the last snapshot was cut at: entries and bytes of the term, those before it negative.

    carried_bytes: of messages that were written with it.
    """

    entries: int
    bytes: int
    carried_bytes: int = 0


class Housekeeping:
    """Keeps one term's memory and ledger small. For the owner's thread."""

    def __init__(
        self,
        storage: Storage,
        ledger: Ledger,
        loop: OwnerLoop,
        replayed: Replayed,
        broke: watched.Ended,
    ) -> None:
        """broke: hears of what must not fail and did."""
        self._broke = broke
        self._storage = storage
        self._ledger = ledger
        self._loop = loop
        self._progress = EntryProgress()
        self._parked: frozenset[str] = frozenset()
        self._cut: SnapshotCut | None = None
        self._patience = 0
        # A start would read again what this one has read.
        self._cuts = self._written_at = Cuts(-replayed.entries, -replayed.bytes)
        self._superfluous = replayed.snapshot.offset if replayed.snapshot else 0
        """The ledger's offset before which nothing but movers needs anything; 0: nothing to do."""
        self._needed = self._superfluous
        """The ledger's offset from which on the newest snapshot needs it."""
        self.audit = TopicAudit()
        self._next_audit = self._storage.bounds.audit_sweeps
        self._working: asyncio.Future[None] | None = None
        self.retention = Retention(
            storage.retention_ms if storage.trimmer else FOREVER, loop.qm.noted
        )
        self._lane_trimming = LaneTrimming(storage.trimmer, self.retention, broke)
        self._retries = HousekeepingRetries()
        self.snapshots = 0
        self.snapshot_failures = 0

    @property
    def undone(self) -> dict[str, str]:
        """What is not done for now, and why; it keeps no client waiting."""
        not_deleted = self.retention.undone
        return self._retries.undone | ({NOT_DELETED: not_deleted} if not_deleted else {})

    @property
    def trouble(self) -> str:
        """Say what would make the next start take long, if anything does."""
        why = self._retries.undone.get(SNAPSHOT_FAILED, "")
        behind = self._loop.appends.bytes - self._written_at.bytes
        if not why or behind <= self._storage.bounds.behind_bytes:
            return ""
        return (
            f"no snapshot can be written, and a start would have to read {behind >> 20} MiB of the "
            f"ledger: {why}; requests are served, but do not stop the queue manager before that"
        )

    def sweep(self) -> None:
        """Let go of what is copied, and bring a snapshot one step further."""
        if self._loop.ended:
            return
        copied = self._copy_status()
        try:
            durable = self._ledger.durable()
        except LedgerError:
            return  # the term is over, and somebody is about to say so
        self._progress.note(durable, copied)
        if not self._loop.take(inputs.Copied(self._progress.moved_n, copied.parked)):
            return
        self._lane_trimming.sweep(self._loop.now_ms, copied.parked)
        if self._working is not None:
            return
        self._retries.sweep()
        try:
            self._go_on(durable, copied)
        except Exception as error:  # noqa: BLE001 -- of the snapshot that is cut
            self._snapshot_failed(error)

    def _go_on(self, durable: Position, copied: CopyStatus) -> None:
        """Begin what is due next."""
        self._next_audit -= 1  # not before: a look that takes long must not be followed by the next
        if self._next_audit <= 0 and self._storage.topic_problems:
            self._look_at_topics()
            return
        is_announced = NOT_ANNOUNCED not in self._retries.undone
        if not is_announced and self._retries.may_try(NOT_ANNOUNCED):
            self._announce()
            return
        may_trim = self._superfluous and is_announced
        if may_trim and self._retries.may_try(NOT_TRIMMED) and self._is_trimmable(copied):
            self._trim()
        elif self._cut is None:
            is_wanted = self._is_due() or self.audit.renew
            if is_wanted and self._retries.may_try(SNAPSHOT_FAILED):
                self._cut = self._cut_now(durable, copied.parked)
        elif durable.n >= self._cut.n:
            self._publish_if_complete(self._cut, copied.parked)

    def _is_trimmable(self, copied: CopyStatus) -> bool:
        return copied.kept >= self._superfluous and not copied.parked

    def _copy_status(self) -> CopyStatus:
        """How far copying has come; movers that begin again do not know yet what is parked."""
        copied = self._storage.copied()
        if copied.position == NOTHING:
            return CopyStatus(parked=self._parked)
        self._parked = copied.parked
        return copied

    def _is_due(self) -> bool:
        """Whether much was written since the last one; also as measured by what that took."""
        loop, storage = self._loop, self._storage
        size = loop.appends.bytes - self._cuts.bytes
        much = loop.appends.entries - self._cuts.entries >= storage.snapshot_entries
        return (much or size >= storage.snapshot_bytes) and size >= self._cuts.carried_bytes

    def _cut_now(self, durable: Position, parked: frozenset[str]) -> SnapshotCut:
        loop = self._loop
        self._patience = self._storage.bounds.patience
        carried = self._cuts.carried_bytes
        self._cuts = Cuts(loop.appends.entries, loop.appends.bytes, carried)
        n, records, unmoved = loop.cut(self._progress.moved_n, parked)
        records += self.retention.note(records, loop.now_ms, loop.qm.tally.now_ms, parked)
        return SnapshotCut(n, records, unmoved, durable)

    def _publish_if_complete(self, cut: SnapshotCut, parked: frozenset[str]) -> None:
        """Write a snapshot that says all: of what is copied where it is, of the rest what it is."""
        moved_n = self._progress.moved_n
        if moved_n < cut.n and self._patience:
            self._patience -= 1
            return
        self._cuts.carried_bytes = cut.look_again(moved_n, parked)
        if self._cuts.carried_bytes > self._storage.bounds.carried_bytes:
            self._patience = self._storage.bounds.patience
            return
        self._work(partial(publish, cut, self._storage.snapshots), self._written)

    def _announce(self) -> None:
        """Write behind the cut who owns the ledger: what says so is trimmed next.

        Standbys learn from it where the owner is, and its key of the link.
        """
        self._work(self._ledger.announce_again, _nothing, NOT_ANNOUNCED)

    def _look_at_topics(self) -> None:
        """Check whether they were changed; where a new snapshot helps, a sweep begins it."""
        self._next_audit = self._storage.bounds.audit_sweeps
        found: list[TopicAudit] = []
        needed = self._needed
        self._work(
            lambda: found.append(look(self._storage, self._ledger, needed)),
            lambda: self._take_audit(found[0]),
            NOT_LOOKED_AT,
        )

    def _take_audit(self, audit: TopicAudit) -> None:
        if audit.problems and audit.problems != self.audit.problems:
            log.error("topics are not as they must be", reason=audit.text)
        elif self.audit.problems and not audit.problems:
            log.info("topics are as they must be again")
        self.audit = audit

    def _trim(self) -> None:
        """Delete what the last snapshot stands for and every mover has recorded as copied."""
        self._work(partial(self._ledger.trim, self._superfluous), self._trimmed, NOT_TRIMMED)

    def _trimmed(self) -> None:
        self._superfluous = 0

    def _work(
        self, work: Callable[[], None], done: Callable[[], None], failed: str = SNAPSHOT_FAILED
    ) -> None:
        """Do something that blocks; one thing at a time. failed: what is logged if it fails."""
        worked = partial(self._worked, done, failed)
        name = "writing a snapshot or trimming"
        self._working = watched.in_thread(name, work, worked, self._broke)

    def _worked(self, done: Callable[[], None], failed: str, working: asyncio.Future[None]) -> None:
        self._working = None
        if working.cancelled():
            return
        failure = working.exception()
        if failure is None:
            self._retries.done(failed)
            done()
        elif failed == SNAPSHOT_FAILED:
            self._snapshot_failed(failure)
        else:
            self._retries.failed(failed, failure)

    def _snapshot_failed(self, error: BaseException) -> None:
        self._cut = None
        self._cuts = self._written_at
        self.snapshot_failures += 1
        self._retries.failed(SNAPSHOT_FAILED, error)

    def _written(self) -> None:
        assert self._cut is not None, "it has just been written"
        self._written_at = self._cuts
        self._superfluous = self._needed = self._cut.after.offset
        self._cut = None
        if self.audit.renew:
            self.audit = TopicAudit(self.audit.problems)
            self._next_audit = 0
        self._loop.take(inputs.NamesForgotten(self.retention.written()))
        self.snapshots += 1
        self._announce()

    async def write_last(self, within_s: float) -> str:
        """Write a snapshot of how things are, so that the next start has next to nothing to read.

        Nothing is decided any more, and all is durable. within_s: what takes longer is left, if the
        next start can do without. Returns why the next start will be refused, or "".
        """
        if await self._has_written_last(within_s):
            return ""
        loop = asyncio.get_running_loop()
        look_now = partial(look, self._storage, self._ledger, self._needed)
        try:
            async with asyncio.timeout(AUDIT_LAST_S):
                audit = await loop.run_in_executor(None, look_now)
        except (LedgerError, TimeoutError):
            return ""  # Kafka does not answer: what it holds, nobody has changed for all we know
        except Exception as error:  # noqa: BLE001 -- the stop goes on
            self._retries.failed(NOT_LOOKED_AT, error)
            return ""
        if not audit.renew or await self._has_written_last(NEEDED_LAST_S):
            return ""
        return audit.text

    async def _has_written_last(self, within_s: float) -> bool:
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + within_s
        try:
            async with asyncio.timeout(within_s):
                await self.finish()
                cut = await self._last_cut()
                if cut is None:
                    log.info("no snapshot at the end: too much is not copied")
                    return False
                left_s = deadline_s - loop.time()
                write = partial(publish, cut, self._storage.snapshots, left_s)
                await loop.run_in_executor(None, write)
                self.retention.written()
                self.snapshots += 1
        except (LedgerError, TimeoutError) as error:
            self.snapshot_failures += 1
            log.warning("no snapshot at the end: the next start reads more", reason=repr(error))
            return False
        except Exception as error:  # noqa: BLE001 -- the stop goes on
            self._snapshot_failed(error)
            return False
        return True

    async def _last_cut(self) -> SnapshotCut | None:
        """Cut, and wait for the movers; None if they leave too much."""
        bounds = self._storage.bounds
        durable, copied = self._ledger.durable(), self._copy_status()
        self._progress.note(durable, copied)
        cut = self._cut_now(durable, copied.parked)
        little = cut.look_again(self._progress.moved_n, copied.parked) <= bounds.last_carried_bytes
        for _ in range(round(bounds.last_copies_s / LOOK_S)):
            if self._progress.moved_n >= cut.n:
                break  # what is left is of parked queues, which are not written now
            if copied.position == NOTHING and little:
                break  # the movers have not begun yet, and need not
            await asyncio.sleep(LOOK_S)
            copied = self._copy_status()
            self._progress.note(durable, copied)
        left = cut.look_again(self._progress.moved_n, copied.parked)
        return cut if left <= bounds.last_carried_bytes else None

    async def finish(self, within_s: float | None = None) -> None:
        """Wait for what is being written, for so long at most."""
        if self._working is not None:
            await asyncio.wait({self._working}, timeout=within_s)


def _nothing() -> None:
    """There is nothing to do when it is done."""


def figures_of(
    qm: QueueManager, paging: Paging | None, keeping: Housekeeping | None
) -> dict[str, int]:
    """Return figures of what is in memory, on topics and in snapshots."""
    return {
        "messages_in_memory": sum(len(queue.stored) for queue in qm.queues.values()),
        "pages_read": paging.read if paging else 0,
        "page_failures": paging.failures if paging else 0,
        "snapshots": keeping.snapshots if keeping else 0,
        "snapshot_failures": keeping.snapshot_failures if keeping else 0,
        "topic_problems": len(keeping.audit.problems) if keeping else 0,
        **(keeping.retention if keeping else Retention(FOREVER, ())).statistics(),
    }
