"""The HTTP endpoint for monitoring: /metrics, /live, /ready, /role, which change nothing.

Programs of this machine see all of it. A program of another machine has to be a user of the queue
manager, because the pages name its queues, topics and hosts; without a login it hears of /live and
/ready the status code and a word, as probes need it. On loopback there is also the API of the queue
manager's own schema registry below /registry; where other machines may ask, there is not. The pages
are there before the ledger is taken over, so that a long replay can be told from a dead process.
"""

from __future__ import annotations

import asyncio
import html
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import structlog
from aiohttp import web
from msgspec import Struct, json

from adapter.core.contract.results import QueueStatus
from adapter.host import addresses, release, watched
from adapter.host.web import HttpListener
from adapter.registry import http as registry_api
from adapter.registry.topic import TopicRegistry
from adapter.runtime.owner import lifecycle
from adapter.runtime.owner.lifecycle import OwnerState
from adapter.runtime.owner.storage import SNAPSHOT_ENTRIES
from adapter.server.monitor import metrics
from adapter.server.monitor.https import Handler, HttpsListener, HttpUsers
from adapter.server.monitor.metrics import MetricsSnapshot
from adapter.server.monitor.registry_gate import RegistryGate
from adapter.server.process.figures import ServerFigures

HOST = "127.0.0.1"
JSON = "application/json"
REGISTRY = "/registry"
LIVE, READY = "/live", "/ready"
PAGES = (
    ("/metrics", "figures for Prometheus"),
    (LIVE, "whether the process has to be started again"),
    (READY, "whether requests are served and messages are copied"),
    ("/role", "whether this process is the owner of the queue manager, or a standby"),
)
"""Path of each page, and what it says."""

WORDS = {200: "ok\n", 503: "unavailable\n"}
"""What /live and /ready say, by status, to another machine without a login."""

PAUSE_SHARE = 9
"""So many times as long as it took to write the figures they are not written again."""

FOLLOWS_WITHIN = SNAPSHOT_ENTRIES
"""A standby that is further behind takes over no faster than a start, which reads about as much."""

DEAD = frozenset({OwnerState.DEPOSED, OwnerState.FAILED, OwnerState.STOPPED})
"""It will never serve again in this process."""

log = structlog.get_logger("mqk.http")


class ServerView(Protocol):
    """What is asked: the server."""

    name: str

    @property
    def state(self) -> OwnerState:
        """State of the owner."""

    @property
    def role(self) -> str:
        """What the process is to its queue manager; see ServerRoles.role."""

    @property
    def failure(self) -> str:
        """Why the owner has ended, or nothing."""

    @property
    def trouble(self) -> str:
        """What keeps clients waiting, or endangers what is stored, or nothing."""

    @property
    def movers_hold(self) -> str:
        """Why nothing is copied, or nothing."""

    def figures(self) -> ServerFigures:
        """Return what `mqk qmgr status` shows."""

    def queue_statuses(self) -> list[QueueStatus]:
        """Return the figures of every queue."""


class Role(Struct):
    """The answer of /role: "owner", "standby", or the state in which it is neither."""

    queue_manager: str
    role: str


class Lag(Struct):
    """A standby. linked: it and the owner hear each other. lag_records, lag_s: see /metrics."""

    name: str
    linked: bool
    lag_records: int
    lag_s: float


class Health(Struct):
    """The answer of /live and /ready. reason: why not, or ""."""

    queue_manager: str
    state: str
    ok: bool
    reason: str = ""


class Readiness(Health):
    """The answer of /ready. standbys: of an owner those that are linked, of a standby itself.
    undone: what is not done for now besides requests, and why; it is ready all the same.
    """

    standbys: list[Lag] = []
    undone: dict[str, str] = {}


def live(server: ServerView) -> Health:
    """Say whether the process is of any use: a supervisor starts it again if not."""
    state = server.state
    reason = why_not(server) if state in DEAD else ""
    return Health(server.name, state.value, not reason, reason)


def serves(server: ServerView) -> Health:
    """Say whether requests are served, and what they do is copied to the topics."""
    state = server.state
    well = state is OwnerState.RUNNING
    reason = server.trouble or server.movers_hold if well else why_not(server)
    return Health(server.name, state.value, not reason, reason)


def ready(server: ServerView) -> Readiness:
    """Say the same, and what is not well besides."""
    health, figures = serves(server), server.figures()
    return Readiness(
        *(health.queue_manager, health.state, health.ok, health.reason),
        *(lags(figures), figures.undone),
    )


def ready_to_follow(server: ServerView) -> Readiness:
    """Say the same, but that a standby is ready that would take over as fast as one can."""
    health = ready(server)
    if server.state is not OwnerState.FOLLOWING:
        return health
    standbys = health.standbys
    behind = max((one.lag_records for one in standbys), default=0)
    reason = ""
    if not standbys:
        reason = "it has not begun to follow its owner"
    elif behind > FOLLOWS_WITHIN:
        reason = f"it is {behind} records behind its owner, and {FOLLOWS_WITHIN} is the most"
    return Readiness(health.queue_manager, health.state, not reason, reason, standbys)


def serves_or_follows(server: ServerView) -> Health:
    """Say whether requests are served, or a standby is ready to take over."""
    is_standby = server.state is OwnerState.FOLLOWING
    return ready_to_follow(server) if is_standby else serves(server)


def lags(figures: ServerFigures) -> list[Lag]:
    """Return the standbys of an owner, or the standby that this process is."""
    own = figures.roles.follower
    if own is not None:
        return [Lag("", own.linked, own.lag_records, own.lag_s)]
    standbys = (figures.roles.standbys or {}).items()
    return [Lag(name, True, one.lag_records, one.lag_s) for name, one in standbys]


