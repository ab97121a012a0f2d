"""The links over TCP and within one process: the same suite for both."""

import asyncio

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


class TestTcpLink(LinkContract):
    def make(self) -> TcpEnds:
        return TcpEnds()


class TestInProcessLink(LinkContract):
    def make(self) -> InProcessEnds:
        return InProcessEnds()
