"""Calls that come in the midst of another: from a garbage collection, in whatever thread it runs.

Packages close what a program forgot to close when its object is collected, and that may be while
this thread holds locks of the client layer, or runs the event loop of a queue manager in this very
process. Such a call would wait for itself; it is put off until a call comes that is free to wait.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class Reentry:
    """Which threads are inside a call, and what was put off."""

    def __init__(self) -> None:
        self._inside: set[int] = set()
        self._put_off: deque[tuple[int, int | None]] = deque()

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Mark this thread for the time of a call."""
        ident = threading.get_ident()
        if ident in self._inside:
            yield
            return
        self._inside.add(ident)
        try:
            yield
        finally:
            self._inside.discard(ident)

    def must_not_wait(self) -> bool:
        """Whether a call that comes now comes in the midst of something."""
        if threading.get_ident() in self._inside:
            return True
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return False
        return True

    def put_off(self, hconn: int, hobj: int | None) -> None:
        """Keep for later: close an object, or disconnect."""
        self._put_off.append((hconn, hobj))

    def take(self) -> Iterator[tuple[int, int | None]]:
        """Return what was put off."""
        while self._put_off:
            try:
                yield self._put_off.popleft()
            except IndexError:  # another thread has taken it
                return
