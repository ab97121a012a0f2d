"""The schema registry API over HTTP. Without TLS it is on loopback: for no other machine.

Who may read and change it, a gate says; without one, any user of this machine may, but no web page
that one of them reads.

It moves requests to api and answers back; what waits for Kafka does so on threads. It knows no
schema.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol, Self

import structlog
from aiohttp import web
from msgspec import json
from msgspec.structs import replace

from adapter.errors import SchemaError, StartError
from adapter.host import addresses, watched
from adapter.host.web import HttpListener
from adapter.registry import api, codes
from adapter.registry.api import ApiRequest, Route
from adapter.registry.avro_schema import SCHEMA_BYTES_MAX
from adapter.registry.topic import TopicRegistry

HOST, PORT = "127.0.0.1", 8081
JSON = "application/vnd.schemaregistry.v1+json"
TAKEN = frozenset(
    (JSON, "application/vnd.schemaregistry+json", "application/json", "application/octet-stream")
)
"""What a body may be called. A page in a browser cannot send any of these to another host unasked,
and so change nothing here."""
ANSWERED = TAKEN | {"*/*", "application/*", ""}
"""What a client may say that it takes."""
BODY_BYTES_MAX = 2 * 1024 * 1024  # a schema of the longest, quoted in JSON
PART_BYTES = 64 * 1024
"""A longer list is sent in parts of about so many, each when the client has taken the last one: of
what clients ask for, and do not read, no more than that is in memory for each."""
THREADS_MAX = 8
"""Requests that are worked on at once; they wait for each other where they wait for Kafka."""
START_TIMEOUT_S = 30.0
PART = re.compile(r"\{(\w+)\}")

log = structlog.get_logger("mqk.registry")


class Gate(Protocol):
    """Says who may ask for what, and has on record who changed what."""

    async def why_not(
        self, request: web.Request, route: Route, subject: str
    ) -> web.Response | None:
        """Return the answer that refuses a request; None: it is allowed.

        subject: that the path names; GLOBAL: what is asked for is of all.
        """

    def note(self, request: web.Request, route: Route, subject: str, outcome: Any) -> None:
        """Note what came of a change: what is answered, or why it failed."""


def application(registry: TopicRegistry, gate: Gate | None = None) -> web.Application:
    """The API of a registry, also to be mounted below another application's path."""
    pool = ThreadPoolExecutor(THREADS_MAX, thread_name_prefix="registry")
    made = web.Application(client_max_size=BODY_BYTES_MAX, middlewares=[in_our_words])
    for route in api.ROUTES:
        path = PART.sub(r"{\1:[^/]+}", route.path)  # by itself aiohttp takes no braces in a part
        made.router.add_route(route.method, path, answering(registry, route, pool, gate))

    async def shut(_application: web.Application) -> None:
        pool.shutdown(wait=False, cancel_futures=True)

    made.on_cleanup.append(shut)
    return made


