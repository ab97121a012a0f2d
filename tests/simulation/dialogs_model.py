"""What dialogs of Service Broker promise (S3.4 to S3.16, S3.35 to S3.39), by lists of rows.

A side of a dialog has rows on the queue of its service. Everything that a transaction does is kept
apart until it commits; what comes meanwhile comes all the same. Which rows a receive gives is found
by looking at all of them. Sides are named by their dialog and "i" (initiator) or "t" (target).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

FIVE = 5
TIMER, ERROR, END, USUAL = "timer", "error", "end", "message"
RANK = {TIMER: 0, ERROR: 1}
NOT_FOUND, STATE, DISABLED, LOCKED = (
    "CONVERSATION_NOT_FOUND",
    "CONVERSATION_STATE_ERROR",
    "QUEUE_DISABLED",
    "LOCK_TIMEOUT",
)


@dataclass
class Row:
    """A message. number: how many rows its queue had before."""

    side: str
    kind: str
    body: str
    number: int = 0
    holder: str = ""

    @property
    def order(self) -> tuple[int, int]:
        return RANK.get(self.kind, 2), self.number


@dataclass
class Side:
    """One side of a dialog. far: "", END or ERROR, as it has come."""

    name: str
    queue: str
    group: str
    priority: int
    sent: int = 0
    is_ended: bool = False
    far: str = ""

    @property
    def other(self) -> str:
        return self.name[:-1] + ("t" if self.name.endswith("i") else "i")

    @property
    def state(self) -> str:
        if self.is_ended:
            return "DO"
        if self.far:
            return "DI" if self.far == END else "ER"
        return "SO" if self.name.endswith("i") and not self.sent else "CO"


@dataclass
class Letter:
    """What was sent, on its way."""

    sender: str
    kind: str
    body: str


@dataclass
class Queue:
    """Rows, what waits while it is OFF, and the count of rollbacks."""

    is_on: bool = True
    rows: list[Row] = field(default_factory=list)
    came: int = 0
    held: list[Letter] = field(default_factory=list)
    rollbacks: int = 0


@dataclass
class Unit:
    """A transaction. sides: those that it changes, as they will be."""

    sides: dict[str, Side] = field(default_factory=dict)
    sends: list[Letter] = field(default_factory=list)
    locks: set[tuple[str, str]] = field(default_factory=set)
    received: set[str] = field(default_factory=set)
    saved: tuple[dict[str, Side], int, frozenset[int]] | None = None


class DialogsModel:
    """targets: of each service that answers, its queue and the priority of its side."""

    def __init__(self, queues: tuple[str, ...], targets: dict[str, tuple[str, int]]) -> None:
        self.met: Counter[str] = Counter()
        self.queues = {name: Queue() for name in queues}
        self.targets = targets
        self.sides: dict[str, Side] = {}
        self.to: dict[str, str] = {}
        """The target service of each dialog."""
        self.over: set[str] = set()
        """Dialogs whose target has been made."""
        self.units: dict[str, Unit] = {}

    # -- looking

    def seen(self, who: str, name: str) -> Side | None:
        """A side as a program sees it in its transaction."""
        return self.units[who].sides.get(name) or self.sides.get(name)

    def holder(self, queue: str, group: str) -> str:
        places = ((who, unit) for who, unit in self.units.items() if (queue, group) in unit.locks)
        return next((who for who, _ in places), "")

    def free(self, queue: str, who: str) -> list[Row]:
        """The rows that a program may be given."""
        found = []
        for row in self.queues[queue].rows:
            side = self.sides[row.side]
            own = self.units[who].sides.get(row.side)
            group = own.group if own is not None else side.group
            ended = own is not None and own.is_ended
            if not row.holder and not ended and self.holder(queue, group) in ("", who):
                found.append(row)
        return found

    def group_of(self, who: str, name: str) -> str:
        side = self.seen(who, name)
        assert side is not None
        return side.group

    # -- verbs; each returns a refusal, or what it gives

    def begin(self, who: str, name: str, queue: str, group: str, to: str) -> str:
        if self.holder(queue, group) not in ("", who):
            self.met["lock conflict"] += 1
            return LOCKED
        self.units[who].locks.add((queue, group))
        self.units[who].sides[name] = Side(name, queue, group, 5)
        self.to[name[:-1]] = to
        return ""

    def _change(self, who: str, name: str) -> str | Side:
        """Lock the group of a side, and give the side for changes."""
        side = self.seen(who, name)
        if side is None or side.is_ended:
            return NOT_FOUND if side is None else STATE
        if self.holder(side.queue, side.group) not in ("", who):
            self.met["lock conflict"] += 1
            return LOCKED
        unit = self.units[who]
        unit.locks.add((side.queue, side.group))
        return unit.sides.setdefault(name, replace(side))

    def _far(self, name: str) -> str:
        known = self.sides.get(name)
        return known.far if known is not None else ""

    def send(self, who: str, name: str, body: str) -> str:
        side = self.seen(who, name)
        if side is None or side.is_ended:
            return NOT_FOUND if side is None else STATE
        if self.holder(side.queue, side.group) not in ("", who):
            self.met["lock conflict"] += 1
            return LOCKED
        if self._far(name):
            self.met["send after the far side's end"] += 1
            return STATE
        changed = self._change(who, name)
        assert isinstance(changed, Side)
        changed.sent += 1
        self.units[who].sends.append(Letter(name, USUAL, body))
        return ""

    def end(self, who: str, name: str, error: str) -> str:
        changed = self._change(who, name)
        if isinstance(changed, str):
            return changed
        unit = self.units[who]
        if not self._far(name) and (changed.sent or name.endswith("t")):
            if error:
                self.met["sends dropped by an error"] += any(x.sender == name for x in unit.sends)
                unit.sends = [one for one in unit.sends if one.sender != name]
            changed.sent += 1
            unit.sends.append(Letter(name, ERROR if error else END, error))
        changed.is_ended = True
        return ""

    def move(self, who: str, name: str, group: str) -> str:
        side = self.seen(who, name)
        if side is None or side.is_ended:
            return NOT_FOUND if side is None else STATE
        if any(self.holder(side.queue, one) not in ("", who) for one in (side.group, group)):
            self.met["lock conflict"] += 1
            return LOCKED
        changed = self._change(who, name)
        assert isinstance(changed, Side)
        self.units[who].locks.add((side.queue, group))
        self.met["move"] += changed.group != group
        changed.group = group
        return ""

    def receive(self, who: str, queue: str, top: int, name: str, group: str) -> str | list[Row]:
        if not self.queues[queue].is_on:
            return DISABLED
        if name:
            side = self.seen(who, name)
            if name not in self.sides or side is None or side.is_ended or side.queue != queue:
                return NOT_FOUND
            group = side.group
        if group and self.holder(queue, group) not in ("", who):
            self.met["lock conflict"] += 1
            return LOCKED
        if group and not self.holder(queue, group) and not self._is_known(queue, group):
            return NOT_FOUND
        free = self.free(queue, who)
        if not group:
            taken = [row for row in self.queues[queue].rows if row not in free and not row.holder]
            self.met["group passed over"] += bool(taken) and bool(free)
            first = min(free, key=self._first_of_group, default=None)
            if first is None:
                return []
            group = self.group_of(who, first.side)
        rows = [row for row in free if self.group_of(who, row.side) == group]
        if name:
            rows = [row for row in rows if row.side == name]
        rows = self._in_order(rows)[: top if top > 0 else None]
        for row in rows:
            row.holder = who
        if rows:
            self.units[who].locks.add((queue, group))
            self.units[who].received.add(queue)
            self.met["several conversations at once"] += len({row.side for row in rows}) > 1
        return rows

    def _is_known(self, queue: str, group: str) -> bool:
        return any(
            (side.queue, side.group) == (queue, group) and not side.is_ended
            for side in self.sides.values()
        )

    def _first_of_group(self, row: Row) -> tuple[int, tuple[int, int]]:
        return -self.sides[row.side].priority, row.order

    def _in_order(self, rows: list[Row]) -> list[Row]:
        """Whole conversations, that with the highest priority and the first row first."""
        by_side: dict[str, list[Row]] = {}
        for row in sorted(rows, key=lambda one: one.order):
            by_side.setdefault(row.side, []).append(row)
        found: list[Row] = []
        for some in sorted(by_side.values(), key=lambda some: self._first_of_group(some[0])):
            found += some
        return found

    def save(self, who: str) -> None:
        unit = self.units[who]
        held = {
            id(row) for queue in self.queues.values() for row in queue.rows if row.holder == who
        }
        sides = {name: replace(side) for name, side in unit.sides.items()}
        unit.saved = sides, len(unit.sends), frozenset(held)

    def roll_back_to_saved(self, who: str) -> None:
        unit = self.units[who]
        assert unit.saved is not None
        sides, sends, held = unit.saved
        unit.sides = {name: replace(side) for name, side in sides.items()}
        del unit.sends[sends:]
        for queue in self.queues.values():
            for row in queue.rows:
                if row.holder == who and id(row) not in held:
                    row.holder = ""
                    self.met["rows back at a savepoint"] += 1

    # -- ends of transactions

    def commit(self, who: str) -> None:
        unit = self.units.pop(who)
        for name, side in unit.sides.items():
            side.far = self._far(name)
            self.sides[name] = side
        for name in unit.received:
            received = self.queues[name]
            if any(row.holder == who for row in received.rows):
                self.met["count reset by a commit"] += received.rollbacks > 0
                received.rollbacks = 0
        for queue in self.queues.values():
            queue.rows = [row for row in queue.rows if row.holder != who]
        for letter in unit.sends:
            self._deliver(letter)
        for name, side in unit.sides.items():
            if side.is_ended:
                self._drop_rows(name)
                if side.far or (not side.sent and name.endswith("i")):
                    self.sides.pop(name, None)

    def _drop_rows(self, name: str) -> None:
        for queue in self.queues.values():
            gone = [row for row in queue.rows if row.side == name]
            self.met["rows gone with their conversation"] += bool(gone)
            queue.rows = [row for row in queue.rows if row.side != name]

    def _deliver(self, letter: Letter) -> None:
        name = Side(letter.sender, "", "", 0).other
        dialog = name[:-1]
        side = self.sides.get(name)
        is_first = dialog not in self.over and letter.kind != ERROR
        if side is None and name.endswith("i"):
            self._acknowledge(letter)
            return
        queue, priority = (side.queue, 0) if side is not None else self.targets[self.to[dialog]]
        if not self.queues[queue].is_on or self.queues[queue].held:
            self.queues[queue].held.append(letter)
            self.met["held while OFF"] += 1
            return
        if not is_first if side is None else side.is_ended:
            self._acknowledge(letter)
            return
        if side is None:
            self.over.add(dialog)
            side = self.sides[name] = Side(name, queue, f"group of {name}", priority)
        into = self.queues[queue]
        into.came += 1
        into.rows.append(Row(name, letter.kind, letter.body, into.came))
        if letter.kind in (END, ERROR):
            side.far = letter.kind
            self.met[f"the other side learns of an {letter.kind}"] += 1
        self._acknowledge(letter)

    def _acknowledge(self, letter: Letter) -> None:
        sender = self.sides.get(letter.sender)
        if letter.kind in (END, ERROR) and sender is not None and sender.is_ended:
            self._drop_rows(letter.sender)
            del self.sides[letter.sender]

    def roll_back(self, who: str) -> set[str]:
        """Returns the queues that it turns OFF."""
        unit = self.units.pop(who)
        for queue in self.queues.values():
            for row in queue.rows:
                if row.holder == who:
                    row.holder = ""
                    self.met["rows back"] += 1
        off = set()
        for name in unit.received:
            queue = self.queues[name]
            queue.rollbacks += 1
            if queue.rollbacks >= FIVE and queue.is_on:
                queue.is_on = False
                off.add(name)
                self.met["turned OFF by rollbacks"] += 1
        self.met["several queues in a rollback"] += len(unit.received) > 1
        return off

    def turn(self, queue: str, *, on: bool) -> None:
        known = self.queues[queue]
        known.is_on = on
        if on:
            known.rollbacks = 0
            held, known.held = known.held, []
            self.met["held rows delivered"] += bool(held)
            for letter in sorted(held, key=self._waits_for):
                self._deliver(letter)

    def _waits_for(self, letter: Letter) -> str:
        """The service that a letter waits for; none: it waits for the queue of its side, which
        there is. What waits for the queue is delivered first.
        """
        name = Side(letter.sender, "", "", 0).other
        return "" if name.endswith("i") or name in self.sides else self.to[name[:-1]]

    def crash(self) -> None:
        self.met["crash in a transaction that received"] += any(
            unit.received for unit in self.units.values()
        )
        for who in list(self.units):
            self.roll_back(who)
