"""How long a channel waits for what. This module knows nothing else."""

from __future__ import annotations

from msgspec import Struct

CONNECT_S = 5.0
RECONNECT_S = 60.0
HEARTBEAT_S = 1.0


class Timeouts(Struct, frozen=True, kw_only=True):
    """In seconds. silence_s: for any byte while a request is unanswered.

    follow_s: a follower looks up this often, in case the thread that was handed the lead died of
    it. close_s: closing waits this long for the queue manager to answer. heartbeat_s: how often
    each end says something at least; 0.0: neither does for that alone. wait_s: for a first link,
    while the queue manager is not available.
    """

    connect_timeout_s: float = CONNECT_S
    reconnect_timeout_s: float = RECONNECT_S
    wait_s: float = 0.0
    silence_s: float = 30.0
    follow_s: float = 2.0
    close_s: float = 5.0
    heartbeat_s: float = HEARTBEAT_S
