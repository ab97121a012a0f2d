"""The demo's processes: each a child that ends with the demo, its output in a file.

It starts programs by their published commands and must not know what they do.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from adapter.host import launch
from mqk_demo.errors import DemoError

QUOTED_LINES_MAX = 8
POLL_S = 0.01
STOP_GRACE_S = 20.0


class Process:
    """One program of the demo."""

    def __init__(self, name: str, arguments: list[str], folder: Path) -> None:
        self.name = name
        self._output = folder / f"{name.replace(' ', '-')}.log"
        self._start = self._output.stat().st_size if self._output.exists() else 0
        self._child = launch.start(launch.python(*arguments), output=self._output)

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._child.exit_status() is None

    def check(self) -> None:
        """DemoError if it has ended by itself with another status than 0."""
        status = self._child.exit_status()
        if status not in (None, 0):
            raise DemoError(f"the {self.name} ended with status {status}. It said:\n{self.said()}")

    def await_line(self, timeout_s: float) -> dict[str, Any]:
        """Wait for its first line of JSON; DemoError if it ends or takes too long."""
        deadline_s = time.monotonic() + timeout_s
        while time.monotonic() < deadline_s:
            found = self.figures()
            if found is not None:
                return found
            if not self.is_running and self.figures() is None:
                raise DemoError(
                    f"the {self.name} ended with status {self._child.exit_status()} before it "
                    f"served. It said:\n{self.said()}"
                )
            time.sleep(POLL_S)
        raise DemoError(
            f"the {self.name} did not serve within {timeout_s:.0f} s: is the machine overloaded? "
            f"It said:\n{self.said()}"
        )

    def figures(self) -> dict[str, Any] | None:
        """The last whole line of JSON that it printed."""
        return next(iter(self.all_figures()[::-1]), None)

    def all_figures(self) -> list[dict[str, Any]]:
        """Every whole line of JSON that it, or a program that it has started, printed."""
        found: list[dict[str, Any]] = []
        for line in self._lines():
            if line.startswith("{"):
                with suppress(msgspec.DecodeError):
                    found.append(msgspec.json.decode(line))
        return found

    def kill(self) -> None:
        """SIGKILL, to it and what it started in its own group."""
        self._child.kill()

    def stop(self, grace_s: float = STOP_GRACE_S) -> int:
        """SIGTERM, and SIGKILL if that does not help; its exit status."""
        return self._child.stop(grace_s)

    def said(self) -> str:
        """Its last lines, for an error's text."""
        return "\n".join(self._lines()[-QUOTED_LINES_MAX:]) or "(nothing)"

    def _lines(self) -> list[str]:
        with self._output.open("rb") as file:
            file.seek(self._start)
            return file.read().decode(errors="replace").splitlines()
