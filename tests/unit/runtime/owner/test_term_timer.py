"""The timer of a term: what is due is done in time, while requests are served."""

from __future__ import annotations

import asyncio

from adapter.core import inputs
from adapter.core.contract import commands as c
from adapter.core.contract.results import Messages
from adapter.runtime.owner.clock import ManualClock
from adapter.runtime.owner.term_timer import TermTimer
from tests.unit.runtime.owner.test_owner import WAIT_S, Bench, run, until


def test_a_get_that_waits_is_answered_in_time() -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        long = bench.send(c.Get(1, wait_ms=int(WAIT_S * 10_000)), durable=True)
        answer = await bench.ask(c.Get(1, wait_ms=20), durable=True)
        assert answer == Messages([])
        assert long not in bench.front.answers

    run(test)


def test_with_a_clock_by_hand_all_that_is_due_is_done_at_once() -> None:
    clock = ManualClock()

    async def test(bench: Bench) -> None:
        await bench.begin()
        requests = [bench.send(c.Get(1, wait_ms=ms), durable=True) for ms in (10, 20, 1_000)]
        clock.advance(0.1)
        bench.owner.tick()
        await until(lambda: requests[1] in bench.front.answers)
        assert requests[0] in bench.front.answers
        assert requests[2] not in bench.front.answers

    run(test, clock)


def test_nothing_is_done_while_nothing_is_served_or_when_it_has_stopped() -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        owner, serves = bench.owner, [False]
        timer = TermTimer(owner.loop, bench.clock, owner._calls, lambda: serves[0])
        owner.term._timer.stop()
        owner.term._timer = timer
        request = bench.send(c.Get(1, wait_ms=5), durable=True)
        timer.arm()
        await asyncio.sleep(0.05)
        assert request not in bench.front.answers
        serves[0] = True
        timer.arm()
        timer.stop()
        await asyncio.sleep(0.05)
        assert request not in bench.front.answers
        owner.loop.take(inputs.Tick())
        await until(lambda: request in bench.front.answers)

    run(test)
