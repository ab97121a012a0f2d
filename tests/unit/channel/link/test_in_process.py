"""Links within one process: whole frames both ways, bounds on both, and every way to end."""

import asyncio
import gc
import threading
from collections.abc import Callable, Iterator

import pytest
import uvloop

from adapter.channel.link.in_process import (
    BUFFER_BYTES,
    HIGH_BYTES,
    InProcessDialer,
    InProcessLink,
    InProcessTransport,
)
from adapter.channel.link.port import TIMINGS, HostNotReached, Link, LinkLost, LinkTimings

WAIT_S = 10.0


class ServerEnd(asyncio.Protocol):
    """Notes what it is told."""

    def __init__(self) -> None:
        self.transport: InProcessTransport | None = None
        self.got = bytearray()
        self.lost: list[Exception | None] = []
        self.pauses: list[str] = []
        self.fails = False
        self._changed = threading.Condition()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, InProcessTransport)
        self._note(lambda: setattr(self, "transport", transport))

    def data_received(self, data: bytes) -> None:
        if self.fails:
            raise RuntimeError("as asked")
        self._note(lambda: self.got.extend(data))

    def pause_writing(self) -> None:
        self._note(lambda: self.pauses.append("paused"))

    def resume_writing(self) -> None:
        self._note(lambda: self.pauses.append("resumed"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._note(lambda: self.lost.append(exc))

    def until(self, holds: Callable[[], object]) -> None:
        with self._changed:
            assert self._changed.wait_for(holds, WAIT_S)

    def _note(self, change: Callable[[], object]) -> None:
        with self._changed:
            change()
            self._changed.notify_all()


class Ends:
    """A server end on a loop of its own, and links to it."""

    def __init__(self) -> None:
        self.loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()
        self.server = ServerEnd()
        self.refuses = False
        self.timings = TIMINGS

    def dial(self) -> InProcessLink:
        self.server = ServerEnd()
        return InProcessDialer(self.loop, self._accept, self.timings).dial(1.0)

    def opened(self) -> tuple[InProcessLink, ServerEnd]:
        link = self.dial()
        self.server.until(lambda: self.server.transport)
        return link, self.server

    def call(self, work: Callable[[InProcessTransport], object]) -> None:
        """Do something with the transport on the loop's thread."""

        async def run() -> None:
            assert self.server.transport is not None
            work(self.server.transport)

        asyncio.run_coroutine_threadsafe(run(), self.loop).result(WAIT_S)

    def end(self) -> None:
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(WAIT_S)
            self.loop.close()

    def _accept(self) -> asyncio.Protocol:
        if self.refuses:
            raise ConnectionRefusedError
        return self.server


@pytest.fixture
def ends() -> Iterator[Ends]:
    made = Ends()
    yield made
    made.end()


def test_frames_come_out_whole_however_they_arrive(ends: Ends) -> None:
    link, server = ends.opened()
    link.send(b"\0\0\0\1a")
    server.until(lambda: server.got == b"\0\0\0\1a")
    ends.call(lambda transport: transport.write(b"\0\0\0\3ab"))
    assert link.receive() == []
    ends.call(lambda transport: transport.write(b"c\0\0\0\1d\0\0"))
    assert link.receive() == [b"abc", b"d"]
    assert link.bytes_received == 14


def test_the_buffer_of_a_sender_may_change_when_it_is_sent(ends: Ends) -> None:
    link, server = ends.opened()
    buffer = bytearray(b"\0\0\0\1a")
    link.send(buffer)
    buffer[:] = b"?????"
    server.until(lambda: len(server.got) == 5)
    assert server.got == b"\0\0\0\1a"


def test_a_receive_without_data_looks_up(ends: Ends) -> None:
    link, _ = ends.opened()
    link.look_up_every(0.01)
    assert link.receive() is None


def test_what_is_no_frame_ends_it(ends: Ends) -> None:
    link, _ = ends.opened()
    ends.call(lambda transport: transport.write(b"\xff\xff\xff\xff"))
    with pytest.raises(LinkLost, match="a frame of 4294967295 bytes"):
        link.receive()


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


def test_a_close_lets_the_client_read_what_was_written(ends: Ends) -> None:
    link, server = ends.opened()

    def leave(transport: InProcessTransport) -> None:
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

    def cut(transport: InProcessTransport) -> None:
        transport.write(b"\0\0\0\1a")
        transport.abort()

    ends.call(cut)
    with pytest.raises(LinkLost):
        link.receive()
    server.until(lambda: server.lost == [None])


def test_what_a_client_sent_before_it_left_arrives(ends: Ends) -> None:
    link, server = ends.opened()
    link.send(b"\0\0\0\1a")
    link.shutdown()
    link.shutdown()
    server.until(lambda: server.lost)
    assert bytes(server.got) == b"\0\0\0\1a"
    assert server.lost == [None]
    with pytest.raises(LinkLost):
        link.send(b"x")


def test_a_shutdown_from_another_thread_ends_a_receive(ends: Ends) -> None:
    link, _ = ends.opened()
    link.look_up_every(WAIT_S)
    threading.Timer(0.01, link.shutdown).start()
    with pytest.raises(LinkLost):
        link.receive()


def test_a_link_that_is_let_go_of_is_closed(ends: Ends) -> None:
    link, server = ends.opened()
    del link
    gc.collect()
    server.until(lambda: server.lost == [None])


def test_a_protocol_that_fails_loses_its_link_and_no_other(ends: Ends) -> None:
    link, server = ends.opened()
    server.fails = True
    link.send(b"x")
    server.until(lambda: server.lost)
    assert isinstance(server.lost[0], RuntimeError)
    with pytest.raises(LinkLost):
        link.receive()
    other, second = ends.opened()
    other.send(b"y")
    second.until(lambda: second.got == b"y")


def test_a_sender_waits_while_the_server_reads_nothing(ends: Ends) -> None:
    link, server = ends.opened()
    ends.call(lambda transport: transport.pause_reading())
    sending = threading.Thread(target=link.send, args=(bytes(BUFFER_BYTES + 1),))
    sending.start()
    sending.join(0.05)
    assert sending.is_alive()
    ends.call(lambda transport: transport.resume_reading())
    sending.join(WAIT_S)
    assert not sending.is_alive()
    server.until(lambda: len(server.got) == BUFFER_BYTES + 1)


def test_a_sender_that_waits_reads_what_the_server_sends(ends: Ends) -> None:
    link, _ = ends.opened()
    heard: list[bytes] = []

    def hear(link: Link) -> bool:
        heard.extend(bytes(one) for one in link.receive() or [])
        ends.loop.call_soon_threadsafe(transport.resume_reading)
        return True

    transport = link.transport
    ends.call(lambda transport: transport.pause_reading())
    ends.call(lambda transport: transport.write(b"\0\0\0\1a"))
    link.send(bytes(BUFFER_BYTES + 1), hear)
    assert heard == [b"a"]


def test_a_server_that_takes_nothing_for_long_is_lost(ends: Ends) -> None:
    ends.timings = LinkTimings(stall_s=0.02)
    link, _ = ends.opened()
    ends.call(lambda transport: transport.pause_reading())
    with pytest.raises(LinkLost, match="takes no bytes"):
        link.send(bytes(BUFFER_BYTES + 1))


def test_a_server_writes_no_more_while_its_client_reads_nothing(ends: Ends) -> None:
    link, server = ends.opened()
    frame = b"\0\0\4\0" + bytes(1024)
    most = (BUFFER_BYTES + HIGH_BYTES) // len(frame)
    for _ in range(most):
        ends.call(lambda transport: transport.write(frame))
    assert server.pauses == []
    ends.call(lambda transport: transport.write(frame))
    assert server.pauses == ["paused"]
    assert link.transport.get_write_buffer_size() > HIGH_BYTES
    for _ in range(most + 1):
        assert link.receive() == [bytes(1024)]
    server.until(lambda: server.pauses == ["paused", "resumed"])
    assert link.transport.get_write_buffer_size() == 0
