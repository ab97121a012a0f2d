"""The threads of one process that work on a queue, on one connection.

It knows no processes and no signals.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress

from adapter.client.connection import Connection
from adapter.client.message import Message
from adapter.client.work import Work
from adapter.connection.channel.cancelling import CancelToken
from adapter.connection.channel.flag import Flag
from adapter.errors import Error
from adapter.host import watched
from adapter.workers.figures import WorkFigures, WorkTally
from adapter.workers.handlers import Calls, Handler, failed_behind, unfinished
from adapter.workers.settings import WorkerSettings

log = logging.getLogger("adapter.workers")


class WorkerThreads:
    """Threads that call a function with each message of a queue."""

    kind = "threads"

    def __init__(
        self, qm: Connection, function: Handler, settings: WorkerSettings, ended: Flag
    ) -> None:
        """ended: raised when a thread has ended that was not to end."""
        self._qm = qm
        self._function = function
        self._settings = settings
        self._token = CancelToken()
        self._tally = WorkTally()
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
        return self._tally.figures(is_connected=bool(self._qm.statistics()["connected"]))

    def close(self, *, abrupt: bool) -> None:
        """Close the connection, which gives back what threads still have in hand."""
        if abrupt:
            self._qm.disconnect(abrupt=True)
            return
        try:
            self._qm.close()
        except Error as problem:
            log.warning("the connection was closed: %s", problem)

    def _note(self, problem: str) -> None:
        self.problem = self.problem or problem
        self.stop()
        self._ended.set()

    def _run(self) -> None:
        try:
            self._work(Calls(self._function, self._qm))
        except Error as problem:
            self._note(str(problem))
            return
        if not self._token.is_cancelled:
            self._note("the loop has ended, and was not stopped")

    def _work(self, calls: Calls) -> None:
        queue = self._qm.queue(self._settings.queue)
        for unit in queue.units(cancel=self._token, **self._settings.loop):
            self._take(unit, calls)

    def _take(self, unit: Work, calls: Calls) -> None:
        began_s = self._tally.begin()
        try:
            with unit:
                for message in unit.messages:
                    _call(calls, message, unit)
        finally:
            self._tally.end(began_s)
        self._tally.count(failed=unit.failed)


def _call(calls: Calls, message: Message, unit: Work) -> None:
    try:
        result = calls.call(message, unit)
    except Exception as error:
        if not failed_behind(unit, error):
            raise
        return
    if problem := unfinished(result):
        with suppress(Error):  # it is undone with its connection
            unit.backout(counted=False)
        raise SystemExit(problem)
