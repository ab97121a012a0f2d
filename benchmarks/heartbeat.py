"""An ASGI application with a heartbeat beside it: how late its event loop is, at GET /heartbeat.

`HEARTBEAT_APP=MODULE:NAME uvicorn --factory benchmarks.heartbeat:application` serves that
application. The heartbeat sleeps for a millisecond at a time; it is late by as long as the loop did
other work, or was blocked. On a busy machine it is also late because the thread waits for a core:
Linux says for how long, and that is told apart. Each question begins a new count. It must not know
what is served.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import time
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]
EVERY_S = 0.001
SCHEDULING = Path("/proc/thread-self/schedstat")


class Lateness(Struct):
    """How late the heartbeats since the last question were: how many, and milliseconds.

    p99_ms, max_ms: without the time that the loop's thread waited for a core. any_max_ms: with it.
    """

    count: int
    p99_ms: float
    max_ms: float
    any_max_ms: float


class Heartbeat:
    """Serves an application, and beats while it lives."""

    def __init__(self, named: str) -> None:
        module, _, name = named.partition(":")
        self._app = getattr(importlib.import_module(module), name)
        self._late_s: list[tuple[float, float]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or the whole life of the application."""
        if scope["type"] == "lifespan":
            beating = asyncio.create_task(self._beat())
            try:
                await self._app(scope, receive, send)
            finally:
                beating.cancel()
        elif scope["path"] == "/heartbeat":
            body = msgspec.json.encode(self._lateness())
            head = {"type": "http.response.start", "status": 200, "headers": []}
            await send(head)
            await send({"type": "http.response.body", "body": body})
        else:
            await self._app(scope, receive, send)

    async def _beat(self) -> None:
        while True:
            due_s, waited_s = time.monotonic() + EVERY_S, _waited_s()
            await asyncio.sleep(EVERY_S)
            late_s, waited_s = time.monotonic() - due_s, _waited_s() - waited_s
            self._late_s.append((max(late_s - waited_s, 0), late_s))

    def _lateness(self) -> Lateness:
        beats = sorted(self._late_s) or [(0.0, 0.0)]
        self._late_s = []
        last = len(beats) - 1
        any_max_s = max(late_s for _, late_s in beats)
        return Lateness(
            len(beats), 1000 * beats[last * 99 // 100][0], 1000 * beats[-1][0], 1000 * any_max_s
        )


def _waited_s() -> float:
    """Return for how long this thread has had work to do and no core; 0 where that is not said."""
    try:
        return int(SCHEDULING.read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


def application() -> Heartbeat:
    """Make the application, for uvicorn."""
    return Heartbeat(os.environ["HEARTBEAT_APP"])
