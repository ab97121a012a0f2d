"""The tasks of a connection's own, which outlive a cancellation of all tasks by the program.

Programs cancel all tasks of an event loop when they end, and some go on. A connection whose own
tasks ended so would never connect again, and its calls would wait for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

Start = Callable[[], asyncio.Task[None]]


class OwnTasks:
    """Tasks that are started again when the program has cancelled them.

    Without need none is started: the event loop may be about to be closed.
    """

    def __init__(self, is_needed: Callable[[], bool]) -> None:
        """is_needed: whether anything waits for what the tasks do."""
        self._is_needed = is_needed
        self._tasks: dict[asyncio.Task[None], Start] = {}

    @property
    def are_none(self) -> bool:
        """Whether none was started, or all were ended."""
        return not self._tasks

    def add(self, start: Start) -> None:
        """Start a task. start: does so."""
        task = start()
        self._tasks[task] = start
        task.add_done_callback(self._look)

    def revive(self) -> None:
        """Start the tasks again that were cancelled, because they are needed from now on."""
        for task in self._tasks:
            if task.done():
                self._start_again()
                return

    def end(self) -> None:
        """Cancel the tasks for good; one that ends the connection itself goes on to its end."""
        tasks, self._tasks = self._tasks, {}
        current = None
        with suppress(RuntimeError):  # no event loop runs here
            current = asyncio.current_task()
        for task in tasks:
            if task is not current:
                task.cancel()

    def _start_again(self) -> None:
        for task, start in list(self._tasks.items()):
            if task.done():
                del self._tasks[task]
                if task.cancelled():
                    self.add(start)

    def _look(self, task: asyncio.Task[None]) -> None:
        if task in self._tasks and self._is_needed():
            self.revive()
