"""When one end of a connection says something only to show that it lives, and when the other is
taken for dead.

Theory. Both ends agree on an interval when they connect (agreed_ms). Each looks at its own counters
several times an interval, and nothing else is done: no timer belongs to a request, and while there
is traffic no heartbeat is sent. An end that has said nothing for nearly an interval says a
heartbeat, which is an empty frame. An end that has heard nothing for some intervals, not one byte,
takes the other for dead. A queue manager gives a client three: a program may hold its interpreter
for two seconds. A client gives a queue manager, which does not, two and a half: it has missed two
heartbeats, and half an interval is for one that is late. So it is with the next owner sooner.

Silence is counted in looks and not by a clock: a process that was paused itself (by a debugger, or
because its machine slept) looks first whether something has come meanwhile. What was said since the
last look may have been said right after it; so the count of looks without a word begins with one.

Bytes count, not frames: a long message on its way is a sign of life at both of its ends. This
module knows no clock, no socket and no thread.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from adapter.connection.wire.codec import encode
from adapter.connection.wire.frames import Replies, Requests

LOOKS: Final = 4
"""In an interval, at an end that sees to it for few connections."""
LOOKS_MIN: Final = 2
LOOK_S_MIN: Final = 0.01
CLIENT_DEAD: Final = 3.0
SERVER_DEAD: Final = 2.5
"""After so many intervals without a byte a client, and a queue manager, is taken for dead."""
CLIENT_HEARTBEAT: Final = encode(Requests([]))
SERVER_HEARTBEAT: Final = encode(Replies([]))


class Finding(Enum):
    """What is to be done after a look."""

    NOTHING = "nothing"
    SPEAK = "say something"
    DEAD = "the other end is dead"


NOTHING: Final = Finding.NOTHING


class Heartbeat:
    """The heartbeats of one end of one connection.

    looks: how many there are in an interval. dead: after how many intervals the other end is so.
    """

    __slots__ = ("_dead_looks", "_heard", "_said", "_speak_looks", "_unheard", "_unsaid")

    def __init__(self, looks: int, dead: float) -> None:
        self._speak_looks = max(1, -(-looks * 3 // 4))
        self._dead_looks = int(looks * dead)
        self._said = self._heard = -1
        self._unsaid = self._unheard = 0

    def look(self, said: int, heard: int) -> Finding:
        """Say what is to be done. said, heard: numbers that change with each frame that this end
        sends, and with any byte that arrives."""
        if said != self._said:
            self._said, self._unsaid = said, 1
        else:
            self._unsaid += 1
        if heard != self._heard:
            self._heard, self._unheard = heard, 0
        else:
            self._unheard += 1
        if self._unheard >= self._dead_looks:
            return Finding.DEAD
        if self._unsaid >= self._speak_looks:
            return Finding.SPEAK
        return NOTHING

    @property
    def is_quiet(self) -> bool:
        """Whether nothing had come at the last look since the one before."""
        return self._unheard > 0

    def excuse(self) -> None:
        """Count the silence anew: it is not the other end that makes it."""
        self._unheard = 0


def looks_of(interval_ms: int, look_s: float) -> int:
    """Return how many looks there are in an interval; 0 if there are no heartbeats."""
    return max(LOOKS_MIN, round(interval_ms / 1000 / look_s)) if interval_ms else 0


def agreed_ms(one_ms: int, other_ms: int) -> int:
    """Return the interval that two ends agree on: the longer one; 0 for none, if either wants none.

    As MQ agrees on the HBINT of a channel.
    """
    return max(one_ms, other_ms) if one_ms and other_ms else 0
