"""The thread that shows new tokens; when one is due is said in renewal.py.

It is there only for connections whose token comes from a file or a function, and waits for answers
as all threads of the connection do. It knows the parts of the channel and not the channel, which
may be dropped meanwhile (and which cannot be referred to weakly where it is compiled).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from adapter.connection.channel.leading import Leadership
from adapter.connection.channel.link.port import WhileFull
from adapter.connection.channel.renewal import TokenSchedule, warn_of_end
from adapter.connection.channel.requests import Pending
from adapter.connection.channel.sending import Sender
from adapter.connection.channel.state import ChannelState
from adapter.errors import Error
from adapter.host import watched


class RenewingThread:
    """Renews the token of a connection of threads, until that is closed or dropped."""

    def __init__(
        self,
        state: ChannelState,
        sender: Sender,
        leadership: Leadership,
        read: Callable[[], None],
        while_full: WhileFull,
    ) -> None:
        """read: as the thread does that leads."""
        self._state = state
        self._sender = sender
        self._leadership = leadership
        self._read = read
        self._while_full = while_full

    def start(self, schedule: TokenSchedule) -> None:
        """Begin."""
        watched.thread("token renewal", partial(self._renew, schedule), warn_of_end)

    def _renew(self, schedule: TokenSchedule) -> None:
        while not self._state.closing.wait(schedule.wait_s()):
            request = schedule.request()
            if request is None:
                continue
            try:
                self._ask(request)
                schedule.note(request)
            except Error as error:
                schedule.failed(error)

    def _ask(self, request: Pending) -> None:
        """Show a token, and wait for the answer; not without a link: the next begins with it."""
        state = self._state
        with state.lock:
            if state.link is None or state.closing.is_set():
                return
            self._sender.send([request], None, self._while_full)
        self._leadership.await_answer(request, self._read)
