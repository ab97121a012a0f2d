"""What a process of a worker has done, as it tells its supervisor.

It is counted by threads, or by tasks of one event loop, and read by the main thread.
"""

from __future__ import annotations

import threading
import time

from msgspec import Struct


class WorkFigures(Struct, tag="figures"):
    """What a process has done since it began. in_hand: messages it is working on."""

    done: int = 0
    failed: int = 0
    seconds: float = 0.0
    in_hand: int = 0
    is_connected: bool = True

    def plus(self, other: WorkFigures) -> WorkFigures:
        """Return the sum; a process that has ended has nothing in hand."""
        return WorkFigures(
            self.done + other.done,
            self.failed + other.failed,
            self.seconds + other.seconds,
            self.in_hand + other.in_hand,
            self.is_connected and other.is_connected,
        )


class WorkTally:
    """Counts the messages of one process, for any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._figures = WorkFigures()

    def begin(self) -> float:
        """Note that a message is in hand; return what end() is to be given."""
        with self._lock:
            self._figures.in_hand += 1
        return time.monotonic()

    def end(self, began_s: float) -> None:
        """Note that a message is not in hand any more, whatever has become of it."""
        with self._lock:
            self._figures.in_hand -= 1
            self._figures.seconds += time.monotonic() - began_s

    def count(self, *, failed: bool) -> None:
        """Count a message that was done, or has failed."""
        with self._lock:
            if failed:
                self._figures.failed += 1
            else:
                self._figures.done += 1

    def figures(self, *, is_connected: bool) -> WorkFigures:
        """Return what was counted so far."""
        with self._lock:
            found = self._figures.plus(WorkFigures())
        found.is_connected = is_connected
        return found
