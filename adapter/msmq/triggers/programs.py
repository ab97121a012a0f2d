"""The programs that actions start: waited for, or at most so many beside the service.

They end with the service. This module knows no trigger.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from adapter.errors import Error
from adapter.host import launch, watched
from adapter.host.allowed import AllowedPrograms, ProgramNotAllowed

log = logging.getLogger("adapter.msmq")

PROGRAMS_MAX = 50
"""Programs that run beside the service; each is a process of the operating system."""
STOP_GRACE_S = 10.0
LOOK_S = 0.5
"""A program that is waited for is looked at so often, in case the service is stopped."""


class ActionFailed(Error):  # noqa: N818 -- it says what happened
    """A program of an action was not started, or has failed."""

    def __str__(self) -> str:
        return self.text


class ActionPrograms:
    """Starts programs and sees to their end. Every method may be called from any thread."""

    def __init__(
        self, failed: Callable[[str], None], allowed: AllowedPrograms | None = None
    ) -> None:
        """failed: called with a sentence when a program beside the service has failed. allowed: no
        others are started; None: any.
        """
        self._allowed = allowed
        self._failed = failed
        self._stopping = threading.Event()
        self._room = threading.BoundedSemaphore(PROGRAMS_MAX)
        self._lock = threading.Lock()
        self._running: set[launch.Child] = set()

    def run(self, arguments: list[str]) -> None:
        """Start a program and wait for its end. Raises ActionFailed."""
        self._finish(arguments[0], self._start(arguments))

    def start(self, arguments: list[str]) -> None:
        """Start a program beside the service; waits while too many run. Raises ActionFailed."""
        while not self._room.acquire(timeout=LOOK_S):
            if self._stopping.is_set():
                raise ActionFailed(f"{arguments[0]} was not started: the service is stopping")
        try:
            child = self._start(arguments)
        except ActionFailed:
            self._room.release()
            raise

        def wait() -> None:
            try:
                self._finish(arguments[0], child)
            except ActionFailed as problem:
                self._failed(problem.text)
            finally:
                self._room.release()

        watched.thread(f"program {arguments[0]}", wait, self._failed)

    def stop(self) -> None:
        """End every program: SIGTERM, and SIGKILL after a grace."""
        self._stopping.set()
        with self._lock:
            running = list(self._running)
        for child in running:
            child.stop_group(STOP_GRACE_S)

    def resume(self) -> None:
        """Start programs again, after a stop."""
        self._stopping.clear()

    def _start(self, arguments: list[str]) -> launch.Child:
        if any("\0" in one for one in arguments):
            raise ActionFailed(f"an argument of {arguments[0]} contains a null character")
        try:
            if self._allowed is not None:
                child = self._allowed.start(arguments)
            else:
                child = launch.start(arguments, output=None)
        except ProgramNotAllowed as refused:
            raise ActionFailed(refused.text) from refused
        except (OSError, UnicodeEncodeError) as error:
            raise ActionFailed(f"{arguments[0]} was not started: {error}") from error
        with self._lock:
            self._running.add(child)
        return child

    def _finish(self, name: str, child: launch.Child) -> None:
        status = None
        try:
            while (status := child.wait(LOOK_S)) is None:
                if self._stopping.is_set():
                    status = child.stop_group(STOP_GRACE_S)
                    break
        finally:
            with self._lock:
                self._running.discard(child)
        child.leave_group()
        if status:
            raise ActionFailed(f"{name} ended with status {status}")
