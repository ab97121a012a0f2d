"""The record of a unit, and what it is made of: what every put, get and commit makes.

They are classes with slots, because compiled code reads those much faster than Structs, and none of
them is ever encoded by its type: entries writes them by hand.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

from adapter.core.contract.message import MessageData

Verb = Literal["commit", "put", "get"]


class RecordPart:  # noqa: PLW1641 -- fields change
    """What is equal to another of its kind if all its fields are."""

    __slots__ = ()

    @abstractmethod
    def by_name(self) -> dict[str, Any]:
        """Return its fields by their names, in their order."""

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, RecordPart)
            and type(other) is type(self)
            and self.by_name() == other.by_name()
        )

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.by_name().items())
        return f"{type(self).__name__}({fields})"


class OutcomeOf(RecordPart):
    """The numbered command whose outcome a record is. seen: outcomes that may be dropped."""

    __slots__ = ("number", "seen", "session")

    def __init__(self, session: bytes, number: int, seen: list[int]) -> None:
        self.session = session
        self.number = number
        self.seen = seen

    def by_name(self) -> dict[str, Any]:
        return {
            "session": self.session,
            "number": self.number,
            "seen": self.seen,
        }


class Placed(RecordPart):
    """A message and the place it was put to; its index in the unit, and within this queue's share.

    Persistent messages are counted without the others, and the others without them.
    """

    __slots__ = ("index", "lane", "message", "n", "queue", "queue_index", "queue_size", "seq")

    def __init__(
        self,
        queue: str,
        lane: int,
        seq: int,
        n: int,
        index: int,
        queue_index: int,
        queue_size: int,
        message: MessageData,
    ) -> None:
        self.queue = queue
        self.lane = lane
        self.seq = seq
        self.n = n
        self.index = index
        self.queue_index = queue_index
        self.queue_size = queue_size
        self.message = message

    def by_name(self) -> dict[str, Any]:
        return {
            "queue": self.queue,
            "lane": self.lane,
            "seq": self.seq,
            "n": self.n,
            "index": self.index,
            "queue_index": self.queue_index,
            "queue_size": self.queue_size,
            "message": self.message,
        }


class Taken(RecordPart):
    """The place of a message that was taken, or counted; and its priority, which may not be the
    lane's.
    """

    __slots__ = ("lane", "n", "priority", "queue", "seq")

    def __init__(self, queue: str, lane: int, seq: int, n: int = 0, priority: int = 0) -> None:
        self.queue = queue
        self.lane = lane
        self.seq = seq
        self.n = n
        self.priority = priority

    def by_name(self) -> dict[str, Any]:
        return {
            "queue": self.queue,
            "lane": self.lane,
            "seq": self.seq,
            "n": self.n,
            "priority": self.priority,
        }


class UnitCommitted(RecordPart):
    """A unit's puts and gets took effect together. A put or get outside a unit is one of its own.

    size counts the puts. Those that are not persistent are a record of their own, if there are any.
    """

    __slots__ = ("gets", "logged", "outcome", "puts", "size", "unit", "verb")

    def __init__(
        self,
        unit: bytes,
        size: int,
        puts: list[Placed],
        gets: list[Taken],
        verb: Verb,
        outcome: OutcomeOf | None,
        logged: bool = True,
    ) -> None:
        self.unit = unit
        self.size = size
        self.puts = puts
        self.gets = gets
        self.verb = verb
        self.outcome = outcome
        self.logged = logged

    def by_name(self) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "size": self.size,
            "puts": self.puts,
            "gets": self.gets,
            "verb": self.verb,
            "outcome": self.outcome,
            "logged": self.logged,
        }
