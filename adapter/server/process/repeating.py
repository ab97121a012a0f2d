"""A call that an event loop makes again and again, and the fault that it may meet each time.

This module does not know what is called.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog

from adapter.errors import StartError
from adapter.host import watched

log = structlog.get_logger("mqk.listener")


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


class LastingFault:
    """A fault that many calls may meet one after the other: it is logged once, and again when it
    has changed or comes back.
    """

    def __init__(self, event: str) -> None:
        """event: what is logged; the fault is its reason."""
        self._event = event
        self._reason = ""

    @contextmanager
    def log(self) -> Iterator[None]:
        """Log a StartError of the block, and go on behind it."""
        try:
            yield
        except StartError as error:
            if self._reason != str(error):
                self._reason = str(error)
                log.error(self._event, reason=self._reason)
        else:
            self._reason = ""
