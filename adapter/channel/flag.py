"""A flag that is raised once, for good, and that threads wait for.

threading.Event has a lock, which a thread that waits holds for moments: a signal handler that runs
in one of these moments, in the same thread, and sets the event would wait for itself. A flag has no
lock: raising it puts to a queue of each thread that waits, which handlers may do at any moment.
"""

from __future__ import annotations

from queue import Empty, SimpleQueue


class Flag:
    """Down at first. Every method may be called from any thread, and from signal handlers."""

    def __init__(self) -> None:
        self._is_set = False
        self._waiting: dict[int, SimpleQueue[None]] = {}

    def is_set(self) -> bool:
        """Whether it has been raised."""
        return self._is_set

    def set(self) -> None:
        """Raise it, and wake every thread that waits for it."""
        self._is_set = True
        for wake in list(self._waiting.values()):
            wake.put(None)

    def wait(self, timeout: float) -> bool:
        """Wait until it is raised, so many seconds at most; return whether it is."""
        if self._is_set or timeout <= 0:
            return self._is_set
        wake = SimpleQueue[None]()
        self._waiting[id(wake)] = wake
        try:
            if not self._is_set:  # else it was raised before it could know of this thread
                wake.get(timeout=timeout)
        except Empty:
            pass
        finally:
            del self._waiting[id(wake)]
        return self._is_set
