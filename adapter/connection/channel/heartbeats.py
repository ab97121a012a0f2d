"""Heartbeats of the connections that threads use, all by one thread of the process.

A connection has no thread of its own, and while no verb waits nothing reads or sends on it. So one
thread looks at every connection of the process a few times a second. It says a heartbeat where a
connection has been silent, reads what has arrived where no other thread reads, and has a link lost
where nothing came. It starts with the first connection and ends with the last one. It waits for no
lock and for no peer: where another thread sends, that is a sign of life; where another reads, what
has arrived is left to it.

A forked child has no such thread: it makes one for the connections of its own.

When an end speaks and when the other is dead is said in adapter.connection.wire.heartbeats. This
module knows no request.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Final
from weakref import WeakSet

from adapter.connection.channel.forking import do_if_free, new_lock
from adapter.connection.channel.leading import Leadership
from adapter.connection.channel.link.port import Link, LinkLost
from adapter.connection.channel.receiving import Receiver
from adapter.connection.channel.recovery import Recovery
from adapter.connection.channel.sending import Sender
from adapter.connection.channel.state import ChannelState
from adapter.connection.wire.heartbeats import (
    LOOK_S_MIN,
    LOOKS,
    NOTHING,
    SERVER_DEAD,
    Finding,
    Heartbeat,
    looks_of,
)

log = logging.getLogger("adapter.client")


class ChannelHeartbeats:
    """Of one channel. The thread of the process calls look()."""

    def __init__(
        self,
        state: ChannelState,
        sender: Sender,
        receiver: Receiver,
        recovery: Recovery,
        leadership: Leadership,
    ) -> None:
        self.look_s = max(state.timeouts.heartbeat_s / LOOKS, LOOK_S_MIN)
        self.due_s = 0.0
        """When the next look is to be made; for the thread that makes them."""
        self._state = state
        self._sender = sender
        self._receiver = receiver
        self._recovery = recovery
        self._leadership = leadership
        self._link: Link | None = None
        self._heartbeat: Heartbeat | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the channel is closed, or this is a forked child."""
        return self._state.closing.is_set()

    def look(self) -> None:
        """Speak if this end has been silent; have the link lost if the other end is dead."""
        state, link = self._state, self._state.link
        if link is not self._link:
            self._link = link
            looks = looks_of(state.heartbeat_ms, self.look_s)
            self._heartbeat = Heartbeat(looks, SERVER_DEAD) if looks else None
        heartbeat = self._heartbeat
        if link is None or heartbeat is None:
            return
        found = heartbeat.look(state.traffic.frames_sent, link.bytes_received)
        if heartbeat.is_quiet and link.has_arrived():
            heartbeat.excuse()
            self._read(link)
            found = NOTHING if found is Finding.DEAD else found
        if found is Finding.SPEAK:
            self._speak(link)
        elif found is Finding.DEAD:
            self._recovery.lose_silent(link)

    def _read(self, link: Link) -> None:
        """Read what has arrived, unless a thread that waits for an answer does."""

        def read() -> bool:
            return link is self._state.link and link.has_arrived() and self._receiver.receive(link)

        try:
            self._leadership.read_if_free(read)
        except LinkLost as lost:
            self._recovery.lose(link, lost)

    def _speak(self, link: Link) -> None:
        state = self._state

        def send() -> None:
            if state.link is link and not state.closing.is_set():
                self._sender.send_heartbeat(link)

        if link.has_room():
            do_if_free(state.lock, send, None)


class HeartbeatThread:
    """The thread of the process that looks at connections."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._connections: WeakSet[ChannelHeartbeats] = WeakSet()
        self._thread: threading.Thread | None = None
        self._changed = threading.Event()

    def add(self, connection: ChannelHeartbeats) -> bool:
        """Look at a connection as long as it is there; False if the process may have no thread."""
        with self._lock:
            self._connections.add(connection)
            self._changed.set()
            if self._thread is None or not self._thread.is_alive():
                self._changed = threading.Event()
                self._thread = threading.Thread(
                    target=self._run, args=(self._changed,), name="mqk-heartbeats", daemon=True
                )
                try:
                    self._thread.start()
                except RuntimeError:
                    self._thread = None
                    return False
        return True

    def _run(self, changed: threading.Event) -> None:
        while (wait_s := self._look(changed)) is not None:
            changed.wait(wait_s)

    def _look(self, changed: threading.Event) -> float | None:
        """Make the looks that are due; return in how many seconds the next ones are.

        None: there is no connection left. Nothing here keeps one alive meanwhile.
        """
        with self._lock:
            found = [one for one in self._connections if not one.has_ended]
            if not found:
                self._connections.clear()
                self._thread = None
                return None
            changed.clear()
        now_s = time.monotonic()
        for one in found:
            if one.due_s <= now_s:
                one.due_s = now_s + one.look_s
                try:
                    one.look()
                except Exception:
                    log.exception("a look at a connection failed")
        return max(min(one.due_s for one in found) - time.monotonic(), LOOK_S_MIN)


THREAD: Final = HeartbeatThread()
"""Of the process, as forks are."""
