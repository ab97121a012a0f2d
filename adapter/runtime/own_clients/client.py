"""A client of the queue manager of this process: a thread, and a connection within the process.

Such a client has a queue open and takes its messages elsewhere. It ends when it is stopped, also in
the midst of a wait; after a failure it tries again, after pauses that get longer. This module must
not know what is done with messages.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

from adapter.connection.channel.channel import Channel
from adapter.connection.channel.handshake import Handshake
from adapter.connection.channel.link.in_process import InProcessDialer
from adapter.connection.channel.link.pipe import Accept
from adapter.connection.channel.requests import Handle, Pending
from adapter.connection.channel.timeouts import Timeouts
from adapter.connection.channel.unit import AnyUnit, perform
from adapter.connection.channel.verbs import get_request
from adapter.core.contract import commands as c
from adapter.core.contract.message import Delivered
from adapter.core.contract.results import Descriptions, Messages
from adapter.errors import Error
from adapter.host import watched

PAUSE_S = 0.05
STOP_S = 30.0
CONNECT_S = 5.0
GET_MESSAGES = 500
"""At a time; a reply ends sooner if its messages are large."""

Dial = Callable[[], Channel]
"""Connects to the queue manager. Blocking. Raises Error."""


def client_of(
    loop: asyncio.AbstractEventLoop, accept: Accept, queue_manager: str, application: str
) -> Channel:
    """Connect a client within this process; it does not connect again by itself. Raises Error."""
    shaken = Handshake([InProcessDialer(loop, accept)], queue_manager, application)
    return Channel(shaken, Timeouts(connect_timeout_s=CONNECT_S, reconnect_timeout_s=0.0))


def incarnation_of(channel: Channel, queue: str) -> int:
    """Ask which queue of its name one is that is open. Raises Error."""
    request = Pending(c.Inquire(queue, system=True))
    channel.ask([request])
    found = channel.result(request, Descriptions).queues
    return next((one.incarnation for one in found if one.name == queue), 0)


def get_messages(
    handle: Handle, unit: AnyUnit, wait_ms: int, limit: int = GET_MESSAGES
) -> list[Delivered]:
    """Get messages in a unit. wait_ms: for the first one; -1: until the connection is closed."""
    request = get_request(handle, c.Get(0, wait_ms=wait_ms, limit=limit), unit)
    return perform(unit.channel, unit, [request], request, Messages).messages


class Pauses:
    """Pauses between attempts, each twice as long as the one before."""

    def __init__(self) -> None:
        self._next_s = PAUSE_S

    def begin_again(self) -> None:
        """Let the next pause be the shortest."""
        self._next_s = PAUSE_S

    def next_s(self, longest_s: float) -> float:
        """Return how many seconds to wait now."""
        pause_s = min(self._next_s, longest_s)
        self._next_s = 2 * pause_s
        return pause_s


class OwnClient:
    """One client, and its thread. Methods but connected and pause may be called by any other."""

    def __init__(
        self, name: str, dial: Dial, run: Callable[[OwnClient], None], failed: watched.Ended
    ) -> None:
        """Start it. run: what the thread does, until is_stopping. failed: see watched."""
        self._dial = dial
        self._stopping = threading.Event()
        self._again = threading.Event()
        self._channel: Channel | None = None
        self._lock = threading.Lock()
        self.pauses = Pauses()
        self._thread = watched.thread(name, lambda: run(self), failed)

    def stop(self, *, at_once: bool = True) -> None:
        """Let it end. at_once: what it has got and not committed is backed out; else it looks at
        is_stopping by itself.
        """
        self._stopping.set()
        self._again.set()
        with self._lock:
            channel = self._channel
        if channel is not None and at_once:
            with suppress(Error):
                channel.close()

    def join(self) -> None:
        """Wait for its end; bounded."""
        self._thread.join(STOP_S)

    def retry(self) -> None:
        """Pause no longer: something has changed."""
        self._again.set()

    @property
    def is_alive(self) -> bool:
        """Whether its thread runs."""
        return self._thread.is_alive()

    def is_stopping(self) -> bool:
        """Whether it was stopped."""
        return self._stopping.is_set()

    def connected(self, work: Callable[[Channel], None]) -> None:
        """Connect, work, and close: what is not committed then is backed out."""
        channel = self._dial()
        with self._lock:
            self._channel = channel
        try:
            if not self.is_stopping():
                work(channel)
        finally:
            with self._lock:
                self._channel = None
            channel.close()

    def pause(self, longest_s: float) -> None:
        """Wait before the next attempt, until it is to be made at once."""
        self._again.wait(self.pauses.next_s(longest_s))
        self._again.clear()
