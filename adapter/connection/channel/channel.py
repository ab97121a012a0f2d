"""One client connection as faces use it: requests out, answers in, shared by threads.

Its parts, each in a module of its own: ChannelBooks and Outstanding say what is open and
unanswered; Sender numbers and sends; Leadership decides which of the waiting threads reads;
Receiver reads and settles requests; Recovery connects again when the link is lost; LettingGo closes
what programs have let go of, and ChannelEnd the channel. This module knows no verb.
"""

from __future__ import annotations

import logging
from _thread import RLock
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from adapter.connection.channel.books import ChannelBooks
from adapter.connection.channel.commits import IN_FLIGHT_MAX, CommitsInFlight
from adapter.connection.channel.ending import ChannelEnd
from adapter.connection.channel.forking import disown_in_child
from adapter.connection.channel.handshake import Handshake
from adapter.connection.channel.heartbeats import THREAD, ChannelHeartbeats
from adapter.connection.channel.interrupted import Interruptions
from adapter.connection.channel.leading import Leadership
from adapter.connection.channel.letting_go import LettingGo
from adapter.connection.channel.link.port import Link
from adapter.connection.channel.reading import LeadersReading
from adapter.connection.channel.receiving import Receiver
from adapter.connection.channel.recovery import INTERRUPTED, Recovery
from adapter.connection.channel.renewal import TokenSchedule
from adapter.connection.channel.renewing import RenewingThread
from adapter.connection.channel.requests import FORGOTTEN, Handle, Pending, UnitOnWire
from adapter.connection.channel.sending import Sender
from adapter.connection.channel.timeouts import Timeouts
from adapter.errors import CallInProgress, ConnectionClosed, Error


