"""The links over TCP, with TLS, at a path and within one process: the same suite for all."""

import asyncio
import tempfile
from pathlib import Path

from adapter.connection.channel.addresses import Address
from adapter.connection.channel.link.tcp import TcpDialer
from adapter.connection.channel.link.tls import dialer_of
from adapter.connection.channel.tls import tls_context
from adapter.server.listen.tls import ServerTls
from tests.contract.link_contract import InProcessEnds, LinkContract, LinkEnds
from tests.support.certificates import Authority


class TcpEnds(LinkEnds):
    """Links over TCP, on loopback."""

    def listen(self) -> None:
        self._listening: asyncio.Server = self.run(
            self.loop.create_server(self.accept, "127.0.0.1", 0)
        )
        self._address = Address(*self._listening.sockets[0].getsockname())

    def stop_listening(self) -> None:
        async def close() -> None:
            self._listening.close()

        self.run(close())

    def dialer(self) -> TcpDialer:
        return TcpDialer(self._address, self.timings)

    def end(self) -> None:
        self.stop_listening()
        super().end()


class UnixEnds(TcpEnds):
    """Links over a Unix-domain socket."""

    def listen(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._address = Address("", 0, f"{self._folder.name}/QM1.sock")
        self._listening = self.run(
            self.loop.create_unix_server(self.accept, self._address.path, backlog=1024)
        )

    def end(self) -> None:
        super().end()
        self._folder.cleanup()


class TlsEnds(TcpEnds):
    """Links over TLS, on loopback."""

    def listen(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        authority = Authority(Path(self._folder.name))
        self._client = tls_context(authority.path)
        self._listening = self.run(
            self.loop.create_server(
                self.accept, "127.0.0.1", 0, ssl=ServerTls(authority.server()).context
            )
        )
        self._address = Address(*self._listening.sockets[0].getsockname())

    def dialer(self) -> TcpDialer:
        return dialer_of(self._address, self._client, self.timings)

    def end(self) -> None:
        super().end()
        self._folder.cleanup()


class TestTcpLink(LinkContract):
    def make(self) -> TcpEnds:
        return TcpEnds()


class TestUnixLink(LinkContract):
    def make(self) -> UnixEnds:
        return UnixEnds()


class TestTlsLink(LinkContract):
    is_lost_at_once = False

    def make(self) -> TlsEnds:
        return TlsEnds()


class TestInProcessLink(LinkContract):
    def make(self) -> InProcessEnds:
        return InProcessEnds()
