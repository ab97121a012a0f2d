"""Ending gets that wait, from another thread. This module does not know how a wait is ended."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class CancelToken:
    """Given to gets as cancel=, it ends them: they return what has come by then, else None.

    It may be given to any number of gets, of any threads and connections; once it is cancelled it
    stays so. What a get returns after cancel() has left the queue, or belongs to its unit, like
    any other message: whoever called it is to look at what it returns.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_cancelled = False
        self._ends: set[Callable[[], None]] = set()

    @property
    def is_cancelled(self) -> bool:
        """Whether cancel() has been called."""
        return self._is_cancelled

    def cancel(self) -> None:
        """End every get that waits with it, and every one that comes later. Does not wait."""
        with self._lock:
            self._is_cancelled = True
            ends, self._ends = self._ends, set()
        for end in ends:
            end()

    @contextmanager
    def ending(self, end: Callable[[], None]) -> Iterator[None]:
        """Have this called once if it is cancelled inside the with statement, or was before."""
        with self._lock:
            was_cancelled = self._is_cancelled
            if not was_cancelled:
                self._ends.add(end)
        if was_cancelled:
            end()
        try:
            yield
        finally:
            with self._lock:
                self._ends.discard(end)
