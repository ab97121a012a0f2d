"""Taking the ledger over, in other threads, until it is given up.

What a thread does may be in a call to Kafka that nothing interrupts, for half a minute. So a thread
that waits for it stops waiting when it is given up, and the ledger writes nothing any more.
"""

from __future__ import annotations

import asyncio
import os
from functools import partial
from typing import Any, TypeVar

import structlog
from msgspec import Struct

from adapter.core.contract.audit import TAKEN_OVER, AuditNote
from adapter.core.model.tally import Tally
from adapter.host import logs, watched
from adapter.runtime.owner import liveness, processes
from adapter.runtime.owner.announcement import KEY_BYTES, OwnerPlace, announcement
from adapter.runtime.owner.following import LedgerFollower, Vacancy
from adapter.runtime.owner.forgeries import Forgeries
from adapter.runtime.owner.parts import OwnerSettings, TermParts
from adapter.runtime.owner.replay import Replay, Replayed, take_over
from adapter.storage.ledger.port import LedgerError, LedgerUnavailable

GIVE_UP_S = 1.0
"""How long a stop waits for a take-over that it has given up."""

KEEP_READY_S = 10.0
"""How often a standby sees to it that what a take-over needs is ready."""

T = TypeVar("T")

log = structlog.get_logger("mqk.owner")
repetitions = logs.Repetitions()


class Succession(Struct, frozen=True):
    """owner: whom alone to replace, b"" if there was none, None: any owner. followed: what has been
    replayed already.
    """

    owner: bytes | None
    followed: Replay | None


class TakeOvers:
    """The take-overs of one owner, one at a time. All methods are called on its thread."""

    def __init__(self, name: str, parts: TermParts, settings: OwnerSettings) -> None:
        self._name = name
        self._parts = parts
        self._settings = settings
        self.place = OwnerPlace(key=os.urandom(KEY_BYTES))
        """Where this process is reached, as its announcement says."""
        self._given_up = asyncio.Event()
        self._refused = ""
        """Why nothing is taken over any more, if not because it was told to stop."""
        self._replaying: asyncio.Future[Replayed] | None = None
        self._forgeries = Forgeries(name)
        self._notes: list[AuditNote] = []
        found = partial(parts.calls.from_thread, "forged records", self._forgeries.found)
        parts.ledger.on_forged = found

    async def check_free(self) -> None:
        """Refuse to take over from an owner that is alive; see liveness."""
        heartbeat_s = self._settings.heartbeat_s
        look = partial(liveness.check_free, self._name, self._parts.ledger, heartbeat_s)
        await self._wait_for(asyncio.get_running_loop().run_in_executor(None, look))

    async def replay(
        self, owner_id: bytes, tally: Tally | None, succession: Succession | None = None
    ) -> Replayed:
        """Become the owner and read what the ledger holds.

        tally: of this process's term before; then only this process is replaced. None: compare the
        ledger with what others know of it. succession: whom alone to replace, otherwise.
        """
        ledger, storage = self._parts.ledger, self._parts.storage
        who, limits = announcement(self._name, self.place).written, self._settings.limits
        of = self._name, owner_id, who, ledger, limits, storage
        again, of_standby = tally is not None, succession or Succession(None, None)
        work = partial(
            take_over,
            *of,
            check=not again,
            again=again,
            tally=tally,
            instead_of=of_standby.owner,
            followed=of_standby.followed,
        )
        self.check()
        self._replaying = asyncio.get_running_loop().run_in_executor(None, work)
        replayed = await self._wait_for(self._replaying)
        self._notes.append(note_of(self._name, replayed))
        return replayed

    def take_notes(self) -> list[AuditNote]:
        """Return what is to be on record since the last call: take-overs and forged records."""
        notes, self._notes = self._notes, []
        forged = self._forgeries.take_note()
        notes += [] if forged is None else [forged]
        return notes if self._settings.audits else []

    async def prepare(self) -> None:
        """Have ready what a take-over needs. Raises LedgerError."""
        run = asyncio.get_running_loop().run_in_executor
        await self._wait_for(run(None, self._prepare))

    async def follow(self, follower: LedgerFollower) -> Vacancy | None:
        """Follow the ledger in another thread until its owner is to be replaced."""
        loop = asyncio.get_running_loop()
        ready = watched.task("keeping ready", self._keep_ready(), self._parts.calls.broke)
        try:
            return await self._wait_for(loop.run_in_executor(None, follower.follow))
        finally:
            ready.cancel()

    async def _keep_ready(self) -> None:
        """Prepare now and then; without it a take-over takes a little longer."""
        run = asyncio.get_running_loop().run_in_executor
        while True:
            try:
                await run(None, self._prepare)
            except LedgerError as error:
                repetitions.warn(
                    log, "take-over not prepared", queue_manager=self._name, reason=str(error)
                )
            await asyncio.sleep(KEEP_READY_S)

    def _prepare(self) -> None:
        self._parts.ledger.prepare()
        if self._parts.storage is not None:
            self._parts.storage.prepare()

    def give_up(self) -> None:
        """Take over no more; who waits for it gets a LedgerUnavailable."""
        self._parts.ledger.give_up()
        self._given_up.set()

    def refuse(self, why: str) -> None:
        """Take over no more, nor follow; who waits for it, or begins to, gets LedgerUnavailable."""
        self._refused = why
        self.give_up()

    def check(self) -> None:
        """Raise LedgerUnavailable if it is refused to take over."""
        if self._refused:
            raise LedgerUnavailable(self._refused)

    async def close(self) -> None:
        """Give up, and close the ledger and what reads pages: not while they are in use."""
        self.give_up()
        if self._replaying is not None:
            await asyncio.wait({self._replaying}, timeout=GIVE_UP_S)
            if not self._replaying.done():
                return
        run = asyncio.get_running_loop().run_in_executor
        await run(None, self._parts.ledger.close)
        if self._parts.storage is not None:
            await run(None, self._parts.storage.pages.close)

    async def _wait_for(self, work: asyncio.Future[T]) -> T:
        broke = self._parts.calls.broke
        told = watched.task("wait for the end", self._given_up.wait(), broke)
        waited: set[asyncio.Future[Any]] = {work, told}
        watched.when_done("taking the ledger over", work, _hear, broke)
        try:
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        finally:
            told.cancel()
        self.check()
        if work.done():
            return work.result()
        raise LedgerUnavailable(
            f"queue manager {self._name} was told to stop before it had taken its ledger over, "
            f"{self._parts.ledger.place}: start it again when Kafka answers"
        )


def _hear(work: asyncio.Future[T]) -> None:
    """Take the failure of work that no request waits for any more."""
    if not work.cancelled():
        work.exception()


def note_of(queue_manager: str, replayed: Replayed) -> AuditNote:
    """Say for the audit that a ledger was taken over: by whom, and from whom."""
    details = {
        "owner": replayed.owner.hex(),
        "owner_before": replayed.replaced.hex(),
        "machine": processes.machine().hex(),
        "process": str(os.getpid()),
    }
    if replayed.taken.key:
        details["sealed_with"] = replayed.taken.key.hex()
    return AuditNote(TAKEN_OVER, queue_manager, details)
