"""What can happen next in a search: every action of a state, and the state that it leads to.

Who is frozen is not said: a process that is frozen is one that does nothing for a while, and what
can happen next includes everything that others do meanwhile.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from adapter.runtime.owner import replay
from adapter.runtime.owner.following import StoppedForGood
from adapter.runtime.owner.storage import CopyStatus, Storage
from adapter.storage.ledger.port import Deposed, LedgerUnavailable, OwnedByAnother
from adapter.storage.ledger.snapshots import Snapshot
from tests.search import oracle
from tests.search.processes import (
    DEAD,
    DOUBTS,
    ENDED,
    FOLLOWS,
    MUTE,
    NAME,
    OWNS,
    READ,
    READ_AGAIN,
    SILENCE_S,
    STOPPED_FOR_GOOD,
    TOPIC,
    VACANT,
    SearchedProcess,
    payload_of,
)
from tests.search.topic import LANDS, View

IN_FLIGHT_MAX = 2


class Left(NamedTuple):
    """How many of each are left: this bounds a search.

    doubts: appends and announcements that are lost, late or unheard. pings: steps of followers
    that hear of the link, or of none, after a while; breaks: that are told who has ended, whomever
    they follow. away: steps of followers without Kafka.
    """

    appends: int = 0
    takes: int = 0
    doubts: int = 0
    silences: int = 0
    pings: int = 0
    breaks: int = 0
    away: int = 0
    kills: int = 0
    stops: int = 0
    cuts: int = 0
    trims: int = 0
    restarts: int = 0


class SearchState(NamedTuple):
    """Everything at one moment.

    history: see SearchedTopic. flights: by owner, what is in flight, in order. dead: owners whose
    process has ended. drawn, labels: owner ids and entries that were made.
    """

    history: tuple[bytes, ...]
    begins: int
    snapshots: tuple[Snapshot, ...]
    flights: tuple[tuple[bytes, tuple[bytes, ...]], ...]
    processes: tuple[SearchedProcess, ...]
    dead: frozenset[bytes]
    drawn: int
    labels: int
    left: Left


class Broken(AssertionError):  # noqa: N818 -- it says what is the matter
    """An invariant does not hold."""


class Step(Struct):
    """An action: what it is called, and the state that it leads to. met: what happened in it."""

    name: str
    state: SearchState
    met: list[str]


def covers(snapshot: Snapshot, owner: bytes, n: int) -> bool:
    """Whether an entry behind a snapshot's position is in it."""
    return (owner == snapshot.after.owner) and n <= snapshot.cut_n


def require(holds: bool, text: str) -> None:
    """Raise Broken unless something holds."""
    if not holds:
        raise Broken(text)


