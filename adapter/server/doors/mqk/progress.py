"""What a client has left half done, and since when: its hello, a frame, the reading of its replies.
Until when it may stay, too, and what it has agreed to say when it has nothing to say.

All times are of a monotonic clock, in seconds. This module knows no transport.
"""

from __future__ import annotations

import time
from math import inf

from adapter.connection.wire.heartbeats import Heartbeat
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from adapter.server.listen.bounds import ConnectionBounds


class ClientProgress:
    """The progress of one client."""

    def __init__(self, bounds: ConnectionBounds) -> None:
        self._bounds = bounds
        self.unfinished_bytes = 0
        """Of a frame that has not come to its end."""
        self.written_bytes = 0
        self.arrivals = 0
        """How often anything has come."""
        self.heartbeat: Heartbeat | None = None
        """None: the client has not agreed to any."""
        self._taken_bytes = 0
        self._looked_at_bytes = -1
        self.proof_until_s = inf
        """When what proves who the client is ends."""
        self.made_s = self.frame_s = self.came_s = self._taken_s = time.monotonic()

    def note_unfinished(self, bytes_: int, finished_one: bool) -> bool:
        """Note how much of an unfinished frame is there; return whether the frame has just begun.

        finished_one: a frame has come to its end meanwhile.
        """
        self.came_s = time.monotonic()
        is_new = bool(bytes_) and (finished_one or not self.unfinished_bytes)
        if is_new:
            self.frame_s = self.came_s
        self.unfinished_bytes = bytes_
        return is_new

    def was_answered(self) -> bool:
        """Whether anything was written to it since this was asked last."""
        before, self._looked_at_bytes = self._looked_at_bytes, self.written_bytes
        return before != self.written_bytes

    def excuse(self, now_s: float) -> None:
        """It is not the client that makes its frame wait."""
        self.frame_s = self.came_s = now_s

    def why_late(self, now_s: float, *, has_greeted: bool) -> Refused | None:
        """Return why the connection is to end, if the client takes too long."""
        bounds = self._bounds
        if now_s >= self.proof_until_s:
            text = "the token of the connection has expired: renew it in time, or connect again"
            return Refused(Reason.NOT_AUTHORIZED, "", text)
        if not has_greeted and now_s - self.made_s > bounds.hello_s:
            return _late("no hello came", bounds.hello_s)
        if self.unfinished_bytes and now_s - self.frame_s > bounds.frame_s:
            return _late("a frame was begun and not finished", bounds.frame_s)
        if self.unfinished_bytes and now_s - self.came_s > bounds.silent_s:
            return _late("a frame was begun and nothing more of it came", bounds.silent_s)
        return None

    def reads(self, now_s: float, unread_bytes: int) -> bool:
        """Whether the client has read anything lately, if there is anything to read."""
        taken_bytes = self.written_bytes - unread_bytes
        if not unread_bytes or taken_bytes != self._taken_bytes:
            self._taken_bytes, self._taken_s = taken_bytes, now_s
        return now_s - self._taken_s <= self._bounds.unread_s


def _late(what: str, limit_s: float) -> Refused:
    return Refused(Reason.MALFORMED_REQUEST, "", f"{what} within {limit_s:g} s")
