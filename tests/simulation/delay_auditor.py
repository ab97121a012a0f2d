"""The auditor of delays: which messages are to be got when, by sorted lists.

It imports nothing of the product. No two messages of a run are due at the same time.
"""

from __future__ import annotations

from bisect import insort
from typing import NamedTuple

from tests.simulation.work_auditor import WorkAuditor

Seen = tuple[list[str], int]
"""What a browse of a queue shows, and how many of its messages wait for their time."""


class Letter(NamedTuple):
    """A message. due_ms: 0 of one that is not delayed; expires_ms: 0 of one that never does."""

    name: str
    queue: str
    priority: int
    hard: bool
    due_ms: int
    expires_ms: int

    def is_over(self, now_ms: int) -> bool:
        """Whether it has expired."""
        return 0 < self.expires_ms <= now_ms


Item = tuple[int, int, Letter]
"""-priority, when it became available among all: sorts as it is delivered."""


class Unit(NamedTuple):
    """What a unit of a client has put and got."""

    client: str
    puts: list[Letter]
    gets: list[Item]


class DelayAuditor(WorkAuditor):
    """Knows what is available, and what waits."""

    def __init__(self) -> None:
        super().__init__()
        self.available: dict[str, list[Item]] = {}
        self.waiting: dict[str, list[Letter]] = {}
        self.units: dict[str, Unit] = {}
        self._order = 0

    def defined(self, queue: str) -> None:
        """A queue is there, and empty."""
        self.available[queue], self.waiting[queue] = [], []

    def passes(self, now_ms: int) -> None:
        """What is due by now becomes available, unless it has expired; what has expired goes."""
        super().passes(now_ms)
        for queue, waiting in self.waiting.items():
            for letter in sorted(waiting, key=lambda one: one.due_ms):
                if letter.is_over(now_ms):
                    waiting.remove(letter)
                    self.met["expired before it was due"] += 1
                elif letter.due_ms <= now_ms:
                    waiting.remove(letter)
                    self._store(letter)
                    self.met["delivered when it was due"] += 1
            kept = [item for item in self.available[queue] if not item[2].is_over(now_ms)]
            self.available[queue] = kept

    def _store(self, letter: Letter) -> None:
        self._order += 1
        insort(self.available[letter.queue], (-letter.priority, self._order, letter))

    def put(self, letter: Letter, unit: str) -> None:
        """A message was put, in a unit or not."""
        if unit:
            self.units[unit].puts.append(letter)
        elif letter.due_ms > self.now_ms:
            self.waiting[letter.queue].append(letter)
        else:
            self._store(letter)

    def got(self, queue: str, unit: str) -> str:
        """Return what a get is given, or nothing."""
        items = self.available[queue]
        for at, item in enumerate(items):
            if not item[2].is_over(self.now_ms):
                if unit:
                    self.units[unit].gets.append(item)
                del items[at]
                return item[2].name
        return ""

    def purged(self, queue: str) -> int:
        """Return how many messages a purge discards that have not expired."""
        count = len(self.available[queue]) + len(self.waiting[queue])
        self.met["purged while they waited"] += len(self.waiting[queue])
        self.defined(queue)
        return count

    def seen(self) -> dict[str, Seen]:
        """Say what is to be seen of each queue."""
        return {
            queue: (
                [item[2].name for item in items if not item[2].is_over(self.now_ms)],
                len(self.waiting[queue]),
            )
            for queue, items in self.available.items()
        }

    def begun(self, client: str, unit: str) -> None:
        """A program has begun a unit."""
        self.units[unit] = Unit(client, [], [])

    def committed(self, unit: str) -> None:
        """What it put is there, or waits: also what has become due meanwhile, until time passes."""
        for letter in self.units.pop(unit).puts:
            if letter.due_ms:
                self.waiting[letter.queue].append(letter)
            else:
                self._store(letter)

    def backed_out(self, unit: str) -> None:
        """What it got is where it was."""
        for item in self.units.pop(unit).gets:
            insort(self.available[item[2].queue], item)

    def lost(self, client: str) -> None:
        """Its units are backed out."""
        for unit in [unit for unit, one in self.units.items() if one.client == client]:
            self.backed_out(unit)

    def crashed(self, *, keeps_soft: bool) -> None:
        """Units are gone, and what is not persistent, unless it is kept."""
        for unit in list(self.units):
            self.backed_out(unit)
        if keeps_soft:
            return
        for queue, items in self.available.items():
            self.available[queue] = [item for item in items if item[2].hard]
            self.waiting[queue] = [letter for letter in self.waiting[queue] if letter.hard]
