"""Losses of the link of one connection: how long it is tried again, and what is said of it.

A loss begins when a link is lost and ends when an answer arrives over another. A queue manager that
is being stopped may welcome a client and end the link again, several times: that is one loss, of
which the time for all attempts counts from the first link. A link over which nothing was asked
proves itself by lasting for STEADY_S.

Of each loss the log has one warning, whatever number of threads or tasks waits. This module waits
for nothing and makes no link.
"""

from __future__ import annotations

import logging
import time

from adapter.connection.channel.conversation import Introduction, Rejected
from adapter.connection.channel.handshake import BACK_OFF_MAX_S, back_off_s
from adapter.connection.channel.link.port import Link, LinkLost, NewLink, NoLink
from adapter.connection.channel.state import ChannelState
from adapter.connection.wire.heartbeats import SERVER_DEAD
from adapter.errors import WrongQueueManager

STEADY_S = BACK_OFF_MAX_S
"""So an address where each link ends at once is still tried with pauses that grow."""

MOVED_MAX = 3
"""Attempts without a pause: two queue managers may each send clients to the other."""

ATTEMPT_S_MIN = 0.1
"""A queue manager that is there may answer within this, also when the time is nearly over."""

log = logging.getLogger("adapter.client")


def silence_text(link: Link, heartbeat_ms: int) -> str:
    """Say of a link that nothing came."""
    return f"{link.peer}: nothing came for {heartbeat_ms * SERVER_DEAD / 1000:g} s"


class Losses:
    """The losses of one channel. Every method is called by the thread or task that connects, but
    for begin() and report(). why: the reason why the last link was lost, or could not be made.
    """

    def __init__(self, state: ChannelState, introduction: Introduction) -> None:
        self.why = ""
        self._state = state
        self._introduction = introduction
        self._where = self._reason = ""
        self._made_s = 0.0
        self._lost_s = 0.0
        self._trying_s = 0.0  # since when the present attempts are made, or 0.0
        self._is_again = False
        self._is_moved = False
        self._is_other = False
        self._has_failed = False
        self._count = 0

    def begin(self, link: Link, why: str | LinkLost) -> None:
        """Settle what went with the link in use; under the channel's lock, if it has one."""
        self._is_moved = isinstance(why, LinkLost) and bool(why.moved_to)
        why = str(why)
        state, outstanding, now_s = self._state, self._state.outstanding, time.monotonic()
        if not outstanding.pending and now_s - self._made_s > STEADY_S:
            state.attempts = 0
        self._is_again = state.attempts > 0
        if not self._is_again:
            self._lost_s = now_s
            self._trying_s = now_s if outstanding.pending else 0.0  # else from the next request on
            self._reason = why.removeprefix(f"{link.peer}: ")
        self._where, self.why = link.peer, why
        outstanding.lost(why)
        state.link = None  # last: if a signal handler raises before, it is lost again

    def report(self, level: int = logging.WARNING) -> None:
        """Say that the link was lost, unless the connection is closed.

        level: of the log line; a link that its own program gave up is no trouble.
        """
        state = self._state
        if not state.closing.is_set():
            log.log(
                logging.INFO if self._is_again else level,
                "connection to %s lost%s (%s): reconnecting for up to %g s; "
                "open units are backed out",
                self._peer,
                " again" if self._is_again else "",
                self.why.removeprefix(f"{self._where}: "),
                state.timeouts.reconnect_timeout_s,
            )
        state.on_link(None)

    def pause_s(self) -> float:
        """Say how long to wait before the next attempt: not at all where the queue manager has said
        where it is now.
        """
        attempts = self._state.attempts
        return 0.0 if self._is_moved and attempts < MOVED_MAX else back_off_s(attempts)

    def left_s(self) -> float:
        """Say how long it is to be tried yet; nothing or less when that time is over."""
        self._trying_s = self._trying_s or time.monotonic()
        return self._trying_s + self._state.timeouts.reconnect_timeout_s - time.monotonic()

    def attempt_s(self) -> float:
        """Say how long the other end of a new link may take for an answer: no longer than it is to
        be tried yet, and than silence may last.
        """
        return max(min(self.left_s(), self._state.timeouts.silence_s), ATTEMPT_S_MIN)

    def give_up(self) -> None:
        """Settle what waits: no link was made in time. Under the channel's lock, if it has one."""
        state = self._state
        state.no_link = NoLink(self.why, self._is_other)
        state.outstanding.give_up(self.why)
        state.attempts, self._trying_s = 0, 0.0  # a later request waits as long again

    def note_failed(self, lost: LinkLost) -> None:
        """An attempt has failed."""
        self.why = str(lost)
        self._is_other = isinstance(lost, Rejected) and isinstance(lost.error, WrongQueueManager)

    def report_failure(self) -> None:
        """Say that no link was made in time; a warning only once until there is another."""
        level, self._has_failed = logging.INFO if self._has_failed else logging.WARNING, True
        log.log(
            level,
            "not reconnected to %s within %g s (%s): requests that waited have failed, "
            "the next one tries again",
            self._peer,
            self._state.timeouts.reconnect_timeout_s,
            self.why,
        )
        if self._state.no_link is not None:
            self._state.on_link(self._state.no_link)

    def note_made(self, link: Link) -> None:
        """A link is in use, the first or another."""
        self._where, self._made_s = link.peer, time.monotonic()

    def report_made(self, link: Link) -> None:
        """Say that a link is in use in place of a lost one."""
        self._count += 1
        self._has_failed = False
        self._state.no_link = None
        away_s = self._made_s - self._lost_s
        log.info("reconnected to %s after %.1f s", self._peer, away_s)
        self._state.on_link(NewLink(link.peer, away_s, self._count, self._reason))

    @property
    def _peer(self) -> str:
        return f"{self._introduction.queue_manager or 'the queue manager'} ({self._where})"
