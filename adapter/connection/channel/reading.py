"""What the thread does that leads: it reads once, or connects again.

It does what was put off before, and sends what closes what programs have let go of: any thread may
lead, also one of the channel's own. It knows the parts of the channel and not the channel, which
may be dropped meanwhile. This module knows no request.
"""

from __future__ import annotations

import logging

from adapter.connection.channel.interrupted import Interruptions
from adapter.connection.channel.letting_go import LettingGo
from adapter.connection.channel.link.port import LinkLost
from adapter.connection.channel.receiving import Receiver
from adapter.connection.channel.recovery import INTERRUPTED, Recovery
from adapter.connection.channel.state import ChannelState


class LeadersReading:
    """Reads for one channel."""

    def __init__(
        self,
        state: ChannelState,
        receiver: Receiver,
        recovery: Recovery,
        interruptions: Interruptions,
        letting_go: LettingGo,
    ) -> None:
        self._state = state
        self._receiver = receiver
        self._recovery = recovery
        self._interruptions = interruptions
        self._letting_go = letting_go

    def read(self) -> None:
        """Read once, or connect again; for the thread that leads."""
        if self._interruptions.later:
            self._interruptions.catch_up()
        link = self._state.link
        if link is None:
            self._recovery.reconnect()
            return
        if self._state.outstanding.let_go:
            self._letting_go.send_reading(self._receiver.receive)
        try:
            self._receiver.read(link)
        except LinkLost as lost:
            self._recovery.lose(link, lost)
        except BaseException:  # of a signal handler: bytes may have been read, and are gone
            self._recovery.lose(link, INTERRUPTED, logging.INFO)
            raise
