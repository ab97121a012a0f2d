"""`mqk worker` as a process, and the processes that it forks."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import adapter
from tests.support.backlog import until

TOP = Path(__file__).parents[2]
FUNCTIONS = "tests.support.worker_functions"
END_S = 40.0


class WorkerProcess:
    """Started with the with statement; killed with all its processes behind it."""

    def __init__(
        self,
        address: str,
        function: str,
        *options: object,
        log: Path,
        folder: Path = TOP,
        queue: str = "Q",
    ) -> None:
        self._log = log
        self._folder = folder
        self._environment = os.environ | {"MQK_QMGR": address, "PYTHONPATH": str(TOP)}
        named = function if ":" in function else f"{FUNCTIONS}:{function}"
        arguments = ["worker", named, "--queue", queue, *map(str, options)]
        self._command = [sys.executable, "-P", "-m", "adapter.cli", *arguments]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> "subprocess.Popen[bytes]":
        assert self._process is not None
        return self._process

    def start(self) -> Self:
        """Start it."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, cwd=self._folder, env=self._environment, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        return self

    def children(self) -> list[int]:
        """Return the processes that it has forked."""
        pid = self.process.pid
        with suppress(OSError):
            return [
                int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            ]
        return []

    def await_log(self, text: str, times: int = 1) -> None:
        """Wait until it has logged this."""
        until(lambda: self.log().count(text) >= times)

    def log(self) -> str:
        """What it has logged."""
        return self._log.read_text()

    def signal(self, number: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        """Wait for its end; return its exit status."""
        return self.process.wait(END_S)

    def stop(self) -> int:
        """Stop it as operators do."""
        self.signal()
        return self.wait()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(END_S)


def await_depth(qm: adapter.Connection, name: str, wanted: int) -> None:
    """Wait until a queue has so many messages."""
    queue = qm.queue(name)
    until(lambda: queue.depth() == wanted)


def bodies(qm: adapter.Connection, name: str) -> list[bytes]:
    """Return what is on a queue, in order."""
    return [message.body for message in qm.queue(name).browse()]
