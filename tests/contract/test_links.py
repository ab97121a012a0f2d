"""The links over TCP, at a path and within one process: the same suite for all."""

import asyncio
import tempfile

from adapter.channel.addresses import Address
from adapter.channel.link.tcp import TcpDialer
from tests.contract.link_contract import InProcessEnds, LinkContract, LinkEnds


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


class TestTcpLink(LinkContract):
    def make(self) -> TcpEnds:
        return TcpEnds()


class TestUnixLink(LinkContract):
    def make(self) -> UnixEnds:
        return UnixEnds()


class TestInProcessLink(LinkContract):
    def make(self) -> InProcessEnds:
        return InProcessEnds()
