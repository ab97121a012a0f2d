"""Arrivals for the owner: which term they are of, what is counted, and what may be deleted."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import Struct

from adapter.core import inputs
from adapter.core.contract.arrivals import Arrival, ArrivedUnit, Origin
from adapter.core.contract.message import MessageData
from adapter.runtime.owner import inbound
from adapter.runtime.owner.inbound import Inbound
from adapter.runtime.owner.term import OwnerTerm

TOPIC = "mq.QM1.in.QM2"
WITHIN_S = 10.0
ARRIVAL = Arrival(MessageData(b"x"), lane=0, seq=1)


class Read(Struct):
    """A unit as a reader gives it."""

    given: ArrivedUnit
    size: int = 100


class Reader:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.begun: list[tuple[int, dict[str, tuple[str, int]]]] = []
        self.taken: list[tuple[int, str, int]] = []
        self.trimmed: list[dict[tuple[str, str], int]] = []
        self.answers = [True] * 1_000
        """Whether deletions succeed; behind them none is answered."""

    def begin_at(self, term: int, positions: Mapping[str, tuple[str, int]]) -> None:
        self.begun.append((term, dict(positions)))

    def note_taken(self, term: int, topic: str, size: int) -> None:
        self.taken.append((term, topic, size))

    def trim(self, offsets: Mapping[tuple[str, str], int], tried: Callable[[bool], object]) -> None:
        self.trimmed.append(dict(offsets))
        if self.answers:
            tried(self.answers.pop(0))


class Term:
    """A term whose core has room, but for the topics of `full`."""

    def __init__(self, offset: int = 0) -> None:
        self.fails = False
        self.parts = 1
        """In how many steps the next arrival is put."""
        self.full: set[str] = set()
        self.given: list[object] = []
        self.undurable_bytes = 0
        self.arrivals = SimpleNamespace(blocked={}, positions={}, unfinished=set())
        self.place(offset)
        self.qm = SimpleNamespace(arrivals=self.arrivals)
        self.loop = SimpleNamespace(take=self.take, appends=SimpleNamespace(durable_n=0), entry_n=1)

    def place(self, offset: int, topic_id: str = "id") -> None:
        self.arrivals.positions[TOPIC] = SimpleNamespace(topic_id=topic_id, offset=offset)

    def take(self, one: object) -> bool:
        self.given.append(one)
        if self.fails:
            return False
        if isinstance(one, inputs.Arrived):
            if one.unit.topic in self.full:
                self.arrivals.blocked[one.unit.topic] = "Q"
            else:
                self.arrivals.blocked.pop(one.unit.topic, None)
                self.parts -= 1
                self.arrivals.unfinished = {one.unit.topic} if self.parts > 0 else set()
                if self.parts <= 0:
                    self.place(one.unit.offset)
        return True

    @property
    def offsets(self) -> list[int]:
        return [one.unit.offset for one in self.given if isinstance(one, inputs.Arrived)]


class Site:
    """What arrives for the owner, its term, and a reader."""

    def __init__(self) -> None:
        self.term: Term | None = Term(offset=5)
        self.reader = Reader()
        self.ended: list[str] = []
        self.inbound = Inbound(lambda: cast(OwnerTerm | None, self.term), self.ended.append)

    def deliver(self, number: int, *offsets: int) -> None:
        units = [
            Read(ArrivedUnit(TOPIC, "id", offset, Origin("other"), [ARRIVAL, ARRIVAL]))
            for offset in offsets
        ]
        self.inbound.deliver(number, units)


@pytest.fixture(autouse=True)
def looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for terms at once."""
    monkeypatch.setattr(inbound, "LOOK_S", 0.0)
    monkeypatch.setattr(inbound, "TRIM_LOOKS", 1)


def run(test: Callable[[Site], Awaitable[None]]) -> None:
    async def work() -> None:
        site = Site()
        site.inbound.start(site.reader)
        await asyncio.wait_for(test(site), WITHIN_S)
        site.inbound.stop()
        assert site.ended == []

    asyncio.run(work())


async def settle() -> None:
    """Let everything that is due happen."""
    for _ in range(20):
        await asyncio.sleep(0)


