"""For how long the first link of a connection is tried, and what ends the attempts. Waits for
nothing.

A link that is lost is made again for some time. A program that starts in the midst of a take-over
may ask for the same of its first one: by default it hears at once what is wrong.
"""

from __future__ import annotations

import time

from adapter.connection.channel.handshake import back_off_s
from adapter.errors import (
    Error,
    QueueManagerNotAvailable,
    QueueManagerQuiescing,
    QueueManagerStopping,
)

PASSING = (QueueManagerNotAvailable, QueueManagerQuiescing, QueueManagerStopping)
"""What an attempt fails with while a queue manager is started, taken over or switched."""


class FirstAttempts:
    """The attempts to make the first link of one connection."""

    def __init__(self, wait_s: float) -> None:
        self._until_s = time.monotonic() + wait_s
        self._failed = 0

    def pause_s(self, error: Error) -> float:
        """Return how long to wait before the next attempt; raise the error after the last one."""
        left_s = self._until_s - time.monotonic()
        if left_s <= 0 or not isinstance(error, PASSING):
            raise error
        self._failed += 1
        return min(back_off_s(self._failed), left_s)
