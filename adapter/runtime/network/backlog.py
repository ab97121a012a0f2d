"""How much a destination has not received of what was sent to it, and for how long.

A destination deletes what it has received from its inbound topic, within seconds: what is left
there is the backlog. This module knows no transport.
"""

from __future__ import annotations

from msgspec import Struct

AWAY_S = 20.0
"""A destination that runs deletes what it has received several times meanwhile."""


class Backlog(Struct):
    """Of the inbound topic that a sender writes to. records: how many are left there. since_s: the
    monotonic time since when none was received; 0.0: there are none. sent: messages of the sender
    when it was last looked.
    """

    topic: str = ""
    records: int = 0
    since_s: float = 0.0
    sent: int = 0
    first: int = -1

    def is_due(self, topic: str, sent: int) -> bool:
        """Whether it is to be looked: messages have been sent, or are waiting there."""
        return bool(topic) and (topic != self.topic or sent != self.sent or self.records > 0)

    def note(self, topic: str, sent: int, bounds: tuple[int, int], now_s: float) -> None:
        """Note the offsets of the first record of a topic, and behind the last."""
        first, end = bounds
        if (topic, first) != (self.topic, self.first) or not self.records:
            self.since_s = now_s
        self.topic, self.sent, self.first = topic, sent, first
        self.records = max(end - first, 0)
        if not self.records:
            self.since_s = 0.0

    def waits_s(self, now_s: float) -> float:
        """Return for how long none of the records that wait was received."""
        return now_s - self.since_s if self.since_s else 0.0
