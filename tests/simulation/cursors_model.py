"""What cursors on a queue of MSMQ must show (S0.13 to S0.22), by a list of letters.

A letter keeps its place, also while a transaction holds it and after that aborts. A cursor is
before all letters, at one, or behind the place of one; nothing that happens to letters moves it. A
read that waits is asked again after every change, in the order in which the reads came.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

Place = tuple[int, int]
"""(-priority, number in that priority): sorts in the order of delivery."""
BEFORE: Place = (-8, 0)
FIRST, CURRENT, NEXT, REWINDING = "first", "current", "next", "rewinding"
ALREADY_RECEIVED, ILLEGAL, LOCKED, NOT_FOUND = (
    "MESSAGE_ALREADY_RECEIVED",
    "ILLEGAL_CURSOR_ACTION",
    "MESSAGE_LOCKED",
    "MESSAGE_NOT_FOUND",
)
CANCELLED = "OPERATION_CANCELLED"
NOTHING = ""
"""The answer that has no message."""
WAITS = "waits"


@dataclass
class Letter:
    """A message. ends_ms: 0, or when it expires. held_since: when a transaction received it."""

    name: str
    place: Place
    ends_ms: int
    holder: str = ""
    held_since: int = -1
    aborts: int = 0


@dataclass
class Cursor:
    """at: the letter that it is at; behind: the place that it has come to; passed: by priority."""

    queue: str
    at: Place | None = None
    behind: Place = BEFORE
    passed: dict[int, int] = field(default_factory=dict)

    def come_to(self, place: Place, *, stays: bool) -> None:
        self.behind, self.at = place, place if stays else None
        higher = {priority: n for priority, n in self.passed.items() if priority > -place[0]}
        self.passed = {**higher, -place[0]: place[1]}

    def is_new(self, place: Place, start: str) -> bool:
        """Whether it has not come to a place; rewinding, nothing but that and places behind it."""
        if start == REWINDING:
            return place[1] > self.passed.get(-place[0], 0)
        return place > self.behind


@dataclass
class Read:
    """What a program asks for. cursor: its name, or empty. unit: of a receive, or empty."""

    queue: str
    start: str
    cursor: str = ""
    peeks: bool = True
    unit: str = ""
    since: int = -1
    deadline_ms: int = 0


@dataclass
class Queue:
    """The letters of a queue in the order of delivery, and how many ever came by priority."""

    letters: list[Letter] = field(default_factory=list)
    came: Counter[int] = field(default_factory=Counter)

    def at(self, place: Place | None) -> Letter | None:
        return next((one for one in self.letters if one.place == place), None)


class CursorsModel:
    """Queues, cursors by name, transactions by what they have received, and reads that wait."""

    def __init__(self, queues: tuple[str, ...]) -> None:
        self.met: Counter[str] = Counter()
        self.queues = {name: Queue() for name in queues}
        self.cursors: dict[str, Cursor] = {}
        self.units: dict[str, list[tuple[str, Letter]]] = {}
        self.waiting: dict[int, Read] = {}
        self.expired: Counter[str] = Counter()
        """By queue: some of them may still lie there, unnoticed, out of memory."""
        self.now_ms = 0
        self.clock = 0
        """Counts waits and receives, to say what was before what."""

    def free(self, queue: str) -> list[Letter]:
        letters = self.queues[queue].letters
        return [one for one in letters if not one.holder and not self._is_over(one)]

    def _is_over(self, letter: Letter) -> bool:
        return 0 < letter.ends_ms <= self.now_ms

    def _cursors_on(self, queue: str) -> list[Cursor]:
        return [one for one in self.cursors.values() if one.queue == queue]

    # -- what happens to letters

    def arrive(self, queue: str, name: str, priority: int, ends_ms: int) -> None:
        known = self.queues[queue]
        known.came[priority] += 1
        letter = Letter(name, (-priority, known.came[priority]), ends_ms)
        known.letters.append(letter)
        known.letters.sort(key=lambda one: one.place)
        for cursor in self._cursors_on(queue):
            self.met["arrival ahead of a cursor"] += letter.place < cursor.behind

    def commit(self, unit: str) -> dict[int, str]:
        ended = self._end_waits(unit)
        for queue, letter in self.units.pop(unit):
            self.queues[queue].letters.remove(letter)
        return ended

    def abort(self, unit: str, *, counts: bool = True) -> dict[int, str]:
        ended = self._end_waits(unit)
        for queue, letter in self.units.pop(unit):
            letter.holder = ""
            letter.aborts += counts
            for cursor in self._cursors_on(queue):
                self.met["abort under a cursor"] += cursor.at == letter.place
                self.met["abort before a cursor"] += letter.place < cursor.behind
                self.met["abort after a cursor"] += letter.place > cursor.behind
        return ended

    def _end_waits(self, unit: str) -> dict[int, str]:
        ended = [number for number, read in self.waiting.items() if read.unit == unit]
        for number in ended:
            del self.waiting[number]
            self.met["wait ended with its transaction"] += 1
        return dict.fromkeys(ended, NOTHING)

    def purge(self, queue: str) -> int:
        gone = self.free(queue)
        for letter in gone:
            self.queues[queue].letters.remove(letter)
            for cursor in self._cursors_on(queue):
                self.met["purge under a cursor"] += cursor.at == letter.place
        return len(gone)

    def pass_time(self, now_ms: int) -> dict[int, str]:
        self.now_ms = now_ms
        for name, queue in self.queues.items():
            for letter in [one for one in queue.letters if self._is_over(one) and not one.holder]:
                queue.letters.remove(letter)
                self.expired[name] += 1
                for cursor in self._cursors_on(name):
                    self.met["expiry under a cursor"] += cursor.at == letter.place
        ended = [n for n, read in self.waiting.items() if 0 < read.deadline_ms <= now_ms]
        for number in ended:
            del self.waiting[number]
            self.met["wait ran out"] += 1
        return dict.fromkeys(ended, NOTHING)

    def crash(self) -> None:
        """Letters stay; aborts by a crash are not counted."""
        self.met["crash with cursors"] += bool(self.cursors)
        self.cursors.clear()
        self.waiting.clear()
        for unit in list(self.units):
            self.abort(unit, counts=False)

    def close(self, cursor: str) -> dict[int, str]:
        del self.cursors[cursor]
        ended = [number for number, read in self.waiting.items() if read.cursor == cursor]
        for number in ended:
            del self.waiting[number]
            self.met["wait cancelled with its cursor"] += 1
        return dict.fromkeys(ended, CANCELLED)

    # -- reading

    def read(self, asked: Read) -> str | Letter:
        """What a read is answered at once; a letter is moved or held by it."""
        found = self._found(asked)
        if isinstance(found, Letter):
            self._give(asked, found)
        return found

    def read_at(self, queue: str, place: Place, unit: str) -> str | Letter:
        """Receive the letter of a place, for good or in a transaction."""
        letter = self.queues[queue].at(place)
        if letter is None or self._is_over(letter):
            return NOT_FOUND
        if letter.holder:
            self.met["lock conflict"] += 1
            return LOCKED
        self._give(Read(queue, FIRST, peeks=False, unit=unit), letter)
        return letter

    def _found(self, asked: Read) -> str | Letter:
        cursor = self.cursors.get(asked.cursor)
        free = self.free(asked.queue)
        wanted = free
        if cursor is not None:
            if asked.start == CURRENT and cursor.at is not None:
                there = self.queues[asked.queue].at(cursor.at)
                self.met["message under a cursor gone"] += there not in free
                return there if there is not None and there in free else ALREADY_RECEIVED
            if asked.start == NEXT and cursor.at is None and asked.since < 0:
                self.met["next of a cursor that is at no message"] += 1
                return ILLEGAL
            wanted = [one for one in free if self._shows(asked, cursor, one)]
        held = [one for one in self.queues[asked.queue].letters if one.holder]
        self.met["lock conflict"] += bool(held) and (not wanted or held[0].place < wanted[0].place)
        return wanted[0] if wanted else NOTHING

    def _shows(self, asked: Read, cursor: Cursor, letter: Letter) -> bool:
        """A peek that waits is also shown a letter at its cursor that was away meanwhile."""
        came_back = letter.place == cursor.at and 0 <= asked.since < letter.held_since
        self.met["message came back to a peek"] += came_back
        return came_back or cursor.is_new(letter.place, asked.start)

    def _give(self, asked: Read, letter: Letter) -> None:
        if asked.cursor:
            self.cursors[asked.cursor].come_to(letter.place, stays=asked.peeks)
        if asked.unit:
            self.clock += 1
            letter.holder, letter.held_since = asked.unit, self.clock
            self.units[asked.unit].append((asked.queue, letter))
        elif not asked.peeks:
            self.queues[asked.queue].letters.remove(letter)

    def wait(self, number: int, asked: Read) -> None:
        self.clock += 1
        asked.since = self.clock
        self.waiting[number] = asked

    def serve(self) -> dict[int, str | Letter]:
        """Ask the reads that wait again; returns the answers of those that have one."""
        answers: dict[int, str | Letter] = {}
        for number, asked in list(self.waiting.items()):
            found = self._found(asked)
            if found != NOTHING:
                del self.waiting[number]
                answers[number] = found
                self.met["wait served"] += 1
                if isinstance(found, Letter):
                    self._give(asked, found)
        return answers
