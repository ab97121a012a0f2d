"""A loopback TCP proxy that can pass, hold, delay or swallow what goes through it, and cut it.

It stands between clients and a server (a queue manager, a broker), to show what becomes of a
request whose reply never arrives. It must not know what the bytes mean: who wants to count
something in them gives a tap.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Self, TypeVar, cast

import uvloop
from msgspec import Struct

HOST = "127.0.0.1"
CALL_TIMEOUT_S = 10.0
"""For what another thread asks of the proxy's own: a few steps of its loop."""

T = TypeVar("T")
Tap = Callable[[int, bool, bytes], None]
"""Called as tap(connection, from_client, data) before the bytes go on; b"" when one has ended."""


class Mode(Enum):
    """What becomes of bytes that arrive: they go on, wait for release, or vanish."""

    PASS = "pass"  # noqa: S105 -- it is not a password
    HOLD = "hold"
    DROP = "drop"


class Flow(Struct):
    """One direction, over all connections."""

    mode: Mode = Mode.PASS
    delay_s: float = 0.0
    passed_bytes: int = 0
    held_bytes: int = 0
    dropped_bytes: int = 0


class _End(asyncio.Protocol):
    """One socket of a connection. What it reads, the other end writes."""

    def __init__(self, proxy: Proxy, number: int, flow: Flow, from_client: bool) -> None:
        self.other: _End | None = None
        self.holds = False
        self.transport: asyncio.Transport | None = None
        self._proxy = proxy
        self._number = number
        self._flow = flow
        self._from_client = from_client
        self._kept: deque[bytes] = deque()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass
        if self._from_client:
            self._proxy.accepted(self, self._number)

    def data_received(self, data: bytes) -> None:
        self._proxy.tapped(self._number, self._from_client, data)
        flow = self._flow
        if flow.mode is Mode.DROP:
            flow.dropped_bytes += len(data)
            return
        self._kept.append(data)
        flow.held_bytes += len(data)
        self._later(flow.delay_s)

    def release(self) -> None:
        """Let everything go on that was held or came before there was another end."""
        self.holds = False
        for _ in range(len(self._kept)):
            self._pass_one()

    def pause_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """What is held is never delivered; what is delayed still is."""
        self.transport = None
        self._proxy.tapped(self._number, self._from_client, b"")
        if self._from_client:
            self._proxy.gone(self._number)
        if self._kept and self._flow.mode is Mode.PASS and not self.holds:
            asyncio.get_running_loop().call_later(self._flow.delay_s, self._end_other)
        else:
            self._forget()
            self._end_other()

    def abort(self) -> None:
        """Break the connection now."""
        self._forget()
        if self.transport is not None:
            self.transport.abort()

    def _later(self, delay_s: float) -> None:
        if delay_s > 0:
            asyncio.get_running_loop().call_later(delay_s, self._pass_one)
        else:
            self._pass_one()

    def _pass_one(self) -> None:
        """Pass the oldest on: bytes keep their order whatever the delay was when they came."""
        there = self.other.transport if self.other is not None else None
        if there is None or not self._kept or self.holds or self._flow.mode is Mode.HOLD:
            return
        data = self._kept.popleft()
        self._flow.held_bytes -= len(data)
        self._flow.passed_bytes += len(data)
        there.write(data)

    def _forget(self) -> None:
        self._flow.held_bytes -= sum(map(len, self._kept))
        self._kept.clear()

    def _end_other(self) -> None:
        self._forget()
        if self.other is not None and self.other.transport is not None:
            self.other.transport.close()


