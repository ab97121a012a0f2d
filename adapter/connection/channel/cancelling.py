"""Ending gets that wait, from another thread or a signal handler.

There is no lock: a handler may run in the midst of any method. A function that ends a wait is
called by the thread that takes it out of the set. This module does not know how a wait is ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


class CancelToken:
    """Given to gets as cancel=, it ends them: they return what has come by then, else None.

    It may be given to any number of gets, of any threads and connections; once it is cancelled it
    stays so. What a get returns after cancel() has left the queue, or belongs to its unit, like
    any other message: the caller checks what it returns.
    """

    def __init__(self) -> None:
        self._is_cancelled = False
        self._ends: set[Callable[[], None]] = set()

    @property
    def is_cancelled(self) -> bool:
        """Whether cancel() has been called."""
        return self._is_cancelled

    def cancel(self) -> None:
        """End every get that waits with it, and every one that comes later. Does not wait."""
        self._is_cancelled = True
        while self._ends:
            with suppress(KeyError):  # another thread has taken the last one out
                self._ends.pop()()

    @contextmanager
    def ending(self, end: Callable[[], None]) -> Iterator[None]:
        """Have this called once if it is cancelled inside the with statement, or was before."""
        self._ends.add(end)
        try:
            if self._is_cancelled:
                self.cancel()
            yield
        finally:
            self._ends.discard(end)
