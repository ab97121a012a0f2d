"""The client of a registry over HTTP: whatever answers, its caller hears errors of mqk."""

import http.server
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from adapter.errors import Error, RegistryNotAvailable
from adapter.registry.rest import RestRegistry

PAGE = b"<html>maintenance</html>"
ANSWERS = [
    (200, PAGE), (200, b""), (200, b"{}"), (200, b"[]"), (200, b"null"), (200, b'{"schema": 5}'),
    (200, b'{"schema": null}'), (200, b'{"schema": "\\"int\\"", "schemaType": 5}'),
    (200, b'{"schema": "\\"int\\"", "id": "x", "version": "y", "subject": 5}'),
    (200, b"[" * 100_000), (404, PAGE), (404, b"[]"), (404, b"null"), (404, b'{"error_code": "x"}'),
    (404, b'{"error_code": null, "message": null}'), (502, b""),
]  # fmt: skip
VERBS: dict[str, Callable[[RestRegistry], Any]] = {
    "schema": lambda one: one.schema(1),
    "latest": lambda one: one.version("s"),
    "version": lambda one: one.version("s", 1),
    "subjects": lambda one: one.subjects(),
    "versions": lambda one: one.versions("s"),
    "register": lambda one: one.register("s", '"int"'),
    "lookup": lambda one: one.lookup("s", '"int"'),
    "check": lambda one: one.check("s", '"int"'),
    "level": lambda one: one.level("s"),
    "delete": lambda one: one.delete_subject("s"),
}


class Stranger:
    """A server that answers every request alike."""

    def __init__(self) -> None:
        self.answer = (200, b"")
        stranger = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, body = stranger.answer
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 -- http.server's names

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def stranger() -> Iterator[Stranger]:
    one = Stranger()
    thread = threading.Thread(target=one.server.serve_forever)
    thread.start()
    yield one
    one.server.shutdown()
    thread.join()
    one.server.server_close()


@pytest.mark.parametrize("verb", VERBS)
def test_no_answer_is_an_error_of_another_package(stranger: Stranger, verb: str) -> None:
    registry = RestRegistry(stranger.url, {"max.retries": 0})
    for answer in ANSWERS:
        stranger.answer = answer
        try:
            VERBS[verb](registry)
        except Error:
            continue


def test_a_page_of_another_server_is_named(stranger: Stranger) -> None:
    stranger.answer = (200, PAGE)
    with pytest.raises(
        RegistryNotAvailable, match=r"what answers at http://127.0.0.1.* is no schema"
    ):
        RestRegistry(stranger.url).schema(1)
    for answer in (b"{}", b'{"schema": 5}'):
        stranger.answer = (200, answer)
        with pytest.raises(RegistryNotAvailable, match="is no schema registry"):
            RestRegistry(stranger.url).schema(1)
