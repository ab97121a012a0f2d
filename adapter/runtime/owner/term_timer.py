"""The timer of one term: core does in time what time makes due.

A clock that is set by hand needs none: whatever has become due is done at once. This module must
not know what is due.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Final

from adapter.core import inputs
from adapter.runtime.owner.calls import OwnerCalls
from adapter.runtime.owner.clock import Clock, ManualClock
from adapter.runtime.owner.loop import OwnerLoop

TIMER_SLACK_S: Final = 0.002
"""A timer that fires so much too late is left alone: rounding moves it by 1 ms each turn."""


class TermTimer:
    """Ticks of one loop. All methods are called on the owner's thread."""

    def __init__(
        self, loop: OwnerLoop, clock: Clock, calls: OwnerCalls, serves: Callable[[], bool]
    ) -> None:
        """serves: whether requests are served now; else nothing is done."""
        self._loop = loop
        self._clock = clock
        self._is_by_hand = isinstance(clock, ManualClock)
        self._calls = calls
        self._serves = serves
        self._timer: asyncio.TimerHandle | None = None
        self._timer_s: float | None = None

    def tick(self) -> None:
        """Let core do what time has made due."""
        self._timer_s = None
        self._loop.take(inputs.Tick())
        while self._is_by_hand and self._due_in_ms() <= 0:
            self._loop.take(inputs.Tick())
        self.arm()

    def arm(self) -> None:
        """See to it that what is due next is done in time."""
        due_in_ms = self._due_in_ms()
        if due_in_ms == math.inf or self._is_by_hand:
            return
        delay_s = max(0, due_in_ms) / 1000
        due_s = self._calls.now_s() + delay_s
        if self._timer_s is not None and self._timer_s <= due_s + TIMER_SLACK_S:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_s = due_s
        self._timer = self._calls.later("the owner's timer", delay_s, self._tick_if_serving)

    def stop(self) -> None:
        """Do nothing more by itself."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None

    def _due_in_ms(self) -> float:
        due = self._loop.qm.due.in_ms(self._clock.now_ms(), self._clock.elapsed_ms())
        return math.inf if due is None else due

    def _tick_if_serving(self) -> None:
        self._timer_s = None
        if self._serves():
            self.tick()
