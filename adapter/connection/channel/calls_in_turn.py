"""Calls of functions of the program, one after the other, in a thread of their own.

The thread that notices what they are about is busy with it, and answers of verbs that they call
come through it. This module does not know what is called.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue

log = logging.getLogger("adapter.client")


class CallsInTurn:
    """A thread that makes calls in the order in which they are added. name: of the thread."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._has_ended = False

    @property
    def is_this_thread(self) -> bool:
        """Whether the caller is one of the calls, or was called by it."""
        return threading.current_thread() is self._thread

    def begin(self) -> None:
        """Start the thread; once is enough. Not from two threads at once. Raises RuntimeError."""
        if self._thread is not None:
            return
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # the process may have no more
            self._thread = None
            raise

    def add(self, call: Callable[[], object]) -> None:
        """Have something called. What it raises is logged, and the next is called."""
        self._calls.put(call)

    def end(self) -> None:
        """Call no more, and let the thread end. The garbage collector may call it."""
        self._has_ended = True
        self._calls.put(None)

    def _run(self) -> None:
        while self._call_next():
            pass

    def _call_next(self) -> bool:
        """Make one call, and keep nothing of it; return whether to go on."""
        call = self._calls.get()
        if call is None or self._has_ended:
            return False
        try:
            call()
        except BaseException:  # sys.exit() too: it would end this thread without a word
            log.exception("a call in thread %s failed", self._name)
        return True
