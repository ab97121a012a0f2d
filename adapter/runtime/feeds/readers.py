"""The readers of a queue manager's feeds: one for each feed that is read, in its version of now.

A feed that is another one gets another reader, and the one that it had ends by itself: what that
still hands on is void, by its version. This module must not know what becomes of a message.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from adapter.host import watched
from adapter.runtime.feeds.port import Deliver, FeedFigures, FeedReading, FeedTopics
from adapter.runtime.feeds.reader import STOP_S, FeedReader


class FeedReaders:
    """Reads for one queue manager. Methods are called in one thread, but for those of readers."""

    def __init__(self, queue_manager: str, topics: FeedTopics, broke: watched.Ended) -> None:
        self._queue_manager = queue_manager
        self._topics = topics
        self._broke = broke
        self._readers: dict[str, FeedReader] = {}
        self._ending: list[FeedReader] = []

    def read(self, wanted: Mapping[str, FeedReading], deliver: Deliver) -> None:
        """Read these feeds, by name, and no others. Those that are read already are read on.

        deliver: what the readers that are started now call.
        """
        for name, reader in list(self._readers.items()):
            if wanted.get(name) is not reader.reading:
                self._end(name)
        for name, reading in wanted.items():
            if name not in self._readers:
                reader = FeedReader(self._queue_manager, reading, self._topics, deliver)
                self._readers[name] = reader
                reader.start(self._broke)

    def note_taken(self, feed: str, version: int, partition: int, size: int) -> None:
        """So many bytes that were read for a feed wait no more."""
        reader = self._readers.get(feed)
        if reader is not None and reader.reading.version == version:
            reader.note_taken(partition, size)

    def show(self, positions: Mapping[str, dict[int, int]]) -> None:
        """Let those who watch consumer groups see these positions, by feed."""
        for name, offsets in positions.items():
            if name in self._readers:
                self._readers[name].show(offsets)

    def figures(self, feed: str, positions: dict[int, int]) -> FeedFigures | None:
        """Return the figures of a feed; None if it is not read."""
        reader = self._readers.get(feed)
        return reader.figures(positions) if reader is not None else None

    def stop(self) -> Callable[[], None]:
        """End all of them, soon; returns what waits until they have ended, within a bound."""
        for name in list(self._readers):
            self._end(name)
        ending = self._ending

        def wait() -> None:
            until_s = time.monotonic() + STOP_S
            for reader in ending:
                reader.join(max(0.0, until_s - time.monotonic()))
            self._topics.decoder.close()

        return wait

    def _end(self, name: str) -> None:
        reader = self._readers.pop(name)
        reader.tell_to_stop()
        self._ending = [one for one in self._ending if one.is_alive] + [reader]
