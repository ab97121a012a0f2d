"""Who may go on sending when many send long frames at once: memory for them is bounded.

A frame is kept until it is whole. While the unfinished ones of all connections together are too
much, the one that began first goes on and the other long ones are held back: so it ends, and each
has its turn. Short ones are never held back. This module knows no sockets.
"""

from __future__ import annotations

from typing import Final, Protocol

UNFINISHED_BYTES_MAX: Final = 256 * 1024 * 1024
"""Of frames that have not come to their end, over all connections: two of the longest."""
LONG_BYTES: Final = 1024 * 1024
"""A frame of which more has come may have to wait for others."""


class Throttled(Protocol):
    """A connection, as far as it may be held back."""

    def hold_back(self, held: bool) -> None:
        """Read nothing more from it, or go on."""


class FrameBudget:
    """The unfinished frames of all connections."""

    def __init__(self, bytes_max: int = UNFINISHED_BYTES_MAX) -> None:
        self.bytes = 0
        self._bytes_max = bytes_max
        self._begun: dict[Throttled, int] = {}
        """How much of its frame has come, in the order in which the frames began."""
        self._held: set[Throttled] = set()

    def has_come(self, sender: Throttled, bytes_: int, *, new: bool) -> None:
        """Note how much of a sender's unfinished frame has come; 0: it has none.

        new: this frame has begun just now.
        """
        before = self._begun.pop(sender, 0) if new or not bytes_ else self._begun.get(sender, 0)
        if bytes_:
            self._begun[sender] = bytes_
        self.bytes += bytes_ - before
        if self._held or self.bytes > self._bytes_max:
            self._take_turns()

    def _take_turns(self) -> None:
        wait: list[Throttled] = []
        if self.bytes > self._bytes_max:
            wait = [sender for sender, bytes_ in self._begun.items() if bytes_ > LONG_BYTES][1:]
        held, self._held = self._held, set(wait)
        for sender in held - self._held:
            sender.hold_back(False)
        for sender in self._held - held:
            sender.hold_back(True)
