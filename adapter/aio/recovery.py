"""Reading a link, losing it, and connecting again: the part of a connection that has a task.

What becomes of unanswered requests is said in adapter/connection/channel/recovery.py, and is the
same here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from adapter.aio.link import TaskHandshake, TaskLink, converse
from adapter.connection.channel.conversation import Rejected, reopen, resume
from adapter.connection.channel.first_link import FirstAttempts
from adapter.connection.channel.link.port import Link, LinkLost, LinkSilent
from adapter.connection.channel.losses import Losses, silence_text
from adapter.connection.channel.receiving import Receiver
from adapter.connection.channel.sending import Sender
from adapter.connection.channel.state import ChannelState
from adapter.connection.wire.heartbeats import (
    LOOK_S_MIN,
    LOOKS,
    SERVER_DEAD,
    Finding,
    Heartbeat,
    looks_of,
)


class TaskRecovery:
    """Makes the links of one channel, and settles what a lost one leaves behind."""

    def __init__(
        self,
        state: ChannelState,
        handshake: TaskHandshake,
        sender: Sender,
        arrived: Callable[[Link], None],
        gave_up: Callable[[TaskRecovery], None],
    ) -> None:
        """arrived: called by the event loop when a link has something to read, or is lost. gave_up:
        called when no link was made in time, and what was unanswered is settled.
        """
        self.changed = asyncio.Event()
        """A link was lost, or something was asked without one, or the channel is closed."""
        self._state = state
        self._handshake = handshake
        self._sender = sender
        self._receiver = Receiver(state, sender)
        self._arrived = arrived
        self._gave_up = gave_up
        self._losses = Losses(state, handshake)
        self._look_s = max(state.timeouts.heartbeat_s / LOOKS, LOOK_S_MIN)

    async def connect_first(self) -> None:
        """Make the first link; raises the error that the caller of connect() gets."""
        timeouts = self._state.timeouts
        attempts = FirstAttempts(timeouts.wait_s)
        while True:
            try:
                link = await self._handshake.open_any(timeouts.connect_timeout_s)
                break
            except Rejected as lost:
                error = lost.error
            await asyncio.sleep(attempts.pause_s(error))
        self._begin(link)

    def read(self, link: Link) -> None:
        """Settle what has arrived on a link."""
        try:
            self._receiver.receive(link)
        except LinkLost as lost:
            self.lose(link, lost)
        if self._state.closing.is_set():
            self.changed.set()

    def lose(self, link: Link, why: str | LinkLost) -> None:
        """Settle what went with a link, and keep what is sent again."""
        state = self._state
        if state.link is not link:
            return
        link.shutdown()
        state.traffic.bytes_received += link.bytes_received
        self._handshake.places.lost(link.peer, why)
        self._losses.begin(link, why)
        self.changed.set()
        self._losses.report()

    async def keep(self) -> None:
        """Connect again whenever the link is lost, and take long silence for that."""
        state = self._state
        while not state.closing.is_set():
            self.changed.clear()
            link = state.link
            if link is None:
                await self._reconnect()
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(self._receiver.look_up_s):
                    await self.changed.wait()
            if state.link is link and state.outstanding.pending:
                try:
                    self._receiver.read(link)
                except LinkLost as lost:
                    self.lose(link, lost)

    def _begin(self, link: TaskLink) -> None:
        """Use a link from now on."""
        self._receiver.begin(link)
        link.arrived = partial(self._arrived, link)
        self._state.put_in_place(link, self._handshake.version, self._handshake.heartbeat_ms)
        self._losses.note_made(link)
        looks = looks_of(self._state.heartbeat_ms, self._look_s)
        if looks:
            self._look_later(link, Heartbeat(looks, SERVER_DEAD))

    def _look_later(self, link: TaskLink, heartbeat: Heartbeat) -> None:
        """Look at a link in a while, as long as it is in use."""
        asyncio.get_running_loop().call_later(self._look_s, self._look, link, heartbeat)

    def _look(self, link: TaskLink, heartbeat: Heartbeat) -> None:
        """Speak if this end has been silent; have the link lost if the other end is dead."""
        state = self._state
        if state.link is not link or state.closing.is_set():
            return
        found = heartbeat.look(state.traffic.frames_sent, link.bytes_received)
        if found is Finding.SPEAK and link.has_room():
            self._sender.send_heartbeat(link)
        elif found is Finding.DEAD:
            self.lose(link, LinkSilent(silence_text(link, state.heartbeat_ms)))
            return
        self._look_later(link, heartbeat)

    async def _reconnect(self) -> None:
        """Connect again and send again; settle everything when the time for that is over."""
        state, losses = self._state, self._losses
        while not state.closing.is_set():
            left_s = losses.left_s()
            if state.attempts and left_s <= 0:
                losses.give_up()
                losses.report_failure()
                self.changed.clear()
                self._gave_up(self)
                await self.changed.wait()  # until something is asked
                return
            await asyncio.sleep(min(losses.pause_s(), max(left_s, 0.0)))
            state.attempts += 1
            try:
                await self._take_up()
                return
            except LinkLost as lost:
                losses.note_failed(lost)

    async def _take_up(self) -> None:
        """Make a new link and put it into the state of the lost one."""
        state, losses = self._state, self._losses
        limit_s = min(losses.attempt_s(), state.timeouts.connect_timeout_s)
        link = await self._handshake.open_any(limit_s)
        try:
            await converse(link, resume(state, link.peer), losses.attempt_s())
            await converse(link, reopen(state, link.peer), losses.attempt_s())
            while state.outstanding.must_resume_again:  # a task was cancelled meanwhile
                await converse(link, resume(state, link.peer), losses.attempt_s())
            if state.closing.is_set():
                raise LinkLost("closed")
            state.outstanding.close_left()
            self._begin(link)
            self._sender.send_again(link, time.monotonic(), None)
        except BaseException:
            if state.link is not link:
                link.close()
            raise
        self._losses.report_made(link)
        self._arrived(link)  # what came while it was put in place
