"""Events of a connection for its event handler: it is lost, it is made again, or it is not.

This module knows no consumer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from adapter import mq_constants as mq
from adapter.connection.channel.calls_in_turn import CallsInTurn
from adapter.connection.channel.channel import Channel
from adapter.connection.channel.link.port import NewLink, NoLink


class ConnectionEvents:
    """Calls tell with the codes of what happened, one after the other. tell: may use the
    connection.
    """

    def __init__(self, tell: Callable[[int, int], None]) -> None:
        """tell: is given a completion code and a reason code."""
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

    def _note(self, link: NewLink | NoLink | None) -> None:
        self._calls.add(partial(self._tell, *codes_of(link)))


def codes_of(link: NewLink | NoLink | None) -> tuple[int, int]:
    """Return the codes of what became of a connection."""
    if link is None:
        return mq.MQCC_WARNING, mq.MQRC_RECONNECTING
    if isinstance(link, NewLink):
        return mq.MQCC_OK, mq.MQRC_RECONNECTED
    mismatch = mq.MQRC_RECONNECT_QMID_MISMATCH
    return mq.MQCC_FAILED, mismatch if link.is_other else mq.MQRC_RECONNECT_FAILED
