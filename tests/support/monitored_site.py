"""Triggered queues with a trigger monitor in a process of its own, that starts real programs.

The program of every queue notes on a file which queue it was started for. That nothing more was
started is known when the program of the queue END has been, which is asked for last: the monitor
starts one program after the other.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import adapter

TIMEOUT_S = 60.0
NOTE = """#!/bin/sh
printf '%.48s\\n' "${1#????????}" >>"$0.begun"
while [ -e "$0.hold" ]; do sleep 0.02; done
printf '%.48s\\n' "${1#????????}" >>"$0.started"
"""


class MonitoredSite:
    """A context manager: it leaves no process behind. app never has a queue open for input."""

    def __init__(self, address: str, folder: Path, initiation: str) -> None:
        self.address = address
        self.initiation = initiation
        self._note = folder / "note"
        self._note.write_text(NOTE)
        self._note.chmod(0o755)
        self._hold = folder / "note.hold"
        self._begun = folder / "note.begun"
        self._started = folder / "note.started"
        self._seen = 0
        self._monitors: list[subprocess.Popen[str]] = []
        self.app = adapter.connect(address, application="app")
        self.app.define_queue(initiation)
        self.app.define_process("NOTE", appl_id=str(self._note), replace=True)
        self.define("END", trigger_type="EVERY")

    def __enter__(self) -> Self:
        self.start_monitor()
        return self

    def __exit__(self, *_problem: object) -> None:
        self.release()
        self.app.close()
        for monitor in self._monitors:
            monitor.kill()
            monitor.communicate(timeout=TIMEOUT_S)

    def define(self, name: str = "Q", *, messages: int = 0, **attributes: Any) -> None:
        """Define a triggered queue, on which there are messages already that triggered nothing."""
        told: dict[str, Any] = {"trigger_control": True, "trigger_type": "FIRST", "process": "NOTE"}
        self.app.define_queue(self.named(name), **(told | attributes))
        for _ in range(messages):
            self.put(name)
        self.app.alter_queue(self.named(name), initiation_queue=self.initiation)

    def named(self, name: str) -> str:
        """The whole name of a queue of this site, which is not alone on its queue manager."""
        return f"{self.initiation}.{name}"

    def put(self, *names: str, **fields: Any) -> None:
        for name in names or ("Q",):
            self.app.put(self.named(name), "work", **fields)

    def started(self) -> list[str]:
        """Which programs have been started since this was asked last; waits until no more are."""
        self.app.put(self.named("END"), "end")
        self.app.get(self.named("END"))  # so that no later event finds a message there
        await_that(lambda: self.named("END") in self._lines())
        found = [line.removeprefix(self.named("")) for line in self._lines()]
        self._seen += len(found)
        assert found.pop() == "END"
        return found

    def await_start(self) -> None:
        """Wait until some program has been started that was not asked for yet."""
        await_that(lambda: bool(self._lines()))

    def await_held(self, name: str) -> None:
        """Wait until the program of a queue runs, which hold() keeps from going on.

        Its trigger message has been got for good then. The initiation queue has it no longer as
        soon as the monitor's unit has got it: were the queue manager to end before that unit is
        committed, the trigger message would be lost.
        """
        await_that(lambda: self.named(name) in _lines(self._begun))

    def _lines(self) -> list[str]:
        return _lines(self._started)[self._seen :]

    def hold(self) -> None:
        """From now on a program goes on for as long as it is not released."""
        self._hold.touch()

    def release(self) -> None:
        self._hold.unlink(missing_ok=True)

    def start_monitor(self) -> None:
        """Start a trigger monitor; returns when it has the initiation queue open."""
        inputs = self.monitors()
        self._monitors.append(
            subprocess.Popen(
                [sys.executable, "-m", "adapter.cli", "trigger-monitor", "-q", self.initiation],
                stderr=subprocess.PIPE, text=True, env=os.environ | {"MQK_QMGR": self.address},
            )
        )  # fmt: skip
        await_that(lambda: self.monitors() == inputs + 1)

    def stop_monitor(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Stop the monitor that was started last."""
        self._monitors[-1].send_signal(number)
        self._monitors.pop().communicate(timeout=TIMEOUT_S)
        await_that(lambda: self.monitors() == len(self._monitors))

    def monitors(self) -> int:
        """How many have the initiation queue open for input."""
        return self.app.queue(self.initiation).status().open_input_count

    @contextmanager
    def serving(self, name: str = "Q") -> Iterator[adapter.Queue]:
        """Have a queue open for input on a connection of its own."""
        with adapter.connect(self.address, application="server") as server:
            queue = server.queue(self.named(name), open_for="input")
            yield queue
            queue.close()


def _lines(noted: Path) -> list[str]:
    return [line.rstrip() for line in noted.read_text().splitlines()] if noted.exists() else []


def await_that(check: Callable[[], bool]) -> None:
    """Wait until something holds."""
    deadline_s = time.monotonic() + TIMEOUT_S
    while not check():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