def answering(
    registry: TopicRegistry, route: Route, pool: ThreadPoolExecutor, gate: Gate | None
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """Make the handler of a path."""

    async def answer(request: web.Request) -> web.StreamResponse:
        require_acceptable(request.headers.getall("Accept", []))
        asked = ApiRequest(dict(request.match_info), dict(request.query))
        if gate is not None:
            refused = await gate.why_not(request, route, asked.subject)
            if refused is not None:
                return refused
        body = await request.read()
        if body and request.content_type not in TAKEN:
            raise web.HTTPUnsupportedMediaType
        asked = replace(asked, body=body)
        outcome: Any = None
        try:
            loop = asyncio.get_running_loop()
            outcome = await loop.run_in_executor(pool, route.answer, registry, asked)
        except BaseException as failure:
            outcome = failure
            raise
        finally:
            if gate is not None and route.changes:
                gate.note(request, route, asked.subject, outcome)
        if isinstance(outcome, list):
            return await send_list(request, outcome)
        return reply(200, outcome)

    return answer


async def send_list(request: web.Request, values: list[Any]) -> web.StreamResponse:
    """Answer a list, in JSON. A long one is sent in parts."""
    parts = parts_of(values)
    first, second = next(parts), next(parts, None)
    if second is None:
        return web.Response(body=first, content_type=JSON)
    response = web.StreamResponse()
    response.content_type = JSON
    await response.prepare(request)
    for part in itertools.chain((first, second), parts):
        await response.write(part)
    await response.write_eof()
    return response


def parts_of(values: list[Any]) -> Iterator[bytes]:
    """Write a list in JSON, in parts that are made when they are needed."""
    part = bytearray(b"[")
    for number, value in enumerate(values):
        if number:
            part += b","
        part += json.encode(value)
        if len(part) >= PART_BYTES:
            yield bytes(part)
            part.clear()
    part += b"]"
    yield bytes(part)


def require_acceptable(accepted: list[str]) -> None:
    """Refuse a request of a client that takes no JSON. accepted: headers; none: anything."""
    kinds = [
        part.partition(";")[0].strip().lower() for text in accepted for part in text.split(",")
    ]
    if kinds and not any(kind in ANSWERED for kind in kinds):
        raise web.HTTPNotAcceptable


@web.middleware
async def in_our_words(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Answer every failure as the API does."""
    try:
        return await handler(request)
    except SchemaError as error:
        status = codes.status_of(error.code) if error.code else codes.UNPROCESSABLE
        return reply(status, api.error_body(error))
    except web.HTTPRequestEntityTooLarge:
        text = f"Schema is too large: it has at most {SCHEMA_BYTES_MAX} bytes"
        return reply(422, {"error_code": codes.SCHEMA_TOO_LARGE, "message": text})
    except web.HTTPMethodNotAllowed as error:
        if request.method == "OPTIONS":
            return reply(200, {}, {"Allow": error.headers["Allow"]})
        return failure_response(error)
    except web.HTTPException as error:
        return failure_response(error)
    except web.RequestPayloadError:
        return failure_response(web.HTTPBadRequest())
    except ConnectionResetError:  # the client has gone in the midst of its request
        raise
    except Exception:
        log.exception("a request failed", method=request.method, path=request.path)
        text = "The registry failed; its log says why"
        return reply(500, {"error_code": codes.STORE_FAILED, "message": text})


def failure_response(error: web.HTTPException) -> web.Response:
    """Answer a failure that HTTP has a number for."""
    text = f"HTTP {error.status} {error.reason}"
    return reply(error.status, {"error_code": error.status, "message": text})


def reply(status: int, value: Any, headers: dict[str, str] | None = None) -> web.Response:
    """An answer in JSON."""
    body = json.encode(value)
    return web.Response(body=body, status=status, content_type=JSON, headers=headers)


def check_loopback(host: str) -> None:
    """Refuse to listen where other machines could connect. Raises StartError."""
    try:
        is_local = addresses.reaches_only_this_machine(host)
    except OSError as error:
        raise StartError(f"{host!r} is not an address of this machine: {error}") from error
    if not is_local:
        raise StartError(
            f"{host!r} is reachable from other machines: without TLS the schema registry listens "
            "on loopback only, such as 127.0.0.1; a queue manager's has TLS with http_tls"
        )


def _end(_what: str) -> None:
    """End the process as SIGTERM does: without this thread it serves nothing."""
    os.kill(os.getpid(), signal.SIGTERM)


class RegistryServer:
    """Serves a registry from a thread of its own; a context manager."""

    def __init__(self, registry: TopicRegistry) -> None:
        self._registry = registry
        self._listener: HttpListener | None = None
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_problem: object) -> None:
        self.stop()

    def start(self, host: str = HOST, port: int = PORT) -> str:
        """Listen; returns the URL to ask. port: 0 for any. Raises StartError."""
        check_loopback(host)
        self._loop = loop = asyncio.new_event_loop()
        self._thread = watched.thread("registry http", loop.run_forever, _end)
        try:
            url: str = self._do(partial(self._start, host, port))
            return url
        except OSError as error:
            self.stop()
            why = error.strerror or error
            text = f"cannot listen on {host}:{port} ({why}); give another --listen"
            raise StartError(text) from error

    def stop(self) -> None:
        """Listen no more; twice is no error."""
        if self._loop is None or self._thread is None:
            return
        self._do(self._stop)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(START_TIMEOUT_S)
        self._loop.close()
        self._loop = self._thread = None

    def _do(self, step: Callable[[], Any]) -> Any:
        assert self._loop is not None, "it was started"
        return asyncio.run_coroutine_threadsafe(step(), self._loop).result(START_TIMEOUT_S)

    async def _start(self, host: str, port: int) -> str:
        self._listener = HttpListener(application(self._registry))
        return await self._listener.start(host, port)

    async def _stop(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            await listener.stop()
