"""Reading a link, losing it, and connecting again: the part of a connection that has a task.

What becomes of unanswered requests is said in adapter/channel/recovery.py, and is the same here.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from adapter.aio.link import TaskHandshake, TaskLink, converse
from adapter.channel.conversation import Rejected, reopen, resume
from adapter.channel.handshake import back_off_s
from adapter.channel.link.port import Link, LinkLost
from adapter.channel.receiving import Receiver
from adapter.channel.sending import Sender
from adapter.channel.state import ChannelState

log = logging.getLogger("adapter.client")


class TaskRecovery:
    """Makes the links of one channel, and settles what a lost one leaves behind."""

    def __init__(
        self,
        state: ChannelState,
        handshake: TaskHandshake,
        sender: Sender,
        arrived: Callable[[Link], None],
    ) -> None:
        """arrived: called by the event loop when a link has something to read, or is lost."""
        self.changed = asyncio.Event()
        """A link was lost, or something was asked without one, or the channel is closed."""
        self._state = state
        self._handshake = handshake
        self._sender = sender
        self._receiver = Receiver(state, sender)
        self._arrived = arrived
        self._lost_s = 0.0  # when, or 0.0
        self._why_lost = ""

    async def connect_first(self) -> None:
        """Make the first link; raises the error that the caller of connect() gets."""
        try:
            link = await self._handshake.open_any(self._state.timeouts.connect_timeout_s)
        except Rejected as lost:
            raise lost.error from None
        self._begin(link)

    def read(self, link: Link) -> None:
        """Settle what has arrived on a link."""
        try:
            self._receiver.receive(link)
        except LinkLost as lost:
            self.lose(link, str(lost))
        if self._state.closing.is_set():
            self.changed.set()

    def lose(self, link: Link, why: str) -> None:
        """Settle what went with a link, and keep what is sent again."""
        state = self._state
        if state.link is not link:
            return
        state.link = None
        self._why_lost = why
        if not state.attempts:
            self._lost_s = time.monotonic()
        link.shutdown()
        state.traffic.bytes_received += link.bytes_received
        state.outstanding.lost(why)
        if not state.closing.is_set() and not state.attempts:
            name = self._handshake.queue_manager
            log.warning("connection to %s lost (%s): reconnecting", name, why)
        self.changed.set()
        state.on_link(False)

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
                    self.lose(link, str(lost))

    def _begin(self, link: TaskLink) -> None:
        """Use a link from now on."""
        self._receiver.begin(link)
        link.arrived = partial(self._arrived, link)
        self._state.put_in_place(link, self._handshake.version)

    async def _reconnect(self) -> None:
        """Connect again and send again; settle everything when the time for that is over."""
        state = self._state
        self._lost_s = self._lost_s or time.monotonic()
        timeout_s = state.timeouts.reconnect_timeout_s
        while not state.closing.is_set():
            left_s = self._lost_s + timeout_s - time.monotonic()
            if state.attempts and left_s <= 0:
                state.outstanding.give_up(self._why_lost)
                state.attempts, self._lost_s = 0, 0.0
                log.warning("not reconnected within %g s: %s", timeout_s, self._why_lost)
                self.changed.clear()
                await self.changed.wait()  # until something is asked
                return
            await asyncio.sleep(min(back_off_s(state.attempts), max(left_s, 0.0)))
            state.attempts += 1
            try:
                await self._take_up(max(min(left_s, state.timeouts.silence_s), 0.1))
                return
            except LinkLost as lost:
                self._why_lost = str(lost)

    async def _take_up(self, left_s: float) -> None:
        """Make a new link and put it into the state of the lost one."""
        state = self._state
        link = await self._handshake.open_any(min(left_s, state.timeouts.connect_timeout_s))
        try:
            await converse(link, resume(state, link.peer), left_s)
            await converse(link, reopen(state, link.peer), left_s)
            if state.closing.is_set():
                raise LinkLost("closed")
            self._begin(link)
            self._sender.send_again(link, time.monotonic(), None)
        except BaseException:
            if state.link is not link:
                link.close()
            raise
        after_s = time.monotonic() - self._lost_s
        log.info("reconnected to %s after %.1f s", self._handshake.queue_manager, after_s)
        state.on_link(True)
        self._arrived(link)  # what came while it was put in place
