"""How many messages are copied, as a page of figures says it."""

import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from adapter.localkafka import free_port
from adapter.server.monitor import metrics
from adapter.server.monitor.metrics import MetricsSnapshot
from mqk_demo.copies import count_copies
from mqk_demo.errors import DemoError
from mqk_demo.proxy import HOST
from tests.support.server_figures import server_figures

Serve = Callable[..., str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serve a page as /metrics, and nothing else; give the URL of what serves it."""
    servers: list[ThreadingHTTPServer] = []

    def start(page: bytes, status: int = 200) -> str:
        class Pages(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(status if self.path == "/metrics" else 404)
                self.end_headers()
                self.wfile.write(page)

            def log_message(self, *_words: object) -> None:
                """Say nothing."""

        servers.append(ThreadingHTTPServer((HOST, 0), Pages))
        threading.Thread(target=servers[-1].serve_forever, args=(0.01,)).start()
        return f"http://{HOST}:{servers[-1].server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def page(**movers: int) -> bytes:
    """The figures of a queue manager whose movers have copied so much."""
    figures = server_figures(movers={name: {"copied": count} for name, count in movers.items()})
    return metrics.text(MetricsSnapshot(figures, [], "1.0.0"))


@pytest.mark.parametrize("count", [0, 1, 2 * 336_776, 12_345_678])
def test_the_copies_of_messages_are_counted(count: int, serve: Serve) -> None:
    assert count_copies(serve(page(events=7, stream=count))) == count


def test_proxies_of_the_environment_are_not_asked(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://{HOST}:{free_port()}")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert count_copies(serve(page(stream=5))) == 5


@pytest.mark.parametrize("found", [b"", page(), page(events=7), b"mqk_mover_copied_total 5\n"])
def test_nothing_is_copied_as_long_as_there_is_no_figure(found: bytes, serve: Serve) -> None:
    assert count_copies(serve(found)) == 0


def test_a_page_that_is_not_text_is_refused(serve: Serve) -> None:
    with pytest.raises(DemoError, match="/metrics cannot be read"):
        count_copies(serve(b"\xff\xfe"))


def test_a_refusal_is_a_sentence(serve: Serve) -> None:
    with pytest.raises(DemoError, match="/metrics cannot be read: HTTP Error 503"):
        count_copies(serve(page(stream=5), status=503))


def test_without_a_listener_it_is_a_sentence() -> None:
    with pytest.raises(DemoError, match="/metrics cannot be read"):
        count_copies(f"http://{HOST}:{free_port()}")


def test_what_does_not_speak_http_is_a_sentence() -> None:
    def answer(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(b"no HTTP\r\n\r\n")

    with socket.create_server((HOST, 0)) as listener:
        thread = threading.Thread(target=answer, args=(listener,))
        thread.start()
        with pytest.raises(DemoError, match="/metrics cannot be read"):
            count_copies(f"http://{HOST}:{listener.getsockname()[1]}")
        thread.join()
