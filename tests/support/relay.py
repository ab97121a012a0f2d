"""A place in front of a queue manager, which may freeze, die, or be a standby's.

For tests of clients that have several addresses: what they see of a process that was stopped, whose
machine is gone, or that only follows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import cast

from adapter.connection.wire import codec, frames
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from tests.support.loop_thread import LoopThread


class _End(asyncio.Protocol):
    """One end of a relayed connection."""

    def __init__(self, relay: Relay, other: _End | None = None) -> None:
        self.relay = relay
        self.other = other
        self.transport: asyncio.Transport | None = None
        self.early: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.relay.ends.add(self)
        self.relay.begun(self)

    def data_received(self, data: bytes) -> None:
        other = self.other
        self.relay.relayed_bytes += len(data)
        if self.relay.is_frozen:
            return  # it is never read
        if other is None or other.transport is None:
            self.early.append(data)
        else:
            other.transport.write(data)
        if self.relay.pause_s and self.transport is not None:
            self.transport.pause_reading()
            self.relay.later(self.transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.relay.ends.discard(self)
        if self.other is not None and self.other.transport is not None and not self.relay.is_frozen:
            self.other.transport.abort()


class Relay:
    """Listens on a port of its own, in a thread of its own, and passes bytes on.

    follows: it answers clients as a standby does, and says where the owner is (moved_to).
    """

    def __init__(self, target: str, *, follows: bool = False, moved_to: str = "") -> None:
        host, port = target.rsplit(":", 1)
        self.target = host, int(port)
        self.is_frozen = False
        self.pause_s = 0.0
        """Behind each piece that is passed on: 256 KiB at most."""
        self.follows = follows
        self.moved_to = moved_to
        self.accepted = 0
        self.relayed_bytes = 0
        self.ends: set[_End] = set()
        self.clients: set[_End] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = LoopThread(asyncio.new_event_loop())
        self._server: asyncio.AbstractServer | None = None
        self.port = self._thread.run(self._listen(0))

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def freeze(self) -> None:
        """Neither pass anything on nor say anything, as a stopped process; connections are made."""
        self.is_frozen = True

    def die(self) -> None:
        """Break every connection, and refuse others."""

        async def die() -> None:
            if self._server is not None:
                self._server.close()
                self._server = None
            for end in list(self.ends):
                if end.transport is not None:
                    end.transport.abort()
            # Connections that were being made meet a relay without a server, and end in begun().
            while unfinished := asyncio.all_tasks() - {asyncio.current_task()}:
                await asyncio.wait(unfinished)

        self._thread.run(die())

    def cut(self) -> None:
        """Break the connections off, and go on listening."""

        async def break_off() -> None:
            for end in list(self.ends):
                if end.transport is not None:
                    end.transport.abort()

        self._thread.run(break_off())

    def say_moved(self, to: str) -> None:
        """End every connection with a goodbye that says where the queue manager is now."""
        reason = Refused(Reason.QUEUE_MANAGER_STOPPING, "", "it is handed over")

        async def say() -> None:
            for end in list(self.ends):
                if end.transport is not None and end in self.clients:
                    end.transport.write(codec.encode(frames.Goodbye(reason, to)))
                    end.transport.close()

        self._thread.run(say())

    def close(self) -> None:
        """End it."""
        self.die()
        self._thread.close()

    def later(self, transport: asyncio.Transport) -> None:
        """Read on after the pause."""

        def resume() -> None:
            if not transport.is_closing():
                transport.resume_reading()

        self._thread.loop.call_later(self.pause_s, resume)

    def begun(self, end: _End) -> None:
        """Connect a client's end with the queue manager's."""
        if end.other is not None:
            end.other.other = end
            for data in end.other.early:
                cast("asyncio.Transport", end.transport).write(data)
            end.other.early.clear()
            return
        if self._server is None:
            cast("asyncio.Transport", end.transport).abort()
            return
        self.accepted += 1
        if self.is_frozen:
            return
        if self.follows:
            reason = Refused(Reason.STANDBY_QUEUE_MANAGER, "QM1", "it follows another one")
            transport = cast("asyncio.Transport", end.transport)
            transport.write(codec.encode(frames.Goodbye(reason, self.moved_to)))
            transport.close()
            return
        self.clients.add(end)
        task = self._thread.loop.create_task(self._join(end))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _join(self, end: _End) -> None:
        with suppress(OSError):
            _, other = await self._thread.loop.create_connection(
                lambda: _End(self, end), *self.target
            )
            if end not in self.ends and other.transport is not None:
                other.transport.abort()

    async def _listen(self, port: int) -> int:
        made = await self._thread.loop.create_server(lambda: _End(self), "127.0.0.1", port)
        self._server = made
        return int(made.sockets[0].getsockname()[1])


@contextmanager
def relay(target: str, *, follows: bool = False, moved_to: str = "") -> Iterator[Relay]:
    """Run one."""
    made = Relay(target, follows=follows, moved_to=moved_to)
    try:
        yield made
    finally:
        made.close()