class Proxy:
    """Forwards a loopback port to host:port; a context manager. All methods are thread-safe."""

    def __init__(
        self, host: str, port: int, *, listen_port: int = 0, tap: Tap | None = None
    ) -> None:
        self.requests = Flow()
        self.replies = Flow()
        self.port = listen_port
        self._target = (host, port)
        self._tap = tap
        self._clients: dict[int, _End] = {}
        self._connecting: set[asyncio.Task[None]] = set()
        self._accepted = 0
        self._emptied = asyncio.Event()
        self._loop = uvloop.new_event_loop()
        self._server: asyncio.AbstractServer | None = None
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_problem: object) -> None:
        self.stop()

    @property
    def address(self) -> str:
        """Where clients connect."""
        return f"{HOST}:{self.port}"

    def start(self) -> None:
        """Listen; OSError if the port is taken."""
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(CALL_TIMEOUT_S)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Break every connection and stop listening; twice is no error."""
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(CALL_TIMEOUT_S)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(CALL_TIMEOUT_S)

    def hold_replies(self) -> None:
        """From now on keep what the server sends."""
        self._call(lambda: self._set(self.replies, Mode.HOLD))

    def hold_replies_of(self, connection: int) -> None:
        """The same for one connection only; a tap may call this, before its bytes go on."""
        self._call(lambda: self._hold_replies_of(connection))

    def hold_requests(self) -> None:
        """From now on keep what clients send."""
        self._call(lambda: self._set(self.requests, Mode.HOLD))

    def drop_replies(self) -> None:
        """From now on swallow what the server sends."""
        self._call(lambda: self._set(self.replies, Mode.DROP))

    def delay(self, *, requests_s: float = 0.0, replies_s: float = 0.0) -> None:
        """Let bytes that arrive from now on wait so long."""
        self.requests.delay_s = requests_s
        self.replies.delay_s = replies_s

    def release(self) -> None:
        """Pass everything in both directions again, first what was held."""
        self._call(self._release)

    def cut(self) -> None:
        """Break every connection; what is held is lost. New ones are accepted."""
        self._call(self._cut)

    def statistics(self) -> dict[str, int]:
        """Counts of connections and bytes."""
        return {
            "connections": len(self._clients),
            "accepted": self._accepted,
            "request_bytes": self.requests.passed_bytes,
            "reply_bytes": self.replies.passed_bytes,
            "held_bytes": self.requests.held_bytes + self.replies.held_bytes,
            "dropped_bytes": self.requests.dropped_bytes + self.replies.dropped_bytes,
        }

    # What the ends tell, on the proxy's own thread.

    def accepted(self, client: _End, number: int) -> None:
        """A client has connected: connect to the server for it."""
        self._clients[number] = client
        client.other = _End(self, number, self.replies, False)
        client.other.other = client
        task = self._loop.create_task(self._connect(client, client.other))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    def gone(self, number: int) -> None:
        """A client has left."""
        self._clients.pop(number, None)
        if not self._clients:
            self._emptied.set()

    def tapped(self, number: int, from_client: bool, data: bytes) -> None:
        """Show bytes to the observers."""
        if self._tap is not None:
            self._tap(number, from_client, data)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    async def _listen(self) -> None:
        listening = socket.create_server((HOST, self.port))
        self.port = listening.getsockname()[1]
        self._server = await self._loop.create_server(self._accept, sock=listening)

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._connecting:
            task.cancel()
        self._emptied.clear()
        self._cut()
        if self._clients:
            await self._emptied.wait()

    def _accept(self) -> _End:
        self._accepted += 1
        return _End(self, self._accepted, self.requests, True)

    async def _connect(self, client: _End, server: _End) -> None:
        try:
            await self._loop.create_connection(lambda: server, *self._target)
        except OSError:
            client.abort()
            return
        if client.transport is None:
            server.abort()
        else:
            client.release()

    def _set(self, flow: Flow, mode: Mode) -> None:
        flow.mode = mode

    def _hold_replies_of(self, connection: int) -> None:
        client = self._clients.get(connection)
        if client is not None and client.other is not None:
            client.other.holds = True

    def _release(self) -> None:
        self.requests.mode = self.replies.mode = Mode.PASS
        for client in self._clients.values():
            client.release()
            if client.other is not None:
                client.other.release()

    def _cut(self) -> None:
        for client in list(self._clients.values()):
            if client.other is not None:
                client.other.abort()
            client.abort()

    def _call(self, do: Callable[[], T]) -> T:
        """Do something on the proxy's thread, and wait until it is done."""
        if threading.current_thread() is self._thread:
            return do()

        async def run() -> T:
            return do()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(CALL_TIMEOUT_S)
