"""The movers of one queue manager in a process of their own, and the handle that its parent holds.

    python -m adapter.host.program adapter.storage.movers.process

reads its settings from the first line of standard input and prints its state as lines of JSON: when
its movers have found where to go on, and whenever the figures change. A further line on standard
input, whatever it says, starts those movers again that have ended; the others are not disturbed. It
ends by SIGTERM, and when standard input ends: then its parent is gone, however it went. (Linux
could report the parent's death, but reports the death of the parent's *thread* that started it.)
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from io import FileIO
from types import FrameType
from typing import TextIO

import msgspec
import structlog
from msgspec import Struct

from adapter.host import launch, logs, memory, watched
from adapter.storage.movers.parking import Held
from adapter.storage.movers.settings import MoverSettings
from adapter.storage.movers.thread import MoverThread

__all__ = ["MoverProcess", "MoverSettings", "MoverThread"]

REPORT_S = 0.1
"""How often figures are looked at, and printed if they have changed."""
ORPHAN_GRACE_S = 10.0
"""How long an orphan may take for its open transactions; another queue manager may take over."""
STOP_GRACE_S = 3.0
"""After it a stopping process is killed. Nothing is lost by that: the next one goes on from the
progress, and ends what this one left open."""
KILL_TIMEOUT_S = 30.0
RESTART = b"restart\n"
GC_THRESHOLD = 100_000
"""Copies make no cycles."""

log = structlog.get_logger("mqk.movers")


class MoverReport(Struct):
    """One line that the process prints.

    holding: the faults that keep its movers from copying, or "". failures: by name of a mover why
    it has ended, until it is started again. parked: topics that cannot be written, by name.
    """

    ready: bool = False
    holding: str = ""
    failures: dict[str, str] = {}
    movers: dict[str, dict[str, int]] = {}
    parked: dict[str, Held] = {}


class MoverProcess:
    """Starts, watches and stops the movers' process. For any thread; every wait has a bound."""

    def __init__(self, settings: MoverSettings) -> None:
        self._settings = settings
        self._run: MoverRun | None = None
        self._turn = threading.RLock()
        """A stop waits for a restart, and ends what that has started."""
        self._is_stopped = False
        self._not_started = ""
        """Why the system did not start it the last time."""

    @property
    def pid(self) -> int | None:
        """The process id; None if it was not started."""
        return None if self._run is None else self._run.process.pid

    def start(self) -> None:
        """Start the process; does not wait for Kafka, and not for the process. If the system starts
        none, failure() says so, as of one that has ended: it is tried again.
        """
        with self._turn:
            self.stop()
            self._is_stopped = False
            try:
                self._run = MoverRun(self._settings)
            except (OSError, RuntimeError) as error:  # RuntimeError: no thread
                self._not_started = (
                    f"the movers' process cannot be started: {error}; see how many processes and "
                    "how much memory the queue manager's account or container may have"
                )

    def restart(self) -> None:
        """Start those of its movers again that have ended, or the process if that has ended; none
        if it was stopped.
        """
        with self._turn:
            run = self._run
            if not self._is_stopped and (run is None or not run.begin_again()):
                self.start()

    def stop(self) -> None:
        """Let it finish the transactions that are open, and end; twice is no error."""
        with self._turn:
            run, self._run = self._run, None
            self._is_stopped = True
            self._not_started = ""
            if run is not None:
                run.end(STOP_GRACE_S)

    def kill(self) -> None:
        """End it at once (SIGKILL), as a crash does: failure() will say so."""
        if self._run is not None:
            self._run.process.kill()
            self._run.wait(KILL_TIMEOUT_S)

    def failure(self) -> str | None:
        """Why it, or a mover, has ended by itself; None while all copy and when it was stopped."""
        return self._not_started or None if self._run is None else self._run.failure()

    @property
    def failures(self) -> dict[str, str]:
        """Why movers have ended while the others go on, by name; as they reported it last."""
        return {} if self._run is None else self._run.state.failures

    def wait(self, timeout_s: float) -> bool:
        """Wait until the process has ended; False if not in time."""
        return self._run is None or self._run.wait(timeout_s)

    def wait_ready(self, timeout_s: float) -> bool:
        """Wait until its movers have found where to go on; False if not in time, or if it ended."""
        return self._run is not None and self._run.wait_for(lambda state: state.ready, timeout_s)

    def caught_up(self, offset: int, timeout_s: float) -> bool:
        """Wait until all entries up to a ledger offset are copied; False if not in time."""

        def copied(state: MoverReport) -> bool:
            movers = state.movers.values()
            return bool(movers) and all(one["position"] >= offset for one in movers)

        return self._run is not None and self._run.wait_for(copied, timeout_s)

    @property
    def holding(self) -> str:
        """The faults that keep movers from copying, or ""; as they reported it last."""
        return "" if self._run is None else self._run.state.holding

    @property
    def parked(self) -> dict[str, Held]:
        """The topics that cannot be written, by name; as the movers reported them last."""
        return {} if self._run is None else self._run.state.parked

    def statistics(self) -> dict[str, dict[str, int]]:
        """The figures of each mover, by its name, as it reported them last; never waits."""
        return {} if self._run is None else self._run.state.movers


