"""Transcripts of take-overs: what processes do, and what the ledger, and they, say then.

A line at the margin is something that happens, `PROCESS VERB`; `PROCESS lands` is about the first
that it has in flight. What is indented below it is what has changed. Owners are called after their
process, and the number of times that it has announced itself: A1, A2. It is played by the actions
of the search. `python -m tests.search.transcripts` writes the outcomes again; look at the
difference before you keep it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.search import oracle
from tests.search.actions import Acting, Left, SearchState, Step
from tests.search.choices import land
from tests.search.processes import (
    DOUBTS,
    ENDED,
    FOLLOWS,
    OWNS,
    READ,
    READ_AGAIN,
    STOPPED_FOR_GOOD,
    VACANT,
    SearchedProcess,
    installed,
    payload_of,
)
from tests.search.topic import LANDS, LATE, LOST, UNHEARD
from tests.search.topic import READ as READING

TRANSCRIPTS = tuple(sorted(Path(__file__).parent.glob("*.txt")))
INDENT = "    "
STOPS = {payload_of(0): "hands over", payload_of(-1): "stops for good"}

VERBS: dict[str, Callable[[Acting], None]] = {
    "starts": Acting.start,
    "follows": Acting.step,
    "follows after a silence": partial(Acting.step, silent=True),
    "follows without Kafka": partial(Acting.step, away=READING),
    "is told who has ended": partial(Acting.step, told=True),
    "reads": Acting.read,
    "announces itself": partial(Acting.announce, fate=LANDS),
    "announces itself, and it is lost": partial(Acting.announce, fate=LOST),
    "announces itself, and it is late": partial(Acting.announce, fate=LATE),
    "announces itself, unheard": partial(Acting.announce, fate=UNHEARD),
    "appends": Acting.append,
    "hands over": partial(Acting.append, label=0),
    "stops for good": partial(Acting.append, label=-1),
    "hears": Acting.pump,
    "is killed": Acting.end,
    "cuts a snapshot": Acting.cut,
    "writes the snapshot": Acting.publish,
    "trims the ledger": Acting.trim,
}


class Play:
    """One transcript: its processes by name, in the order in which they are named."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._owners: dict[bytes, str] = {oracle.NOBODY: "nobody", b"": "nobody"}
        self._state = SearchState((), 0, (), (), (), frozenset(), 0, 0, Left())

    def do(self, line: str) -> list[str]:
        """Let something happen, and return what has changed."""
        before = self._state
        name, verb = line.split(" ", 1)
        step = self._land(name) if verb == "lands" else self._act(name, VERBS[verb])
        self._state = step.state
        return [*self._ledger(before), *self._processes(before)]

    def _land(self, name: str) -> Step:
        state = self._state
        owner = next(one for one, _ in state.flights if self._owners[one].startswith(name))
        at = next((n for n, one in enumerate(state.processes) if writes(one, owner)), -1)
        return land(state, owner, at, "lands")

    def _act(self, name: str, work: Callable[[Acting], None]) -> Step:
        if name not in self._names:
            self._names.append(name)
            processes = (*self._state.processes, SearchedProcess())
            self._state = self._state._replace(processes=processes)
        acting = Acting(self._state, self._names.index(name))
        work(acting)
        if acting.drawn > self._state.drawn:
            owner = acting.drawn.to_bytes(16, "big")
            count = sum(one.startswith(name) for one in self._owners.values())
            self._owners[owner] = f"{name}{count + 1}"
        return acting.then("")

    def _ledger(self, before: SearchState) -> list[str]:
        state = self._state
        said = [
            f"ledger {at}: {self._record(at)}"
            for at in range(len(state.history))
            if at >= len(before.history)
        ]
        if state.begins > before.begins:
            said.append(f"the ledger begins at {state.begins}")
        return said

    def _record(self, at: int) -> str:
        history = self._state.history[: at + 1]
        record, verdicts = oracle.parse(history[at]), oracle.judge(history)
        owner = self._owners[record.owner]
        if record.kind == oracle.ANNOUNCEMENT:
            text, counts = (
                f"{owner} instead of {self._owners[record.replaces]}",
                at in verdicts.announced,
            )
        else:
            what = STOPS.get(record.payload, "")
            text = f"{owner} entry {record.n}" + f", {what}" * bool(what)
            counts = any(one.offset == at for one in verdicts.entries)
        return text if counts else f"{text}: void"

    def _processes(self, before: SearchState) -> list[str]:
        said = []
        for at, name in enumerate(self._names):
            now = self._told(self._state.processes[at])
            if at >= len(before.processes) or now != self._told(before.processes[at]):
                said.append(f"{name} {now}")
        return said

    def _told(self, process: SearchedProcess) -> str:
        follower = process.follower
        replay = follower._replay or process.followed
        known = len(replay.qm.applied) if replay is not None else 0  # type: ignore[attr-defined]
        if process.mode == FOLLOWS:
            return f"follows {self._owners[follower._owner.ident]}, and knows {known} entries"
        if process.mode == VACANT and process.vacancy is not None:
            return f"is to replace {self._owners[process.vacancy.owner]}: {process.vacancy.why}"
        if process.mode == OWNS:
            in_flight = len(process.own) - process.promised
            return (
                f"owns as {self._owners[process.owner]}, {process.promised} promised"
                + f", {in_flight} not yet" * bool(in_flight)
            )
        return SAID[process.mode]


SAID = {
    VACANT: "takes over again",
    READ: "has read the ledger",
    READ_AGAIN: "has read the ledger",
    DOUBTS: "is in doubt",
    ENDED: "has ended",
    STOPPED_FOR_GOOD: "has ended, for good",
}


def writes(process: SearchedProcess, owner: bytes) -> bool:
    """Whether a process is in the term of an owner."""
    term = process.ledger._term
    return term is not None and term.owner == owner


def played(text: str) -> str:
    """Return a transcript with the outcomes that it has."""
    lines: list[str] = []
    with installed():
        play = Play()
        for line in text.splitlines():
            if line.startswith(INDENT):
                continue
            lines.append(line)
            if line and not line.startswith("#"):
                lines += [INDENT + said for said in play.do(line)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for transcript in TRANSCRIPTS:
        transcript.write_text(played(transcript.read_text()))
