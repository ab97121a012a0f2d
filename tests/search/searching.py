"""The search: every state within the bounds, the shortest way first, and all that must hold in it.

A state is known by what it may lead to: owner ids are renamed in the order in which they come into
the ledger, and processes are put in an order, so that states that differ by names are one. From
each new state the search also goes on as if nothing went wrong any more, and nobody were frozen:
within HEALING_MAX steps an owner must serve, and every standby follow it.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from functools import lru_cache

from msgspec import Struct

from adapter.storage.ledger.memory import MemoryLedgerReader
from adapter.storage.ledger.port import Position
from tests.search import oracle
from tests.search.actions import Acting, Broken, Left, SearchState, require
from tests.search.choices import choices, healing, is_stopped_for_good, serves
from tests.search.processes import TOPIC, SearchedProcess, installed

HEALING_MAX = 100


class Bounds(Struct, frozen=True):
    """processes: how many. left: what may happen. owned: one of them is the owner at first. prompt:
    standbys read at once what is written, and do not lag. meets: what must happen in it, or the
    search is about nothing.
    """

    processes: int
    left: Left
    owned: bool = True
    prompt: bool = False
    meets: tuple[str, ...] = ()


class Covered(Struct):
    """What a search has seen."""

    states: int = 0
    transitions: int = 0
    depth: int = 0
    ledgers: int = 0
    healed: int = 0
    seconds: float = 0.0
    actions: Counter[str] = {}  # type: ignore[assignment]
    met: Counter[str] = {}  # type: ignore[assignment]


class Search:
    """One search. run() raises Broken, with the way to a state in which something does not hold."""

    def __init__(self, bounds: Bounds, say: Callable[[str], object] = lambda _: None) -> None:
        self._bounds = bounds
        self._say = say
        self._came_by: dict[object, tuple[object, str]] = {}
        self._good: set[object] = set()
        self._ledgers: set[tuple[bytes, ...]] = set()
        self.covered = Covered(actions=Counter(), met=Counter())

    def run(self) -> Covered:
        """Look at every state."""
        began_s = time.process_time()
        with installed():
            first = self._first()
            key = key_of(first), first.left
            self._came_by[key] = None, "begins"
            todo: deque[tuple[SearchState, object, int]] = deque([(first, key, 0)])
            while todo:
                self._look(todo)
        self.covered.seconds = time.process_time() - began_s
        self.covered.states = len(self._came_by)
        self.covered.ledgers = len(self._ledgers)
        self.covered.healed = len(self._good)
        return self.covered

    def _first(self) -> SearchState:
        TOPIC.history, TOPIC.begins, TOPIC.snapshots = (), 0, ()
        processes = tuple(SearchedProcess() for _ in range(self._bounds.processes))
        state = SearchState((), 0, (), (), processes, frozenset(), 0, 0, self._bounds.left)
        if not self._bounds.owned:
            return state
        for work in (Acting.step, Acting.read, lambda one: Acting.announce(one, "lands")):
            acting = Acting(state, 0)
            work(acting)
            state = acting.then("begins").state
        for at in range(1, self._bounds.processes):
            for _ in range(2):
                acting = Acting(state, at)
                acting.step()
                state = acting.then("begins").state
        return state

    def _look(self, todo: deque[tuple[SearchState, object, int]]) -> None:
        state, key, depth = todo.popleft()
        covered = self.covered
        for name, act in choices(state, prompt=self._bounds.prompt):
            try:
                step = act()
                self._agree(step.state)
                covered.transitions += 1
                covered.actions[step.name] += 1
                covered.met.update(filter(None, step.met))
                found = key_of(step.state), step.state.left
                if found in self._came_by:
                    continue
                self._came_by[found] = key, name
                covered.depth = max(covered.depth, depth + 1)
                self._heal(step.state)
            except Exception as error:
                way = [*self._way(key), name]
                raise Broken(f"{error!r} after {len(way)}: {'; '.join(way)}") from error
            todo.append((step.state, found, depth + 1))

    def _way(self, key: object) -> list[str]:
        way: list[str] = []
        while key is not None:
            key, name = self._came_by[key]
            way.append(name)
        return way[::-1]

    def _agree(self, state: SearchState) -> None:
        """All readers agree on what counts, wherever they begin."""
        history = state.history
        if history in self._ledgers:
            return
        self._ledgers.add(history)
        TOPIC.history, TOPIC.begins, TOPIC.view, TOPIC.silent_to = history, 0, None, ""
        verdicts = oracle.judge(history)
        entries = [(one.offset, one.owner, one.n, one.payload) for one in verdicts.entries]
        places: list[Position | None] = [None]
        places += [Position(*one[:3]) for one in entries]
        places += [Position(offset, owner, 0) for offset, owner in verdicts.announced.items()]
        for place in places:
            after = -1 if place is None else place.offset
            read = MemoryLedgerReader(TOPIC, place).read(0.0)
            found = [(one.offset, one.owner, one.n, one.payload) for one in read]
            expected = [one for one in entries if one[0] > after]
            require(found == expected, f"a reader from {place} reads something else")

    def _heal(self, state: SearchState) -> None:
        """From here an owner that serves is reached, if nothing goes wrong any more."""
        way: list[object] = []
        names: list[str] = []
        for _ in range(HEALING_MAX):
            key = key_of(state)
            if key in self._good or serves(state) or is_stopped_for_good(state):
                self._good.update([*way, key])
                return
            way.append(key)
            chosen = healing(state)
            if chosen is None:
                break
            names.append(chosen[0])
            state = chosen[1]().state
            self._agree(state)
        modes = [one.mode for one in state.processes]
        raise Broken(f"no owner serves: {modes}, healed by {'; '.join(names[-20:])}")


def told(name: str, covered: Covered) -> str:
    """Say what a search has covered."""
    actions = ", ".join(f"{count} {what}" for what, count in covered.actions.most_common())
    met = ", ".join(f"{count} {what}" for what, count in covered.met.most_common())
    return (
        f"{name}: {covered.states} states, {covered.transitions} transitions, {covered.ledgers} "
        f"ledgers, up to {covered.depth} actions deep, {covered.healed} states healed, "
        f"{covered.seconds:.0f} s of processor\n  actions: {actions}\n  met: {met}"
    )


def key_of(state: SearchState) -> int:
    """Return what a state may lead to, without the names in it, nor what is left of the bounds."""
    ledger, names = named(state.history)
    flights = []
    if state.flights:
        names = dict(names)
        for owner, values in state.flights:
            name = names.setdefault(owner, len(names))
            flights.append((name, tuple(name_in(names, value) for value in values)))
    get = names.get
    processes = []
    for process in state.processes:
        owners, rest = process.key()
        processes.append(hash((rest, tuple([get(owner, -1) for owner in owners]))))
    processes.sort()
    dead = tuple(sorted([get(owner, -1) for owner in state.dead]))
    snapshots = tuple([(one.after.offset, one.cut_n) for one in state.snapshots])
    return hash((ledger, state.begins, snapshots, tuple(flights), tuple(processes), dead))


@lru_cache(maxsize=100_000)
def named(history: tuple[bytes, ...]) -> tuple[int, dict[bytes, int]]:
    """Return a ledger without the names in it, as a hash, and the names in their order."""
    names: dict[bytes, int] = {b"": 0, oracle.NOBODY: 0, b"none": -2}
    return hash(tuple(name_in(names, value) for value in history)), names


def name_in(names: dict[bytes, int], value: bytes) -> tuple[int, ...]:
    """Return a record without the names in it."""
    record = oracle.parse(value)
    owner = names.setdefault(record.owner, len(names))
    replaces = names.setdefault(record.replaces, len(names)) if record.replaces else -1
    return record.kind, owner, record.n, replaces, hash(record.payload)


LATE = "a deposed owner's record lands"
SEARCHES: dict[str, Bounds] = {
    "races": Bounds(
        4,
        Left(appends=1, takes=3, silences=2, kills=1),
        prompt=True,
        meets=("lost a race", "deposed", "is told that a process has ended", LATE),
    ),
    "unowned": Bounds(4, Left(appends=1, takes=3), owned=False, meets=("lost a race",)),
    "appends": Bounds(
        4, Left(appends=6, takes=1, silences=1), prompt=True, meets=("deposed", LATE)
    ),
    "doubts": Bounds(
        2,
        Left(appends=3, takes=2, doubts=1, silences=1),
        meets=(
            "lost",
            "timed out",
            "unheard",
            "doubt",
            "taken over again",
            "deposed in doubt",
            LATE,
        ),
    ),
    "doubtful_races": Bounds(
        3,
        Left(appends=1, takes=3, doubts=1, silences=2),
        meets=(
            "announcement lost",
            "announcement lands",
            "announces itself, late",
            "announces itself, unheard",
        ),
    ),
    "snapshots": Bounds(
        2,
        Left(appends=3, takes=2, silences=1, cuts=2, trims=2),
        meets=("began again with a snapshot", "trimmed by a deposed owner", "doubt", LATE),
    ),
    "snapshots_in_doubt": Bounds(
        2,
        Left(appends=2, takes=2, doubts=1, silences=1, cuts=1, trims=1),
        meets=("began again with a snapshot", "trimmed by a deposed owner", "deposed in doubt"),
    ),
    "signs": Bounds(
        3,
        Left(appends=1, takes=2, pings=2, breaks=1, kills=1),
        prompt=True,
        meets=("pings are not answered for a while", "is told", "lost a race"),
    ),
    "stops": Bounds(
        3,
        Left(appends=1, takes=2, silences=1, stops=2),
        meets=("stopped", "hands over", "standby ends with its queue manager", "lost a race"),
    ),
    "away": Bounds(
        3, Left(appends=2, takes=2, silences=1, away=2), meets=("follows without Kafka", "deposed")
    ),
}
"""By name, what is searched to its end. Each is about something; together they take a core less
than a minute."""
