"""Recovery: what happens to unanswered requests when the link is lost, until there is another.

A lost link says nothing about the requests without an answer: each may have been carried out, be
on its way, or never have left. Every durable command is therefore numbered within a *session*
(numbering.py), and the queue manager keeps the outcomes of a session's last numbers, in its ledger,
until the client acknowledges them. So the client recovers without knowing what happened:

1. lose(): the link is shut down. What the connection held at the queue manager is gone with it:
   units without a commit (their requests are settled with BackedOut) and cursors (StartOver). A
   request that asked for something durable, or changes nothing, stays pending.
2. reconnect(): links are tried until reconnect_timeout_s is over, with pauses that grow.
3. take_up(): on the new link the session is resumed under its id, with the numbers that are
   unanswered: the queue manager forgets the outcomes of all others. Handles are opened again under
   their numbers. Then everything pending is sent again, in its old order and under its old numbers.
   What was carried out before is answered from the record of its outcome; what was not is carried
   out now. Either way it is done once, and in order.

Where no answer is to be had a request is settled with what is known (Outstanding.give_up): nothing
was done, if it was never sent; *in doubt*, if a commit, or a put or get outside a unit, was sent
and its answer not seen. Its number stays on the list that a resumption names, so that the outcome
can still be asked for by the unit's id. If the queue manager does not know the session any more,
what was numbered in it is in doubt in the same way, and a new session begins.

Every method is called by the thread that leads, except lose() and interrupt().
"""

from __future__ import annotations

import logging
import time
from typing import Final

from adapter.connection.channel.conversation import Rejected, reopen, resume
from adapter.connection.channel.first_link import FirstAttempts
from adapter.connection.channel.handshake import Handshake, converse
from adapter.connection.channel.link.port import Link, LinkLost, LinkSilent
from adapter.connection.channel.losses import Losses, silence_text
from adapter.connection.channel.receiving import Receiver
from adapter.connection.channel.sending import Sender
from adapter.connection.channel.state import ChannelState
from adapter.errors import ConnectionClosed

INTERRUPTED: Final = "a call was interrupted"
"""Why a link is lost that a signal handler's exception has left with half a frame."""


class Recovery:
    """Makes the links of one channel, and settles what a lost one leaves behind."""

    def __init__(
        self, state: ChannelState, handshake: Handshake, sender: Sender, receiver: Receiver
    ) -> None:
        self._state = state
        self._handshake = handshake
        self._sender = sender
        self._receiver = receiver
        self._dead: list[Link] = []
        """Lost links that are to be closed by the thread that leads."""
        self._losses = Losses(state, handshake)
        self._silent: Link | None = None
        """The last link over which nothing came any more."""

    @property
    def bytes_received(self) -> int:
        """Over links that are in use or not closed yet."""
        link = self._state.link
        return sum(one.bytes_received for one in [*self._dead, *([link] if link else [])])

    def connect_first(self) -> None:
        """Make the first link; raises the error that the caller of connect() gets."""
        timeouts = self._state.timeouts
        attempts = FirstAttempts(timeouts.wait_s)
        while True:
            try:
                link = self._handshake.open_any(timeouts.connect_timeout_s)
                break
            except Rejected as lost:
                error = lost.error
            self._state.closing.wait(attempts.pause_s(error))
        self._receiver.begin(link)
        self._state.put_in_place(link, self._handshake.version, self._handshake.heartbeat_ms)
        self._handshake.placed()
        self._losses.note_made(link)

    def lose_silent(self, link: Link) -> None:
        """Lose a link over which nothing comes any more. From any thread."""
        self._silent = link  # before the thread that reads finds out about the shutdown
        self.lose(link, "")

    def lose(self, link: Link, why: str | LinkLost, level: int = logging.WARNING) -> None:
        """Settle what went with a link, and keep what is sent again. From any thread.

        level: of the log line; a link that its own program gave up is no trouble.
        """
        state = self._state
        link.shutdown()  # first: a thread that is sending holds the lock
        with state.lock:
            if state.link is not link:
                return
            if self._silent is link:
                why = LinkSilent(silence_text(link, state.heartbeat_ms))
            farewell = self._sender.farewell
            if farewell is not None and farewell[0] is link:
                why = farewell[1]
            self._dead.append(link)
            self._handshake.places.lost(link.peer, why)
            self._losses.begin(link, why)
        self._losses.report(level)

    def close_dead(self) -> None:
        """Close the links that were lost."""
        while self._dead:
            link = self._dead.pop()
            self._state.traffic.bytes_received += link.bytes_received
            link.close()

    def interrupt(self) -> None:
        """End an attempt to connect, up to the last word before the link is in use: the channel is
        being closed. From any thread.
        """
        self._handshake.interrupt()

    def disown(self) -> None:
        """Close the channel in a forked child, without a word, and give back the links of the
        parent; see forking.
        """
        state = self._state
        state.mark_inherited()
        link, state.link = state.link, None
        self._handshake.disown()
        for one in [*self._dead, *([link] if link else [])]:
            one.disown()
        self._dead.clear()
        state.outstanding.give_up(state.why_closed, ConnectionClosed)

    def reconnect(self) -> None:
        """Connect again and send again; settle everything when the time for that is over."""
        self.close_dead()
        state, losses = self._state, self._losses
        while not state.closing.is_set():
            left_s = losses.left_s()
            if state.attempts and left_s <= 0:
                with state.lock:
                    losses.give_up()
                losses.report_failure()
                return
            state.closing.wait(min(losses.pause_s(), max(left_s, 0.0)))
            state.attempts += 1
            try:
                self._take_up()
                return
            except LinkLost as lost:
                losses.note_failed(lost)
        with state.lock:
            state.outstanding.give_up("it was closed meanwhile", ConnectionClosed)

    def _take_up(self) -> None:
        """Make a new link and put it into the state of the lost one."""
        state, losses = self._state, self._losses
        limit_s = min(losses.attempt_s(), state.timeouts.connect_timeout_s)
        link = self._handshake.open_any(limit_s)
        try:
            for conversation in (resume, reopen):
                until_s = time.monotonic() + losses.attempt_s()
                converse(link, conversation(state, link.peer), until_s)
            self._receiver.begin(link)
            while not self._put_in_place(link):
                until_s = time.monotonic() + losses.attempt_s()
                converse(link, resume(state, link.peer), until_s)
            losses.report_made(link)
        except BaseException:
            if state.link is link:  # a signal handler has raised while it was put in place
                self._handshake.placed()
                self.lose(link, INTERRUPTED, logging.INFO)
            else:
                self._handshake.let_go()
            raise

    def _put_in_place(self, link: Link) -> bool:
        """Use a link, unless the session is to be resumed again on it."""
        state = self._state
        with state.lock:
            if state.closing.is_set():
                raise LinkLost("closed")
            if state.outstanding.must_resume_again:
                return False
            state.outstanding.close_left()
            state.put_in_place(link, self._handshake.version, self._handshake.heartbeat_ms)
            self._handshake.placed()  # in the lock: close() says its last words on it from now on
            self._losses.note_made(link)
            self._sender.send_again(link, time.monotonic(), self._receiver.receive)
        return True
