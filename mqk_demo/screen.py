"""What the demo shows while it runs, on standard error: bars on a terminal, else lines of text."""

from __future__ import annotations

import sys
import time
from typing import Self, TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

LINE_EVERY_S = 10.0


class Screen:
    """Phases and bars; a context manager. quiet: shows nothing."""

    def __init__(self, *, quiet: bool = False, file: TextIO | None = None) -> None:
        self._file = file or sys.stderr
        self._quiet = quiet
        self._began_s = time.monotonic()
        self._lined_s: dict[str, float] = {}
        self._tasks: dict[str, TaskID] = {}
        self._progress: Progress | None = None
        if self._file.isatty() and not quiet:
            self._progress = Progress(
                TextColumn("{task.description:>22}"), BarColumn(), MofNCompleteColumn(),
                TimeElapsedColumn(), console=Console(file=self._file, highlight=False),
            )  # fmt: skip

    def __enter__(self) -> Self:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(self, *_problem: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def say(self, text: str) -> None:
        """Tell of a step."""
        if self._quiet:
            return
        line = f"{time.monotonic() - self._began_s:6.1f} s  {text}"
        if self._progress is not None:
            self._progress.console.print(line, markup=False)
        else:
            print(line, file=self._file, flush=True)

    def show(self, name: str, done: int, total: int) -> None:
        """Tell how far something has come."""
        if self._progress is not None:
            if name not in self._tasks:
                self._tasks[name] = self._progress.add_task(name, total=total)
            self._progress.update(self._tasks[name], completed=done)
            return
        now_s = time.monotonic()
        due = now_s - self._lined_s.setdefault(name, now_s) >= LINE_EVERY_S
        if due and done < total:
            self._lined_s[name] = now_s
            self.say(f"{name}: {done:,} of {total:,}")
