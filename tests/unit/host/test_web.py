"""HTTP listeners: bounds on connections and time, names of other hosts, writes of web pages."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web

from adapter.host import addresses
from adapter.host.web import BOUNDS, MISDIRECTED, HttpBounds, HttpListener, is_of_this_machine

WAIT_S = 20.0


class Client:
    """One connection, by hand."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, text: str) -> tuple[int, bytes]:
        """Send a request, and read the status and the body of its answer."""
        self.writer.write(text.replace("\n", "\r\n").encode())
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length: ")[2].partition("\r")[0])
        return int(head.split()[1]), await self.reader.readexactly(length)

    async def get(self, host: str = "localhost") -> tuple[int, bytes]:
        return await self.ask(f"GET / HTTP/1.1\nHost: {host}\n\n")

    async def is_ended(self) -> bool:
        """Wait until the other side has ended the connection."""
        try:
            await self.reader.read()
        except ConnectionError:
            return True
        return True


class Place:
    """A listener that answers: / at once, POST / with the body, /long with 64 MiB."""

    def __init__(self, bounds: HttpBounds = BOUNDS) -> None:
        made = web.Application()
        made.router.add_get("/", self._short)
        made.router.add_post("/", self._echo)
        made.router.add_get("/long", self._long)
        self.listener = HttpListener(made, bounds)
        self.port = 0
        self._clients: list[Client] = []

    async def connect(self) -> Client:
        self._clients.append(Client(*await asyncio.open_connection("127.0.0.1", self.port)))
        return self._clients[-1]

    async def emptied(self) -> None:
        """Wait until nobody is connected."""
        while self.listener.connections:  # noqa: ASYNC110 -- nobody tells
            await asyncio.sleep(0.02)

    async def close(self) -> None:
        for client in self._clients:
            client.writer.close()
        await self.listener.stop()
        await self.listener.stop()

    async def _short(self, _request: web.Request) -> web.Response:
        return web.Response(text="short")

    async def _echo(self, request: web.Request) -> web.Response:
        return web.Response(body=await request.read())

    async def _long(self, _request: web.Request) -> web.Response:
        return web.Response(body=bytes(64 * 1024 * 1024))


def at(visit: Callable[[Place], Awaitable[None]], bounds: HttpBounds = BOUNDS) -> None:
    """Start a listener, and visit it within a time."""

    async def run() -> None:
        place = Place(bounds)
        url = await place.listener.start("127.0.0.1", 0)
        place.port = int(url.rpartition(":")[2])
        try:
            await asyncio.wait_for(visit(place), WAIT_S)
        finally:
            await place.close()

    asyncio.run(run())


def test_requests_are_answered_one_after_the_other_on_a_connection() -> None:
    async def visit(place: Place) -> None:
        client = await place.connect()
        for _time in range(3):
            assert await client.get() == (200, b"short")
        posted = await client.ask("POST / HTTP/1.1\nHost: [::1]:80\nContent-Length: 3\n\nabc")
        assert posted == (200, b"abc")

    at(visit)


@pytest.mark.parametrize("sent", ["", "GET / HTTP/1.1\r\nHost: lo", "junk"])
def test_a_header_that_does_not_end_ends_the_connection(sent: str) -> None:

    async def visit(place: Place) -> None:
        first, second = await place.connect(), await place.connect()
        assert (await second.get())[0] == 200
        for client in (first, second):
            client.writer.write(sent.encode())
        assert await first.is_ended()
        if sent:
            assert await second.is_ended()

    at(visit, HttpBounds(check_s=0.02, header_s=0.1))


def test_finding_reliability_d10_what_a_client_sends_wrongly_is_no_error_of_ours(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def visit(place: Place) -> None:
        client = await place.connect()
        status, _ = await client.ask(f"GET / HTTP/1.1\nHost: localhost\nX: {'x' * 20_000}\n\n")
        assert status == 400
        assert (await (await place.connect()).get()) == (200, b"short")

    at(visit)
    assert not [one for one in caplog.records if one.exc_info]


def test_a_body_that_does_not_come_and_an_answer_that_is_not_read_end_it_too() -> None:

    async def visit(place: Place) -> None:
        slow, stuck = await place.connect(), await place.connect()
        slow.writer.write(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nabc")
        stuck.writer.write(b"GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert await slow.is_ended()
        async with asyncio.timeout(WAIT_S):
            await place.emptied()

    at(visit, HttpBounds(check_s=0.02, unread_s=0.2, request_s=0.2))


def test_connections_are_bounded_and_whoever_asks_is_served() -> None:
    async def visit(place: Place) -> None:
        for _time in range(3):
            for _connection in range(BOUNDS.connections):
                await place.connect()
            client = await place.connect()
            assert await client.get() == (200, b"short")
            assert place.listener.connections <= BOUNDS.connections

    at(visit)


def test_a_name_of_somebody_else_is_refused_on_loopback() -> None:
    """DNS rebinding: a page of evil.example reads what its name leads to."""

    async def visit(place: Place) -> None:
        client = await place.connect()
        for host in ("evil.example", "evil.example:9414", "localhost.evil.example"):
            status, text = await client.get(host)
            assert status == MISDIRECTED
            assert b"not by other names" in text
        for host in ("localhost:9414", "LOCALHOST.", "127.0.0.1:1", "[::1]"):
            assert (await client.get(host))[0] == 200

    at(visit)


def test_no_web_page_changes_anything() -> None:
    async def visit(place: Place) -> None:
        client = await place.connect()
        head = "HTTP/1.1\nHost: localhost\nOrigin: http://localhost:8000\n"
        assert (await client.ask(f"POST / {head}Content-Length: 0\n\n"))[0] == 403
        assert (await client.ask(f"DELETE / {head}\n"))[0] == 403
        assert (await client.ask(f"GET / {head}\n"))[0] == 200

    at(visit)


def test_where_other_machines_may_ask_any_name_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "reaches_only_this_machine", lambda _: False)

    async def run() -> None:
        place = Place()
        try:
            url = await place.listener.start("127.0.0.1", 0)
            place.port = int(url.rpartition(":")[2])
            client = await place.connect()
            assert await client.get("qm1.example:9414") == (200, b"short")
        finally:
            await place.close()

    asyncio.run(run())


@pytest.mark.parametrize("host", ["", "localhost", "LocalHost:1", "10.1.2.3", "[2001:db8::1]:80"])
def test_names_of_this_machine(host: str) -> None:
    assert is_of_this_machine(host)


@pytest.mark.parametrize("host", ["example", "a:b", "1.2.3", "localhost.x", "127.0.0.1.x:80", ":"])
def test_names_of_others(host: str) -> None:
    assert not is_of_this_machine(host)