def why_not(server: ServerView) -> str:
    """Say why requests are not served."""
    return server.failure or server.trouble or lifecycle.why_not(server.state)


class Monitor:
    """The endpoint."""

    def __init__(
        self,
        server: ServerView,
        registry: TopicRegistry | None = None,
        users: HttpUsers | None = None,
    ) -> None:
        """users: whom programs of other machines may be; None: there are no users."""
        self._server = server
        self._registry = registry
        self._users = users
        self._release = release.find_installed()
        self._listener: HttpListener | HttpsListener | None = None
        self._writer = ThreadPoolExecutor(1, "figures")
        self._text: asyncio.Task[bytes] | None = None
        self._anew_s = 0.0
        """When the figures are written anew, by the loop's clock."""

    async def start(
        self,
        port: int,
        host: str = HOST,
        listener_of: Callable[[web.Application], HttpsListener] | None = None,
    ) -> str:
        """Listen; returns the address to ask, as a URL. listener_of: makes a listener with TLS.

        OSError if the port cannot be had; StartError, with TLS.
        """
        application = web.Application(middlewares=[self._check])
        application.router.add_get("/", self._index)
        application.router.add_get("/metrics", self._metrics)
        application.router.add_get(LIVE, self._answer(live))
        application.router.add_get(READY, self._ready)
        application.router.add_get("/role", self._role)
        is_local = addresses.reaches_only_this_machine(host)
        if self._registry is not None and not is_local:
            text = "other machines may ask here: set registry_listen"
            log.info("schema registry not served over HTTP", reason=text)
        elif self._registry is not None:
            gate = RegistryGate(self._users) if self._users is not None else None
            application.add_subapp(REGISTRY, registry_api.application(self._registry, gate))
        if not is_local and (self._users is None or not self._users.exist):
            text = "other machines get /metrics with a login, and no login is known here: set "
            log.warning("monitored by this machine only", reason=f"{text}credentials_file")
        application.router.add_get("/{other:.*}", self._other)
        self._listener = (listener_of or HttpListener)(application)
        return await self._listener.start(host, port)

    async def stop(self) -> None:
        """Listen no more; twice is no error."""
        listener, self._listener = self._listener, None
        if listener is not None:
            await listener.stop()
        self._writer.shutdown(wait=False)

    @web.middleware
    async def _check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let programs of this machine, and users, see all; the others hear a word, or 401."""
        peer = addresses.peer_of(request.transport) if request.transport is not None else None
        if peer is not None and addresses.is_loopback(peer.host):
            return await handler(request)
        names_a_user = "Authorization" in request.headers or (peer and peer.certificate)
        if request.path in (LIVE, READY) and not names_a_user:
            if request.path == READY:
                handler = self._ready_in_a_word
            status = (await handler(request)).status
            return web.Response(text=WORDS.get(status), status=status)
        if self._users is None:
            return web.Response(text="only this machine may ask\n", status=401)
        return await self._users.check(request, handler)

    async def _metrics(self, _request: web.Request) -> web.Response:
        loop = asyncio.get_running_loop()
        if self._text is None or (self._text.done() and loop.time() >= self._anew_s):
            self._text = watched.task("figures for Prometheus", self._make_text(), log.error)
        text = await asyncio.shield(self._text)
        return web.Response(body=text, headers={"Content-Type": metrics.CONTENT_TYPE})

    async def _make_text(self) -> bytes:
        """Write the figures: for all who ask meanwhile and, where it takes long, somewhat later, so
        that it takes a tenth of the time however many ask.
        """
        server, loop = self._server, asyncio.get_running_loop()
        began_s = loop.time()
        try:
            snapshot = MetricsSnapshot(server.figures(), server.queue_statuses(), self._release)
            return await loop.run_in_executor(self._writer, metrics.text, snapshot)
        finally:
            self._anew_s = loop.time() + PAUSE_SHARE * (loop.time() - began_s)

    async def _ready(self, request: web.Request) -> web.Response:
        return await self._say(request, ready, ready_to_follow)

    async def _ready_in_a_word(self, request: web.Request) -> web.Response:
        """Answer who hears no more than a word: that costs no figures, but of a standby its own."""
        return await self._say(request, serves, serves_or_follows)

    async def _say(
        self,
        request: web.Request,
        question: Callable[[ServerView], Health],
        of_standby: Callable[[ServerView], Health],
    ) -> web.Response:
        asked = request.query.get("standby", "")
        if asked not in ("", "ok"):
            text = f"/ready?standby={html.escape(asked)}: use standby=ok, or leave it out\n"
            return web.Response(text=text, status=400)
        return await self._answer(of_standby if asked else question)(request)

    def _answer(
        self, question: Callable[[ServerView], Health]
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def answer(_request: web.Request) -> web.Response:
            health = question(self._server)
            status = 200 if health.ok else 503
            return web.Response(body=json.encode(health) + b"\n", status=status, content_type=JSON)

        return answer

    async def _role(self, _request: web.Request) -> web.Response:
        told = Role(self._server.name, self._server.role)
        return web.Response(body=json.encode(told) + b"\n", content_type=JSON)

    async def _index(self, _request: web.Request) -> web.Response:
        links = "".join(f'<li><a href="{path}">{path}</a>: {what}</li>\n' for path, what in PAGES)
        name = html.escape(self._server.name)
        text = f"<!doctype html>\n<title>{name}</title>\n<h1>{name}</h1>\n<ul>\n{links}</ul>\n"
        return web.Response(text=text, content_type="text/html")

    async def _other(self, request: web.Request) -> web.Response:
        pages = ", ".join(path for path, _ in PAGES)
        text = f"{request.path} does not exist; the pages are {pages}\n"
        return web.Response(text=text, status=404)
