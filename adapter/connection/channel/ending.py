"""The end of a channel: open units are backed out, and what is durable gets its answer.

Before the link goes, the queue manager is told what is to be closed, and the answers that are on
their way are read, for a while: so the program knows of everything durable whether it was done. The
last word acknowledges what has arrived. A signal handler that closes the channel in the midst of a
call of the same thread cannot wait for anything: the rest is done when that call goes on.

This module knows no verb.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from adapter.connection.channel.forking import is_mine
from adapter.connection.channel.interrupted import Interruptions
from adapter.connection.channel.leading import Leadership
from adapter.connection.channel.link.port import WhileFull
from adapter.connection.channel.recovery import Recovery
from adapter.connection.channel.requests import Pending
from adapter.connection.channel.sending import Sender
from adapter.connection.channel.state import ChannelState
from adapter.errors import ConnectionClosed, LimitReached


class ChannelEnd:
    """Closes one channel. Any thread may call it. while_full: see Link.send."""

    def __init__(
        self,
        state: ChannelState,
        sender: Sender,
        leadership: Leadership,
        recovery: Recovery,
        interruptions: Interruptions,
        while_full: WhileFull,
    ) -> None:
        self._state = state
        self._sender = sender
        self._leadership = leadership
        self._recovery = recovery
        self._interruptions = interruptions
        self._while_full = while_full

    def close(self, abrupt: bool, read: Callable[[], None]) -> None:
        """Close the channel, once. abrupt: without a word. read: reads once, for the answers."""
        state = self._state
        if is_mine(state.lock):  # in a signal handler: the interrupted call goes on with it
            self._interruptions.put_off(partial(self.close, abrupt, read))
            return
        last: list[Pending] = []
        with state.lock:
            if state.closing.is_set():
                return
            state.closing.set()
            state.outstanding.leave(abrupt)
            if state.link is not None and not abrupt:
                farewell = state.outstanding.farewell()
                with suppress(LimitReached):
                    if farewell:
                        self._sender.send(farewell, None, self._while_full)
                last = list(state.outstanding.pending.values())
        self._recovery.interrupt()
        self._finish(last, abrupt, time.monotonic() + state.timeouts.close_s, read)

    def _finish(
        self, last: list[Pending], abrupt: bool, until_s: float, read: Callable[[], None]
    ) -> None:
        """Wait for the last answers, and end the link; behind a call that this interrupts."""
        link = self._state.link
        if self._leadership.is_mine:
            if link is not None and time.monotonic() > until_s:
                self._recovery.lose(link, "closed")
            self._interruptions.put_off(partial(self._finish, last, abrupt, until_s, read))
            return
        self._leadership.await_until(last, until_s, read)
        link = self._state.link
        if link is not None:
            if not abrupt:
                self._acknowledge()
            self._recovery.lose(link, "closed")
        with self._state.lock:
            self._state.outstanding.give_up("it was closed meanwhile", ConnectionClosed)
        self._leadership.do_alone(self._recovery.close_dead, self._state.timeouts.close_s)

    def _acknowledge(self) -> None:
        """Say which outcomes have arrived since the last request, messages that were got among
        them: the queue manager would keep them for long, for a client that may come back.
        """
        state = self._state
        with state.lock:
            if state.link is not None and state.outstanding.session.has_seen:
                self._sender.send([], None, self._while_full)
