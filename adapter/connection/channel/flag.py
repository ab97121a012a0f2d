"""A flag that is raised once, for good, and that threads wait for.

threading.Event has a lock, which a thread that waits holds for moments: a signal handler that runs
in one of these moments, in the same thread, and sets the event would wait for itself. A flag has no
lock of its own: each thread that waits brings one, locked, and raising the flag unlocks it. (A
queue.SimpleQueue would do, but for CPython's: get() with a timeout waits for ever if a signal
handler takes longer than what is left of the timeout.)
"""

from __future__ import annotations

from contextlib import suppress
from threading import Lock


class Flag:
    """Down at first. Every method may be called from any thread, and from signal handlers."""

    def __init__(self) -> None:
        self._is_set = False
        self._waiting: set[Lock] = set()

    def is_set(self) -> bool:
        """Whether it has been raised."""
        return self._is_set

    def set(self) -> None:
        """Raise it, and wake every thread that waits for it."""
        self._is_set = True
        while self._waiting:
            with suppress(KeyError):  # another thread has taken the last one out
                self._waiting.pop().release()

    def wait(self, timeout: float) -> bool:
        """Wait until it is raised, so many seconds at most; return whether it is."""
        if self._is_set or timeout <= 0:
            return self._is_set
        wake = Lock()
        wake.acquire()
        self._waiting.add(wake)
        try:
            if not self._is_set:  # else it was raised before it could know of this thread
                wake.acquire(timeout=timeout)
        finally:
            self._waiting.discard(wake)
        return self._is_set
