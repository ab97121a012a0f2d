"""The processes of a worker as their supervisor sees them: forked, heard, and replaced.

It knows how a process is started and what it has said; when one is to end is decided elsewhere.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

import msgspec
from msgspec import Struct

from adapter.workers.child import Loaded, Loading, PipeLine, Unloadable
from adapter.workers.figures import WorkFigures

PAUSE_FIRST_S, PAUSE_MAX_S = 0.5, 30.0
LIVED_S = 1.0
"""A process that was connected for so long did not die at once: it is replaced at once."""
KILL_S = 5.0
"""How much longer than the stop timeout a process may take to end."""
SILENT_S = 15.0
"""What has said nothing for so long is not well."""
PIPE_BYTES = 65536
BLOCKED = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)

_decoder = msgspec.json.Decoder(PipeLine)
Born = Callable[[int], NoReturn]
"""What a forked process does; given the pipe to its supervisor."""


class ForkedProcess:
    """One that has been forked."""

    def __init__(self, pid: int, pipe: int) -> None:
        self.pid = pid
        self.pipe = pipe
        self.began_s = self.heard_s = time.monotonic()
        self.figures: WorkFigures | None = None
        self.connected_s: float | None = None
        """When it first said that it is connected: before that it may have loaded for long."""
        self.files: dict[str, int] = {}
        self.unloadable = ""
        self.is_loaded = False
        """Whether it has its function; before that it has no message in hand."""
        self.is_told_slow = False
        self.end_by_s: float | None = None
        """When it is killed; None: it was not told to end."""
        self.is_outdated = False
        """Whether a file has changed since it was forked: what it has loaded says nothing any more.
        """
        self._rest = b""

    @property
    def is_well(self) -> bool:
        """Whether it is connected, and has said so lately."""
        is_heard = time.monotonic() - self.heard_s < SILENT_S
        return is_heard and self.figures is not None and self.figures.is_connected

    def hear(self) -> bool:
        """Read what it has said; whether it may say more."""
        try:
            piece = os.read(self.pipe, PIPE_BYTES)
        except BlockingIOError:
            return True
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            self._take(_decoder.decode(line).what)
        return bool(piece)

    def hear_all(self) -> None:
        """Read to the end what it has said before it died."""
        os.set_blocking(self.pipe, False)
        until_s = time.monotonic() + 1  # what it has started may hold the pipe
        while time.monotonic() < until_s:
            before = self._rest, self.heard_s
            if not self.hear() or before == (self._rest, self.heard_s):
                return

    def _take(self, what: Loading | Loaded | Unloadable | WorkFigures) -> None:
        self.heard_s = time.monotonic()
        if isinstance(what, WorkFigures):
            self.figures = what
            if what.is_connected and self.connected_s is None:
                self.connected_s = self.heard_s
            return
        if isinstance(what, Loading):
            self.files |= what.files
            return
        self.files = what.files
        self.is_loaded = True
        if isinstance(what, Unloadable):
            self.unloadable = what.why

    def end(self, timeout_s: float) -> None:
        """Tell it to end, if that was not done before: it is late once it has not ended within
        timeout_s and KILL_S, or KILL_S if it has no function yet.
        """
        if self.end_by_s is None:
            self.end_by_s = time.monotonic() + KILL_S + (timeout_s if self.is_loaded else 0)
        self.send(signal.SIGTERM)

    @property
    def is_late(self) -> bool:
        """Whether it was told to end, and has not."""
        return self.end_by_s is not None and time.monotonic() > self.end_by_s

    def send(self, number: signal.Signals) -> None:
        """Send it a signal; it may have ended."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


class Place(Struct):
    """Where one process is to run at all times."""

    process: ForkedProcess | None = None
    due_s: float = 0.0
    pause_s: float = 0.0
    starts: int = 0

    def note_end(self, ended: ForkedProcess) -> float:
        """Say when the next one begins; return how long that is from now."""
        self.process = None
        since_s = ended.connected_s
        if since_s is not None and time.monotonic() - since_s >= LIVED_S:
            self.pause_s, self.due_s = 0.0, time.monotonic()
            return 0.0
        return self.put_off()

    def put_off(self) -> float:
        """Begin the next one after a longer pause than the last; return how long that is."""
        self.pause_s = min(self.pause_s * 2 or PAUSE_FIRST_S, PAUSE_MAX_S)
        self.due_s = time.monotonic() + self.pause_s
        return self.pause_s


def fork(born: Born, close: Callable[[], None]) -> ForkedProcess:
    """Fork a process. close: closes in it what is its parent's alone.

    Raises OSError if there are too many processes or files, or too little memory.
    """
    reader, writer = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)  # a signal must not find our handlers there
    try:
        pid = os.fork()
        if pid == 0:
            try:
                os.close(reader)
                close()
                born(writer)
            finally:
                os._exit(1)
    except OSError:
        os.close(reader)
        os.close(writer)
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCKED)
    os.close(writer)
    os.set_blocking(reader, False)
    return ForkedProcess(pid, reader)


def how_it_ended(status: int) -> str:
    """Say how a process has ended, by its exit status, negative for a signal."""
    if status >= 0:
        return f"has ended with status {status}"
    with suppress(ValueError):
        return f"was ended by {signal.Signals(-status).name}"
    return f"was ended by signal {-status}"
