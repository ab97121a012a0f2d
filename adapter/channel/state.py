"""What the parts of one channel share, and which of its threads may change what.

This module does not know what the parts do with it.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from msgspec import Struct

from adapter.channel.flag import Flag
from adapter.channel.forking import new_lock
from adapter.channel.link.port import Link
from adapter.channel.outstanding import Outstanding
from adapter.channel.timeouts import Timeouts
from adapter.wire.frames import ONE_WAY_VERSION


class Traffic(Struct):
    """Figures of a channel since it was made. bytes_received: over links that are closed."""

    frames_sent: int = 0
    frames_received: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    reconnects: int = 0
    resent: int = 0


class NewLink(Struct, frozen=True):
    """A link in place of a lost one. address: of the queue manager. away_s: seconds since the
    connection was lost. count: how many such links the connection has had. reason: why it was lost.
    """

    address: str
    away_s: float
    count: int
    reason: str


class ChannelState:
    """lock: held while numbers are given out and frames sent, and while a link is put in place or
    lost; so what is sent is in the order of its numbers. closing: close() has been called, for
    good, or this is a forked child (is_inherited); why_closed says it. process: the one that it
    was made in. link: the one in use, None between two connections. one_way: the queue manager at
    its other end knows operations that get no answer. attempts: to connect again, since an answer
    last arrived; changed by the thread that leads. on_link: called with None when a link is
    lost, and with what took its place.
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
        self.attempts = 0
        self.traffic = Traffic()
        self.on_link: Callable[[NewLink | None], None] = lambda _: None

    def put_in_place(self, link: Link, version: int) -> None:
        """Use a link from now on. version: what its other end speaks."""
        self.link = link
        self.one_way = version >= ONE_WAY_VERSION
