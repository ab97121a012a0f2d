"""The parent of a worker's processes: it starts, replaces and stops them, and answers probes.

It has one thread, holds no connection and imports nothing of the program, so that it can fork at
any time and has no reason to die. It waits for signals, for what its processes say, and for probes,
all at one place.
"""

from __future__ import annotations

import logging
import os
import selectors
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType

from adapter.errors import InvalidOption
from adapter.workers import child
from adapter.workers.figures import WorkFigures
from adapter.workers.handlers import Handler
from adapter.workers.health import State, WorkerHealth
from adapter.workers.processes import ForkedProcess, Place, fork, how_it_ended
from adapter.workers.reloading import WatchedFiles
from adapter.workers.settings import WorkerSettings

log = logging.getLogger("adapter.workers")

TURN_S = 0.25
SLOW_S = 10.0
"""A process that loads its function for so long is named in the log."""


class WorkerSupervisor:
    """Runs a worker until it is told to end, by a signal; for the main thread."""

    def __init__(self, settings: WorkerSettings, target: Handler | str) -> None:
        """target: the function, or MODULE:FUNCTION, which only the processes import."""
        if threading.current_thread() is not threading.main_thread():
            raise InvalidOption("a worker is run in the main thread, which gets the signals")
        self._settings = settings
        self._target = target
        self._places = [Place() for _ in range(settings.processes)]
        self._signals: list[int] = []
        self._before = WorkFigures()
        """Of processes that have ended."""
        self._restarts = 0
        self._is_stopping = False
        self._refusal = ""
        self._watch = WatchedFiles()
        self._selector = selectors.DefaultSelector()
        self._wake, self._waker = socket.socketpair()
        self._wake.setblocking(False)
        self._waker.setblocking(False)
        self._health = WorkerHealth(settings, self._selector, self._state)

    def run(self) -> None:
        """Run the worker. Raises KeyboardInterrupt after Ctrl-C; InvalidOption if there is no such
        function.
        """
        self._selector.register(self._wake, selectors.EVENT_READ, self._drain)
        log.info(
            "working on queue %s (processes: %d, threads or tasks of each: %d)",
            self._settings.queue,
            self._settings.processes,
            self._settings.threads,
        )
        with self._taking_signals():
            try:
                while not self._has_ended():
                    self._turn()
            finally:
                self._is_stopping = True
                self._kill(self._places)
                self._health.close()
                self._close_all()
        if self._refusal:
            raise InvalidOption(self._refusal)
        if signal.SIGINT in self._signals:
            raise KeyboardInterrupt

    @contextmanager
    def _taking_signals(self) -> Iterator[None]:
        def note(number: int, _frame: FrameType | None) -> None:
            if number != signal.SIGCHLD:
                self._signals.append(number)

        numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)
        before = {number: signal.signal(number, note) for number in numbers}
        wake = signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(wake)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _turn(self) -> None:
        if not self._is_stopping:
            self._start_what_is_due()
        for key, _ in self._selector.select(TURN_S):
            if self._selector.get_map().get(key.fd) is key:  # else the one before has closed it
                key.data()
        self._reap()
        self._health.tell()
        self._note_slow()
        if len(self._signals) > 1:
            self._kill(self._places)
        elif (self._signals or self._refusal) and not self._is_stopping:
            self._stop()
        elif self._settings.reload and not self._is_stopping and self._watch.has_changed():
            self._reload()
        self._kill_late()

    def _kill_late(self) -> None:
        for place in self._places:
            if place.process is not None and place.process.is_late:
                log.warning("process %d does not end: it is killed", place.process.pid)
                self._kill([place])

    def _note_slow(self) -> None:
        for process in self._living():
            waited_s = time.monotonic() - process.began_s
            if waited_s > SLOW_S and not (process.is_loaded or process.is_told_slow):
                process.is_told_slow = True
                files = ", ".join(list(process.files)[-1:])
                text = "process %d has been loading the function for %d s%s"
                log.warning(text, process.pid, waited_s, files and f": now it imports {files}")

    def _has_ended(self) -> bool:
        return self._is_stopping and not self._living()

    def _living(self) -> list[ForkedProcess]:
        return [place.process for place in self._places if place.process is not None]

    def _start_what_is_due(self) -> None:
        for place in self._places:
            if place.process is not None or time.monotonic() < place.due_s:
                continue
            born = partial(child.run, self._settings, self._target)
            try:
                process = place.process = fork(born, self._close_all)
            except OSError as problem:
                log.error(
                    "a process cannot be started: %s; tried again in %g s",
                    problem,
                    place.put_off(),
                )
                continue
            self._restarts += place.starts > 0
            place.starts += 1
            self._selector.register(
                process.pipe, selectors.EVENT_READ, partial(self._hear, process)
            )

    def _hear(self, process: ForkedProcess) -> None:
        if not process.hear():
            self._selector.unregister(process.pipe)
        self._watch_files_of(process)

    def _watch_files_of(self, process: ForkedProcess) -> None:
        if not process.is_outdated:
            self._watch.add(process.files)

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            while self._wake.recv(4096):
                pass

    def _reap(self) -> None:
        for place in self._places:
            process = place.process
            if process is None:
                continue
            pid, status = os.waitpid(process.pid, os.WNOHANG)
            if pid:
                self._note_end(place, process, os.waitstatus_to_exitcode(status))

    def _note_end(self, place: Place, process: ForkedProcess, status: int) -> None:
        with suppress(KeyError):
            self._selector.unregister(process.pipe)
        process.hear_all()
        os.close(process.pipe)
        self._watch_files_of(process)
        if process.figures is not None:
            process.figures.in_hand = 0
            self._before = self._before.plus(process.figures)
        pause_s = place.note_end(process)
        if process.unloadable and not process.is_outdated:
            self._note_unloadable(place, process.unloadable)
        elif not self._is_stopping and status != child.STOPPED:
            what, again = how_it_ended(status), f" in {pause_s:g} s" if pause_s else ""
            log.warning("process %d %s: another one is started%s", process.pid, what, again)

    def _note_unloadable(self, place: Place, why: str) -> None:
        if not self._settings.reload:
            self._refusal = why
            return
        if place.due_s != float("inf"):
            log.error("%s; waiting for a change of a file", why)
        for each in self._places:
            each.due_s = float("inf")

    def _stop(self) -> None:
        if not self._refusal:
            log.info("stopping: messages in hand are finished first")
        self._is_stopping = True
        for process in self._living():
            process.end(self._settings.stop_timeout_s)

    def _reload(self) -> None:
        log.info("a file has changed: the processes are replaced")
        self._watch = WatchedFiles()
        for place in self._places:
            place.due_s = 0.0
            if place.process is not None:
                place.process.is_outdated = True
                place.process.end(self._settings.stop_timeout_s)

    def _kill(self, places: list[Place]) -> None:
        """End what still runs there, at once."""
        for place in places:
            process = place.process
            if process is not None:
                process.send(signal.SIGKILL)
                os.waitpid(process.pid, 0)
                self._note_end(place, process, -signal.SIGKILL)

    def _close_all(self) -> None:
        """Close what is the supervisor's; also in a process that was just forked."""
        for process in self._living():
            os.close(process.pipe)
        self._health.let_go()
        self._selector.close()
        self._wake.close()
        self._waker.close()

    def _state(self) -> State:
        figures = self._before
        living = self._living()
        for process in living:
            figures = figures.plus(process.figures or WorkFigures(is_connected=False))
        return State(
            figures=figures,
            processes=self._settings.processes,
            well=sum(process.is_well for process in living),
            restarts=self._restarts,
            is_stopping=self._is_stopping,
        )
