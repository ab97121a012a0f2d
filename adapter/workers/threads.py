"""The threads of one process that work on a queue, on one connection.

It knows no processes and no signals.
"""

from __future__ import annotations

import logging
import threading
import time

from msgspec import Struct

from adapter import watched
from adapter.channel.cancelling import CancelToken
from adapter.channel.flag import Flag
from adapter.client.connection import Connection
from adapter.client.work import Work
from adapter.errors import Error
from adapter.workers.handlers import Calls, Handler
from adapter.workers.settings import WorkerSettings

log = logging.getLogger("adapter.workers")

NO_POLICY_PAUSE_S = 1.0
"""Before the next message, if one failed that comes again at once."""


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


class WorkerThreads:
    """Threads that call a function with each message of a queue."""

    def __init__(
        self, qm: Connection, function: Handler, settings: WorkerSettings, ended: Flag
    ) -> None:
        """ended: raised when a thread has ended that was not to end."""
        self._qm = qm
        self._function = function
        self._settings = settings
        self._token = CancelToken()
        self._lock = threading.Lock()
        self._figures = WorkFigures()
        self._threads: list[threading.Thread] = []
        self._ended = ended
        self.problem = ""
        """Why a thread has ended that was not to end."""

    def start(self) -> None:
        """Start the threads."""
        for number in range(1, self._settings.threads + 1):
            self._threads.append(watched.thread(f"worker {number}", self._run, self._note))

    def stop(self) -> None:
        """Have each thread finish what it has in hand. Does not wait; signal handlers may call."""
        self._token.cancel()

    def join(self, timeout_s: float) -> int:
        """Wait for the threads; return how many are still at work."""
        until_s = time.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(max(until_s - time.monotonic(), 0))
        return sum(thread.is_alive() for thread in self._threads)

    def figures(self) -> WorkFigures:
        """Return what was done so far."""
        with self._lock:
            found = self._figures.plus(WorkFigures())
        found.is_connected = bool(self._qm.statistics()["connected"])
        return found

    def _note(self, problem: str) -> None:
        self.problem = self.problem or problem
        self.stop()
        self._ended.set()

    def _run(self) -> None:
        try:
            with Calls(self._function, self._qm) as calls:
                self._work(calls)
        except Error as problem:
            self._note(str(problem))
            return
        if not self._token.is_cancelled:
            self._note("the loop has ended, and was not stopped")

    def _work(self, calls: Calls) -> None:
        settings = self._settings
        queue = self._qm.queue(settings.queue)
        for unit in queue.units(
            prefetch=settings.prefetch,
            retry=settings.retry,
            retry_delay_s=NO_POLICY_PAUSE_S if settings.retry is None else 0,
            cancel=self._token,
        ):
            self._take(unit, calls)

    def _take(self, unit: Work, calls: Calls) -> None:
        began_s = time.monotonic()
        with self._lock:
            self._figures.in_hand += 1
        try:
            with unit:
                for message in unit.messages:
                    calls.call(message, unit)
        finally:
            with self._lock:
                self._figures.in_hand -= 1
                self._figures.seconds += time.monotonic() - began_s
        with self._lock:
            if unit.failed:
                self._figures.failed += 1
            else:
                self._figures.done += 1
