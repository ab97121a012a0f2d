"""The bounds of client connections: how many there are, and how long each may leave things undone.

This module does not use them.
"""

from __future__ import annotations

from msgspec import Struct

from adapter.connection.wire.heartbeats import LOOK_S_MIN, LOOKS_MIN
from adapter.server.access.guesses import GUESS_BOUNDS, GuessBounds

HEARTBEAT_MS = 1000
"""A client that says nothing for three of it is noticed within 3 to 3.5 s."""


class ConnectionBounds(Struct, frozen=True, kw_only=True):
    """Bounds of a server's client connections, with the reason below each."""

    connections: int = 10_000
    """Each costs a few KB at rest; the system may allow fewer open files."""
    look_s: float = 5.0
    """How often clients are looked at that have left something half done."""
    unanswered: int = 10_000
    """Requests of one connection that may be on their way before the next ones wait."""
    slice_s: float = 0.005
    """How long one client's requests are executed before all others have had their turn."""
    hello_s: float = 10.0
    """A peer that sends no hello in this time is not a client."""
    frame_s: float = 60.0
    """The longest frame comes in far less, even on a slow network."""
    silent_s: float = 15.0
    """Within a frame something always comes, and others may wait for its end."""
    unread_s: float = 30.0
    """A client that takes nothing for so long holds messages of others in its units: it is cut off.
    The SDK itself gives a silent queue manager up after this time."""
    heartbeat_ms: int = HEARTBEAT_MS
    """How often each end of a connection says something at least; 0: no client is asked to."""
    passwords: GuessBounds = GUESS_BOUNDS
    """Of checks of their passwords."""

    @property
    def heartbeat_look_s(self) -> float:
        """How often connections are looked at for heartbeats; 0.0: never."""
        if not self.heartbeat_ms:
            return 0.0
        return max(self.heartbeat_ms / LOOKS_MIN / 1000, LOOK_S_MIN)


BOUNDS = ConnectionBounds()
