"""Handles and units that programs let go of: closed and backed out without a wait for it.

The garbage collector and signal handlers call it at any moment, also while the calling thread holds
the channel's lock: then it is done when that call goes on, or with what is asked next.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from adapter.connection.channel.forking import do_if_free
from adapter.connection.channel.interrupted import Interruptions
from adapter.connection.channel.link.port import WhileFull
from adapter.connection.channel.requests import Handle, UnitOnWire
from adapter.connection.channel.sending import Sender
from adapter.connection.channel.state import ChannelState

GIVE_BACK_S = 0.05
"""Other threads hold the lock of a channel for less, unless the link is full."""


class LettingGo:
    """Closes what one channel's programs have let go of. while_full: see Link.send."""

    def __init__(
        self,
        state: ChannelState,
        sender: Sender,
        interruptions: Interruptions,
        while_full: WhileFull,
    ) -> None:
        self._state = state
        self._sender = sender
        self._interruptions = interruptions
        self._while_full = while_full

    def back_out(self, units: Iterable[UnitOnWire]) -> None:
        """Have units backed out."""
        state = self._state
        state.outstanding.let_go.extend(units)
        is_done = do_if_free(state.lock, self._send_if_linked, False, GIVE_BACK_S)
        if not is_done and self._interruptions.has_locked:
            self._interruptions.put_off(self.flush)

    def close(self, handles: Iterable[Handle]) -> None:
        """Have handles closed."""
        self._state.outstanding.let_go.extend(handles)
        self.flush()

    def flush(self) -> None:
        """Send what closes and backs out, now or as soon as the lock is free."""
        if not do_if_free(self._state.lock, self._send_if_open, False, GIVE_BACK_S):
            self._interruptions.put_off(self.flush)

    def send_closes(self) -> None:
        """Close and back out what programs have let go of; under the lock."""
        self._send(self._while_full)

    def send_reading(self, while_full: WhileFull) -> None:
        """The same, unless another thread sends now: for the thread that reads, without the lock.

        while_full: reads, for no other thread does.
        """
        do_if_free(self._state.lock, partial(self._send_if_linked, while_full), False)

    def _send_if_linked(self, while_full: WhileFull = None) -> bool:
        state = self._state
        if state.link is not None and not state.closing.is_set():
            self._send(while_full or self._while_full)
        return True

    def _send_if_open(self) -> bool:
        if not self._state.closing.is_set():
            self.send_closes()
        return True

    def _send(self, while_full: WhileFull) -> None:
        link, outstanding = self._state.link, self._state.outstanding
        try:
            closes = outstanding.closes()
            if closes:
                self._sender.send(closes, None, while_full)
        except BaseException:  # of a signal handler: what was to be closed goes with the link
            if link is not None:
                link.shutdown()
            raise
