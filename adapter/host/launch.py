"""Bounded process launching: children that end with this process, or that may outlive it.

For every part that starts programs (a broker, a queue manager, a trigger's application). It knows
processes and signals, and must not know what the program is. Every wait has a bound.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple

# The watcher reads from a pipe whose other end only the parent holds: end of file means that the
# parent is gone, however it went, and then the whole process group is killed; a line, that there is
# nothing to watch any more. (Linux could tell the child by itself, but does so when the starting
# *thread* ends.) `kill 0` cannot hit a reused id. The watcher is no child of the program, which may
# wait for its children.
TIED = 'exec 3<&0; ((read -r _ <&3 || kill -KILL 0) &); exec "$@" 3<&- </dev/null'
DETACHED = 'output=$1; shift; "$@" >>"$output" 2>&1 </dev/null & echo $!'

# Handing a command to the shell takes milliseconds; a machine this slow has other troubles.
DETACH_TIMEOUT_S = 30
GROUP_LOOK_S = 0.02
PROCESSES = Path("/proc")
# A killed process is gone as soon as the kernel gets to it.
KILL_TIMEOUT_S = 30


class Account(NamedTuple):
    """An account of the operating system, by its numbers."""

    uid: int
    gid: int
    groups: list[int]


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

    def stop_group(self, grace_s: float) -> int:
        """SIGTERM to it and to what it started, then SIGKILL; returns its exit status.

        For a program behind a shell: the shell may be gone before the program is.
        """
        self.signal_group(signal.SIGTERM)
        deadline_s = time.monotonic() + grace_s
        while self._group_lives() and time.monotonic() < deadline_s:
            time.sleep(GROUP_LOOK_S)
        return self.kill()

    def leave_group(self) -> None:
        """Once it has ended by itself: what it started goes on, and is not tied to us any more."""
        pipe = self._process.stdin
        if pipe is not None:
            # The watcher may be gone; another thread may be stopping the group.
            with suppress(BrokenPipeError, ValueError):
                pipe.write(b"\n")
                pipe.flush()
            with suppress(BrokenPipeError):
                pipe.close()

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

    def _group_lives(self) -> bool:
        """Whether any process of the group is left; the program itself is reaped on the way."""
        self._process.poll()
        try:
            os.killpg(self._process.pid, 0)
        except ProcessLookupError:
            return False
        return not PROCESSES.is_dir() or has_living(self._process.pid)

    def _settle(self, status: int) -> int:
        """Once it has ended, end its watcher too and let go of the pipe."""
        self.signal_group(signal.SIGKILL)
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
        return status


def has_living(group: int) -> bool:
    """Whether a process group has a member that is more than a zombie, as Linux tells it.

    Who has been left by its parent is reaped by process 1, which in a container may never do so.
    """
    for status in PROCESSES.glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            state, _parent, its_group = status_of(status.parent)[:3]
            if int(its_group) == group and state != "Z":
                return True
    return False


def status_of(folder: Path) -> list[str]:
    """Return what Linux tells of a process behind its name: state, parent, process group, ...

    folder: /proc/PID. The name is of any bytes: a process chooses it, and Linux cuts it after 15,
    within a letter too. Raises OSError if the process has ended.
    """
    return (folder / "stat").read_bytes().rpartition(b")")[2].decode("ascii").split()


def python(*arguments: str | Path) -> list[str]:
    """Return the command that runs this Python with these arguments, such as "-m", MODULE.

    -P: modules that happen to lie in the working directory are not imported.
    """
    return [sys.executable, "-P", *map(str, arguments)]


def program(module: str, *arguments: str) -> list[str]:
    """Return the command that runs main() of a module of ours, imported quickly."""
    return python("-m", "adapter.host.program", module, *arguments)


def start(
    arguments: Sequence[str | Path],
    *,
    output: Path | None,
    environment: Mapping[str, str] | None = None,
    account: Account | None = None,
) -> Child:
    """Start a program that cannot outlive us. output: the file it is appended to, or None: ours.

    account: as which it runs, which only root can say; None: ours.
    """
    identity: dict[str, Any] = {}
    if account is not None:
        identity = {"user": account.uid, "group": account.gid, "extra_groups": account.groups}
    with nullcontext() if output is None else output.open("ab") as log:
        process = subprocess.Popen(
            ["/bin/sh", "-c", TIED, "launch", *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=None if log is None else subprocess.STDOUT,
            env=environment,
            start_new_session=True,
            **identity,
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
