"""Which actions a state has, within the bounds of a search, and which one heals it further."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from adapter.storage.ledger.envelope import step_of
from adapter.storage.ledger.memory import DeliveryReport
from tests.search import oracle
from tests.search.actions import Acting, Left, SearchState, Step
from tests.search.processes import (
    DOUBTS,
    ENDED,
    FOLLOWS,
    OWNS,
    PINGS_S,
    READ,
    READ_AGAIN,
    SILENCE_S,
    STOPPED_FOR_GOOD,
    VACANT,
    SearchedProcess,
)
from tests.search.topic import ASK, FATES, LANDS
from tests.search.topic import READ as READING

IN_FLIGHT_MAX = 2
CUT_BEHIND = 1
"""A snapshot is cut while so many entries at most are not durable."""
Choice = tuple[str, Callable[[], Step]]
SIGNS = (
    ("follows after a moment", PINGS_S, False),
    ("pings are not answered", 0.0, True),
    ("pings are not answered for a while", PINGS_S, True),
)
"""What a follower is told of the link to its owner: after so long, its pings are not answered."""


def spend(left: Left, *names: str) -> Left:
    """Return what is left of the bounds after an action."""
    return left._replace(**{name: getattr(left, name) - 1 for name in names})


def choices(state: SearchState, *, prompt: bool = False) -> Iterator[Choice]:
    """All that can happen next. prompt: standbys read at once what is written."""
    late = [at for at, one in enumerate(state.processes) if prompt and _has_unread(state, one)]
    if late:
        yield _act(state, late[0], "follows", Acting.step)
        return
    for owner, _ in state.flights:
        yield from _of_flight(state, owner)
    for at, process in enumerate(state.processes):
        yield from CHOICES[process.mode](state, at, process)


def _act(
    state: SearchState, at: int, name: str, work: Callable[[Acting], None], *spent: str
) -> Choice:
    def act() -> Step:
        acting = Acting(state, at, spend(state.left, *spent) if spent else None)
        work(acting)
        return acting.then(name)

    return name, act


# -- what is in flight


def _of_flight(state: SearchState, owner: bytes) -> Iterator[Choice]:
    at = _writer_of(state, owner)
    name = "lands" if at >= 0 else "lands late"
    yield name, partial(land, state, owner, at, name)
    if at < 0 or not state.left.doubts:
        return
    left = spend(state.left, "doubts")
    yield "unheard", partial(land, state, owner, at, "unheard", left)
    yield "lost", partial(fail, state, owner, at, "lost", left)
    yield "timed out", partial(fail, state, owner, at, "timed out", left)


def _writer_of(state: SearchState, owner: bytes) -> int:
    """Return which process waits for what this owner has in flight; -1 if none does."""
    for at, process in enumerate(state.processes):
        term = process.ledger._term
        if term is not None and term.owner == owner and not _has_failed(process):
            return at
    return -1


def _has_failed(process: SearchedProcess) -> bool:
    return any(report.failure for report in process.ledger._reports)


def land(state: SearchState, owner: bytes, at: int, name: str, left: Left | None = None) -> Step:
    """Let the first that an owner has in flight be written."""
    value = dict(state.flights)[owner][0]
    acting = _taken(state, owner, at, left)
    offset = len(state.history)
    verdicts = oracle.judge(state.history)
    if oracle.parse(value).owner != verdicts.in_force:
        acting.met.append("a deposed owner's record lands")
    if at >= 0:
        report = DeliveryReport(step_of(value), offset, "unheard" if name == "unheard" else "")
        acting.process.ledger._reports.append(report)
    step = acting.then(name)
    step.state = step.state._replace(history=(*state.history, value))
    return step


def fail(state: SearchState, owner: bytes, at: int, name: str, left: Left) -> Step:
    """Let the first in flight be lost, or only be given up: then it may land later."""
    value = dict(state.flights)[owner][0]
    if name == "lost":
        acting = _taken(state, owner, at, left)
    else:
        acting = Acting(state, at, left)
    acting.process.ledger._reports.append(DeliveryReport(step_of(value), failure=name))
    return acting.then(name)


def _taken(state: SearchState, owner: bytes, at: int, left: Left | None) -> Acting:
    acting = Acting(state, max(at, 0), left)
    acting.flights[owner] = acting.flights[owner][1:]
    return acting


# -- processes


def _has_unread(state: SearchState, process: SearchedProcess) -> bool:
    """Whether a step of a follower does something, though no time has passed."""
    if process.mode != FOLLOWS:
        return False
    follower = process.follower
    reader = follower._reader
    unread = reader is None or reader.offset_and_end()[0] < len(state.history)
    return unread or not follower._has_looked or follower._owner.has_stopped


def _of_follower(state: SearchState, at: int, process: SearchedProcess) -> Iterator[Choice]:
    left, follower = state.left, process.follower
    counts_silence = process.now_s - follower._owner.heard_s >= SILENCE_S
    if _has_unread(state, process) or counts_silence:
        yield _act(state, at, "follows", Acting.step)
    if not follower._has_looked:
        return
    if left.silences:
        silent = partial(Acting.step, silent=True)
        yield _act(state, at, "follows after a silence", silent, "silences")
    for name, passed_s, mute in SIGNS if left.pings else ():
        hears = partial(Acting.step, passed_s=passed_s, mute=mute)
        yield _act(state, at, name, hears, "pings")
    if left.breaks and state.dead:
        yield _act(state, at, "is told", partial(Acting.step, told=True), "breaks")
    elif follower._owner.ident in state.dead:
        yield _act(state, at, "is told that a process has ended", partial(Acting.step, told=True))
    if left.away:
        for what in (READING, ASK):
            away = partial(Acting.step, away=what)
            yield _act(state, at, "follows without Kafka", away, "away")


def _of_owner(state: SearchState, at: int, process: SearchedProcess) -> Iterator[Choice]:
    left, ledger = state.left, process.ledger
    term = ledger._term
    assert term is not None, "an owner has one"
    if ledger._reports:
        yield _act(state, at, "hears of its appends", Acting.pump)
    in_flight = term.next_n - 1 - term.durable_n
    if not process.stops and in_flight < IN_FLIGHT_MAX:
        if left.appends:
            yield _act(state, at, "appends", Acting.append, "appends")
        if left.stops:
            for label, name in ((0, "hands over"), (-1, "stops for good")):
                yield _act(state, at, name, partial(Acting.append, label=label), "stops")
    if left.kills:
        yield _act(state, at, "is killed", Acting.end, "kills")
    is_due = process.own and process.cut is None and process.trims < 0
    if left.cuts and is_due and in_flight <= CUT_BEHIND:
        yield _act(state, at, "cuts a snapshot", Acting.cut, "cuts")
    if process.cut is not None and term.durable_n >= process.cut.cut_n:
        yield _act(state, at, "writes a snapshot", Acting.publish)
    if process.trims >= 0 and left.trims:
        yield _act(state, at, "trims", Acting.trim, "trims")


def _of_vacant(state: SearchState, at: int, _process: SearchedProcess) -> Iterator[Choice]:
    if state.left.takes:
        yield _act(state, at, "reads to take over", Acting.read, "takes")


def _of_read(state: SearchState, at: int, _process: SearchedProcess) -> Iterator[Choice]:
    for fate in FATES if state.left.doubts else FATES[:1]:
        spent = () if fate == LANDS else ("doubts",)
        announce = partial(Acting.announce, fate=fate)
        yield _act(state, at, f"announces itself, {fate}", announce, *spent)


def _of_ended(state: SearchState, at: int, _process: SearchedProcess) -> Iterator[Choice]:
    if state.left.restarts:
        yield _act(state, at, "starts again", Acting.start, "restarts")


CHOICES: dict[str, Callable[[SearchState, int, SearchedProcess], Iterator[Choice]]] = {
    FOLLOWS: _of_follower,
    OWNS: _of_owner,
    VACANT: _of_vacant,
    DOUBTS: _of_vacant,
    READ: _of_read,
    READ_AGAIN: _of_read,
    ENDED: _of_ended,
    STOPPED_FOR_GOOD: lambda *_: iter(()),
}

# -- healing: from here on all goes well, and nobody is frozen


def serves(state: SearchState) -> bool:
    """Whether an owner has answered for an entry of its term, and every standby follows it."""
    owners = [one for one in state.processes if one.mode == OWNS and one.promised and not one.stops]
    others = [one for one in state.processes if one not in owners]
    return len(owners) == 1 and all(
        one.mode == FOLLOWS and one.follower._owner.ident == owners[0].owner for one in others
        if one.mode != STOPPED_FOR_GOOD
    )  # fmt: skip


def is_stopped_for_good(state: SearchState) -> bool:
    """Whether an operator has stopped the queue manager, and every process has ended."""
    return all(one.mode == STOPPED_FOR_GOOD for one in state.processes)


def healing(state: SearchState) -> Choice | None:
    """Return what comes next when all goes well; None if nothing is left to do."""
    if state.flights:
        owner = state.flights[0][0]
        at = _writer_of(state, owner)
        return "lands", partial(land, state, owner, at, "lands")
    for mode, choose in HEALING:
        for at, process in enumerate(state.processes):
            if process.mode == mode:
                chosen = choose(state, at, process)
                if chosen is not None:
                    return chosen
    return None


def _heal_owner(state: SearchState, at: int, process: SearchedProcess) -> Choice | None:
    if process.ledger._reports:
        return _act(state, at, "hears of its appends", Acting.pump)
    is_deposed = process.owner != oracle.judge(state.history).in_force
    if (is_deposed or not process.promised) and not process.stops:
        return _act(state, at, "appends", Acting.append)  # as an idle owner does, too
    return None


def _beat(state: SearchState, at: int, process: SearchedProcess) -> Choice | None:
    """An owner writes now and then: by that the standbys know of it."""
    return None if process.stops else _act(state, at, "appends", Acting.append)


def _heal_follower(state: SearchState, at: int, process: SearchedProcess) -> Choice | None:
    if _has_unread(state, process):
        return _act(state, at, "follows", Acting.step)
    if any(one.mode == OWNS for one in state.processes):
        return None
    return _act(state, at, "follows after a silence", partial(Acting.step, silent=True))


HEALING: tuple[tuple[str, Callable[[SearchState, int, SearchedProcess], Choice | None]], ...] = (
    (OWNS, _heal_owner),
    (DOUBTS, lambda state, at, _: _act(state, at, "reads to take over", Acting.read)),
    (
        READ_AGAIN,
        lambda state, at, _: _act(state, at, "announces", partial(Acting.announce, fate=LANDS)),
    ),
    (VACANT, lambda state, at, _: _act(state, at, "reads to take over", Acting.read)),
    (READ, lambda state, at, _: _act(state, at, "announces", partial(Acting.announce, fate=LANDS))),
    (ENDED, lambda state, at, _: _act(state, at, "starts again", Acting.start)),
    (FOLLOWS, _heal_follower),
    (OWNS, _beat),
)
"""What goes on first: by mode, what a process does next when nothing hinders it."""
