"""Events of a connection for its event handler: it is lost, and it is made again.

This module knows no consumer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from adapter import mq_constants as mq
from adapter.channel.calls_in_turn import CallsInTurn
from adapter.channel.channel import Channel
from adapter.channel.link.port import NewLink


class ConnectionEvents:
    """Calls tell with a reason code, one after the other. tell: may use the connection."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        self._tell = tell
        self._calls = CallsInTurn("mqi-events")
        self._follows = False

    @property
    def is_this_thread(self) -> bool:
        """Whether the caller is tell, or was called by it."""
        return self._calls.is_this_thread

    def follow(self, channel: Channel) -> None:
        """Begin; once is enough."""
        if not self._follows:
            self._follows = True
            channel.on_link(self._note)
            self._calls.begin()

    def end(self) -> None:
        """Tell no more."""
        self._calls.end()

    def _note(self, link: NewLink | None) -> None:
        reason = mq.MQRC_RECONNECTING if link is None else mq.MQRC_RECONNECTED
        self._calls.add(partial(self._tell, reason))
