"""The only place that reads clocks for core: the time of day, and how much time has passed.

Milliseconds. The time of day is UTC since the epoch; the machine may set it, in either direction.
What has passed is counted from some moment on, and nothing sets it.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Final

NS: Final = 1_000_000
"""Of a millisecond."""
_time_ns: Final = time.time_ns
_monotonic_ns: Final = time.monotonic_ns
"""The clocks are read forty times for a round trip: without a look-up in the module each time."""


class Clock(ABC):
    """Says what time it is, and how much has passed."""

    @abstractmethod
    def now_ms(self) -> int:
        """Return the time of day, in milliseconds since the epoch; it may be less than before."""

    @abstractmethod
    def elapsed_ms(self) -> int:
        """Return the milliseconds since some fixed moment; never less than before."""


def pause(seconds: float) -> None:
    """Let time pass. Blocking: not on the owner's thread."""
    time.sleep(seconds)


class SystemClock(Clock):
    """The machine's clocks."""

    def now_ms(self) -> int:
        return _time_ns() // NS

    def elapsed_ms(self) -> int:
        return _monotonic_ns() // NS


class ManualClock(Clock):
    """A clock that stands still until it is told to go on: for tests."""

    def __init__(self, start_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = start_ms
        self._elapsed_ms = 0

    def now_ms(self) -> int:
        """Return the time it was set to."""
        return self._now_ms

    def elapsed_ms(self) -> int:
        """Return how far it was advanced."""
        return self._elapsed_ms

    def advance(self, seconds: float) -> None:
        """Let time pass; ValueError if it would run backwards."""
        if seconds < 0:
            raise ValueError(f"time does not run backwards: {seconds} s")
        self._now_ms += round(seconds * 1000)
        self._elapsed_ms += round(seconds * 1000)

    def step(self, seconds: float) -> None:
        """Set the time of day ahead, or back; no time passes."""
        self._now_ms += round(seconds * 1000)


def now_s() -> float:
    """Seconds since some moment; they never go back."""
    return time.monotonic()
