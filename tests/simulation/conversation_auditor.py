"""What conversations of Service Broker promise, whatever happens to their queues and services.

What a side has sent in committed transactions is received once and in order by the other one, all
of it unless a program ends the conversation, or drops its service, or its lifetime is over: such a
conversation is *loose*. No other conversation is broken off. A timer rings once for each time it
was set, at most. It imports nothing of the product.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

ERROR, END, TIMER, USUAL = "error", "end", "timer", "message"


@dataclass
class Talk:
    """What a transaction does, until it ends: sides are named by conversation and i or t."""

    sends: list[tuple[str, str]] = field(default_factory=list)
    gets: list[tuple[str, str, str]] = field(default_factory=list)
    """Side that it is for, kind and body."""
    timers: list[str] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)

    def copy(self) -> Talk:
        return Talk(list(self.sends), list(self.gets), list(self.timers), list(self.loose))


def other(side: str) -> str:
    """The side that a side talks to."""
    return side[:-1] + ("t" if side.endswith("i") else "i")


class ConversationAuditor:
    """Is told what sessions did and were answered, and raises AssertionError."""

    def __init__(self) -> None:
        self.met: Counter[str] = Counter()
        self.trace: Callable[..., object] | None = None
        self.talks: dict[str, Talk] = {}
        self.saved: dict[str, dict[str, Talk]] = defaultdict(dict)
        self.sent: dict[str, list[str]] = defaultdict(list)
        """What each side has sent, in committed transactions."""
        self.got: dict[str, list[str]] = defaultdict(list)
        """What of it was received."""
        self.loose: set[str] = set()
        self.timers: Counter[str] = Counter()

    def note(self, *facts: object) -> None:
        """Let who reads along hear of it."""
        if self.trace is not None:
            self.trace(*facts)

    def talk(self, who: str) -> Talk:
        """What the transaction of a session has done."""
        return self.talks.setdefault(who, Talk())

    def send(self, who: str, side: str, body: str) -> None:
        self.talk(who).sends.append((side, body))

    def end(self, who: str, side: str, *, with_error: bool) -> None:
        """A side ends a conversation; with an error it sends nothing of what waits."""
        talk = self.talk(who)
        talk.loose.append(side[:-1])
        if with_error:
            dropped = [one for one in talk.sends if one[0] == side]
            talk.sends = [one for one in talk.sends if one[0] != side]
            self.met["sends dropped by an error"] += bool(dropped)

    def receive(self, who: str, side: str, kind: str, body: str) -> None:
        """A row was received. What is not of a loose conversation comes in order at once."""
        talk = self.talk(who)
        talk.gets.append((side, kind, body))
        self.met[f"{kind} received"] += 1

    def save(self, who: str, name: str) -> None:
        saved = self.saved[who]
        saved.pop(name, None)
        saved[name] = self.talk(who).copy()

    def return_to(self, who: str, name: str) -> None:
        saved = self.saved[who]
        before = self.talk(who)
        self.talks[who] = saved[name].copy()
        self.met["sends back at a savepoint"] += len(self.talks[who].sends) > len(before.sends)
        while next(reversed(saved)) != name:
            saved.popitem()

    def backed_out(self, who: str) -> None:
        """A transaction is over, as if it had not been."""
        self.talks.pop(who, None)
        self.saved.pop(who, None)

    def committed(self, who: str) -> None:
        """A transaction is over, and what it did is done."""
        talk = self.talks.pop(who, Talk())
        self.saved.pop(who, None)
        self.loose.update(talk.loose)
        self.timers.update(talk.timers)
        for side, body in talk.sends:
            self.sent[side].append(body)
        for side, kind, body in talk.gets:
            self._received(side, kind, body)

    def _received(self, side: str, kind: str, body: str) -> None:
        if kind == TIMER:
            self.timers[side] -= 1
            assert self.timers[side] >= 0, f"the timer of {side} has rung too often"
        elif kind == USUAL:
            sender = other(side)
            got = self.got[sender]
            got.append(body)
            due = self.sent[sender][: len(got)]
            if side[:-1] not in self.loose:
                assert got == due, f"{side} has received {got}, and {due} was sent"
            assert len(set(got)) == len(got), f"{side} has received twice: {got}"
        else:
            assert side[:-1] in self.loose, f"{side} was broken off by {kind} {body}"

    def dropped(self, conversations: set[str]) -> None:
        """A service is gone, with what it had of these conversations."""
        self.loose |= conversations

    def crashed(self) -> None:
        """All transactions are gone."""
        for who in list(self.talks):
            self.backed_out(who)

    def check_all(self, waiting: dict[str, list[str]]) -> None:
        """All that was sent was received, or waits for another queue manager: by side."""
        for side, sent in self.sent.items():
            if side[:-1] not in self.loose:
                there = self.got[side] + waiting.get(side, [])
                assert there == sent, f"of {side} there is {there}, and {sent} was sent"
                self.met["conversation that was kept"] += 1
