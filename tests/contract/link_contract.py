"""What every link keeps to: one suite, over TCP and within one process.

A subclass gives ``ends``: a server's end on an event loop of its own, and how to dial it. The
server's end is the same asyncio protocol for all links.
"""

from __future__ import annotations

import asyncio
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, cast

import pytest
import uvloop

from adapter.connection.channel.link.in_process import InProcessDialer
from adapter.connection.channel.link.port import (
    TIMINGS,
    Dialer,
    HostNotReached,
    Link,
    LinkLost,
    LinkTimings,
)
from tests.support.loop_thread import LoopThread

WAIT_S = 10.0
LONG = 20_000_000
"""Bytes: more than any buffer between the two ends."""


class ServerEnd(asyncio.Protocol):
    """Notes what its transport reports."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.got = bytearray()
        self.lost: list[Exception | None] = []
        self.pauses: list[str] = []
        self.fails = False
        self._changed = threading.Condition()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._note(lambda: setattr(self, "transport", cast("asyncio.Transport", transport)))

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


class LinkEnds(ABC):
    """A server's end on a loop of its own, and links to it."""

    def __init__(self) -> None:
        self._thread = LoopThread(uvloop.new_event_loop())
        self.loop = self._thread.loop
        self.server = ServerEnd()
        self.timings = TIMINGS
        self.listen()

    @abstractmethod
    def listen(self) -> None:
        """Let links be dialed."""

    @abstractmethod
    def stop_listening(self) -> None:
        """Let no more links be dialed."""

    @abstractmethod
    def dialer(self) -> Dialer:
        """Make a dialer, with the timings as they are now."""

    def accept(self) -> asyncio.Protocol:
        return self.server

    def opened(self) -> tuple[Link, ServerEnd]:
        """Dial a link; returns it and the server's end of it."""
        self.server = ServerEnd()
        link = self.dialer().dial(WAIT_S)
        self.server.until(lambda: self.server.transport)
        return link, self.server

    def call(self, work: Callable[[asyncio.Transport], object]) -> None:
        """Do something with the server's transport, on the loop's thread."""

        async def run() -> None:
            assert self.server.transport is not None
            work(self.server.transport)

        self.run(run())

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine on the loop."""
        return self._thread.run(work)

    def end(self) -> None:
        """End the loop; a second time is no error."""
        if not self.loop.is_closed():
            self._thread.close()


class InProcessEnds(LinkEnds):
    """Links within this process."""

    def listen(self) -> None:
        pass  # a link within one process is dialed without a listener

    def stop_listening(self) -> None:
        self.end()

    def dialer(self) -> InProcessDialer:
        return InProcessDialer(self.loop, self.accept, self.timings)


class LinkContract(ABC):
    """What every link keeps to."""

    is_lost_at_once = True
    """A server that closes does not wait until its client does so too."""

    @abstractmethod
    def make(self) -> LinkEnds:
        """Make the ends of a link of this kind."""

    @pytest.fixture
    def ends(self) -> Iterator[LinkEnds]:
        made = self.make()
        yield made
        made.end()

    @pytest.fixture
    def both(self, ends: LinkEnds) -> Iterator[tuple[Link, ServerEnd]]:
        """A link, and the server's end of it."""
        link, server = ends.opened()
        yield link, server
        link.close()
        if not server.lost:
            server.until(lambda: server.lost)

    def test_frames_come_out_whole_however_they_arrive(
        self, ends: LinkEnds, both: tuple[Link, ServerEnd]
    ) -> None:
        link, server = both
        link.send(b"\0\0\0\1a")
        server.until(lambda: server.got == b"\0\0\0\1a")
        ends.call(lambda transport: transport.write(b"\0\0\0\3ab"))
        assert link.receive() == []
        ends.call(lambda transport: transport.write(b"c\0\0\0\1d\0\0"))
        assert link.receive() == [b"abc", b"d"]
        assert link.bytes_received == 14

    def test_the_buffer_of_a_sender_may_change_when_it_is_sent(
        self, both: tuple[Link, ServerEnd]
    ) -> None:
        link, server = both
        buffer = bytearray(b"\0\0\0\1a")
        link.send(buffer)
        buffer[:] = b"?????"
        server.until(lambda: len(server.got) == 5)
        assert server.got == b"\0\0\0\1a"

    def test_a_receive_without_data_looks_up(self, both: tuple[Link, ServerEnd]) -> None:
        link, _ = both
        link.look_up_every(0.01)
        assert link.receive() is None

    def test_it_tells_whether_something_has_arrived_and_whether_there_is_room(
        self, ends: LinkEnds, both: tuple[Link, ServerEnd]
    ) -> None:
        link, _ = both
        assert (link.has_arrived(), link.has_room()) == (False, True)
        ends.call(lambda transport: transport.write(b"\0\0\0\1a"))
        deadline_s = time.monotonic() + WAIT_S
        while not link.has_arrived() and time.monotonic() < deadline_s:
            pass
        assert link.receive() == [b"a"]
        assert not link.has_arrived()
        link.shutdown()
        assert link.has_arrived()  # its end

    def test_a_frame_that_is_too_long_is_refused_before_it_is_read(
        self, ends: LinkEnds, both: tuple[Link, ServerEnd]
    ) -> None:
        link, _ = both
        ends.call(lambda transport: transport.write(b"\xff\xff\xff\xff"))
        with pytest.raises(LinkLost, match="a frame of 4294967295 bytes") as lost:
            link.receive()
        assert str(lost.value).startswith(link.peer)

    def test_a_close_lets_the_client_read_what_was_written(
        self, ends: LinkEnds, both: tuple[Link, ServerEnd]
    ) -> None:
        link, server = both

        def leave(transport: asyncio.Transport) -> None:
            transport.write(b"\0\0\0\1a")
            transport.close()

        ends.call(leave)
        if self.is_lost_at_once:
            server.until(lambda: server.lost == [None])
        assert link.receive() == [b"a"]
        with pytest.raises(LinkLost, match="closed the connection"):
            link.receive()

    def test_after_an_abort_nothing_more_is_received(
        self, ends: LinkEnds, both: tuple[Link, ServerEnd]
    ) -> None:
        link, server = both
        ends.call(lambda transport: transport.abort())
        server.until(lambda: server.lost)
        with pytest.raises(LinkLost):
            link.receive()

    def test_what_a_client_sent_before_it_left_arrives(self, both: tuple[Link, ServerEnd]) -> None:
        link, server = both
        link.send(b"\0\0\0\1a")
        link.shutdown()
        link.shutdown()
        server.until(lambda: server.lost)
        assert bytes(server.got) == b"\0\0\0\1a"
        assert server.lost == [None]
        with pytest.raises(LinkLost):
            link.send(b"x")

    def test_a_shutdown_from_another_thread_ends_a_receive(
        self, both: tuple[Link, ServerEnd]
    ) -> None:
        link, _ = both
        link.look_up_every(WAIT_S)
        threading.Timer(0.01, link.shutdown).start()
        with pytest.raises(LinkLost):
            link.receive()

    def test_a_protocol_that_fails_loses_its_link_and_no_other(self, ends: LinkEnds) -> None:
        link, server = ends.opened()
        server.fails = True
        link.send(b"x")
        server.until(lambda: server.lost)
        assert isinstance(server.lost[0], RuntimeError)
        with pytest.raises(LinkLost):
            link.receive()
        link.close()
        other, second = ends.opened()
        other.send(b"y")
        second.until(lambda: second.got == b"y")
        other.close()
        second.until(lambda: second.lost)

    def test_a_sender_waits_while_the_server_reads_nothing(
        self, ends: LinkEnds, both: tuple[Link, ServerEnd]
    ) -> None:
        link, server = both
        frame = bytes(range(250)) * (LONG // 250)
        ends.call(lambda transport: transport.pause_reading())
        sending = threading.Thread(target=link.send, args=(frame,))
        sending.start()
        sending.join(0.05)
        assert sending.is_alive()
        ends.call(lambda transport: transport.resume_reading())
        sending.join(WAIT_S)
        assert not sending.is_alive()
        server.until(lambda: len(server.got) == LONG)
        assert server.got == frame

    def test_a_sender_that_waits_reads_what_the_server_sends(
        self, ends: LinkEnds, both: tuple[Link, ServerEnd]
    ) -> None:
        link, server = both
        heard: list[bytes] = []

        def hear(link: Link) -> bool:
            heard.extend(bytes(one) for one in link.receive() or [])
            assert server.transport is not None
            ends.loop.call_soon_threadsafe(server.transport.resume_reading)
            return True

        ends.call(lambda transport: transport.pause_reading())
        ends.call(lambda transport: transport.write(b"\0\0\0\1a"))
        link.send(bytes(LONG), hear)
        assert heard == [b"a"]
        server.until(lambda: len(server.got) == LONG)

    def test_a_server_that_takes_nothing_for_long_is_lost(self, ends: LinkEnds) -> None:
        ends.timings = LinkTimings(look_up_s=0.02, stall_s=0.05)
        link, server = ends.opened()
        ends.call(lambda transport: transport.pause_reading())
        with pytest.raises(LinkLost, match="has stopped reading"):
            link.send(bytes(LONG))
        link.close()
        ends.call(lambda transport: transport.abort())
        server.until(lambda: server.lost)

    def test_a_server_writes_no_more_while_its_client_reads_nothing(
        self, ends: LinkEnds, both: tuple[Link, ServerEnd]
    ) -> None:
        link, server = both
        frame = b"\0\1\0\0" + bytes(65_536)
        written = 0
        while not server.pauses and written < LONG // len(frame):
            ends.call(lambda transport: transport.write(frame))
            written += 1
        assert server.pauses == ["paused"]
        received = 0
        while received < written:
            received += len(link.receive() or [])
        server.until(lambda: server.pauses == ["paused", "resumed"])

    def test_where_nothing_accepts_a_link_it_is_not_reached(self, ends: LinkEnds) -> None:
        dialer = ends.dialer()
        ends.stop_listening()
        with pytest.raises(HostNotReached):
            dialer.dial(WAIT_S)

    def test_an_interrupt_while_nothing_is_dialed_does_nothing(self, ends: LinkEnds) -> None:
        dialer = ends.dialer()
        dialer.interrupt()
        link = dialer.dial(WAIT_S)
        dialer.interrupt()
        link.send(b"\0\0\0\1a")
        ends.server.until(lambda: ends.server.got == b"\0\0\0\1a")
        link.close()
        ends.server.until(lambda: ends.server.lost)
