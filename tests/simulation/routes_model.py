"""What a service at an export promises: each message that was committed comes to the queue of one
export once, in the order of its conversation, whatever happens meanwhile.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Conversation:
    """sent: what was committed. came: what was taken from the queue of an export."""

    sent: list[str] = field(default_factory=list)
    came: list[str] = field(default_factory=list)
    queues: set[str] = field(default_factory=set)
    is_ended: bool = False


@dataclass
class Work:
    """What a unit does to a conversation."""

    sent: list[str] = field(default_factory=list)
    is_ended: bool = False


class RoutesModel:
    """Conversations by name, and units by program."""

    def __init__(self) -> None:
        self.met: Counter[str] = Counter()
        self.conversations: dict[str, Conversation] = {}
        self.units: dict[str, dict[str, Work]] = {}

    def work(self, who: str, name: str) -> Work:
        return self.units.setdefault(who, {}).setdefault(name, Work())

    def end(self, who: str, name: str, *, fails: bool) -> None:
        """An error takes the place of what its transaction has sent."""
        work = self.work(who, name)
        self.met["dropped by an error"] += fails and bool(work.sent)
        if fails:
            work.sent.clear()
        work.is_ended = True

    def commit(self, who: str) -> None:
        for name, work in self.units.pop(who, {}).items():
            known = self.conversations.setdefault(name, Conversation())
            known.sent += work.sent
            known.is_ended = work.is_ended

    def roll_back(self, who: str) -> None:
        works = self.units.pop(who, {}).values()
        self.met["rolled back"] += any(work.sent for work in works)

    def take(self, queue: str, name: str, body: str) -> None:
        """A message was taken from the queue of an export."""
        known = self.conversations[name]
        known.came.append(body)
        known.queues.add(queue)
        assert known.came == known.sent[: len(known.came)], f"{known.came} of {known.sent}"
        assert len(known.queues) == 1, f"{known.came} came from {known.queues}"

    def check(self, endpoints: set[str]) -> None:
        """Judge in the end, when everything was taken. endpoints: conversations that are there."""
        for name, known in self.conversations.items():
            assert known.came == known.sent, f"{known.came}, not {known.sent}"
            assert (name in endpoints) != known.is_ended, f"{name} has ended: {known.is_ended}"
