"""A call that an event loop makes again and again. This module does not know what is called."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from adapter import watched


class RepeatingCall:
    """Made every so many seconds, from now on until it is cancelled."""

    def __init__(
        self, name: str, call: Callable[[], object], every_s: float, broke: watched.Ended
    ) -> None:
        """broke: hears of a call that fails; it is the last one then."""
        self._call = call
        self._every_s = every_s
        self._guarded = watched.callback(name, self._make, broke)
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(every_s, self._guarded)

    def cancel(self) -> None:
        """Make no more calls."""
        self._timer.cancel()

    def _make(self) -> None:
        self._call()
        self._timer = self._loop.call_later(self._every_s, self._guarded)
