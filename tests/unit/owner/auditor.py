"""An independent auditor: what a queue manager must answer, by sorted lists. It imports nothing of
the product, and is as dumb as can be.

It is told each operation when it was decided, each answer when it was given, and what a browse
shows after each crash or doubt. While an answer is out, the operation may yet turn out not to have
happened: what a crash leaves is a beginning of what was decided, and nobody says how much. So the
auditor keeps every world that is possible, and drops those that an answer or a browse contradicts:
one must always be left.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from typing import Any

Answer = tuple[Any, ...]
Message = tuple[int, int, str, bool, int]  # -priority, order of the commits, body, hard, count
Listing = dict[str, list[tuple[str, int]]]
DONE: Answer = ("done",)
GONE: Answer = ("gone",)
PUT: Answer = ("put",)


class Op:
    """One operation. number: 0, or the number under which it may come again."""

    def __init__(self, client: str, kind: str, number: int = 0, **details: Any) -> None:
        self.client = client
        self.kind = kind
        self.number = number
        self.unit: str | None = details.pop("unit", None)
        self.details = details

    def __repr__(self) -> str:
        return f"{self.client}#{self.number} {self.kind} {self.unit or ''} {self.details}"


class Unit:
    """An open unit: who has it, what it put, what it got."""

    def __init__(self, client: str) -> None:
        self.client = client
        self.puts: tuple[tuple[str, Message], ...] = ()
        self.gets: tuple[tuple[str, Message], ...] = ()


class World:
    """One way in which everything may have gone so far."""

    def __init__(self, queues: list[str]) -> None:
        self.queues: dict[str, list[Message]] = {name: [] for name in queues}
        self.units: dict[str, Unit] = {}
        self.done: dict[tuple[str, int], tuple[Answer, str]] = {}
        self.order = 0

    def copy(self) -> World:
        """Return a world that goes its own way from here."""
        world = World([])
        world.queues = {name: list(queue) for name, queue in self.queues.items()}
        for name, unit in self.units.items():
            world.units[name] = Unit(unit.client)
            world.units[name].puts, world.units[name].gets = unit.puts, unit.gets
        world.done = dict(self.done)
        world.order = self.order
        return world

    def __repr__(self) -> str:
        return repr((self.queues, self.done))

    def apply(self, op: Op) -> Answer:
        """Do an operation, or answer it from what was done under its number before."""
        key = (op.client, op.number)
        if op.number and key in self.done:
            return self.done[key][0]
        do: Callable[[World, Op], tuple[Answer, str]] = DO[op.kind]
        answer, kind = do(self, op)
        if op.number:
            self.done[key] = (answer, kind)
        return answer

    # Each returns the answer, and what is left of it: "hard" is in the ledger, "soft" in memory.

    def begin(self, op: Op) -> tuple[Answer, str]:
        self.units[op.unit or ""] = Unit(op.client)
        return DONE, "nothing"

    def put(self, op: Op) -> tuple[Answer, str]:
        hard = op.details["hard"]
        message = (-op.details["priority"], 0, op.details["body"], hard, 0)
        if op.unit is None:
            self.store(op.details["queue"], message)
            return PUT, "hard" if hard else "soft"
        if op.unit not in self.units:
            return GONE, "nothing"
        self.units[op.unit].puts += ((op.details["queue"], message),)
        return PUT, "nothing"

    def get(self, op: Op) -> tuple[Answer, str]:
        if op.unit is not None and op.unit not in self.units:
            return GONE, "nothing"
        name = op.details["queue"]
        taken = self.queues[name][: op.details["limit"]]
        del self.queues[name][: len(taken)]
        answer = ("got", [(body, count) for _, _, body, _, count in taken])
        if op.unit is None:
            return answer, kind_of(taken)
        self.units[op.unit].gets += tuple((name, message) for message in taken)
        return answer, "nothing"

    def commit(self, op: Op) -> tuple[Answer, str]:
        unit = self.units.pop(op.unit or "", None)
        if unit is None:
            return GONE, "nothing"
        for name, message in unit.puts:
            self.store(name, message)
        moved = [message for _, message in unit.puts + unit.gets]
        return DONE, kind_of(moved) if moved else "soft"

    def backout(self, op: Op) -> tuple[Answer, str]:
        unit = self.units.pop(op.unit or "", None)
        for name, message in unit.gets if unit else ():
            self.give_back(name, message, 1)
        return GONE, "nothing"

    def lose(self, op: Op) -> tuple[Answer, str]:
        for name, unit in list(self.units.items()):
            if unit.client == op.client:
                self.backout(Op(op.client, "backout", unit=name))
        return DONE, "nothing"

    def store(self, name: str, message: Message) -> None:
        """Put a message behind all that were committed before, within its priority."""
        self.order += 1
        insort(self.queues[name], (message[0], self.order, *message[2:]))

    def give_back(self, name: str, message: Message, counted: int) -> None:
        """Return a message to its place."""
        insort(self.queues[name], (*message[:4], message[4] + counted))

    def recover(self, crashed: bool) -> None:
        """End every unit; a crash also takes what is not in the ledger."""
        for unit in self.units.values():
            for name, message in unit.gets:
                self.give_back(name, message, 0 if message[3] else 1)
        self.units.clear()
        kept = ("hard",) if crashed else ("hard", "soft")
        self.done = {key: (a, kind) for key, (a, kind) in self.done.items() if kind in kept}
        if crashed:
            for name, queue in self.queues.items():
                self.queues[name] = [message for message in queue if message[3]]

    def listing(self) -> Listing:
        """What a browse of each queue must show."""
        return {
            name: [(body, count) for _, _, body, _, count in queue]
            for name, queue in self.queues.items()
        }

    def adopt(self, listing: Listing) -> bool:
        """Whether a browse after a doubt may show this, and if so believe its soft counts.

        A non-persistent message may have been handed out and returned after the last thing that the
        ledger knows: that was no dream, and its count says so.
        """
        for name, queue in self.queues.items():
            shown = listing[name]
            if [message[2] for message in queue] != [body for body, _ in shown]:
                return False
            for at, (message, (_, count)) in enumerate(zip(queue, shown, strict=True)):
                if count < message[4] or (message[3] and count != message[4]):
                    return False
                queue[at] = (*message[:4], count)
        return True

    def knows(self, body: str, count: int) -> bool:
        """Whether this message is there, on a queue or held by a unit."""
        held = [message for unit in self.units.values() for _, message in unit.gets]
        there = [message for queue in self.queues.values() for message in queue]
        return any(message[2:5:2] == (body, count) for message in there + held)


DO = {name: getattr(World, name) for name in ("begin", "put", "get", "commit", "backout", "lose")}


def kind_of(messages: list[Message]) -> str:
    """What is left of moving these messages."""
    if not messages:
        return "nothing"
    return "hard" if any(message[3] for message in messages) else "soft"


class Line:
    """A world, those it came through that may yet prove to be the last, and what it expects."""

    def __init__(self, world: World) -> None:
        self.passed: list[tuple[int, World]] = [(-1, world)]
        self.expected: dict[int, Answer] = {}
        self.needed = -1

    def decide(self, index: int, op: Op) -> None:
        """Go on by one operation."""
        world = self.passed[-1][1].copy()
        self.expected[index] = world.apply(op)
        self.passed.append((index, world))

    def need(self, index: int) -> None:
        """What came before this operation cannot be all that happened."""
        self.needed = max(self.needed, index)

    def shown(self, messages: list[tuple[str, int]]) -> None:
        """These messages were handed out: what put them has happened."""
        for body, count in messages:
            there = (at for at, world in self.passed if world.knows(body, count))
            self.need(next(there, self.needed))  # none: it has gone on, and that has happened


class Auditor:
    """Keeps every line that is possible. Raises AssertionError when none is."""

    def __init__(self, queues: list[str]) -> None:
        self.lines = [Line(World(queues))]
        self.ops: list[Op] = []

    def decided(self, op: Op) -> int:
        """An operation was decided; returns its index."""
        index = len(self.ops)
        self.ops.append(op)
        for line in self.lines:
            line.decide(index, op)
        return index

    def answered(self, index: int, answer: Answer) -> None:
        """It was answered. If it has a number, all that was decided before has happened, too."""
        op = self.ops[index]
        possible = [line.expected[index] for line in self.lines]
        self.lines = [line for line in self.lines if line.expected[index] == answer]
        assert self.lines, f"{op} was answered {answer}, possible is {possible}"
        for line in self.lines:
            if op.number:
                line.need(index)
                line.passed = [(at, world) for at, world in line.passed if at >= index]
            elif answer[0] == "got":
                line.shown(answer[1])

    def recovered(self, crashed: bool, listing: Listing) -> None:
        """After a crash or a doubt this is what a browse shows: a beginning has happened."""
        worlds: dict[str, World] = {}
        for line in self.lines:
            for index, world in line.passed:
                if index >= line.needed:
                    left = world.copy()
                    left.recover(crashed)
                    worlds[repr(left)] = left
        possible = [world.listing() for world in worlds.values()]
        self.lines = [Line(world) for world in worlds.values() if world.adopt(listing)]
        what = "a crash" if crashed else "a doubt"
        assert self.lines, f"after {what} there is {listing}, possible is {possible}"

    def check(self, listing: Listing) -> None:
        """All is answered, and this is what a browse shows."""
        possible = [line.passed[-1][1].listing() for line in self.lines]
        assert listing in possible, f"there is {listing}, possible is {possible}"
