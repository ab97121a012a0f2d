"""An owner before its first term, while another process owns the queue manager.

It has the ledger followed, and takes it over from the owner that is to be replaced. Of several
standbys one is the fastest; the others follow on. This module does not know how a ledger is
followed, nor what a take-over is made of.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from adapter.host import logs
from adapter.runtime.owner.following import LedgerFollower
from adapter.runtime.owner.lifecycle import Lifecycle, OwnerState
from adapter.runtime.owner.replay import Replay
from adapter.runtime.owner.taking_over import Succession, TakeOvers
from adapter.runtime.owner.term import OwnerTerm
from adapter.storage.ledger.port import LedgerUnavailable, OwnedByAnother

RETRY_S = 0.5
"""Before the ledger is taken over again, if Kafka did not answer."""

log = structlog.get_logger("mqk.owner")
repetitions = logs.Repetitions()


class OwnerStandby:
    """The standby that one owner is at first. All methods are called on its thread.

    take_over begins the first term, and beat shows from then on that the owner lives.
    """

    def __init__(
        self,
        name: str,
        lifecycle: Lifecycle,
        taking: TakeOvers,
        take_over: Callable[[OwnerTerm | None, Succession | None], Awaitable[None]],
        beat: Callable[[], None],
    ) -> None:
        self._name = name
        self._lifecycle = lifecycle
        self._taking = taking
        self._take_over = take_over
        self._beat = beat
        self._follower: LedgerFollower | None = None
        self._given_up = False

    @property
    def follows(self) -> bool:
        """Whether another process owns the queue manager, and this one follows it."""
        return self._lifecycle.state is OwnerState.FOLLOWING

    @property
    def text(self) -> str:
        """Say whom it follows, or ""."""
        follower = self._follower if self.follows else None
        return f"it follows {follower.owner_text}" if follower is not None else ""

    def give_up(self) -> None:
        """Follow no more."""
        self._given_up = True
        if self._follower is not None:
            self._follower.give_up()

    def refuse(self, why: str) -> None:
        """Follow no more, and take nothing over: the owner has failed."""
        self._taking.refuse(why)
        self.give_up()

    async def follow(self, follower: LedgerFollower) -> bool:
        """Follow until this process owns the ledger; False if that was given up.

        Raises StoppedForGood, LedgerUnavailable, LedgerMismatch or LedgerUnreadableError; if the
        owner has failed, LedgerUnavailable says why.
        """
        self._follower = follower
        self._taking.check()
        if self._given_up:
            return False
        self._lifecycle.to(OwnerState.FOLLOWING)
        try:
            took_over = await self._follow(follower)
        except BaseException:
            self._lifecycle.fail()
            raise
        if took_over:
            self._beat()
        return took_over

    async def _follow(self, follower: LedgerFollower) -> bool:
        while (vacancy := await self._taking.follow(follower)) is not None:
            log.warning("owner replaced", queue_manager=self._name, reason=vacancy.why)
            self._lifecycle.to(OwnerState.TAKING_OVER)
            try:
                await self._succeed(vacancy.owner, follower.take())
            except OwnedByAnother as rival:
                log.info("another standby was faster", queue_manager=self._name, reason=str(rival))
                self._lifecycle.to(OwnerState.FOLLOWING)
            else:
                return True
        return False

    async def _succeed(self, owner: bytes, followed: Replay | None) -> None:
        """Take over from an owner; while Kafka does not answer, try again."""
        while True:
            try:
                await self._take_over(None, Succession(owner, followed))
            except LedgerUnavailable as error:
                if self._given_up or not error.retriable:
                    raise
                repetitions.warn(
                    log, "ledger not available", queue_manager=self._name, reason=str(error)
                )
                followed = None  # it may have been given entries that are void
                await asyncio.sleep(RETRY_S)
            else:
                return
