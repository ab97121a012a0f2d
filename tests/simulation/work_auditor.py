"""What auditors of works have in common: they are told of units, connections and time, and compare.

It imports nothing of the product, as they do.
"""

from __future__ import annotations

import abc
from collections import Counter
from collections.abc import Callable
from typing import Any

Answer = tuple[Any, ...]


def refused(reason: str) -> Answer:
    """Return what a refusal is told as."""
    return "refused", reason


class WorkAuditor(abc.ABC):
    """Is told each operation in order, and raises AssertionError if it expects another answer."""

    def __init__(self) -> None:
        self.met: Counter[str] = Counter()
        self.trace: Callable[..., object] | None = None
        """Hears what is told and expected, if somebody wants to read it."""
        self.now_ms = 0

    def check(self, expected: object, answer: object, *asked: object) -> None:
        """Compare an answer with what it has to be."""
        self.note(*asked, "answered", answer)
        assert answer == expected, f"{asked} was answered {answer}, due is {expected}"

    def note(self, *facts: object) -> None:
        """Let who reads along hear of it."""
        if self.trace is not None:
            self.trace(*facts)

    def passes(self, now_ms: int) -> None:
        """It is so late."""
        self.now_ms = now_ms

    @abc.abstractmethod
    def begun(self, client: str, unit: str) -> None:
        """A program has begun a unit."""

    @abc.abstractmethod
    def committed(self, unit: str) -> None:
        """A unit is over, and what it did is done."""

    @abc.abstractmethod
    def backed_out(self, unit: str) -> None:
        """A unit is over, as if it had not been."""

    @abc.abstractmethod
    def lost(self, client: str) -> None:
        """A connection is gone: its units are backed out, then its handles are closed."""

    @abc.abstractmethod
    def crashed(self, *, keeps_soft: bool) -> None:
        """The queue manager went, and is there again; nobody is connected.

        keeps_soft: its process lived on, and what is not persistent with it.
        """
