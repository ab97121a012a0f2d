"""Inputs that wait for core: in their order, and what is blocked alone holds nothing else up."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

import pytest
from msgspec import Struct

from adapter.runtime.owner import waiting_inputs
from adapter.runtime.owner.term import OwnerTerm
from adapter.runtime.owner.waiting_inputs import (
    RETRY_S,
    UNDURABLE_BYTES_MAX,
    GiveOutcome,
    WaitingInputs,
)
from tests.support.virtual_time import in_virtual_time

WITHIN_S = 10.0
AT_ONCE = 4


class Term(Struct):
    """What is looked at in a term."""

    undurable_bytes: int = 0


class Core:
    """Takes what is given to it, but for what is in the way."""

    def __init__(self) -> None:
        self.term: Term | None = Term()
        self.taken: list[str] = []
        self.given: list[str] = []
        self.outcomes: dict[str, list[GiveOutcome]] = {}
        """Of an input, its next ones; then it is done."""
        self.ended: list[str] = []
        self.moved = asyncio.Event()
        self.turns = 0
        self.on_given: Callable[[], None] | None = None
        self.waiting: WaitingInputs[str, str] = WaitingInputs(
            "inputs", self.serving, self.give, AT_ONCE, self.end
        )

    def serving(self) -> OwnerTerm | None:
        self.turns += 1
        return cast(OwnerTerm | None, self.term)

    def give(self, term: OwnerTerm, one: str) -> GiveOutcome:
        assert term is cast(OwnerTerm | None, self.term)
        self.given.append(one)
        self.moved.set()
        if self.on_given is not None:
            self.on_given()
        outcome = self.outcomes[one].pop(0) if self.outcomes.get(one) else GiveOutcome.DONE
        if outcome is GiveOutcome.DONE:
            self.taken.append(one)
        return outcome

    def fill(self) -> None:
        """Let more be undurable than may be."""
        assert self.term is not None
        self.term.undurable_bytes += 1

    def end(self, why: str) -> None:
        self.ended.append(why)
        self.moved.set()

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait for what inputs bring about."""
        while not is_so():
            self.moved.clear()
            await self.moved.wait()

    def add(self, *ones: str) -> None:
        """Add inputs; the first letter of each is its key."""
        for one in ones:
            self.waiting.add(one[0], one)


def run(test: Callable[[Core], Awaitable[None]]) -> None:
    async def work() -> None:
        core = Core()
        await asyncio.wait_for(test(core), WITHIN_S)
        assert core.ended == []

    asyncio.run(work())


