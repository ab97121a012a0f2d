"""Housekeeping of one term: what leaves memory, when a snapshot is made, and of what.

It is called now and then on the owner's thread; writing goes on in another. Nothing of it decides
what a command does: without it a queue manager works as well, with all messages in memory and a
ledger that only grows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

import structlog

from adapter.ledger.port import Ledger, LedgerError
from adapter.owner.loop import OwnerLoop
from adapter.owner.retention import Retention
from adapter.owner.snapshots import Cut, Progress, publish
from adapter.owner.storage import FOREVER, Lane, Storage, Trimmed

SWEEP_S = 0.2
"""How often it looks: what is copied leaves memory after this, if there is too much of it."""

log = structlog.get_logger("mqk.owner")


class Keeping:
    """Keeps one term's memory and ledger small. For the owner's thread."""

    def __init__(self, storage: Storage, ledger: Ledger, loop: OwnerLoop) -> None:
        self._storage = storage
        self._ledger = ledger
        self._loop = loop
        self._progress = Progress()
        self._cut: Cut | None = None
        self._cut_entries = 0
        self._cut_bytes = 0
        self._superfluous = 0
        """The ledger's offset before which nothing but movers needs anything; 0: nothing to do."""
        self._working: asyncio.Future[None] | None = None
        self.retention = Retention(
            storage.retention_ms if storage.trimmer else FOREVER, loop.qm.noted
        )
        self._trimming: asyncio.Future[Trimmed] | None = None
        self.snapshots = 0
        self.snapshot_failures = 0

    def sweep(self) -> None:
        """Let go of what is copied, and bring a snapshot one step further."""
        if self._loop.ended:
            return
        copied = self._storage.copied()
        try:
            self._progress.note(self._ledger.durable(), copied)
        except LedgerError:
            return  # the term is over, and somebody is about to say so
        self._loop.evict(self._progress.moved_n, copied.parked)
        if self._trimming is None:
            lanes = self.retention.due(self._loop.now_ms, copied.parked)
            if lanes:
                self._trim_lanes(lanes)
        if self._working is not None:
            return
        if self._superfluous and copied.kept >= self._superfluous and not copied.parked:
            self._trim()
        elif self._cut is None:
            self._cut_if_due()
        elif self._progress.moved_n >= self._cut.n and not copied.parked:
            self._work(partial(publish, self._cut, self._storage.snapshots), self._written)

    def _cut_if_due(self) -> None:
        loop, storage = self._loop, self._storage
        due = (
            loop.entries - self._cut_entries >= storage.snapshot_entries
            or loop.bytes - self._cut_bytes >= storage.snapshot_bytes
        )
        if due:
            after = self._ledger.durable()
            n, records = loop.cut()
            records += self.retention.note(records, loop.now_ms)
            self._cut = Cut(n, records, after)
            self._cut_entries, self._cut_bytes = loop.entries, loop.bytes

    def _trim(self) -> None:
        """Delete what the last snapshot stands for and every mover has recorded as copied."""
        before, self._superfluous = self._superfluous, 0
        self._work(partial(self._ledger.trim, before), lambda: None)

    def _trim_lanes(self, lanes: dict[Lane, int]) -> None:
        """Delete consumed messages, beside whatever else is done."""
        assert self._storage.trimmer is not None, "nothing is ever due without one"
        work = partial(self._storage.trimmer.trim, lanes)
        self._trimming = asyncio.get_running_loop().run_in_executor(None, work)
        self._trimming.add_done_callback(partial(self._trimmed, lanes))

    def _trimmed(self, lanes: dict[Lane, int], trimming: asyncio.Future[Trimmed]) -> None:
        self._trimming = None
        if not trimming.cancelled():
            self.retention.done(lanes, trimming.result())

    def _work(self, work: Callable[[], None], done: Callable[[], None]) -> None:
        """Do something that blocks; one thing at a time."""
        self._working = asyncio.get_running_loop().run_in_executor(None, work)
        self._working.add_done_callback(partial(self._worked, done))

    def _worked(self, done: Callable[[], None], working: asyncio.Future[None]) -> None:
        self._working = None
        if working.cancelled():
            return
        failure = working.exception()
        if failure is None:
            done()
        elif isinstance(failure, LedgerError):
            self._cut = None
            self.snapshot_failures += 1
            log.warning("a snapshot was not finished; another follows", reason=str(failure))
        else:
            raise failure

    def _written(self) -> None:
        assert self._cut is not None, "it has just been written"
        self._superfluous = self._cut.after.offset
        self._cut = None
        self.retention.written()
        self.snapshots += 1

    async def finish(self) -> None:
        """Wait for what is being written."""
        if self._working is not None:
            await asyncio.wait({self._working})
