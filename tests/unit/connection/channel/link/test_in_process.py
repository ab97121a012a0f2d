"""Links within one process: their exact bounds, and how they end. For the rest: tests/contract."""

import asyncio
import gc
from collections.abc import Iterator

import pytest

from adapter.connection.channel.link.in_process import InProcessLink
from adapter.connection.channel.link.pipe import BUFFER_BYTES, HIGH_BYTES
from adapter.connection.channel.link.port import HostNotReached, LinkLost
from tests.contract.link_contract import InProcessEnds, ServerEnd


class Ends(InProcessEnds):
    """Links within this process, to a server that may refuse them."""

    refuses = False

    def dial(self) -> InProcessLink:
        self.server = ServerEnd()
        return self.dialer().dial(1.0)

    def accept(self) -> asyncio.Protocol:
        if self.refuses:
            raise ConnectionRefusedError
        return super().accept()


@pytest.fixture
def ends() -> Iterator[Ends]:
    made = Ends()
    yield made
    made.end()


def test_a_server_that_refuses_is_seen_by_every_receive(ends: Ends) -> None:
    ends.refuses = True
    link = ends.dial()
    for _ in range(2):
        with pytest.raises(LinkLost, match="closed the connection"):
            link.receive()
    with pytest.raises(LinkLost, match="closed"):
        link.send(b"x")


def test_a_closed_event_loop_is_not_reached(ends: Ends) -> None:
    link, _ = ends.opened()
    ends.end()
    with pytest.raises(HostNotReached, match="this process"):
        ends.dial()
    with pytest.raises(LinkLost, match="this process"):
        link.send(b"x")
    link.shutdown()


def test_what_is_written_after_a_close_is_dropped(ends: Ends) -> None:
    link, server = ends.opened()

    def leave(transport: asyncio.Transport) -> None:
        transport.write(b"\0\0\0\1a")
        transport.close()
        transport.write(b"\0\0\0\1b")

    ends.call(leave)
    server.until(lambda: server.lost == [None])
    assert link.receive() == [b"a"]
    with pytest.raises(LinkLost):
        link.receive()


def test_an_abort_takes_what_was_not_read(ends: Ends) -> None:
    link, server = ends.opened()

    def cut(transport: asyncio.Transport) -> None:
        transport.write(b"\0\0\0\1a")
        transport.abort()

    ends.call(cut)
    with pytest.raises(LinkLost):
        link.receive()
    server.until(lambda: server.lost == [None])


def test_a_link_that_is_let_go_of_is_closed(ends: Ends) -> None:
    link, server = ends.opened()
    del link
    gc.collect()
    server.until(lambda: server.lost == [None])


def test_a_server_writes_no_more_while_its_client_reads_nothing(ends: Ends) -> None:
    link, server = ends.opened()
    frame = b"\0\0\4\0" + bytes(1024)
    most = (BUFFER_BYTES + HIGH_BYTES) // len(frame)
    for _ in range(most):
        ends.call(lambda transport: transport.write(frame))
    assert server.pauses == []
    ends.call(lambda transport: transport.write(frame))
    assert server.pauses == ["paused"]
    assert server.transport is not None
    assert server.transport.get_write_buffer_size() > HIGH_BYTES
    for _ in range(most + 1):
        assert link.receive() == [bytes(1024)]
    server.until(lambda: server.pauses == ["paused", "resumed"])
    assert server.transport.get_write_buffer_size() == 0