class Channel(ChannelBooks):
    """Requests and answers of one client. Every method may be called from any thread."""

    def __init__(self, handshake: Handshake, timeouts: Timeouts) -> None:
        """Connect. Raises QueueManagerNotAvailable, WrongQueueManager, WrongVersion, ..."""
        super().__init__(handshake, timeouts)
        self._handshake = handshake
        state = self._state
        self._leadership = Leadership(timeouts.follow_s)
        self._sender = Sender(state)
        self._receiver = Receiver(state, self._sender)
        self._recovery = Recovery(state, handshake, self._sender, self._receiver)
        self.commits = CommitsInFlight(IN_FLIGHT_MAX)
        """Of units that did not wait for the outcome."""
        self._read_for_room = partial(_read_for_room, self._leadership, self._receiver)
        self._interruptions = Interruptions(state.lock, self._leadership)
        self._letting_go = LettingGo(state, self._sender, self._interruptions, self._read_for_room)
        self._read = LeadersReading(
            state, self._receiver, self._recovery, self._interruptions, self._letting_go
        ).read
        self._end = ChannelEnd(
            state,
            self._sender,
            self._leadership,
            self._recovery,
            self._interruptions,
            self._read_for_room,
        )
        self._heartbeats = ChannelHeartbeats(
            state, self._sender, self._receiver, self._recovery, self._leadership
        )
        disown_in_child(self._recovery)
        self._renewal: TokenSchedule | None = None
        wants = bool(timeouts.heartbeat_s) and handshake.leaves_process
        if wants and not THREAD.add(self._heartbeats):
            handshake.wanted_heartbeat_ms = 0  # the process may have no thread that sends them
        self._recovery.connect_first()
        self.renew_by_itself()

    def renew_by_itself(self) -> None:
        """See ChannelBooks: a thread does, which is there only for connections with such tokens."""
        renewal = TokenSchedule(self._introduction)
        if self._renewal is None and renewal.is_possible:
            self._renewal = renewal
            parts = self._state, self._sender, self._leadership
            RenewingThread(*parts, self._read, self._read_for_room).start(renewal)

    def another(self) -> Channel:
        """Connect once more, to the same queue manager as the same user; raises as __init__."""
        self.check_process()
        return Channel(self._handshake.another(), self._state.timeouts)

    @property
    def is_inside(self) -> bool:
        """Whether this thread is in the midst of a call, which a signal handler has interrupted."""
        return self._interruptions.is_inside

    def refuse_reentry(self, lock: RLock | None = None) -> None:
        """Raise CallInProgress for a verb that would wait for a call that it interrupts."""
        self._interruptions.refuse(lock)

    def pause(self, seconds: float) -> bool:
        """Sleep, but not beyond close(); return whether that came."""
        return self._closing.wait(seconds)

    def give_back(self, units: Iterable[UnitOnWire]) -> None:
        """Have units backed out, and do not wait for it. The garbage collector may call it."""
        self._letting_go.back_out(units)

    def let_go_of(self, units: Iterable[UnitOnWire]) -> None:
        """Have units backed out with what is sent or read next; see ChannelBooks."""
        self._outstanding.let_go.extend(units)

    def close_soon(self, handles: Iterable[Handle]) -> None:
        """Have handles closed, and do not wait for it: for signal handlers, see is_inside."""
        self._letting_go.close(handles)

    def new_handle(self, queue: str, modes: int) -> Handle:
        """Draw a handle number."""
        self.refuse_reentry()
        with self._lock:
            return self._outstanding.new_handle(queue, modes)

    def ask(self, requests: list[Pending], unit: UnitOnWire | None = None) -> None:
        """Send requests in one frame and wait until each has an answer."""
        try:
            self.submit(requests, unit)
            self.await_all(requests)
        except BaseException:
            self.abandon(requests)
            raise

    def submit(self, requests: list[Pending], unit: UnitOnWire | None = None) -> None:
        """Number requests and send them in one frame, in order; do not wait.

        With the first durable request goes the opening of the session, with the first of a unit
        its beginning. Raises what is wrong with the arguments, BackedOut if the unit is gone, and
        ConnectionClosed. While there is no link requests are kept to be sent later.
        """
        interruptions = self._interruptions
        if interruptions.is_inside and (
            interruptions.has_locked or any(one.when_lost != FORGOTTEN for one in requests)
        ):
            interruptions.refuse()
        link = self._state.link
        try:
            with self._lock:
                if self._closing.is_set():
                    raise ConnectionClosed(self._state.why_closed)
                if self._outstanding.let_go:
                    self._letting_go.send_closes()
                self._sender.send(requests, unit, self._read_for_room)
        except BaseException as error:
            if self.was_interrupted(error):
                self._break_off(requests, link)
            raise
        finally:
            if self._interruptions.later:
                self._interruptions.catch_up()

    def await_all(self, requests: Sequence[Pending]) -> None:
        """Wait until each of these submitted requests has an answer."""
        try:
            for request in requests:
                if request.answer is None:
                    if self._leadership.is_mine:
                        self.refuse_reentry()
                    self._leadership.await_answer(request, self._read)
        except BaseException:
            self.abandon(requests)
            raise
        finally:
            if self._interruptions.later:
                self._interruptions.catch_up()

    def abandon(self, requests: Sequence[Pending]) -> None:
        """Wait for those of these no longer that have no answer: their thread was interrupted."""
        if any(map(self._outstanding.is_unanswered, requests)):
            self._break_off(requests, self._state.link)

    def break_off(self) -> None:
        """Lose the link, and what is open at the queue manager with it: a signal handler has raised
        where what is to be ended is not known any more.
        """
        self._break_off([], self._state.link)

    def was_interrupted(self, error: BaseException) -> bool:
        """Whether a call has failed by something that a signal handler has raised.

        That may be the refusal of a verb of the handler, which was inside the call then.
        """
        if isinstance(error, CallInProgress):
            return not self.is_inside
        return not isinstance(error, Error)

    def _break_off(self, requests: Sequence[Pending], link: Link | None) -> None:
        """Give up a call in the midst of which a signal handler has raised, and the link with it.

        So a get that waits at the queue manager takes no message that no thread waits for, and
        what the call had in hand to send or to close is gone there too.
        """
        if self.is_inside:  # a verb of a signal handler, which is refused
            return
        with self._lock:
            self._outstanding.abandon(requests)
        if link is not None:
            self._recovery.lose(link, INTERRUPTED, logging.INFO)
        self._leadership.hand_over()

    def close(self, abrupt: bool = False) -> None:
        """End the connection; every thread that waits gets ConnectionClosed.

        Open units are backed out and handles closed before it returns, and what is durable is
        answered, if the queue manager is there. abrupt: without a word, as when a program dies.
        """
        self._end.close(abrupt, self._read)

    def __del__(self) -> None:
        """Close the link of a connection that no program can close any more."""
        link = self._state.link
        if link is not None:
            self._closing.set()
            link.close()
            self._warn_unclosed()

    def statistics(self) -> dict[str, Any]:
        """Figures of this connection since it was made."""
        figures = self._figures()
        return figures | {
            "led": self._leadership.led,
            "followed": self._leadership.followed,
            "bytes_received": figures["bytes_received"] + self._recovery.bytes_received,
        }


def _read_for_room(leadership: Leadership, receiver: Receiver, link: Link) -> bool:
    """Read while the other end takes nothing, unless another thread reads already."""
    return leadership.read_if_free(partial(receiver.receive, link))
