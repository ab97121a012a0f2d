"""An event loop of virtual time: it passes only when nothing is left to do, and then at once.

What runs on it needs no thread and no socket; the same work is done in the same order each time.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from functools import wraps
from selectors import SelectorKey

from adapter.runtime.owner.clock import Clock

TICK_S = 1e-9
EPOCH_MS = 1_700_000_000_000


class VirtualLoop(asyncio.SelectorEventLoop):
    """The event loop."""

    def __init__(self) -> None:
        self._now_s = 0.0
        super().__init__(SkippingSelector(self))

    def time(self) -> float:
        return self._now_s

    def skip(self, seconds: float) -> None:
        """Let time pass."""
        self._now_s += seconds + TICK_S


class SkippingSelector(selectors.DefaultSelector):
    """Lets time pass instead of waiting for it."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        assert timeout is not None, "every task waits, and nothing will ever happen"
        if timeout > 0:
            self._loop.skip(timeout)
        return super().select(0)


class VirtualClock(Clock):
    """A Clock of such a loop."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def now_ms(self) -> int:
        return EPOCH_MS + self.elapsed_ms()

    def elapsed_ms(self) -> int:
        return int(self._loop.time() * 1000)


def in_virtual_time(test: Callable[[], Coroutine[None, None, None]]) -> Callable[[], None]:
    """Make a test of a coroutine; its waits take no time."""

    @wraps(test)
    def run() -> None:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(asyncio.wait_for(test(), 600))

    return run
