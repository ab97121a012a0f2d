"""Requests out: numbered, encoded into frames and sent, all under the channel's lock.

While there is no link requests are numbered and kept; recovery sends them. This module knows no
answers.
"""

from __future__ import annotations

from typing import Final

from adapter.connection.channel import requests as rq
from adapter.connection.channel.conversation import Rejected
from adapter.connection.channel.link.port import Link, LinkLost, WhileFull
from adapter.connection.channel.requests import Operations, Pending, UnitOnWire
from adapter.connection.channel.resending import resending
from adapter.connection.channel.state import ChannelState
from adapter.connection.wire.heartbeats import CLIENT_HEARTBEAT

BUFFER_BYTES_MAX: Final = 4 * 1024 * 1024
"""What a longer frame took is given back when it is sent."""


class Sender:
    """Sends the frames of one channel. Every method is called under the channel's lock."""

    def __init__(self, state: ChannelState) -> None:
        self.unacknowledged_bytes = 0
        """Received since outcomes were last acknowledged to the queue manager."""
        self.farewell: tuple[Link, Rejected] | None = None
        """What a link has said last, if that was read while it was full."""
        self._state = state
        self._buffer = bytearray()

    def send(self, requests: list[Pending], unit: UnitOnWire | None, while_full: WhileFull) -> None:
        """Number requests and send them in one frame, in order; without a link keep them.

        while_full: see Link.send. Raises BackedOut, LimitReached, MessageTooLong, InvalidValue.
        """
        link, outstanding = self._state.link, self._state.outstanding
        one_way = link is not None and self._state.one_way
        batch = outstanding.prepare(requests, unit, one_way=one_way)
        self.encode(batch.operations, sending=link is not None)
        if link is None:
            outstanding.register(batch, sent=False)
            return
        try:
            outstanding.register(batch, sent=True)
            self.transmit(link, while_full)
        except BaseException:  # of a signal handler: what is registered must go out, or the link
            link.shutdown()
            raise

    def encode(self, operations: Operations, sending: bool) -> None:
        """Fill the buffer with one frame; if it is going to be sent, with acknowledgements."""
        session = self._state.outstanding.session
        seen = session.take_seen() if sending else []
        self.unacknowledged_bytes = 0
        try:
            rq.encode_into(self._buffer, operations, seen)
        except BaseException:
            session.give_back(seen)
            raise

    def transmit(self, link: Link, while_full: WhileFull) -> None:
        """Send what is in the buffer; the thread that reads next finds out about a failure."""
        traffic = self._state.traffic
        traffic.frames_sent += 1
        traffic.bytes_sent += len(self._buffer)
        try:
            link.send(self._buffer, while_full)
        except BaseException as error:  # half a frame may have gone out
            self._buffer = bytearray()
            link.shutdown()
            if not isinstance(error, LinkLost):
                raise  # of a signal handler
            if isinstance(error, Rejected):
                self.farewell = link, error
        if len(self._buffer) > BUFFER_BYTES_MAX:
            self._buffer = bytearray()

    def send_heartbeat(self, link: Link) -> None:
        """Say that this end lives. The link has room for it."""
        traffic = self._state.traffic
        traffic.frames_sent += 1
        traffic.bytes_sent += len(CLIENT_HEARTBEAT)
        try:
            link.send(CLIENT_HEARTBEAT)
        except LinkLost:
            link.shutdown()

    def send_again(self, link: Link, now_s: float, while_full: WhileFull) -> None:
        """Send everything that is unanswered, on a link that has just been put in place."""
        traffic = self._state.traffic
        traffic.reconnects += 1
        for operations in resending(self._state.outstanding, now_s):
            traffic.resent += len(operations)
            self.encode(operations, sending=True)
            self.transmit(link, while_full)
