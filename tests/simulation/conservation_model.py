"""Where messages of MSMQ are, each in exactly one place, whatever they ask for.

Two computers, here and there. A message is on a queue, on its way, consumed (with a copy in the
journal of its queue, or without), a dead letter, or discarded, as it did not ask to be kept. What a
transaction does is settled when it is done, and comes true with the commit: its list of effects.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

SIZE = 400
"""Bytes of every body."""
RECEIVED, REACHED = 0x4000, 0x0002
NO_QUEUE, TOO_LATE_TO_REACH, QUOTA = 0x8000, 0x8002, 0x8003
NO_TRANSACTIONAL_QUEUE, NO_TRANSACTIONAL_MESSAGE = 0x8009, 0x800A
DELETED, PURGED, TOO_LATE_TO_RECEIVE, REJECTED = 0xC000, 0xC001, 0xC002, 0xC004
CLASSES = (
    RECEIVED,
    REACHED,
    NO_QUEUE,
    TOO_LATE_TO_REACH,
    QUOTA,
    NO_TRANSACTIONAL_QUEUE,
    NO_TRANSACTIONAL_MESSAGE,
    DELETED,
    PURGED,
    TOO_LATE_TO_RECEIVE,
    REJECTED,
)
ASK_ARRIVAL, ASK_RECEIVE, ASK_NOT_ARRIVED, ASK_NOT_RECEIVED = 1, 2, 4, 8


@dataclass(eq=False)
class Letter:
    """A message, and what it asks for. ends_ms: when it must have been received; 0: never."""

    name: str
    transactional: bool
    asks: int
    wants_dead: bool
    wants_own_dead: bool
    wants_journal: bool
    priority: int = 0
    ends_ms: int = 0
    reach_by_ms: int = 0
    holder: str = ""
    ended: list[str] = field(default_factory=list)
    """Where it has come to stay; one place at the end."""


@dataclass
class Queue:
    """journals: -1: no journal; else how many copies the journal takes."""

    there: bool = False
    transactional: bool = False
    letters: list[Letter] = field(default_factory=list)
    quota: int = 1_000_000
    journals: int = -1

    def add(self, letter: Letter) -> None:
        letter.holder = ""
        self.letters.append(letter)
        self.letters.sort(key=lambda one: -one.priority)


@dataclass
class Act:
    """An effect of a transaction: what is done to a letter. what: put, take, dead, ... of queue."""

    what: str
    letter: Letter
    queue: str = ""
    why: int = 0


Acts = list[Act]


@dataclass
class Unit:
    """A transaction in flight. ends_ms: of its first message, for all; -1: nothing was sent."""

    acts: Acts = field(default_factory=list)
    ends_ms: int = -1
    held: list[tuple[str, Letter]] = field(default_factory=list)


class ConservationModel:
    """Queues by name, and all other places where letters and copies of them are."""

    def __init__(self, queues: dict[str, Queue]) -> None:
        self.met: Counter[str] = Counter()
        self.queues = queues
        self.outgoing: list[tuple[str, Letter]] = []
        """For queues there."""
        self.units: dict[str, Unit] = {}
        self.letters: list[Letter] = []
        self.dead: dict[str, list[tuple[str, int]]] = {"xact": [], "here": [], "there": [], "d": []}
        self.journals: dict[str, list[str]] = {name: [] for name in queues}
        self.computer_journal: list[str] = []
        self.reports: list[tuple[str, int]] = []
        self.now_ms = 0

    # -- effects

    def _do(self, acts: Acts, unit: str) -> None:
        """Have effects come true: now, or with the commit of a transaction."""
        if unit:
            self.units[unit].acts += acts
            return
        for act in acts:
            getattr(self, f"_{act.what}")(act)

    def _put(self, act: Act) -> None:
        self.queues[act.queue].add(act.letter)

    def _move(self, act: Act) -> None:
        self.met["message moved"] += 1
        self._put(act)

    def _travel(self, act: Act) -> None:
        self.outgoing.append((act.queue, act.letter))

    def _dead(self, act: Act) -> None:
        act.letter.ended.append("dead letter")
        self.dead[act.queue].append((act.letter.name, act.why))
        self.met["dead letter of the application" if act.queue == "d" else "dead letter"] += 1

    def _discard(self, act: Act) -> None:
        act.letter.ended.append("discarded")
        self.met["message discarded"] += 1

    def _consume(self, act: Act) -> None:
        act.letter.ended.append("consumed")

    def _journal(self, act: Act) -> None:
        self.journals[act.queue].append(act.letter.name)
        self.met["copy in a journal"] += 1

    def _copy(self, act: Act) -> None:
        self.computer_journal.append(act.letter.name)
        self.met["copy in the journal of the computer"] += 1

    def _report(self, act: Act) -> None:
        self.reports.append((act.letter.name, act.why))
        self.met[f"acknowledgment {act.why:04x}"] += 1

    def _planned(self, what: tuple[str, ...], queues: list[str]) -> int:
        acts = [act for unit in self.units.values() for act in unit.acts]
        return sum(act.what in what and act.queue in queues for act in acts)

    # -- what becomes of a letter

    def _reports(self, letter: Letter, why: int) -> Acts:
        asked = {REACHED: ASK_ARRIVAL, RECEIVED: ASK_RECEIVE}.get(why)
        asked = asked or (ASK_NOT_RECEIVED if why & 0x4000 else ASK_NOT_ARRIVED)
        return [Act("report", letter, why=why)] if letter.asks & asked else []

    def _fail(self, letter: Letter, why: int, *, there: bool = False) -> Acts:
        """A letter is not accepted, or leaves its queue without being received."""
        reports = self._reports(letter, why)
        if letter.transactional and (letter.wants_dead or why not in (DELETED, PURGED)):
            own = letter.wants_dead and letter.wants_own_dead
            return [*reports, Act("dead", letter, "d" if own else "xact", why)]
        if letter.wants_dead:
            return [*reports, Act("dead", letter, "there" if there else "here", why)]
        return [*reports, Act("discard", letter)]

    def _arrive(self, letter: Letter, name: str, *, there: bool = False) -> Acts:
        """A letter comes to its queue."""
        queue = self.queues.get(name)
        why = 0
        if queue is None:
            why = NO_QUEUE
        elif queue.transactional != letter.transactional:
            why = NO_TRANSACTIONAL_QUEUE if letter.transactional else NO_TRANSACTIONAL_MESSAGE
        elif self._load(name) >= queue.quota:
            why = QUOTA
        elif 0 < letter.ends_ms <= self.now_ms:
            why = TOO_LATE_TO_RECEIVE
        if why:
            return self._fail(letter, why, there=there)
        return [Act("put", letter, name), *self._reports(letter, REACHED)]

    def _load(self, name: str) -> int:
        """Messages on a queue and its subqueues, with those that transactions put there."""
        names = [one for one in self.queues if one.partition(";")[0] == name]
        lie = sum(len(self.queues[one].letters) for one in names)
        return lie + self._planned(("put", "move"), names)

    def send(self, letter: Letter, name: str, unit: str) -> None:
        self.letters.append(letter)
        if unit:
            first = self.units[unit]
            if first.ends_ms < 0:
                first.ends_ms = letter.ends_ms
            self.met["life of the first message"] += letter.ends_ms != first.ends_ms
            letter.ends_ms = first.ends_ms
        is_remote = name not in self.queues or self.queues[name].there
        acts = [Act("travel", letter, name)] if is_remote else self._arrive(letter, name)
        acts += [Act("copy", letter)] if letter.wants_journal else []
        self._do(acts, unit)

    # -- transactions

    def commit(self, unit: str) -> None:
        ended = self.units.pop(unit)
        for name, letter in ended.held:
            self.queues[name].letters.remove(letter)
        self._do(ended.acts, "")

    def abort(self, unit: str, *, crashed: bool = False) -> None:
        ended = self.units.pop(unit)
        self.met["crash in a transaction" if crashed else "transaction aborted"] += 1
        for act in ended.acts:
            if act.what in ("put", "travel", "dead", "discard") and not act.letter.holder:
                act.letter.ended.append("aborted")
        for _, letter in ended.held:
            letter.holder = ""

    def receive(self, name: str, unit: str) -> Letter | None:
        queue = self.queues[name]
        letter = next((one for one in queue.letters if not one.holder), None)
        self.met["lock conflict"] += any(one.holder for one in queue.letters)
        if letter is None:
            return None
        base = name.partition(";")[0]
        copies = len(self.journals[base]) + self._planned(("journal",), [base])
        acts = [Act("consume", letter)]
        if copies < self.queues[base].journals:
            acts.append(Act("journal", letter, base))
        else:
            self.met["journal full"] += self.queues[base].journals >= 0
        self._leave(name, letter, unit)
        self._do(acts + self._reports(letter, RECEIVED), unit)
        return letter

    def _leave(self, name: str, letter: Letter, unit: str) -> None:
        if unit:
            letter.holder = unit
            self.units[unit].held.append((name, letter))
        else:
            self.queues[name].letters.remove(letter)

    def received(self, unit: str) -> Letter | None:
        """The last letter that a transaction has received, and not rejected."""
        acts = [act for act in self.units[unit].acts if act.what == "consume"]
        return acts[-1].letter if acts else None

    def reject(self, unit: str, letter: Letter) -> None:
        kept = [act for act in self.units[unit].acts if act.letter is not letter]
        self.units[unit].acts = kept + self._fail(letter, REJECTED)
        self.met["message rejected"] += 1

    def move(self, source: str, target: str, letter: Letter, unit: str) -> None:
        self._leave(source, letter, unit)
        self._do([Act("move", letter, target)], unit)

    # -- leaving a queue unreceived

    def remove(self, name: str, why: int) -> int:
        """Purge a queue, or delete it; what transactions send to a deleted one is not accepted."""
        queue = self.queues[name]
        gone = [letter for letter in queue.letters if not letter.holder]
        for letter in gone:
            queue.letters.remove(letter)
            self._do(self._fail(letter, why), "")
        if why == DELETED:
            for unit in self.units.values():
                self._delete_in(unit, name)
        return len(gone)

    def _delete_in(self, unit: Unit, name: str) -> None:
        """What a transaction sends to a queue that is deleted has not reached it."""
        lost = [act.letter for act in unit.acts if (act.what, act.queue) == ("put", name)]
        self.met["send to a queue that is deleted"] += len(lost)
        kept = [a for a in unit.acts if a.letter not in lost or a.what not in ("put", "report")]
        unit.acts = kept + [act for letter in lost for act in self._fail(letter, NO_QUEUE)]

    def pass_time(self, now_ms: int) -> None:
        self.now_ms = now_ms
        for queue in self.queues.values():
            for letter in list(queue.letters):
                if 0 < letter.ends_ms <= now_ms and not letter.holder:
                    queue.letters.remove(letter)
                    self._do(self._fail(letter, TOO_LATE_TO_RECEIVE, there=queue.there), "")
        for name, letter in list(self.outgoing):
            ends = [one for one in (letter.ends_ms, letter.reach_by_ms) if one]
            if ends and min(ends) <= now_ms:
                self.outgoing.remove((name, letter))
                self._do(self._fail(letter, TOO_LATE_TO_REACH), "")

    def any_ends(self) -> bool:
        """Whether a message that is somewhere has a time limit."""
        lie = [letter for queue in self.queues.values() for letter in queue.letters]
        travel = [letter for _, letter in self.outgoing]
        return any(letter.ends_ms or letter.reach_by_ms for letter in lie + travel)

    def travel(self) -> None:
        """All that is on its way arrives."""
        for name, letter in self.outgoing:
            self.met["message arrived there"] += 1
            self._do(self._arrive(letter, name, there=True), "")
        self.outgoing = []

    # -- the end

    def check(self) -> None:
        """Every message that was sent is in exactly one place."""
        where: Counter[str] = Counter()
        for name, queue in self.queues.items():
            where.update(letter.name for letter in queue.letters)
            assert self.units or not any(one.holder for one in queue.letters), name
        where.update(letter.name for _, letter in self.outgoing)
        where.update(letter.name for letter in self.letters for _ in letter.ended)
        assert where == Counter(letter.name for letter in self.letters), where
