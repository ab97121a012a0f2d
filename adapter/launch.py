"""Bounded process launching: children that end with us, or that are told to outlive us.

For every part that starts programs (a broker, a queue manager, a trigger's application). It knows
processes and signals, and must not know what the program is. Every wait has a bound.
"""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

# The watcher reads from a pipe whose other end only the parent holds: end of file means that the
# parent is gone, however it went, and then the whole process group is killed. (Linux could tell the
# child by itself, but does so when the starting *thread* ends.) `kill 0` cannot hit a reused id.
TIED = 'exec 3<&0; (read -r _ <&3; kill -KILL 0) & exec "$@" 3<&- </dev/null'
DETACHED = 'output=$1; shift; "$@" >>"$output" 2>&1 </dev/null & echo $!'

# Handing a command to the shell takes milliseconds; a machine this slow has other troubles.
DETACH_TIMEOUT_S = 30
# A killed process is gone as soon as the kernel gets to it.
KILL_TIMEOUT_S = 30


class Child:
    """A started program. It is killed if this process ends without stopping it."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    def exit_status(self) -> int | None:
        """None while it runs; else its status, negative for a signal."""
        return self._process.poll()

    def wait(self, timeout_s: float) -> int | None:
        """Wait for the end at most so long; None if it still runs."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def ask_to_end(self) -> None:
        """Send SIGTERM; does not wait."""
        if self._process.poll() is None:
            self._process.terminate()

    def stop(self, grace_s: float) -> int:
        """SIGTERM, then SIGKILL when it has not ended in time; returns its exit status."""
        self.ask_to_end()
        status = self.wait(grace_s)
        return self.kill() if status is None else self._settle(status)

    def kill(self) -> int:
        """SIGKILL to it and to what it started; returns when it is gone."""
        self.signal_group(signal.SIGKILL)
        return self._settle(self._process.wait(KILL_TIMEOUT_S))

    def signal_group(self, number: signal.Signals) -> None:
        """Send a signal to the program and to what it started (SIGSTOP and SIGCONT, for one)."""
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return

    def _settle(self, status: int) -> int:
        """Once it has ended, end its watcher too and let go of the pipe."""
        self.signal_group(signal.SIGKILL)
        if self._process.stdin is not None:
            self._process.stdin.close()
        return status


def start(
    arguments: Sequence[str | Path],
    *,
    output: Path,
    environment: Mapping[str, str] | None = None,
) -> Child:
    """Start a program whose output is appended to a file, and which cannot outlive us."""
    with output.open("ab") as log:
        process = subprocess.Popen(
            ["/bin/sh", "-c", TIED, "launch", *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
    return Child(process)


def detach(arguments: Sequence[str | Path], *, output: Path) -> int:
    """Start a program that outlives us; returns its process id."""
    done = subprocess.run(
        ["/bin/sh", "-c", DETACHED, "launch", str(output), *map(str, arguments)],
        stdout=subprocess.PIPE,
        timeout=DETACH_TIMEOUT_S,
        start_new_session=True,
        check=True,
    )
    return int(done.stdout)
