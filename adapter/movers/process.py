"""The movers of one queue manager in a process of their own, and the handle that its parent holds.

    python -m adapter.movers.process

reads its settings from the first line of standard input and prints its state as lines of JSON: when
its movers have found where to go on, and whenever the figures change. It ends when it is told to
(SIGTERM), when a mover cannot go on (status 1), and when standard input ends: then its parent is
gone, however it went. (Linux could tell it of the parent's death, but tells of the death of the
parent's *thread* that started it.)
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

from adapter import launch, logs, memory, watched
from adapter.movers.parking import Held
from adapter.movers.settings import MoverSettings
from adapter.movers.thread import MoverThread

__all__ = ["MoverProcess", "MoverSettings", "MoverThread"]

REPORT_S = 0.1
"""How often figures are looked at, and printed if they have changed."""
ORPHAN_GRACE_S = 10.0
"""How long an orphan may take for its open transactions; another queue manager may take over."""
STOP_GRACE_S = 3.0
"""After it a stopping process is killed. Nothing is lost by that: the next one goes on from the
progress, and ends what this one left open."""
KILL_TIMEOUT_S = 30.0
GC_THRESHOLD = 100_000
"""Copies make no cycles."""

log = structlog.get_logger("mqk.movers")


class State(Struct):
    """One line that the process prints.

    failure: why a mover cannot go on, or "". holding: what it waits for to be mended, or "".
    parked: topics that cannot be written, by name.
    """

    ready: bool = False
    holding: str = ""
    failure: str = ""
    movers: dict[str, dict[str, int]] = {}
    parked: dict[str, Held] = {}


class MoverProcess:
    """Starts, watches and stops the movers' process. For any thread; every wait has a bound."""

    def __init__(self, settings: MoverSettings) -> None:
        self._settings = settings
        self._run: Run | None = None

    @property
    def pid(self) -> int | None:
        """The process id; None if it was not started."""
        return None if self._run is None else self._run.process.pid

    def start(self) -> None:
        """Start the process; does not wait for Kafka, and not for the process."""
        self.stop()
        self._run = Run(self._settings)

    def stop(self) -> None:
        """Let it finish the transactions that are open, and end; twice is no error."""
        run, self._run = self._run, None
        if run is not None:
            run.end(STOP_GRACE_S)

    def kill(self) -> None:
        """End it at once (SIGKILL), as a crash does: ended() will say so."""
        if self._run is not None:
            self._run.process.kill()
            self._run.wait(KILL_TIMEOUT_S)

    def ended(self) -> str | None:
        """Why it ended by itself; None while it runs, before a start, and after a stop."""
        return None if self._run is None else self._run.ended()

    def wait(self, timeout_s: float) -> bool:
        """Wait until it has ended; False if not in time."""
        return self._run is None or self._run.wait(timeout_s)

    def wait_ready(self, timeout_s: float) -> bool:
        """Wait until its movers have found where to go on; False if not in time, or if it ended."""
        return self._run is not None and self._run.wait_for(lambda state: state.ready, timeout_s)

    def caught_up(self, offset: int, timeout_s: float) -> bool:
        """Wait until all entries up to a ledger offset are copied; False if not in time."""

        def copied(state: State) -> bool:
            movers = state.movers.values()
            return bool(movers) and all(one["position"] >= offset for one in movers)

        return self._run is not None and self._run.wait_for(copied, timeout_s)

    @property
    def holding(self) -> str:
        """What the movers wait for to be mended, or nothing; as they told it last."""
        return "" if self._run is None else self._run.state.holding

    @property
    def parked(self) -> dict[str, Held]:
        """The topics that cannot be written, by name; as the movers told them last."""
        return {} if self._run is None else self._run.state.parked

    def statistics(self) -> dict[str, dict[str, int]]:
        """The figures of each mover, by its name, as it told them last; never waits."""
        return {} if self._run is None else self._run.state.movers


class Run:
    """One life of the process, from its start to its end."""

    def __init__(self, settings: MoverSettings) -> None:
        self.state = State()
        self._silent = False
        self._failure = ""  # why nobody hears of it any more
        self._changed = threading.Condition()
        command = launch.python("-m", "adapter.movers.process")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._watch = watched.thread("movers-watch", self._keep_state, self._unwatched)
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended; ended() says how
            self.process.stdin.write(msgspec.json.encode(settings) + b"\n")
            self.process.stdin.flush()

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

    def ended(self) -> str | None:
        """Why it ended; None while it runs."""
        if self.process.poll() is None:
            return None
        self._watch.join(KILL_TIMEOUT_S)  # its last words are in the pipe
        status = self.process.returncode
        told = self._failure or self.state.failure
        return told or f"the movers' process ended with status {status}"

    def wait_for(self, condition: Callable[[State], bool], timeout_s: float) -> bool:
        """Wait until it has told of a state; False if not in time, or if it ended before."""
        with self._changed:
            self._changed.wait_for(lambda: condition(self.state) or self._silent, timeout_s)
            return condition(self.state)

    def _unwatched(self, what: str) -> None:
        """End the process, when nobody hears any more how it goes: ended() says why."""
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
                    self.state = msgspec.json.decode(line, type=State)
                    self._changed.notify_all()
        with self._changed:
            self._silent = True
            self._changed.notify_all()


class Child:
    """The process itself: runs the movers, prints states, notices its parent's end."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._last = State()
        self._stopping = threading.Event()

    def run(self, settings: MoverSettings, commands: FileIO) -> int:
        """Copy until told to stop; returns the exit status."""
        movers = MoverThread(settings)
        watched.thread("orphanhood", partial(self._notice_orphanhood, commands), self._end_now)
        movers.start()
        while not self._stopping.wait(REPORT_S) and movers.ended() is None:
            self._print(movers)
        movers.stop()
        self._print(movers)
        return 1 if movers.ended() else 0

    def stop(self, _number: int = 0, _frame: FrameType | None = None) -> None:
        """End after the transactions that are open; a signal handler."""
        self._stopping.set()

    def _print(self, movers: MoverThread) -> None:
        state = State(
            ready=movers.is_ready,
            holding=movers.holding,
            failure=movers.ended() or "",
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

    def _notice_orphanhood(self, commands: FileIO) -> None:
        while commands.read(1024):
            continue
        self.stop()
        threading.Event().wait(ORPHAN_GRACE_S)
        os._exit(1)


def main() -> int:
    """Run as `python -m adapter.movers.process`."""
    gc.set_threshold(GC_THRESHOLD)
    memory.give_back_long_blocks()
    child = Child(sys.stdout)
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


if __name__ == "__main__":
    sys.exit(main())
