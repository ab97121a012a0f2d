"""How much of each partition was read and is not put yet, and which are paused for it."""

from __future__ import annotations

import threading
from collections.abc import Collection

from adapter.runtime.feeds.port import FeedConsumer


class WaitingBytes:
    """Bytes by partition. For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bytes: dict[int, int] = {}

    def add(self, partition: int, size: int) -> None:
        """Note that so many more wait; fewer, if size is negative."""
        with self._lock:
            self._bytes[partition] = self._bytes.get(partition, 0) + size

    def by_partition(self) -> dict[int, int]:
        """Return how many wait now."""
        with self._lock:
            return dict(self._bytes)


class PausedPartitions:
    """The partitions of one consumer that are paused. For one thread.

    A pause of a partition that is not assigned does nothing. So one of which too much waits already
    when it is assigned is paused then, before anything of it is read.
    """

    def __init__(self, waiting: WaitingBytes) -> None:
        self._waiting = waiting
        self._paused: set[int] = set()

    def __len__(self) -> int:
        return len(self._paused)

    def begin(self) -> None:
        """A new consumer reads: nothing is paused."""
        self._paused.clear()

    def look(
        self, consumer: FeedConsumer, assigned: Collection[int], most: int, held: Collection[int]
    ) -> None:
        """Pause and resume partitions of those that are assigned.

        most: the bytes of a partition that may wait. held: partitions that are not to be read.
        """
        waiting = self._waiting.by_partition()
        for n in assigned:
            size = waiting.get(n, 0)
            if n not in self._paused and (size > most or n in held):
                consumer.pause(n)
                self._paused.add(n)
            elif n in self._paused and size <= most // 2 and n not in held:
                consumer.resume(n)
                self._paused.discard(n)
