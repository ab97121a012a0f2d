"""What has been put and is on no topic yet: counted, so that memory has a bound while movers lag.

Messages stay in memory until they are copied. The count is of entries as the movers report them: it
falls when they say up to which entry everything is copied.
"""

from __future__ import annotations

from collections import deque
from typing import Final

MESSAGE_BYTES: Final = 512
"""What a message takes at least beside its body."""


class Uncopied:
    """Bytes of persistent messages that are in no copy, by entry.

    is_full: puts are refused, from the limit on until half of it is left. Without movers nothing is
    ever copied, and nothing counts: not before they have reported first.
    """

    __slots__ = ("_entries", "_is_watched", "_limit", "is_full", "is_told", "total")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: deque[list[int]] = deque()  # n and bytes
        self._is_watched = False
        self.total = 0
        self.is_full = False
        self.is_told = False
        """Whether the last event said that it is full."""

    def add(self, entry_n: int, messages: int, size: int) -> None:
        """Count messages, of so many bytes of bodies, that an entry puts."""
        size += messages * MESSAGE_BYTES
        last = self._entries[-1] if self._entries else None
        if last is not None and (last[0] == entry_n or not self._is_watched):
            last[0] = entry_n
            last[1] += size
        else:
            self._entries.append([entry_n, size])
        self.total += size
        self._judge()

    def copied(self, moved_n: int) -> None:
        """Forget what entries up to this one put."""
        self._is_watched = True
        while self._entries and self._entries[0][0] <= moved_n:
            self.total -= self._entries.popleft()[1]
        self._judge()

    def _judge(self) -> None:
        bound = self._limit // 2 if self.is_full else self._limit
        self.is_full = self._is_watched and self.total >= bound
