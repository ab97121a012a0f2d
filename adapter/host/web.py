"""HTTP listeners that clients cannot exhaust, and that web pages cannot use.

What is asked for is an aiohttp application of the caller's. Around it there are bounds on how many
connect and for how long a request takes; on loopback names of other hosts are refused (a name
of another site may lead here: DNS rebinding), and a request that a web page sends may not change
anything. This module must not know what is served.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import cast

import structlog
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestHandler
from msgspec import Struct

from adapter.host import addresses

SHUT_S = 1.0
"""How long a stop waits for an answer that is on its way."""
BACKLOG = 128
READS = frozenset({"GET", "HEAD", "OPTIONS"})
MISDIRECTED = 421

log = structlog.get_logger("mqk.http")


def _is_ours(record: logging.LogRecord) -> bool:
    """Whether an error is one of this process: a request that is no HTTP, whose body is not what
    its header says, or of which the rest does not come, is its client's.
    """
    theirs = HttpProcessingError, web.RequestPayloadError, ConnectionResetError
    return not (record.exc_info and isinstance(record.exc_info[1], theirs))


REQUESTS = logging.getLogger("mqk.http.requests")
REQUESTS.addFilter(_is_ours)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Phase(Enum):
    """What a connection is doing."""

    HEADER = "header"
    REQUEST = "request"
    IDLE = "idle"


class HttpBounds(Struct, frozen=True, kw_only=True):
    """How many may connect, and how long a connection may take for what, in seconds."""

    connections: int = 128
    """Of one listener, which has a few readers: one that came and sent nothing yet makes room."""
    header_s: float = 10.0
    """From a request's first byte, or from the connection, to the end of its header."""
    request_s: float = 60.0
    """For its body and for its answer to be made; the longest waits for Kafka."""
    unread_s: float = 30.0
    """An answer of which nothing is read for so long."""
    idle_s: float = 75.0
    """Between two requests of a connection; more than a scrape interval of Prometheus."""
    check_s: float = 1.0
    """Between two checks of all connections."""

    def of(self, phase: Phase) -> float:
        """Return how long a phase may take."""
        if phase is Phase.HEADER:
            return self.header_s
        return self.request_s if phase is Phase.REQUEST else self.idle_s


BOUNDS = HttpBounds()


class Visit(asyncio.Protocol):
    """One connection: hands everything to aiohttp's handler, and keeps the time."""

    def __init__(self, listener: HttpListener, handler: RequestHandler) -> None:
        self.handler = handler
        self.phase = Phase.HEADER
        self.since_s = self._taken_s = time.monotonic()
        self._unread_bytes = 0
        self._listener = listener
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the socket, if there is room."""
        self._transport = cast("asyncio.Transport", transport)
        self.handler.connection_made(transport)
        self._listener.came(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended."""
        self._listener.went(self)
        self.handler.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """A piece of a request."""
        if self.phase is Phase.IDLE:
            self.turn(Phase.HEADER)
        self.handler.data_received(data)

    def eof_received(self) -> bool | None:
        """Nothing more comes."""
        self.handler.eof_received()
        return None

    def pause_writing(self) -> None:
        """The client reads slowly."""
        self.handler.pause_writing()

    def resume_writing(self) -> None:
        """The client has caught up."""
        self.handler.resume_writing()

    def turn(self, phase: Phase) -> None:
        """Begin a phase."""
        self.phase, self.since_s = phase, time.monotonic()

    def cut(self) -> None:
        """End the connection without a word."""
        if self._transport is not None:
            self._transport.abort()

    def is_late(self, now_s: float) -> bool:
        """Whether the client has been waited for long enough."""
        unread_bytes = self._transport.get_write_buffer_size() if self._transport else 0
        if unread_bytes != self._unread_bytes or not unread_bytes:
            self._unread_bytes, self._taken_s = unread_bytes, now_s
        bounds = self._listener.bounds
        is_unread = now_s - self._taken_s > bounds.unread_s
        return is_unread or now_s - self.since_s > bounds.of(self.phase)


class HttpListener:
    """One address where an application is served. All methods are called on its event loop."""

    def __init__(self, application: web.Application, bounds: HttpBounds = BOUNDS) -> None:
        """The application is not used elsewhere, and not yet frozen."""
        self.bounds = bounds
        application.middlewares.insert(0, self._guard)
        self._runner = web.AppRunner(
            application,
            access_log=None,
            logger=REQUESTS,
            shutdown_timeout=SHUT_S,
            keepalive_timeout=bounds.idle_s,
        )
        self._server: asyncio.Server | None = None
        self._visits: dict[RequestHandler, Visit] = {}
        self._check: asyncio.TimerHandle | None = None
        self._local = False

    @property
    def connections(self) -> int:
        """How many there are."""
        return len(self._visits)

    async def start(self, host: str, port: int) -> str:
        """Listen; returns the URL to ask. port: 0 for any. OSError if it cannot be had."""
        visit = await self.visits()
        try:
            self._local = addresses.reaches_only_this_machine(host)
            loop = asyncio.get_running_loop()
            self._server = await loop.create_server(visit, host, port, backlog=BACKLOG)
        except OSError:
            await self.stop()
            raise
        return f"http://{addresses.written(*addresses.listening(self._server))}"

    async def visits(self) -> Callable[[], asyncio.Protocol]:
        """Return what makes the protocol of a connection that another listener accepts: one with
        TLS, whose clients know the host by its certificate.
        """
        await self._runner.setup()
        loop = asyncio.get_running_loop()
        self._check = loop.call_later(self.bounds.check_s, self._check_all)
        return self._visit

    async def stop(self) -> None:
        """Listen no more, end what is connected; twice is no error."""
        if self._check is not None:
            self._check.cancel()
        if self._server is not None:
            self._server.close()
            self._server = None
        await self._runner.cleanup()

    def came(self, visit: Visit) -> None:
        """A connection was made."""
        self._visits[visit.handler] = visit
        if len(self._visits) <= self.bounds.connections:
            return
        quiet = [one for one in self._visits.values() if one.phase is not Phase.REQUEST]
        longest = min(quiet, key=lambda one: one.since_s, default=visit)
        log.debug("too many connections", connections=len(self._visits))
        longest.cut()

    def went(self, visit: Visit) -> None:
        """A connection has ended."""
        self._visits.pop(visit.handler, None)

    def _visit(self) -> Visit:
        server = self._runner.server
        assert server is not None, "it was set up"
        return Visit(self, server())

    def _check_all(self) -> None:
        now_s = time.monotonic()
        for visit in list(self._visits.values()):
            if visit.is_late(now_s):
                visit.cut()
        loop = asyncio.get_running_loop()
        self._check = loop.call_later(self.bounds.check_s, self._check_all)

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Keep the time of a request, and refuse requests of other sites' web pages."""
        visit = self._visits.get(request.protocol)
        if visit is not None:
            visit.turn(Phase.REQUEST)
        try:
            if self._local and not is_of_this_machine(request.headers.get("Host", "")):
                text = "this address is served as localhost or by its number, not by other names\n"
                return web.Response(text=text, status=MISDIRECTED)
            if "Origin" in request.headers and request.method not in READS:
                text = "web pages may read here, and change nothing\n"
                return web.Response(text=text, status=403)
            return await handler(request)
        finally:
            if visit is not None:
                visit.turn(Phase.IDLE)


def is_of_this_machine(host: str) -> bool:
    """Whether a Host header is one by which only this machine is meant; empty: none was sent."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    name = name.removesuffix(".").lower()
    return not name or name == "localhost" or addresses.is_literal(name)
