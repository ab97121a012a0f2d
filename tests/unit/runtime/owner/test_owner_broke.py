"""A part of the process breaks: in every state the owner ends at once, and begins nothing more."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from adapter.runtime.owner import recovery
from adapter.runtime.owner.clock import SystemClock
from adapter.runtime.owner.following import LedgerFollower
from adapter.runtime.owner.lifecycle import NEXT, OwnerState
from adapter.runtime.owner.owner import Owner
from adapter.storage.ledger.memory import MemoryLedger, MemoryLog
from adapter.storage.ledger.port import LedgerUnavailable
from tests.support.awaited import until
from tests.unit.runtime.owner.test_following import ELSEWHERE, Standby, owned
from tests.unit.runtime.owner.test_owner import WAIT_S, Bench, Front, Slow, put

BROKE = "the thread of clients ended unexpectedly"
LATER_S = 0.05


class Life:
    """An owner that is brought to a state. waiting: what its process waits for there."""

    def __init__(self) -> None:
        self.log = MemoryLog()
        self.ledger = Slow(self.log)
        self.ledger.go.set()
        self.waiting: asyncio.Task[object] | None = None
        self.bench = Bench(self.log)
        self.bench.ledger = self.ledger
        self.owner = Owner("QM1", self.ledger, SystemClock(), Front())
        self.bench.owner, self.bench.front = self.owner, Front()
        self.owner._parts.clients = self.bench.front

    async def reach(self, state: OwnerState) -> None:
        await until(lambda: self.owner.lifecycle.state is state)

    def follow(self) -> Standby:
        standby = Standby(self.log)
        self.waiting = asyncio.ensure_future(self.owner.standby.follow(standby.follower))
        return standby


async def starting(life: Life) -> None:
    life.ledger.go.clear()
    life.waiting = asyncio.ensure_future(life.owner.start())
    await until(lambda: life.ledger.taking)


async def following(life: Life) -> None:
    owned(life.log, ELSEWHERE)
    standby = life.follow()
    await until(lambda: bool(standby.followed and standby.readers))


async def following_and_needed(life: Life) -> None:
    """The owner that is followed ends in the same moment."""
    first = Bench(life.log)
    await first.begin()
    standby = life.follow()
    await until(lambda: bool(standby.followed and standby.readers))
    await first.owner.abandon()


async def succeeding(life: Life) -> None:
    life.ledger.go.clear()
    life.follow()
    await until(lambda: life.ledger.taking)


async def succeeding_without_kafka(life: Life) -> None:
    life.log.unavailable = "the network is down"
    life.follow()
    await life.reach(OwnerState.TAKING_OVER)
    await asyncio.sleep(LATER_S)


async def running(life: Life) -> None:
    await life.bench.begin()


async def quiescing(life: Life) -> None:
    await running(life)
    life.bench.send(put(), durable=True)
    life.waiting = asyncio.ensure_future(life.owner.quiesce())
    await life.reach(OwnerState.QUIESCING)


async def doubtful(life: Life) -> None:
    await running(life)
    life.log.unavailable = "the network is down"
    life.log.arm("lost before durable")
    life.bench.send(put(), durable=True)
    await life.reach(OwnerState.DOUBTFUL)


async def recovering(life: Life) -> None:
    await running(life)
    life.ledger.go.clear()
    life.log.arm("lost before durable")
    life.bench.send(put(), durable=True)
    await until(lambda: life.ledger.taking)


LIVES = [
    starting,
    following,
    following_and_needed,
    succeeding,
    succeeding_without_kafka,
    running,
    quiescing,
    doubtful,
    recovering,
]
STATES: set[OwnerState] = {state for state, after in NEXT.items() if OwnerState.FAILED in after}


@pytest.mark.parametrize("live", LIVES)
def test_it_ends_and_begins_nothing_more(
    live: Callable[[Life], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "RECOVERY_PAUSES_S", (0.0, LATER_S))

    async def main() -> None:
        life = Life()
        await live(life)
        assert life.owner.lifecycle.state in STATES
        end, terms = life.log.end, life.owner.statistics().terms
        life.owner.broke(BROKE)
        assert life.owner.ended.is_set()
        if life.waiting is not None and live is not quiescing:
            with pytest.raises(LedgerUnavailable, match=BROKE):
                await asyncio.wait_for(life.waiting, WAIT_S)
        elif life.waiting is not None:
            await asyncio.wait_for(life.waiting, WAIT_S)
        life.log.unavailable = ""
        life.ledger.go.set()
        await asyncio.sleep(3 * LATER_S)
        assert life.owner.lifecycle.state is OwnerState.FAILED
        assert life.log.end == end
        assert life.owner.statistics().terms == terms
        assert life.owner.failure.count("Please report this") == 1
        assert BROKE in life.owner.failure
        await life.owner.stop()
        assert life.log.end == end

    asyncio.run(main())


def test_every_state_that_can_fail_is_tried() -> None:
    async def state_of(live: Callable[[Life], Awaitable[None]]) -> OwnerState:
        life = Life()
        await live(life)
        state = life.owner.lifecycle.state
        life.ledger.go.set()
        life.owner.broke(BROKE)
        if life.waiting is not None:
            await asyncio.gather(life.waiting, return_exceptions=True)
        await life.owner.stop()
        return state

    assert {asyncio.run(state_of(live)) for live in LIVES} == STATES


def test_what_broke_before_it_stands_by_or_starts_is_why_it_does_not() -> None:
    async def main(*, stands_by: bool) -> None:
        log = MemoryLog()
        owner = Owner("QM1", MemoryLedger(log), SystemClock(), Front())
        owner.broke(BROKE)
        follower: LedgerFollower = Standby(log).follower
        with pytest.raises(LedgerUnavailable, match=BROKE):
            await (owner.standby.follow(follower) if stands_by else owner.start())
        assert owner.lifecycle.state is OwnerState.FAILED
        assert log.end == 0

    for stands_by in (False, True):
        asyncio.run(main(stands_by=stands_by))
