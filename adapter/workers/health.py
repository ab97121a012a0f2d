"""How a worker does, for probes and Prometheus: a file, and a port that answers HTTP.

The port is served by the supervisor's one thread, between other things: an answer is one page. A
connection whose request does not come is closed after some time, or as the oldest where there are
too many: who only connects keeps no probe from its answer. This module does not know what processes
are.
"""

from __future__ import annotations

import json
import logging
import os
import selectors
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from adapter.errors import InvalidOption
from adapter.workers.figures import WorkFigures
from adapter.workers.settings import WorkerSettings

log = logging.getLogger("adapter.workers")

TELL_S = 2.0
"""How often the file is written while all is well."""
VISITS_MAX = 32
VISIT_S = 2.0
FULL_PAUSE_S = 0.5
"""How long no connection is accepted when one could not be: the process has no descriptor left, and
the selector would report the listener again at once."""
REQUEST_BYTES_MAX = 8192
HELP = {
    "mqk_worker_processes": ("gauge", "Processes that are to run."),
    "mqk_worker_processes_ready": ("gauge", "Processes that are connected."),
    "mqk_worker_restarts_total": ("counter", "Processes that were started in place of others."),
    "mqk_worker_messages_total": ("counter", "Messages that were done, or failed."),
    "mqk_worker_handler_seconds_total": (
        "counter",
        "Time that messages took, in all threads or tasks.",
    ),
    "mqk_worker_in_hand": ("gauge", "Messages that are worked on."),
}


class State(Struct):
    """How a worker does."""

    figures: WorkFigures
    processes: int
    well: int
    restarts: int
    is_stopping: bool = False

    @property
    def is_ready(self) -> bool:
        """Whether every process is there and connected."""
        return self.well == self.processes and not self.is_stopping


class PartialRequest(Struct):
    """A connection whose request is not complete. until_s: when it is closed."""

    until_s: float
    said: bytes = b""

    @property
    def is_complete(self) -> bool:
        """Whether the request has come: to its empty line, or to the end of its line if it is of
        the first version of HTTP, which has no headers.
        """
        line, end, _ = self.said.partition(b"\n")
        if end and b"HTTP/" not in line:
            return True
        return b"\n\n" in self.said.replace(b"\r", b"") or len(self.said) >= REQUEST_BYTES_MAX


