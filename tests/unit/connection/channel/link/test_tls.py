"""Whose certificate a program accepts where a queue manager has named another address: that of the
host which the program named, for whoever can say an address could have a certificate of it.
"""

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from adapter.aio.link import AddressDialer
from adapter.connection.channel.addresses import Address
from adapter.connection.channel.link.port import LinkLost, TlsRefused
from adapter.connection.channel.link.tls import dialer_of
from tests.support.certificates import Authority

NAMED = "localhost"
"""The host that the program named; its first queue manager is never asked."""
BETWEEN = Address("127.0.0.1", 2)
"""Where it was led first."""
TIMEOUT_S = 10.0


@contextmanager
def listening(authority: Authority, folder: Path, name: str) -> Iterator[Address]:
    """Listen on loopback with a certificate for a name, and shake hands with whoever comes."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.issue(f"of-{name}", name))
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    accepted, _ = server.accept()
                    with suppress(OSError), context.wrap_socket(accepted, server_side=True) as one:
                        one.recv(1)

        threading.Thread(target=serve, daemon=True).start()
        try:
            yield Address("127.0.0.1", server.getsockname()[1])
        finally:
            server.shutdown(socket.SHUT_RDWR)


def dial_by_thread(context: ssl.SSLContext, to: Address) -> None:
    dialer = dialer_of(Address(NAMED, 1), context).toward(BETWEEN)
    assert dialer is not None
    dialer = dialer.toward(to)
    assert dialer is not None
    dialer.dial(TIMEOUT_S).close()


def dial_by_task(context: ssl.SSLContext, to: Address) -> None:
    async def dial() -> None:
        dialer = AddressDialer(Address(NAMED, 1), context).toward(BETWEEN)
        assert dialer is not None
        dialer = dialer.toward(to)
        assert dialer is not None
        (await dialer.dial(TIMEOUT_S)).close()

    asyncio.run(dial())


@pytest.mark.parametrize("dial", [dial_by_thread, dial_by_task])
def test_a_certificate_is_of_the_host_that_the_program_named(
    tmp_path: Path, dial: Callable[[ssl.SSLContext, Address], None]
) -> None:
    authority = Authority(tmp_path)
    context = authority.client()
    with listening(authority, tmp_path, NAMED) as led:
        dial(context, led)
    with listening(authority, tmp_path, "127.0.0.1") as led, pytest.raises(LinkLost):
        dial(context, led)


def test_a_peer_that_answers_byte_by_byte_ends_no_later_than_any_other() -> None:
    ended = threading.Event()

    def dribble() -> None:
        """Send a record that is never whole."""
        sock, _ = listener.accept()
        with sock, suppress(OSError):
            sock.sendall(b"\x16\x03\x03\x40\x00")
            while not ended.wait(0.02):
                sock.sendall(b"\0")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=dribble)
        thread.start()
        address = Address("127.0.0.1", listener.getsockname()[1])
        began_s = time.monotonic()
        with pytest.raises(TlsRefused, match="timed out"):
            dialer_of(address, ssl.create_default_context()).dial(0.3)
        assert time.monotonic() - began_s < 3
        ended.set()
        thread.join()
