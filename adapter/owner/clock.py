"""The only place that reads a clock for core. Milliseconds since the epoch, UTC."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now_ms(self) -> int:
        """Return the time in milliseconds since the epoch, never less than before."""
        ...


def pause(seconds: float) -> None:
    """Let time pass. Blocking: not on the owner's thread."""
    time.sleep(seconds)


class SystemClock:
    """The machine's clock, kept from running backwards."""

    def __init__(self) -> None:
        self._last_ms = 0

    def now_ms(self) -> int:
        """Return the machine's time."""
        self._last_ms = max(self._last_ms, time.time_ns() // 1_000_000)
        return self._last_ms


class ManualClock:
    """A clock that stands still until it is told to go on: for tests."""

    def __init__(self, start_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = start_ms

    def now_ms(self) -> int:
        """Return the time it was set to."""
        return self._now_ms

    def advance(self, seconds: float) -> None:
        """Let time pass; ValueError if it would run backwards."""
        if seconds < 0:
            raise ValueError(f"a clock does not run backwards: {seconds} s")
        self._now_ms += round(seconds * 1000)
