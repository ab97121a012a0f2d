"""Commits in flight, as tasks wait for them.

What is kept of them, and what a failure raises, is said in adapter/connection/channel/commits.py.
Any number of tasks may wait for the same commit.
"""

from __future__ import annotations

from adapter.aio.waiting import await_answers, await_outcomes
from adapter.connection.channel.commits import CommitsBooks


class TaskCommits(CommitsBooks):
    """Commits without an answer, the oldest first, and failures that have not been raised."""

    async def make_room(self) -> None:
        """Wait until one more commit may be sent; a cancellation comes when there is room.

        If the connection is lost it comes at once, and the commits stay in flight.
        """
        while self.is_full:
            await await_outcomes([self._in_flight[0].commit], lambda _unsent: None)
            self.has_failed()

    async def check(self) -> None:
        """If a commit is known to have failed, wait for all in flight and raise it."""
        if self.has_failed():
            await self.flush()

    async def flush(self) -> None:
        """Wait for every commit in flight. Raises the first failure, with all units that failed.

        If the task is cancelled meanwhile, they stay in flight, and failures are raised later.
        """
        while self._in_flight:
            await await_answers([self._in_flight[0].commit])
            self.has_failed()
        self.raise_failed()
