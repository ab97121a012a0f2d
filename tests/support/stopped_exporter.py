"""A queue manager's server whose exporter stops at a step: `... STEP SIGNAL NUMBER <settings`.

`python -m adapter.host.program tests.support.stopped_exporter committed 9 2` sends itself signal 9
(SIGKILL) or 19 (SIGSTOP) when an exporter comes to a step for the second time; with 0 only the
exporter stops there. StoppedServer starts it.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from adapter.connection.channel.unit import AnyUnit
from adapter.runtime.exports.kafka import KafkaExportWriter
from adapter.server import main as server
from tests.support.server_process import CODE, ServerProcess

STEPS = ("opened", "got", "written", "committed", "done")
"""The queue is open; messages are got; their records are in an open transaction; that is committed;
the unit is committed as well."""


class Stop:
    """Sends this process a signal at a step."""

    def __init__(self, step: str, number: int, sent: int) -> None:
        assert step in STEPS
        self._step = step
        self._number = number
        self._sent = sent
        self._counts = itertools.count(1)

    def reach(self, step: str) -> None:
        """Note that an exporter has come to a step."""
        if step == self._step and next(self._counts) == self._number:
            if not self._sent:
                threading.Event().wait()
            os.kill(os.getpid(), self._sent)

    def before(self, owner: type, name: str, step: str) -> None:
        """Let a method be a step's end: the step is reached before it is called."""
        replaced = getattr(owner, name)

        def call(one: Any, *arguments: Any, **named: Any) -> Any:
            self.reach(step)
            return replaced(one, *arguments, **named)

        setattr(owner, name, call)

    def after(self, owner: type, name: str, step: str) -> None:
        """Let a step be reached when a method has returned."""
        replaced = getattr(owner, name)

        def call(one: Any, *arguments: Any, **named: Any) -> Any:
            is_exporters = not isinstance(one, AnyUnit) or one.on_wire.ahead
            result = replaced(one, *arguments, **named)
            if is_exporters:
                self.reach(step)
            return result

        setattr(owner, name, call)


def install(stop: Stop) -> None:
    """Let exporters of this process say how far they have come."""
    stop.before(KafkaExportWriter, "resume", "opened")
    stop.before(KafkaExportWriter, "write", "got")
    stop.before(KafkaExportWriter, "_end", "written")
    stop.after(KafkaExportWriter, "write", "committed")
    stop.after(AnyUnit, "commit", "done")


class StoppedServer(ServerProcess):
    """A server's process that can be stopped at a step of its exporters."""

    def __init__(self, queue_manager: str, servers: str, folder: Path, **more: Any) -> None:
        super().__init__(queue_manager, servers, folder, **more)
        self._code_at = self._command.index(CODE)

    def stop_at(self, step: str, number: int = 1, sent: int = signal.SIGKILL) -> None:
        """Let the lives that are started from now on stop at a step; "" for none."""
        stopped = (
            f"-m adapter.host.program tests.support.stopped_exporter {step} {int(sent)} {number}"
        )
        self._command[self._code_at] = f'exec "$0" {stopped} <"$1"' if step else CODE

    def is_stopped(self) -> bool:
        """Whether it has been stopped by SIGSTOP."""
        stat = Path(f"/proc/{self.pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[0] == "T"

    def resume(self) -> None:
        """Let it go on."""
        os.kill(self.pid, signal.SIGCONT)


def main() -> int:
    """Serve, and stop where the arguments say."""
    install(Stop(sys.argv[1], int(sys.argv[3]), int(sys.argv[2])))
    return server.main()
