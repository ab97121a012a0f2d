"""The proxy: bytes pass, wait, vanish or come late, whole connections are cut, all counted."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from mqk_demo.proxy import HOST, Proxy

TIMEOUT_S = 10.0


class Echo:
    """A server that sends back what it gets, and remembers it."""

    def __init__(self) -> None:
        self.listening = socket.create_server((HOST, 0))
        self.port: int = self.listening.getsockname()[1]
        self.got: list[bytes] = []
        self.seen = threading.Condition()
        self.clients: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listening.accept()
            except OSError:
                return
            self.clients.append(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client:
            try:
                while data := client.recv(65536):
                    with self.seen:
                        self.got.append(data)
                        self.seen.notify_all()
                    client.sendall(data)
            except OSError:
                return

    def await_bytes(self, wanted: bytes) -> None:
        with self.seen:
            assert self.seen.wait_for(lambda: b"".join(self.got) == wanted, TIMEOUT_S), self.got

    def break_connections(self) -> None:
        for client in self.clients:
            client.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()


@pytest.fixture
def echo() -> Iterator[Echo]:
    server = Echo()
    yield server
    server.close()


@pytest.fixture
def proxy(echo: Echo) -> Iterator[Proxy]:
    with Proxy(HOST, echo.port) as running:
        yield running


def client_of(proxy: Proxy) -> socket.socket:
    return socket.create_connection((HOST, proxy.port), TIMEOUT_S)


def receive(client: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = client.recv(count - len(data))
        assert piece, f"the connection ended after {data!r}"
        data += piece
    return data


def is_ended(client: socket.socket) -> bool:
    """Whether the connection has ended with nothing left to read."""
    try:
        return client.recv(1) == b""
    except ConnectionError:
        return True


def test_passes_both_ways_and_counts(proxy: Proxy) -> None:
    with client_of(proxy) as client:
        client.sendall(b"hello")
        assert receive(client, 5) == b"hello"
    figures = proxy.statistics()
    assert figures["request_bytes"] == figures["reply_bytes"] == 5
    assert figures["accepted"] == 1
    assert figures["held_bytes"] == 0


def test_held_replies_come_after_release_in_order(proxy: Proxy, echo: Echo) -> None:
    with client_of(proxy) as client:
        client.sendall(b"one")
        assert receive(client, 3) == b"one"
        proxy.hold_replies()
        client.sendall(b"two")
        echo.await_bytes(b"onetwo")
        client.settimeout(0.1)
        with pytest.raises(TimeoutError):
            client.recv(1)
        client.settimeout(TIMEOUT_S)
        proxy.release()
        client.sendall(b"three")
        assert receive(client, 8) == b"twothree"


def test_held_requests_do_not_reach_the_server(proxy: Proxy, echo: Echo) -> None:
    with client_of(proxy) as client:
        proxy.hold_requests()
        client.sendall(b"late")
        until = time.monotonic() + TIMEOUT_S
        while proxy.statistics()["held_bytes"] < 4:
            assert time.monotonic() < until
            time.sleep(0.005)
        assert echo.got == []
        proxy.release()
        assert receive(client, 4) == b"late"


def test_dropped_replies_never_come(proxy: Proxy, echo: Echo) -> None:
    with client_of(proxy) as client:
        proxy.drop_replies()
        client.sendall(b"lost")
        echo.await_bytes(b"lost")
        until = time.monotonic() + TIMEOUT_S
        while proxy.statistics()["dropped_bytes"] < 4:
            assert time.monotonic() < until
            time.sleep(0.005)
        proxy.release()
        client.sendall(b"found")
        assert receive(client, 5) == b"found"


def test_cut_loses_what_is_held_and_accepts_again(proxy: Proxy, echo: Echo) -> None:
    with client_of(proxy) as client:
        proxy.hold_replies()
        client.sendall(b"in doubt")
        echo.await_bytes(b"in doubt")
        proxy.cut()
        assert is_ended(client)
    proxy.release()
    assert proxy.statistics()["held_bytes"] == 0
    with client_of(proxy) as again:
        again.sendall(b"!")
        assert receive(again, 1) == b"!"


def test_held_replies_are_not_delivered_when_the_server_dies(proxy: Proxy, echo: Echo) -> None:
    with client_of(proxy) as client:
        proxy.hold_replies()
        client.sendall(b"x")
        echo.await_bytes(b"x")
        echo.break_connections()
        assert is_ended(client)
    assert proxy.statistics()["held_bytes"] == 0


def test_delay_keeps_the_order(proxy: Proxy) -> None:
    with client_of(proxy) as client:
        proxy.delay(replies_s=0.2)
        before = time.monotonic()
        client.sendall(b"first")
        assert receive(client, 1) == b"f"
        assert time.monotonic() - before >= 0.15
        assert receive(client, 4) == b"irst"
        client.sendall(b"a")
        proxy.delay()
        client.sendall(b"b")
        assert receive(client, 2) == b"ab"


def test_a_server_that_does_not_listen_ends_the_client(proxy: Proxy, echo: Echo) -> None:
    echo.close()
    echo.listening = socket.create_server((HOST, 0))
    with client_of(proxy) as client:
        assert is_ended(client)


def test_taken_port_is_told_and_nothing_is_left_running(echo: Echo) -> None:
    before = threading.active_count()
    with pytest.raises(OSError, match="in use"):
        Proxy(HOST, 1, listen_port=echo.port).start()
    assert threading.active_count() == before


def test_tap_sees_both_directions_and_the_end(echo: Echo) -> None:
    seen: list[tuple[int, bool, bytes]] = []
    with (
        Proxy(HOST, echo.port, tap=lambda *what: seen.append(what)) as proxy,
        client_of(proxy) as client,
    ):
        client.sendall(b"q")
        assert receive(client, 1) == b"q"
    assert seen[:2] == [(1, True, b"q"), (1, False, b"q")]
    assert (1, True, b"") in seen


def test_one_connection_is_held_and_the_others_are_not(echo: Echo) -> None:
    """A tap decides, before the bytes that it sees go on: the reply to them is held too."""

    def hold_secrets(connection: int, from_client: bool, data: bytes) -> None:
        if from_client and data == b"secret":
            running.hold_replies_of(connection)

    with (
        Proxy(HOST, echo.port, tap=hold_secrets) as running,
        client_of(running) as one,
        client_of(running) as other,
    ):
        one.sendall(b"secret")
        echo.await_bytes(b"secret")
        other.sendall(b"open")
        assert receive(other, 4) == b"open"
        one.settimeout(0.1)
        with pytest.raises(TimeoutError):
            one.recv(1)
        one.settimeout(TIMEOUT_S)
        running.release()
        assert receive(one, 6) == b"secret"
