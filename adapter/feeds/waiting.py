"""How much of each partition was read and is not put yet. For any thread."""

from __future__ import annotations

import threading


class WaitingBytes:
    """Bytes by partition."""

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
