"""A queue manager's feeds: what reads topics, and what gives to core what was read, put together.

This module must not know what is read, nor where it is put.
"""

from __future__ import annotations

import asyncio

from adapter.runtime.feeds.port import FeedFigures, FeedTopics
from adapter.runtime.feeds.readers import FeedReaders
from adapter.runtime.owner.feeds import Feeding
from adapter.runtime.owner.owner import Owner
from adapter.runtime.owner.term import OwnerTerm


class FeedService:
    """Reads and puts for one queue manager. Methods are called on the event loop's thread."""

    def __init__(self, topics: FeedTopics, owner: Owner) -> None:
        self._owner = owner
        self._readers = FeedReaders(owner.name, topics, owner.broke)
        self._feeding = Feeding(self._term, self._readers, owner.broke)

    def start(self) -> None:
        """Begin, when the owner serves."""
        self._feeding.start()

    async def stop(self) -> None:
        """End. Bounded."""
        self._feeding.stop()
        await asyncio.get_running_loop().run_in_executor(None, self._readers.stop())

    def figures(self) -> dict[str, FeedFigures]:
        """Return the figures of all feeds, by name."""
        return self._feeding.figures()

    def _term(self) -> OwnerTerm | None:
        return self._owner.term if self._owner.running else None