async def settle() -> None:
    """Let everything that is due happen."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_each_key_has_its_order() -> None:
    async def test(core: Core) -> None:
        core.add("a1", "b1", "a2", "b2", "a3")
        assert core.given == [], "not within the call"
        await settle()
        assert core.taken == ["a1", "a2", "a3", "b1", "b2"]
        core.add("a4")
        await settle()
        assert core.taken[-1] == "a4"
        turns = core.turns
        await settle()
        assert core.turns == turns, "it rests while nothing waits"

    run(test)


def test_nothing_is_given_without_inputs() -> None:
    async def test(core: Core) -> None:
        core.waiting.clear()
        core.waiting.forget(lambda _: True)
        await settle()
        assert core.given == []

    run(test)


def test_a_key_with_much_leaves_turns_to_the_others() -> None:
    async def test(core: Core) -> None:
        core.add(*(f"a{n}" for n in range(3 * AT_ONCE)), "b1", "c1")
        await core.until(lambda: len(core.taken) == 3 * AT_ONCE + 2)
        first, second = core.taken[:AT_ONCE], core.taken[AT_ONCE : 2 * AT_ONCE]
        assert first == ["a0", "a1", "a2", "a3"]
        assert second == ["b1", "c1", "a4", "a5"]

    run(test)


def test_an_input_that_is_put_in_parts_has_one_of_them_in_a_go() -> None:
    """A part may be as much as a unit."""

    async def test(core: Core) -> None:
        core.outcomes["a1"] = [GiveOutcome.MORE] * 3
        core.add("a1", "b1")
        turns = core.turns
        await core.until(lambda: core.taken == ["b1", "a1"])
        assert core.given == ["a1", "b1", "a1", "a1", "a1"]
        assert core.turns - turns == 4

    run(test)


def test_no_more_is_given_in_a_go_than_may_wait_to_be_durable() -> None:
    async def test(core: Core) -> None:
        assert core.term is not None
        core.add("a1", "a2", "b1")
        core.term.undurable_bytes = UNDURABLE_BYTES_MAX
        core.on_given = core.fill
        await core.until(lambda: bool(core.given))
        assert core.given == ["a1"]
        core.on_given = None
        core.term.undurable_bytes = 0
        await core.until(lambda: len(core.taken) == 3)

    run(test)


def test_in_one_go_are_only_so_many_and_others_come_between() -> None:
    async def test(core: Core) -> None:
        core.add(*(f"a{n}" for n in range(AT_ONCE + 1)))
        between: list[int] = []
        loop = asyncio.get_running_loop()
        loop.call_later(0.0, lambda: between.append(len(core.given)))
        await core.until(lambda: len(core.given) == AT_ONCE + 1)
        assert between == [AT_ONCE]

    run(test)


def test_what_is_blocked_is_tried_again_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting_inputs, "RETRY_S", 0.05)

    async def test(core: Core) -> None:
        core.outcomes["a2"] = [GiveOutcome.BLOCKED, GiveOutcome.BLOCKED]
        core.add("a1", "a2", "a3", "b1")
        began_s = asyncio.get_running_loop().time()
        await settle()
        assert core.taken == ["a1", "b1"]
        core.add("a4", "b2")
        await settle()
        assert core.taken == ["a1", "b1", "b2"]
        turns = core.turns
        await settle()
        assert core.turns == turns, "it rests while only what is blocked waits"
        await core.until(lambda: len(core.taken) == 6)
        assert asyncio.get_running_loop().time() - began_s > 0.09, "a pause before each attempt"
        assert core.taken[3:] == ["a2", "a3", "a4"]
        assert core.given.count("a2") == 3

    run(test)


def test_a_part_that_took_effect_is_followed_by_the_rest_at_once() -> None:
    async def test(core: Core) -> None:
        core.outcomes["a1"] = [GiveOutcome.MORE] * AT_ONCE
        core.add("a1", "a2")
        await core.until(lambda: len(core.taken) == 2)
        assert core.given == ["a1"] * (AT_ONCE + 1) + ["a2"]

    run(test)


@pytest.mark.parametrize(("undurable", "waits"), [(0, False), (1, True)])
def test_while_much_is_not_durable_nothing_is_given(undurable: int, waits: bool) -> None:
    async def test(core: Core) -> None:
        assert core.term is not None
        core.term.undurable_bytes = UNDURABLE_BYTES_MAX + undurable
        core.add("a1")
        await asyncio.sleep(3 * waiting_inputs.ROOM_S)
        assert core.given == ([] if waits else ["a1"])
        core.term.undurable_bytes = UNDURABLE_BYTES_MAX
        await core.until(lambda: core.taken == ["a1"])

    run(test)


def test_without_a_term_they_wait_until_more_is_added() -> None:
    async def test(core: Core) -> None:
        core.term = None
        core.add("a1")
        await settle()
        assert core.given == []
        core.term = Term()
        await settle()
        assert core.given == [], "who added it forgets it, and reads again"
        core.add("a2")
        await settle()
        assert core.taken == ["a1", "a2"]

    run(test)


def test_what_is_forgotten_is_not_given_nor_what_was_blocked_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting_inputs, "RETRY_S", 60.0)

    async def test(core: Core) -> None:
        core.outcomes |= {"a1": [GiveOutcome.BLOCKED], "b1": [GiveOutcome.BLOCKED]}
        core.add("a1", "a2", "b1")
        await settle()
        core.waiting.forget(lambda key: key == "a")
        core.add("a3", "b2")
        await settle()
        assert core.taken == ["a3"]
        core.waiting.clear()
        core.add("b3")
        await settle()
        assert core.taken == ["a3", "b3"]
        assert core.given == ["a1", "b1", "a3", "b3"]

    run(test)


@in_virtual_time
async def test_a_retry_of_what_was_forgotten_gives_nothing() -> None:
    core = Core()
    core.outcomes["a1"] = [GiveOutcome.BLOCKED]
    core.add("a1")
    await settle()
    core.waiting.clear()
    await asyncio.sleep(3 * RETRY_S)
    assert core.given == ["a1"]
    assert core.ended == []


def test_a_failure_of_core_is_reported() -> None:
    async def work() -> list[str]:
        core = Core()

        def fail(_term: OwnerTerm, _one: str) -> GiveOutcome:
            raise ValueError("no such queue")

        waiting: WaitingInputs[str, str] = WaitingInputs(
            "inputs", core.serving, fail, AT_ONCE, core.end
        )
        waiting.add("a", "a1")
        await asyncio.wait_for(core.moved.wait(), WITHIN_S)
        return core.ended

    assert asyncio.run(work()) == ["inputs ended unexpectedly: ValueError('no such queue')"]