def test_each_term_reads_from_its_positions_and_has_arrivals_of_its_own() -> None:
    async def test(site: Site) -> None:
        first = site.term
        assert first is not None
        site.deliver(1, 6, 7)
        await settle()
        assert first.offsets == [6, 7]
        site.term = None
        await settle()
        site.deliver(1, 8)
        await settle()
        site.term = second = Term(offset=7)
        await settle()
        site.deliver(1, 8)
        site.deliver(2, 8, 9)
        await settle()
        assert (first.offsets, second.offsets) == ([6, 7], [8, 9])
        assert site.reader.begun == [(1, {TOPIC: ("id", 5)}), (2, {TOPIC: ("id", 7)})]
        assert site.reader.taken == [(1, TOPIC, 100)] * 2 + [(2, TOPIC, 100)] * 2
        assert (site.inbound.units, site.inbound.messages) == (4, 8)

    run(test)


def test_a_unit_without_room_is_not_counted_and_its_queue_is_named() -> None:
    async def test(site: Site) -> None:
        assert site.term is not None
        site.term.full.add(TOPIC)
        site.deliver(1, 6, 7)
        await settle()
        assert site.term.offsets == [6]
        assert site.inbound.blocked == {TOPIC: "Q"}
        assert (site.inbound.units, site.reader.taken) == (0, [])

    run(test)


def test_a_unit_of_which_a_part_was_put_is_given_again_at_once() -> None:
    async def test(site: Site) -> None:
        assert site.term is not None
        site.term.parts = 3
        site.deliver(1, 6, 7)
        await settle()
        assert site.term.offsets == [6, 6, 6, 7]
        assert (site.inbound.units, site.reader.taken) == (2, [(1, TOPIC, 100)] * 2)

    run(test)


def test_what_is_known_is_told_to_each_term() -> None:
    async def test(site: Site) -> None:
        known = inputs.QueueManagersKnown(frozenset({"QM2"}))
        site.inbound.know(known)
        await settle()
        assert site.term is not None
        assert site.term.given[-1] is known
        site.term = Term()
        await settle()
        assert site.term.given == [known]

    run(test)


def test_what_was_received_is_deleted_once_it_is_durable() -> None:
    async def test(site: Site) -> None:
        await settle()
        assert site.term is not None
        assert site.reader.trimmed == []
        site.term.loop.appends.durable_n = 1
        await settle()
        site.deliver(1, 6)
        await settle()
        assert site.reader.trimmed == [{(TOPIC, "id"): 5}, {(TOPIC, "id"): 6}], "each once"
        site.term.place(2, "made again")
        await settle()
        assert site.reader.trimmed[-1] == {(TOPIC, "made again"): 2}, "it is another topic"

    run(test)


def test_a_deletion_that_failed_is_tried_again() -> None:
    """By what is left its sender would say, for ever, that nothing is received."""

    async def test(site: Site) -> None:
        site.reader.answers = [False, False, True]
        term = site.term
        assert term is not None
        term.loop.appends.durable_n = 1
        await settle()
        assert site.reader.trimmed == [{(TOPIC, "id"): 5}] * 3
        assert site.reader.answers == [], "and not when it has succeeded"
        term.place(6)
        await settle()
        term.place(7)
        await settle()
        assert site.reader.trimmed[3:] == [{(TOPIC, "id"): 6}], "one at a time"
        site.term = Term(offset=8)
        site.term.loop.appends.durable_n = 1
        site.reader.answers = [True] * 9
        await settle()
        assert site.reader.trimmed[4:] == [{(TOPIC, "id"): 8}]

    run(test)


def test_after_a_stop_nothing_is_given() -> None:
    async def test(site: Site) -> None:
        term: Any = site.term
        site.deliver(1, 6)
        site.inbound.stop()
        await settle()
        site.deliver(1, 7)
        site.inbound.know(inputs.QueueManagersKnown(frozenset({"QM2"})))
        await settle()
        assert term.offsets == []
        assert site.inbound.blocked == {}

    run(test)


def test_what_comes_when_the_loop_has_ended_is_left() -> None:
    async def work() -> Site:
        return Site()

    site = asyncio.run(work())
    site.deliver(1, 6)
    site.inbound.know(inputs.QueueManagersKnown(frozenset()))
    assert site.term is not None
    assert site.term.given == []
