"""SIGTERM and Ctrl-C for commands that work until they are stopped.

A command stops its work, and then ends; this module must not know what the work is.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from adapter.command import failures
from adapter.host import watched

NUMBERS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def ending(stop: Callable[[], None]) -> Iterator[None]:
    """Have stop called, in a thread of its own, when a signal comes; for the main thread.

    A signal handler may interrupt whatever holds a lock, so that it can call nothing itself.
    Leaving raises KeyboardInterrupt if it was Ctrl-C: exit status 130, as shells expect it.
    """
    came: list[int] = []
    told = threading.Event()

    def note(number: int, _frame: FrameType | None) -> None:
        came.append(number)
        told.set()

    def call() -> None:
        told.wait()
        if came:
            stop()

    before = {number: signal.signal(number, note) for number in NUMBERS}
    thread = watched.thread("ending", call, _end)
    try:
        yield
    finally:
        told.set()
        thread.join()
        for number, handler in before.items():
            signal.signal(number, handler)
    if signal.SIGINT in came:
        raise KeyboardInterrupt


def _end(why: str) -> None:
    """End the process at once: its work was not told to end, and would go on for ever."""
    failures.tell(f"it cannot end in its own way: {why}")
    os._exit(failures.FAILED)