class MoverRun:
    """One life of the process, from its start to its end."""

    def __init__(self, settings: MoverSettings) -> None:
        self.state = MoverReport()
        self._silent = False
        self._failure = ""  # why the mover process stopped reporting
        self._changed = threading.Condition()
        command = launch.program("adapter.storage.movers.process")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self._watch = watched.thread("movers-watch", self._keep_state, self._unwatched)
        except RuntimeError:
            self.process.kill()
            self.process.communicate()
            raise
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended; failure() says how
            self.process.stdin.write(msgspec.json.encode(settings) + b"\n")
            self.process.stdin.flush()

    def begin_again(self) -> bool:
        """Have those movers started again that have ended; False if the process has ended."""
        assert self.process.stdin is not None
        with self._changed:  # before it is asked to: what it reports from then on counts
            self.state = msgspec.structs.replace(self.state, failures={})
        try:
            self.process.stdin.write(RESTART)
            self.process.stdin.flush()
        except BrokenPipeError:
            return False
        return self.process.poll() is None

    def end(self, grace_s: float) -> None:
        """SIGTERM, then SIGKILL; returns when it is gone."""
        process = self.process
        process.terminate()
        if not self.wait(grace_s):
            process.kill()
            process.wait(KILL_TIMEOUT_S)
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        self._watch.join(KILL_TIMEOUT_S)

    def wait(self, timeout_s: float) -> bool:
        """Wait until it has ended; False if not in time."""
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def failure(self) -> str | None:
        """Why it, or a mover in it, has ended; None while all run."""
        if self.process.poll() is None:
            return "; ".join(self.state.failures.values()) or None
        status = self.process.returncode
        return self._failure or f"the movers' process ended with status {status}"

    def wait_for(self, condition: Callable[[MoverReport], bool], timeout_s: float) -> bool:
        """Wait until it has told of a state; False if not in time, or if it ended before."""
        with self._changed:
            self._changed.wait_for(lambda: condition(self.state) or self._silent, timeout_s)
            return condition(self.state)

    def _unwatched(self, what: str) -> None:
        """End the process, when its parent no longer reads its reports: failure() says why."""
        self._failure = what
        self.process.kill()
        with self._changed:
            self._silent = True
            self._changed.notify_all()

    def _keep_state(self) -> None:
        """Take each line of its output, in a thread of its own, up to the end."""
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                with self._changed:
                    self.state = msgspec.json.decode(line, type=MoverReport)
                    self._changed.notify_all()
        with self._changed:
            self._silent = True
            self._changed.notify_all()


class MoverChild:
    """The process itself: runs the movers, prints states, notices its parent's end."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._last: MoverReport | None = MoverReport()
        """What its parent knows; None: that is to be said once more."""
        self._stopping = threading.Event()

    def run(self, settings: MoverSettings, commands: FileIO) -> int:
        """Copy until stop(); returns the exit status."""
        movers = MoverThread(settings)
        movers.start()
        watched.thread("commands", partial(self._obey, commands, movers), self._end_now)
        while not self._stopping.wait(REPORT_S):
            self._print(movers)
        movers.stop()
        self._print(movers)
        return 0

    def stop(self, _number: int = 0, _frame: FrameType | None = None) -> None:
        """End after the transactions that are open; a signal handler."""
        self._stopping.set()

    def _print(self, movers: MoverThread) -> None:
        state = MoverReport(
            ready=movers.is_ready,
            holding=movers.holding,
            failures=movers.failures,
            movers=movers.statistics(),
            parked=movers.parked,
        )
        if state == self._last:
            return
        self._last = state
        try:
            print(msgspec.json.encode(state).decode(), file=self._out, flush=True)
        except BrokenPipeError:
            self.stop()

    def _end_now(self, _what: str) -> None:
        os._exit(1)

    def _obey(self, commands: FileIO, movers: MoverThread) -> None:
        """Start movers again when asked to; end when the parent has gone.

        The parent takes them for running then. A mover that ends again at once, for the same reason
        as before, is as it was at the last look: so what is so is said once more.
        """
        while commands.read(1024):
            movers.restart()
            self._last = None
        self.stop()
        threading.Event().wait(ORPHAN_GRACE_S)
        os._exit(1)


def main() -> int:
    """Run in a process of its own, by adapter.host.program."""
    gc.set_threshold(GC_THRESHOLD)
    memory.give_back_long_blocks()
    child = MoverChild(sys.stdout)
    signal.signal(signal.SIGTERM, child.stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the parent too
    # Unbuffered: a buffer's lock, held by a thread that waits, would be in the way at the end.
    commands = FileIO(sys.stdin.fileno(), closefd=False)
    try:
        settings = msgspec.json.decode(commands.readline(), type=MoverSettings)
    except msgspec.DecodeError as error:
        logs.tell(f"mqk: invalid settings of the movers: {error}")
        return 1
    logs.configure(settings.log)
    return child.run(settings, commands)