class Acting:
    """One action of one process, on a copy of it."""

    def __init__(self, state: SearchState, at: int, left: Left | None = None) -> None:
        self.state = state
        self.at = at
        self.left = left or state.left
        self.process = state.processes[at].fork()
        self.met: list[str] = []
        self.flights = dict(state.flights)
        self.dead = state.dead
        self.drawn = state.drawn
        self.labels = state.labels
        TOPIC.history, TOPIC.begins = state.history, state.begins
        TOPIC.snapshots = state.snapshots
        TOPIC.view, TOPIC.fate, TOPIC.silent_to = None, LANDS, ""
        TOPIC.late.clear()
        TOPIC.read_to = 0
        TOPIC.now_s = self.process.now_s
        DEAD.clear()
        MUTE.clear()

    def then(self, name: str) -> Step:
        """Return the state that this has led to."""
        state = self.state
        process = self.process
        process.now_s = TOPIC.now_s
        if process.ledger.sent:
            flight = self.flights.get(process.owner, ())
            self.flights[process.owner] = (*flight, *process.ledger.sent)
            process.ledger.sent = []
        processes = list(state.processes)
        processes[self.at] = process
        flights = tuple((owner, values) for owner, values in self.flights.items() if values)
        then = SearchState(
            TOPIC.history, TOPIC.begins, TOPIC.snapshots, flights, tuple(processes), self.dead,
            self.drawn, self.labels, self.left,
        )  # fmt: skip
        return Step(name, then, self.met)

    # -- an owner

    def append(self, label: int | None = None) -> None:
        """Append an entry. label: of a stop, else one of its own."""
        process = self.process
        if label is None:
            self.labels += 1
            label = self.labels
        payload = payload_of(label)
        process.ledger.append(payload)
        process.own = (*process.own, payload)
        process.stops = label <= 0

    def pump(self) -> None:
        """Take the reports of what is in flight."""
        process = self.process
        doubts: list[str] = []
        durable: list[int] = []
        process.ledger.on_doubt = doubts.append
        process.ledger.on_durable = durable.append
        process.ledger.pump()
        for n in durable:
            self._promise(n)
        if not doubts:
            return
        self.met.append("deposed" if isinstance(doubts[0], Deposed) else "doubt")
        if isinstance(doubts[0], Deposed) or process.stops:
            self.end()
        else:
            process.mode = DOUBTS

    def _promise(self, n: int) -> None:
        """Answer for the entries up to n."""
        process = self.process
        counted = {(one.owner, one.n): one.payload for one in oracle.judge(TOPIC.history).entries}
        for at in range(process.promised + 1, n + 1):
            found = counted.get((process.owner, at))
            require(found == process.own[at - 1], f"entry {at} was promised, and is void")
        process.promised = n
        if process.stops and n == len(process.own):
            self.met.append("stopped")
            self.end(ENDED if process.own[-1] == payload_of(0) else STOPPED_FOR_GOOD)

    def end(self, mode: str = ENDED) -> None:
        """Let the process end: what it has in flight may land all the same."""
        process = self.process
        self.dead |= {process.owner, *process.ledger._attempted}
        ended = SearchedProcess()
        ended.mode = mode
        self.process = ended

    def start(self) -> None:
        """Start a process again, as a standby."""
        self.process = SearchedProcess()
        self.process.now_s = TOPIC.now_s

    def cut(self) -> None:
        """Cut a snapshot as of what has been appended; what is durable by now is before it."""
        process = self.process
        assert process.core is not None, "an owner has one"
        after = process.ledger.durable()
        parts = [*process.core.applied, *process.own]
        process.cut = Snapshot(after, len(process.own), parts)

    def publish(self) -> None:
        """Write the snapshot."""
        process = self.process
        assert process.cut is not None, "it was cut"
        TOPIC.snapshots = (*TOPIC.snapshots, process.cut)
        process.trims = process.cut.after.offset
        process.cut = None

    def trim(self) -> None:
        """Delete what the snapshot stands for."""
        self.met.append("trimmed by a deposed owner" * (self.process.owner != self._in_force))
        TOPIC.begins = max(TOPIC.begins, self.process.trims)
        self.process.trims = -1

    @property
    def _in_force(self) -> bytes:
        return oracle.judge(TOPIC.history).in_force

    # -- a standby

    def step(
        self,
        *,
        silent: bool = False,
        passed_s: float = 0.0,
        mute: bool = False,
        told: bool = False,
        away: str = "",
    ) -> None:
        """Let a follower read and decide.

        silent: after so much time that an owner is silent which has not been heard of; else after
        passed_s. mute: its last pings were not answered. told: which processes have ended, and that
        the links to them broke. away: Kafka does not answer, and so much time passes as in a
        silence.
        """
        process, follower = self.process, self.process.follower
        verdicts = oracle.judge(TOPIC.history)
        offset = self._offset()
        before = follower._replay.snapshot if follower._replay else None
        if silent or away or passed_s:
            self._pass(passed_s or SILENCE_S, is_heard=not away)
            process.quiet = process.calm if silent else -1
        if told:
            DEAD.update(self.dead)
        if mute:
            MUTE.add(verdicts.in_force)
        TOPIC.silent_to = away
        try:
            vacancy = follower.step()
        except StoppedForGood:
            self.met.append("standby ends with its queue manager")
            require(_stops(verdicts.in_force, -1), "it was not stopped for good")
            self.end(STOPPED_FOR_GOOD)
            return
        process.read_to = max(process.read_to, TOPIC.read_to)
        if follower._replay is not None and offset >= 0:
            now = follower._replay.snapshot
            self.met.append("began again with a snapshot" * (now is not before))
        self.require_state()
        if vacancy is None:
            process.has_followed = process.has_followed or verdicts.in_force != oracle.NOBODY
            return
        is_over = process.has_followed and _stops(vacancy.owner, -1)
        require(not is_over, "a standby takes over what was stopped for good")
        why = (
            verdicts.in_force == oracle.NOBODY
            or (
                vacancy.owner == verdicts.in_force
                and verdicts.last_sign in (process.quiet, process.calm if mute else -1)
            )
            or (told and vacancy.owner in self.dead)
            or _stops(vacancy.owner, 0, -1)
        )
        require(why, f"an owner was found to be gone that was not: {vacancy.why}")
        follower.rest()
        process.vacancy, process.followed, process.mode = vacancy, follower.take(), VACANT

    def _pass(self, seconds: float, *, is_heard: bool) -> None:
        """Let time pass. is_heard: what is written meanwhile."""
        process, verdicts = self.process, oracle.judge(TOPIC.history)
        TOPIC.now_s += seconds
        entries = verdicts.entries
        has_read = not entries or entries[-1].offset < process.read_to
        is_known = process.follower._owner.ident == verdicts.in_force
        process.calm = verdicts.last_sign if is_heard and has_read and is_known else -1

    def _offset(self) -> int:
        """Up to where a follower has read; -1 if it has not."""
        follower = self.process.follower
        if follower._reader is not None:
            return follower._reader.offset_and_end()[0]
        position = follower._replay.position if follower._replay is not None else None
        return position.offset + 1 if position is not None else -1

    def require_state(self) -> None:
        """A standby knows what a reader from the beginning knows."""
        follower = self.process.follower
        if follower._replay is None:
            return
        position, cut = follower._replay.position, follower._replay.snapshot
        before = position.offset + 1 if position is not None else 0
        expected = tuple(
            one.payload
            for one in oracle.judge(TOPIC.history).entries
            if one.offset < before or (cut is not None and covers(cut, one.owner, one.n))
        )
        core = follower._replay.qm
        applied: tuple[bytes, ...] = core.applied  # type: ignore[attr-defined]
        require(applied == expected, "a standby's state is another than a restart's")

    # -- taking over

    def read(self) -> None:
        """Read the ledger to its end, before anything is announced."""
        process = self.process
        process.view = View(TOPIC.begins, len(TOPIC.history), TOPIC.snapshots)
        process.mode = READ if process.mode == VACANT else READ_AGAIN

    def announce(self, fate: str) -> None:
        """Announce that this process is the owner, and read up to that."""
        process = self.process
        again = process.mode == READ_AGAIN
        vacancy = process.vacancy
        self.drawn += 1
        owner = self.drawn.to_bytes(16, "big")
        process.drawn = (*process.drawn, owner)
        TOPIC.view, TOPIC.fate = process.view, fate
        process.view = None
        try:
            replayed = replay.take_over(
                NAME, owner, "who", process.ledger, None, STORAGE, check=not again, again=again,
                instead_of=None if vacancy is None else vacancy.owner, followed=process.followed,
            )  # fmt: skip
        except LedgerUnavailable:
            process.mode, process.followed = DOUBTS if again else VACANT, None
            self.met.append(f"announcement {fate}")
            self._add_late(owner)
            return
        except OwnedByAnother:
            self._add_late(owner)
            found = {b"" if vacancy is None else vacancy.owner, *process.drawn, owner}
            require(self._in_force not in found, "a race was lost that nobody else has won")
            self.met.append("lost a race" if not again else "deposed in doubt")
            if again:
                self.end()
            else:
                process.mode, process.vacancy, process.followed = FOLLOWS, None, None
            return
        self._add_late(owner)
        self._own(owner, replayed, fate)

    def _add_late(self, owner: bytes) -> None:
        if TOPIC.late:
            self.flights[owner] = (*self.flights.get(owner, ()), *TOPIC.late)

    def _own(self, owner: bytes, replayed: replay.Replayed, fate: str) -> None:
        """Begin a term."""
        process = self.process
        verdicts = oracle.judge(TOPIC.history)
        require(verdicts.in_force == owner, "a take-over succeeded that is void")
        at = min(offset for offset, one in verdicts.announced.items() if one == owner)
        replaced = oracle.parse(TOPIC.history[at]).replaces
        allowed = [] if process.vacancy is None else [process.vacancy.owner.ljust(16, b"\0")]
        require(
            replaced in [*process.drawn, *allowed], "an owner was replaced that was not found gone"
        )
        core = replayed.qm
        applied: tuple[bytes, ...] = core.applied  # type: ignore[attr-defined]
        require(oracle.agree(applied, TOPIC.history, at), "a new owner's state is another")
        self.met.append(f"taken over {'again' if process.vacancy is None else 'by a standby'}")
        fresh = process.follower
        fresh.rest()
        process.mode, process.owner, process.core = OWNS, owner, core  # type: ignore[assignment]
        process.own, process.promised, process.stops = (), 0, False
        process.vacancy = process.followed = process.cut = None
        process.trims = -1


def _stops(owner: bytes, *labels: int) -> bool:
    """Whether an owner has written that it stops, be it behind a hole, where it is void."""
    written = [one for one in map(oracle.parse, TOPIC.history) if one.owner == owner and one.n]
    return bool(written) and written[-1].payload in map(payload_of, labels)


class NoPages:
    """Stands for a page reader: no outcome speaks of a message here."""

    def read(self, *_: object) -> None:
        raise AssertionError("no page is wanted")

    def rest(self) -> None:
        """See PageReader."""

    def close(self) -> None:
        """See PageReader."""


STORAGE = Storage(snapshots=TOPIC, pages=NoPages(), copied=CopyStatus)  # type: ignore[arg-type]
