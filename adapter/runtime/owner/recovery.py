"""Recovery after a doubtful append: the ledger is taken over again, until that succeeds.

An append in doubt may be in the ledger or not, and only reading it says which. So the owner takes
its own ledger over, as another process would; while Kafka does not answer it tries again, after
longer and longer pauses, for as long as it takes. It gives up only where no further attempt could
help: another process owns the ledger, or the ledger cannot be read or written. This module does not
know what a take-over is made of.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from adapter.host import logs, watched
from adapter.runtime.owner.calls import Moves, OwnerCalls
from adapter.runtime.owner.lifecycle import Lifecycle, OwnerState
from adapter.runtime.owner.replay import LedgerUnreadableError
from adapter.runtime.owner.stall import Stall
from adapter.runtime.owner.term import OwnerTerm
from adapter.storage.ledger.port import LedgerError, LedgerUnavailable, OwnedByAnother

RECOVERY_PAUSES_S = (0.0, 0.1, 0.5, 1.0, 2.0, 5.0)
"""Before each attempt to take over again; the last one is repeated for ever."""
IN_DOUBT = frozenset({OwnerState.DOUBTFUL, OwnerState.TAKING_OVER})
CALM_S = 10.0
"""A doubt that comes sooner after a take-over counts as one more attempt: pauses go on growing."""

log = structlog.get_logger("mqk.owner")
repetitions = logs.Repetitions()


class OwnerRecovery:
    """The recoveries of one owner, one at a time. All methods are called on its thread.

    take_over begins another term, to which the old one is carried over. fail ends the owner: why,
    and in which state.
    """

    def __init__(
        self,
        name: str,
        lifecycle: Lifecycle,
        stall: Stall,
        calls: OwnerCalls,
        take_over: Callable[[OwnerTerm], Awaitable[None]],
        fail: Callable[[str, OwnerState], None],
    ) -> None:
        self._name = name
        self._lifecycle = lifecycle
        self._stall = stall
        self._calls = calls
        self._take_over = take_over
        self._fail = fail
        self._task: asyncio.Task[None] | None = None
        self._attempts = 0
        """To take over again, since the ledger was last without doubt for a while."""

    def begin(self, old: OwnerTerm, calm_s: float) -> None:
        """Take over again from a term. calm_s: for how long the ledger was without doubt."""
        self._lifecycle.to(OwnerState.DOUBTFUL)
        if calm_s > CALM_S:
            self._attempts = 0
        self._task = watched.task("recovery", self._recover(old), self._calls.broke)

    async def finish(self, within_s: float, moves: Moves) -> None:
        """Wait for a recovery that is under way, for so long at most, and take over no more."""
        try:
            async with asyncio.timeout(within_s):
                while self._task is not None and self._lifecycle.state in IN_DOUBT:
                    if moves.hurried:
                        break
                    await moves.next()
        except TimeoutError:
            log.warning("stopped before the ledger was taken over again", queue_manager=self._name)
        self.cancel()

    def cancel(self) -> None:
        """Take over no more: the owner stops."""
        if self._task is not None:
            self._task.cancel()

    async def _recover(self, old: OwnerTerm) -> None:
        """Take over again until it succeeds; only what the ledger says happened."""
        while True:
            await asyncio.sleep(RECOVERY_PAUSES_S[min(self._attempts, len(RECOVERY_PAUSES_S) - 1)])
            self._attempts += 1
            try:
                self._lifecycle.to(OwnerState.TAKING_OVER)
                await self._take_over(old)
                return
            except (LedgerError, LedgerUnreadableError) as error:
                if not isinstance(error, LedgerUnavailable) or not error.retriable:
                    taken = isinstance(error, OwnedByAnother)
                    self._fail(str(error), OwnerState.DEPOSED if taken else OwnerState.FAILED)
                    return
                self._stall.unavailable = str(error)
                repetitions.warn(
                    log, "ledger not available", queue_manager=self._name, reason=str(error)
                )
                self._lifecycle.to(OwnerState.DOUBTFUL)
