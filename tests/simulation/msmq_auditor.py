"""What queues of MSMQ must do, said again without looking at how they do it: lists, and no index.

Every letter is in one place: on a queue, held by a transaction, consumed, or a dead letter. A queue
is a list in the order of delivery. A cursor remembers the letter it is at, by its place in that
order, which a letter keeps when a transaction that received it aborts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

Place = tuple[int, int]
"""(-priority, number in that priority): sorts in the order of delivery."""

TRANSACTION_USAGE, NOT_FOUND, ALREADY_RECEIVED, ILLEGAL_CURSOR, LOCKED = (
    "TRANSACTION_USAGE",
    "MESSAGE_NOT_FOUND",
    "MESSAGE_ALREADY_RECEIVED",
    "ILLEGAL_CURSOR_ACTION",
    "MESSAGE_LOCKED",
)
BEFORE: Place = (-8, 0)
UNREAD = ("consumed", "journal")


class Letter:
    """A message: its name is its body."""

    def __init__(self, name: str, priority: int, ends_ms: int, wants_dead: bool) -> None:
        self.name = name
        self.priority = priority
        self.ends_ms = ends_ms
        self.wants_dead = wants_dead
        self.place: Place = BEFORE
        self.holder = ""
        self.locked_at = -1
        self.aborts = 0
        self.moves = 0

    def is_over(self, now_ms: int) -> bool:
        return 0 < self.ends_ms <= now_ms


class Queue:
    """A queue: its letters in the order of delivery, also those that transactions hold."""

    def __init__(self, *, transactional: bool, journaling: bool = False) -> None:
        self.transactional = transactional
        self.journaling = journaling
        self.letters: list[Letter] = []
        self.counts: Counter[int] = Counter()

    def add(self, letter: Letter) -> None:
        self.counts[letter.priority] += 1
        letter.place = (-letter.priority, self.counts[letter.priority])
        letter.holder = ""
        self.letters.append(letter)
        self.letters.sort(key=lambda one: one.place)

    def at(self, place: Place | None) -> Letter | None:
        return next((one for one in self.letters if one.place == place), None)


class Cursor:
    """at: the letter that it was moved to; behind: it looks behind this place."""

    def __init__(self) -> None:
        self.at: Place | None = None
        self.behind: Place = BEFORE
        self.passed: dict[int, int] = {}

    def move(self, place: Place, *, stays: bool) -> None:
        self.behind = place
        self.at = place if stays else None
        priority, number = -place[0], place[1]
        kept = {one: last for one, last in self.passed.items() if one > priority}
        self.passed = {**kept, priority: number}


class Unit:
    """What a transaction sends and moves, in its order, and what it has received."""

    def __init__(self) -> None:
        self.puts: list[tuple[str, Letter]] = []
        self.takes: list[tuple[str, Letter]] = []
        self.rejected: set[str] = set()
        self.moved: set[str] = set()

    def send(self, queue: str, letter: Letter) -> None:
        """The first message sent says how long all of them may wait."""
        sent = [one for _, one in self.puts if one.name not in self.moved]
        if sent:
            letter.ends_ms = sent[0].ends_ms
        self.puts.append((queue, letter))


class Wait:
    """A peek that waits with a cursor."""

    def __init__(self, queue: str, cursor: tuple[str, int], start: str, since: int) -> None:
        self.queue = queue
        self.cursor = cursor
        self.start = start
        self.since = since


class MsmqAuditor:
    """The model of a few queues, and what has been met."""

    def __init__(self) -> None:
        self.met: Counter[str] = Counter()
        self.trace: Callable[[str], None] | None = None
        self.now_ms = 0
        self.queues = {
            "t": Queue(transactional=True, journaling=True),
            "t;retry": Queue(transactional=True),
            "n": Queue(transactional=False),
        }
        self.units: dict[str, Unit] = {}
        self.cursors: dict[tuple[str, int], Cursor] = {}
        self.waits: dict[str, Wait] = {}
        self.clock = 0
        """Counts what happens, to say what was before what."""
        self.dead: dict[str, list[str]] = {"t": [], "n": []}
        self.journal: list[str] = []
        self.consumed: list[str] = []
        self.discarded: list[str] = []
        self.sent: list[str] = []

    # -- what there is

    def available(self, queue: str) -> list[Letter]:
        every = self.queues[queue].letters
        return [one for one in every if not one.holder and not one.is_over(self.now_ms)]

    def names(self, queue: str) -> list[str]:
        return [one.name for one in self.available(queue)]

    def tick(self, now_ms: int) -> None:
        """Time passes: what is over and free leaves its queue."""
        self.now_ms = now_ms
        for name, queue in self.queues.items():
            for letter in list(queue.letters):
                if letter.is_over(now_ms) and not letter.holder:
                    queue.letters.remove(letter)
                    self._bury(name, letter)

    def _bury(self, queue: str, letter: Letter) -> None:
        if self.queues[queue].transactional:
            self.dead["t"].append(letter.name)
        elif letter.wants_dead:
            self.dead["n"].append(letter.name)
        else:
            self.discarded.append(letter.name)

    # -- sending

    def send(self, queue: str, letter: Letter, mode: str, unit: str) -> None:
        """mode: none, single or unit."""
        self.sent.append(letter.name)
        if mode == "unit":
            self.units[unit].send(queue, letter)
        else:
            self._deliver(queue, letter, transactional=mode == "single")
        if mode != "none":
            letter.priority = 0
        self._after_change()

    def _deliver(self, name: str, letter: Letter, *, transactional: bool) -> None:
        queue = self.queues[name]
        letter.priority = 0 if transactional else letter.priority
        if queue.transactional != transactional:
            self.met["MSMQ message refused by its queue"] += 1
            if transactional:
                self.dead["t"].append(letter.name)
            elif letter.wants_dead:
                self.dead["n"].append(letter.name)
            else:
                self.discarded.append(letter.name)
            return
        for who, cursor in self.cursors.items():
            ahead = (-letter.priority, queue.counts[letter.priority] + 1) < cursor.behind
            self.met["MSMQ arrival ahead of a cursor"] += ahead and who[0] == name
        queue.add(letter)

    def commit(self, unit: str) -> None:
        ended = self.units.pop(unit)
        for name, letter in ended.takes:
            self.queues[name].letters.remove(letter)
        for name, letter in ended.puts:
            if letter.name in ended.moved:
                self._move(letter, name)
            else:
                self._deliver(name, letter, transactional=True)
        for name, letter in ended.takes:
            if letter.name in ended.moved:
                continue
            if letter.name in ended.rejected:
                self.met["MSMQ message rejected"] += 1
                self.dead["t"].append(letter.name)
            else:
                self._consume(name, letter)
        self._after_change()

    def _consume(self, name: str, letter: Letter) -> None:
        self.consumed.append(letter.name)
        if self.queues[name.partition(";")[0]].journaling:
            self.journal.append(letter.name)

    def abort(self, unit: str) -> None:
        ended = self.units.pop(unit)
        self.discarded += [one.name for _, one in ended.puts if one.name not in ended.moved]
        for name, letter in ended.takes:
            letter.holder = ""
            letter.aborts += 1
            for who, cursor in self.cursors.items():
                under = who[0] == name and cursor.behind == letter.place
                self.met["MSMQ abort under a cursor"] += under
        self._after_change()

    def move(self, source: str, target: str, place: Place, unit: str) -> str:
        letter = self.queues[source].at(place)
        if letter is None:
            return NOT_FOUND
        if letter.holder:
            self.met["MSMQ lock conflict"] += 1
            return LOCKED
        if unit:
            self.units[unit].takes.append((source, letter))
            self.units[unit].puts.append((target, letter))
            self.units[unit].moved.add(letter.name)
            self._lock(letter, unit)
        else:
            self.queues[source].letters.remove(letter)
            self._move(letter, target)
        self._after_change()
        return ""

    def _move(self, letter: Letter, target: str) -> None:
        self.met["MSMQ message moved"] += 1
        letter.aborts, letter.moves = 0, letter.moves + 1
        self.queues[target].add(letter)

    def _lock(self, letter: Letter, unit: str) -> None:
        letter.holder = unit
        letter.locked_at = self.clock

    def reject(self, name: str, unit: str) -> None:
        self.units[unit].rejected.add(name)

    def purge(self, name: str) -> int:
        """Remove what is free; what is over is gone as over."""
        self.tick(self.now_ms)
        gone = self.available(name)
        for letter in gone:
            self.queues[name].letters.remove(letter)
            if letter.wants_dead:
                self.dead["t" if self.queues[name].transactional else "n"].append(letter.name)
            else:
                self.discarded.append(letter.name)
        return len(gone)

    # -- reading

    def read(
        self, name: str, start: str, mode: str, unit: str, cursor: int, place: Place | None
    ) -> str | Letter | None:
        """Peek or receive: the letter, None, or why not. mode: peek, none, single or unit."""
        queue = self.queues[name]
        if mode in ("single", "unit") and not queue.transactional:
            return TRANSACTION_USAGE
        found = self._choose(name, start, cursor, place, peeks=mode == "peek")
        if isinstance(found, Letter):
            self._read(name, found, mode, unit, cursor)
        return found

    def _read(self, name: str, letter: Letter, mode: str, unit: str, cursor: int) -> None:
        if cursor:
            self.cursors[name, cursor].move(letter.place, stays=mode == "peek")
        if mode == "unit":
            self.units[unit].takes.append((name, letter))
            self._lock(letter, unit)
        elif mode != "peek":
            self.queues[name].letters.remove(letter)
            self._consume(name, letter)

    def _choose(
        self, name: str, start: str, cursor: int, place: Place | None, *, peeks: bool
    ) -> str | Letter | None:
        free = self.available(name)
        self.met["MSMQ lock conflict"] += any(one.holder for one in self.queues[name].letters)
        if place is not None:
            return self._at(name, start, place, free, peeks=peeks)
        if not cursor:
            return (free[0] if start == "first" else free[-1]) if free else None
        known = self.cursors[name, cursor]
        if start == "current" and known.at is not None:
            there = self.queues[name].at(known.at)
            return there if there in free else ALREADY_RECEIVED
        if start == "next" and known.at is None:
            return ILLEGAL_CURSOR
        if start == "rewinding":
            return self._rewound(known, free)
        return next((one for one in free if one.place > known.behind), None)

    def _rewound(self, cursor: Cursor, free: list[Letter]) -> Letter | None:
        return next(
            (one for one in free if one.place[1] > cursor.passed.get(one.priority, 0)), None
        )

    def _at(
        self, name: str, start: str, place: Place, free: list[Letter], *, peeks: bool
    ) -> str | Letter | None:
        if start == "next":
            return next((one for one in free if one.place > place), None)
        if start == "previous":
            return next((one for one in reversed(free) if one.place < place), None)
        letter = self.queues[name].at(place)
        if letter is None or letter.is_over(self.now_ms):
            return NOT_FOUND
        if letter.holder:
            return TRANSACTION_USAGE if peeks else LOCKED
        return letter

    # -- waiting

    def wait(self, who: str, queue: str, cursor: int, start: str) -> None:
        self.clock += 1
        self.waits[who] = Wait(queue, (queue, cursor), start, self.clock)

    def _after_change(self) -> None:
        self.clock += 1

    def served(self) -> dict[str, str]:
        """Serve those who wait; what each is shown."""
        shown: dict[str, str] = {}
        for who, wait in list(self.waits.items()):
            letter = self._for(wait)
            if letter is not None:
                self.cursors[wait.cursor].move(letter.place, stays=True)
                shown[who] = letter.name
                del self.waits[who]
        return shown

    def _for(self, wait: Wait) -> Letter | None:
        cursor = self.cursors[wait.cursor]
        free = self.available(wait.queue)
        if wait.start == "rewinding":
            found = self._rewound(cursor, free)
        else:
            found = next((one for one in free if one.place > cursor.behind), None)
        again = self.queues[wait.queue].at(cursor.at)
        if again is not None and again in free and again.locked_at >= wait.since:
            self.met["MSMQ message came back to a peek"] += 1
            if found is None or again.place < found.place:
                return again
        return found

    # -- the end

    def check_all_accounted(self) -> None:
        """Every letter is in exactly one place."""
        places = Counter(self.consumed + self.discarded + self.dead["t"] + self.dead["n"])
        for queue in self.queues.values():
            places.update(one.name for one in queue.letters)
        for unit in self.units.values():
            places.update(one.name for _, one in unit.puts if one.name not in unit.moved)
        assert places == Counter(self.sent), "a letter is in no place, or in two"
