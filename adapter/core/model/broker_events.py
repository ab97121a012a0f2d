"""What happens to queues of Service Broker, for those who wait for it. Soft state.

This module does not know who is told, nor how.
"""

from __future__ import annotations

from collections import deque
from itertools import takewhile
from typing import Final

from msgspec import Struct

KEPT: Final = 1_000
"""Events of a kind that a program may still ask for."""


class BrokerEvent(Struct):
    """Something that happened to a queue. name: as it was created. number: by BrokerEvents."""

    event: str
    name: str
    time_ms: int
    details: dict[str, str]
    number: int = 0


class LostUnit(Struct):
    """A unit that had received from a queue when the queue manager died."""

    queue: str
    unit: bytes
    time_ms: int


class HeldRelease(Struct):
    """A queue of held messages that may be delivered now. goes_on: behind those that were looked
    at; else from the first one.
    """

    queue: str
    time_ms: int
    goes_on: bool = False


class ActivationCheck(Struct):
    """A queue that may need activation; empty: any. fresh: a message came where none was unread, or
    a queue manager has started. is_altered: the queue, or who asks for its events.
    """

    queue: str
    time_ms: int
    fresh: bool = False
    is_altered: bool = False


BrokerDue = BrokerEvent | LostUnit | HeldRelease | ActivationCheck


class BrokerEvents:
    """The last events of an owner. latest: the number of the last one.

    displaced: by kind, the number of the last one that is not kept any more.
    """

    __slots__ = ("displaced", "kept", "latest")

    def __init__(self) -> None:
        self.latest = 0
        self.kept: dict[str, deque[BrokerEvent]] = {}
        """By kind, so that frequent events do not displace rare ones."""
        self.displaced: dict[str, int] = {}

    def add(self, event: BrokerEvent) -> None:
        """Number an event and keep it. Numbers follow the time of day, for programs that do not say
        of which owner theirs are: those after a restart are higher unless a clock is behind.
        """
        self.latest = max(self.latest + 1, event.time_ms)
        event.number = self.latest
        kept = self.kept.setdefault(event.event, deque())
        kept.append(event)
        if len(kept) > KEPT:
            self.displaced[event.event] = kept.popleft().number

    def after(self, number: int, event: str) -> list[BrokerEvent]:
        """Return the events of a kind with higher numbers."""
        newest_first = reversed(self.kept.get(event, ()))
        return list(takewhile(lambda one: one.number > number, newest_first))[::-1]

    def has_lost(self, number: int, event: str) -> bool:
        """Whether an event of a kind with a higher number is not kept any more."""
        return self.displaced.get(event, 0) > number