class WorkerHealth:
    """The file and the port of one worker."""

    def __init__(
        self,
        settings: WorkerSettings,
        selector: selectors.BaseSelector,
        state: Callable[[], State],
    ) -> None:
        self._file = settings.health_file
        self._selector = selector
        self._state = state
        self._told_s = float("-inf")
        self._visits: dict[socket.socket, PartialRequest] = {}
        """The oldest first."""
        self._listener: socket.socket | None = None
        self._full_until_s = float("inf")  # when connections are accepted again
        if self._file is not None:
            _check_file(self._file)
        if settings.health_port is not None:
            self._listener = _listen(settings.health_host, settings.health_port)
            selector.register(self._listener, selectors.EVENT_READ, self._accept)

    def tell(self) -> None:
        """Write the file if all is well and it is time; drop who says nothing."""
        now_s = time.monotonic()
        if self._listener is not None and now_s > self._full_until_s:
            self._full_until_s = float("inf")
            self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        for connection, visit in list(self._visits.items()):
            if now_s > visit.until_s:
                self._drop(connection)
        if self._file is None or now_s - self._told_s < TELL_S:
            return
        state = self._state()
        if state.is_ready:
            self._told_s = now_s
            self._write(self._file, _as_json(state))

    def _write(self, file: Path, text: str) -> None:
        """Write the file in one step, so that no reader finds half of it."""
        beside = file.with_name(f".{file.name}.{os.getpid()}")
        try:
            beside.write_text(text, encoding="utf-8")
            beside.replace(file)
        except OSError as problem:
            with suppress(OSError):
                beside.unlink()
            log.warning("the health file cannot be written: %s", problem)

    def close(self) -> None:
        """Remove the file: the worker has ended. A file that cannot be removed stays."""
        if self._file is not None:
            with suppress(OSError):
                self._file.unlink(missing_ok=True)

    def let_go(self) -> None:
        """Close the sockets; also in a process that was just forked."""
        for one in (*self._visits, self._listener):
            if one is not None:
                one.close()

    def _accept(self) -> None:
        assert self._listener is not None, "it is registered if it is there"
        try:
            visit, _ = self._listener.accept()
        except OSError:  # it went before we came, or the process has too many descriptors
            self._selector.unregister(self._listener)
            self._full_until_s = time.monotonic() + FULL_PAUSE_S
            return
        visit.setblocking(False)
        while len(self._visits) >= VISITS_MAX:
            self._drop(next(iter(self._visits)))
        self._visits[visit] = PartialRequest(time.monotonic() + VISIT_S)
        self._selector.register(visit, selectors.EVENT_READ, lambda: self._hear(visit))

    def _hear(self, connection: socket.socket) -> None:
        """Read what has come of a request, and answer it once it is complete."""
        visit = self._visits[connection]
        try:
            piece = connection.recv(REQUEST_BYTES_MAX)
            visit.said += piece
            if piece and not visit.is_complete:
                return
            self._answer(connection, visit.said)
        except BlockingIOError:
            return
        except OSError:  # it has gone
            pass
        self._drop(connection)

    def _answer(self, connection: socket.socket, request: bytes) -> None:
        words = request.split(None, 2)
        if len(words) > 1 and words[0] in (b"GET", b"HEAD"):
            status, kind, body = self._page(words[1].decode("latin-1").partition("?")[0])
            head = (
                f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            )
            connection.send(head.encode() + (body if words[0] == b"GET" else b""))
            connection.shutdown(socket.SHUT_WR)

    def _drop(self, visit: socket.socket) -> None:
        self._visits.pop(visit, None)
        self._selector.unregister(visit)
        visit.close()

    def _page(self, path: str) -> tuple[str, str, bytes]:
        state = self._state()
        if path == "/metrics":
            return "200 OK", "text/plain; version=0.0.4", _metrics(state).encode()
        if path not in ("/live", "/ready"):
            return "404 Not Found", "text/plain", b"/live, /ready and /metrics are here\n"
        is_good = path == "/live" or state.is_ready
        status = "200 OK" if is_good else "503 Service Unavailable"
        return status, "application/json", _as_json(state).encode()


def _check_file(file: Path) -> None:
    """Refuse a file that could never be written."""
    if "\0" in str(file) or file.is_dir():
        raise InvalidOption(f"health_file {str(file)!r} is not the path of a file")
    if not file.parent.is_dir():
        raise InvalidOption(f"health_file {file} cannot be written: there is no folder")


def _listen(host: str, port: int) -> socket.socket:
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.getaddrinfo(host, port, kind)  # what is no name at all raises ValueError
        listener = socket.create_server((host, port), family=kind, backlog=VISITS_MAX)
    except (OSError, ValueError) as problem:
        raise InvalidOption(f"health_port {port} of {host} cannot be used: {problem}") from problem
    listener.setblocking(False)
    return listener


def _as_json(state: State) -> str:
    figures = state.figures
    told = {
        "ready": state.is_ready,
        "processes": state.processes,
        "processes_ready": state.well,
        "restarts": state.restarts,
        "done": figures.done,
        "failed": figures.failed,
        "in_hand": figures.in_hand,
    }
    return json.dumps(told) + "\n"


def _metrics(state: State) -> str:
    figures = state.figures
    values: dict[str, list[tuple[str, float]]] = {
        "mqk_worker_processes": [("", state.processes)],
        "mqk_worker_processes_ready": [("", state.well)],
        "mqk_worker_restarts_total": [("", state.restarts)],
        "mqk_worker_messages_total": [
            ('{result="done"}', figures.done),
            ('{result="failed"}', figures.failed),
        ],
        "mqk_worker_handler_seconds_total": [("", round(figures.seconds, 6))],
        "mqk_worker_in_hand": [("", figures.in_hand)],
    }
    lines = []
    for name, samples in values.items():
        kind, text = HELP[name]
        lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
        lines += [f"{name}{labels} {value}" for labels, value in samples]
    return "\n".join(lines) + "\n"
