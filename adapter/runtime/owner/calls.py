"""Calls on the owner's thread: now, later, and from other threads.

Each is watched: if one raises, broke hears of it, because nothing can go on without it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial

from adapter.host import watched


class OwnerCalls:
    """Calls on one event loop; made on its thread."""

    def __init__(self, broke: watched.Ended) -> None:
        self.broke = broke
        self._asyncio = asyncio.get_running_loop()
        self._own_thread = threading.get_ident()

    def now_s(self) -> float:
        """Return the event loop's time, in seconds."""
        return self._asyncio.time()

    def watch(self, name: str, call: Callable[[], None]) -> Callable[[], None]:
        """Return a watched call, for soon()."""
        return watched.callback(name, call, self.broke)

    def soon(self, watched_call: Callable[[], None]) -> None:
        """Call when what has arrived by now has been handled."""
        self._asyncio.call_soon(watched_call)

    def later(self, name: str, delay_s: float, call: Callable[[], None]) -> asyncio.TimerHandle:
        """Call after a while."""
        return self._asyncio.call_later(delay_s, watched.callback(name, call, self.broke))

    def from_thread(self, name: str, call: Callable[[object], None], what: object) -> None:
        """Call soon; for any thread."""
        watched_call = watched.callback(name, partial(call, what), self.broke)
        if threading.get_ident() == self._own_thread:
            self._asyncio.call_soon(watched_call)  # which need not be woken
        else:
            self._asyncio.call_soon_threadsafe(watched_call)


class Moves:
    """Whether something has moved: an entry was written or became durable, or a term has ended.

    For what waits until everything is as it must be, and looks again after each move.
    """

    def __init__(self) -> None:
        self._moved = asyncio.Event()
        self._waiting = 0
        self.hurried = False
        """Whether nothing is to be waited for any more."""

    def note(self) -> None:
        """Something has moved."""
        if self._waiting:
            self._moved.set()

    def hurry(self) -> None:
        """Wait for nothing any more."""
        self.hurried = True
        self._moved.set()

    async def next(self) -> None:
        """Wait for the next move."""
        self._moved.clear()
        self._waiting += 1
        try:
            await self._moved.wait()
        finally:
            self._waiting -= 1
