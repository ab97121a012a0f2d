"""Links to an address that is looked up."""

import asyncio
import socket
import ssl
from collections.abc import Iterator

import pytest

import adapter
from adapter.aio.link import TaskLookUpDialer
from adapter.connection.channel.link.lookup import LookUpDialer
from adapter.connection.channel.link.port import HostNotReached
from adapter.errors import InvalidOption

WAIT_S = 10.0


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def address_of(listener: socket.socket) -> str:
    return f"127.0.0.1:{listener.getsockname()[1]}"


def test_the_address_is_looked_up_for_each_link(listener: socket.socket) -> None:
    with socket.create_server(("127.0.0.1", 0)) as moved:
        addresses = iter([address_of(listener), address_of(moved)])
        dialer = LookUpDialer(lambda _: next(addresses))
        peers = []
        for _ in range(2):
            link = dialer.dial(WAIT_S)
            peers.append(link.peer)
            link.close()
        assert peers == [address_of(listener), address_of(moved)]


def test_an_interrupt_during_the_look_up_ends_the_dial(listener: socket.socket) -> None:
    is_closed = True

    def look_up(timeout_s: float) -> str:
        assert timeout_s == WAIT_S
        if is_closed:
            dialer.interrupt()
        return address_of(listener)

    dialer = LookUpDialer(look_up)
    with pytest.raises(HostNotReached, match="closed during the look-up"):
        dialer.dial(WAIT_S)
    is_closed = False
    dialer.dial(WAIT_S).close()  # as another connection does, which has the same dialers


def test_an_address_that_is_not_found() -> None:
    def look_up(timeout_s: float) -> str:
        raise HostNotReached(f"nothing within {timeout_s:g} s")

    with pytest.raises(HostNotReached, match="nothing within 10 s"):
        LookUpDialer(look_up).dial(WAIT_S)


@pytest.mark.parametrize("found", ["unix:/run/q.sock", "http://x y", ""])
def test_what_was_looked_up_is_no_argument_of_the_program(found: str) -> None:
    tls = ssl.create_default_context()
    with pytest.raises(HostNotReached, match="was looked up"):
        LookUpDialer(lambda _: found, tls).dial(WAIT_S)
    with pytest.raises(HostNotReached, match="was looked up"):
        asyncio.run(TaskLookUpDialer(lambda _: found, tls).dial(WAIT_S))


def test_an_address_without_tls_and_tls_are_refused_together() -> None:
    tls = ssl.create_default_context()
    with pytest.raises(InvalidOption, match="leave out tls"):
        adapter.connect("unix:/run/q.sock", tls=tls)
    with pytest.raises(InvalidOption, match="leave out tls"):
        asyncio.run(adapter.aio.connect("unix:/run/q.sock", tls=tls))
