"""What the parts of one channel share, and which of its threads may change what.

This module does not know what the parts do with it.
"""

from __future__ import annotations

import os

from adapter.connection.channel.flag import Flag
from adapter.connection.channel.forking import new_lock
from adapter.connection.channel.link.port import Link, NoLink, OnLink
from adapter.connection.channel.outstanding import Outstanding
from adapter.connection.channel.timeouts import Timeouts
from adapter.connection.wire.frames import CONTINUES_VERSION, ONE_WAY_VERSION


class Traffic:
    """What a channel has sent and received. bytes_received: over links that are closed."""

    __slots__ = (
        *("bytes_received", "bytes_sent", "frames_received", "frames_sent", "reconnects"),
        "resent",
    )

    def __init__(self) -> None:
        self.frames_sent = self.frames_received = 0
        self.bytes_sent = self.bytes_received = 0
        self.reconnects = self.resent = 0

    def figures(self) -> dict[str, int]:
        """Return them by name."""
        return {
            "frames_sent": self.frames_sent,
            "frames_received": self.frames_received,
            "bytes_sent": self.bytes_sent,
            "bytes_received": self.bytes_received,
            "reconnects": self.reconnects,
            "resent": self.resent,
        }


class ChannelState:
    """lock: held while numbers are given out and frames sent, and while a link is put in place or
    lost; so what is sent is in the order of its numbers. closing: close() has been called, for
    good, or this is a forked child (is_inherited); why_closed says it. process: the one that it
    was made in. link: the one in use, None between two connections. one_way: the queue manager at
    its other end knows operations that get no answer. heartbeat_ms: as both ends of the link have
    agreed. attempts: to connect again, since an answer last arrived; changed by the thread that
    leads. on_link: see OnLink. no_link: why no link was made, once it was tried for long enough.
    """

    def __init__(self, timeouts: Timeouts) -> None:
        self.timeouts = timeouts
        self.lock = new_lock()
        self.closing = Flag()
        self.why_closed = "the connection is closed: connect again"
        self.process = os.getpid()
        self.is_inherited = False
        self.outstanding = Outstanding()
        self.link: Link | None = None
        self.one_way = False
        self.continues = False
        self.heartbeat_ms = 0
        self.attempts = 0
        self.traffic = Traffic()
        self.on_link: OnLink = lambda _: None
        self.no_link: NoLink | None = None

    def mark_inherited(self) -> None:
        """Note that this is a forked child, in which nothing may be done with the connection."""
        self.why_closed = (
            f"this connection was made in process {self.process}, and this is process "
            f"{os.getpid()}: connect after the fork"
        )
        self.is_inherited = True
        self.closing.set()

    def put_in_place(self, link: Link, version: int, heartbeat_ms: int) -> None:
        """Use a link from now on. version: what its other end speaks."""
        self.one_way = version >= ONE_WAY_VERSION
        self.continues = version >= CONTINUES_VERSION
        self.heartbeat_ms = heartbeat_ms
        self.link = link
