"""An end of a link within one process: what it tells its protocol, at exact bounds."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from adapter.connection.channel.link.pipe import BUFFER_BYTES, HIGH_BYTES, PipeTransport


class End(PipeTransport):
    """Whose other end is a list."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.sent: list[bytes] = []
        self.taken_bytes = 0
        self.deliveries = 0

    @property
    def unread_bytes(self) -> int:
        return self.written_bytes - self.taken_bytes

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._lose(None)

    def arrive(self, *data: bytes) -> None:
        self._arrived.extend(data)
        self._deliver()

    def take(self, count: int) -> None:
        """Let the other end have read so many bytes."""
        self.taken_bytes += count
        self._resume_if_read()

    def lose(self) -> None:
        self._lose(None)

    def _send(self, data: bytes) -> None:
        self.sent.append(data)

    def _note_delivery(self) -> None:
        self.deliveries += 1

    def _fail(self, error: Exception) -> None:
        self._is_closing = True
        self._lose(error)


class Protocol(asyncio.Protocol):
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.end: End | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, End)
        self.told.append("made")
        self.end = transport

    def data_received(self, data: bytes) -> None:
        self.told.append(data)
        if data == b"pause":
            assert self.end is not None
            self.end.pause_reading()
        elif data == b"fail":
            raise ValueError("no frame")

    def pause_writing(self) -> None:
        self.told.append("pause")

    def resume_writing(self) -> None:
        self.told.append("resume")

    def connection_lost(self, exc: Exception | None) -> None:
        self.told.append(("lost", exc))


@pytest.fixture
def protocol() -> Protocol:
    return Protocol()


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


@pytest.fixture
def end(loop: asyncio.AbstractEventLoop, protocol: Protocol) -> End:
    made = End(loop)
    made.begin(lambda: protocol)
    return made


def test_an_end_is_told_to_pause_beyond_the_bound_and_to_go_on_at_a_quarter(
    end: End, protocol: Protocol
) -> None:
    end.write(bytes(BUFFER_BYTES + HIGH_BYTES))
    assert (protocol.told, end.get_write_buffer_size()) == (["made"], HIGH_BYTES)
    end.write(b"x")
    end.write(b"x")
    assert protocol.told == ["made", "pause"], "once"
    end.take(HIGH_BYTES - HIGH_BYTES // 4 + 1)
    assert protocol.told == ["made", "pause"]
    end.take(1)
    end.take(BUFFER_BYTES)
    assert protocol.told == ["made", "pause", "resume"]
    assert end.get_write_buffer_size() == 0


@pytest.mark.parametrize(
    ("limits", "low"), [({"high": 100}, 25), ({"high": 100, "low": 0}, 0), ({"low": 5}, 5)]
)
def test_an_end_may_say_its_bounds(
    limits: dict[str, int], low: int, end: End, protocol: Protocol
) -> None:
    high = limits.get("high", HIGH_BYTES)
    end.set_write_buffer_limits(**limits)
    end.write(bytes(BUFFER_BYTES + high))
    assert protocol.told == ["made"]
    end.write(b"x")
    assert protocol.told == ["made", "pause"]
    end.take(high - low)
    assert protocol.told == ["made", "pause"]
    end.take(1)
    assert protocol.told == ["made", "pause", "resume"]


def test_what_was_read_while_it_paused_resumes_it_at_once(
    loop: asyncio.AbstractEventLoop, protocol: Protocol
) -> None:
    class QuickEnd(End):
        """Its other end has read everything when it looks again."""

        @property
        def unread_bytes(self) -> int:
            return 0 if self.is_write_paused else super().unread_bytes

    end = QuickEnd(loop)
    end.begin(lambda: protocol)
    end.write(bytes(BUFFER_BYTES + HIGH_BYTES + 1))
    assert protocol.told == ["made", "pause", "resume"]


def test_the_other_end_has_bytes_of_its_own(end: End) -> None:
    data = bytearray(b"abc")
    end.write(data)
    data[:] = b"xyz"
    end.write(memoryview(b"def"))
    end.write(b"")
    end.close()
    end.write(b"too late")
    assert (end.sent, end.written_bytes) == ([b"abc", b"def"], 6)


def test_what_arrives_waits_while_the_protocol_reads_nothing(
    loop: asyncio.AbstractEventLoop, end: End, protocol: Protocol
) -> None:
    end.arrive(b"a", b"pause", b"b")
    assert protocol.told == ["made", b"a", b"pause"]
    assert (end.read_bytes, end.is_reading()) == (6, False)
    end.arrive(b"c")
    assert end.read_bytes == 6
    end.resume_reading()
    assert end.is_reading()
    assert end.read_bytes == 6, "not within the call"
    loop.run_until_complete(asyncio.sleep(0))
    assert protocol.told == ["made", b"a", b"pause", b"b", b"c"]
    assert (end.read_bytes, end.deliveries) == (8, 4)


def test_what_arrives_before_the_protocol_is_kept(
    loop: asyncio.AbstractEventLoop, protocol: Protocol
) -> None:
    end = End(loop)
    end.arrive(b"early")
    assert (end.read_bytes, end.deliveries) == (0, 0)
    end.begin(lambda: protocol)
    assert protocol.told == ["made", b"early"]


def test_a_protocol_that_fails_loses_its_link(
    loop: asyncio.AbstractEventLoop, end: End, protocol: Protocol
) -> None:
    told: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _loop, context: told.append(context))
    end.arrive(b"fail", b"more")
    (_, _, (what, error)) = protocol.told
    assert (what, str(error)) == ("lost", "no frame")
    assert told == [{"message": "data_received() of a protocol failed", "exception": error}]
    assert not end.is_reading()
    end.arrive(b"more")
    assert protocol.told[-1] == ("lost", error)


def test_a_protocol_is_told_once_that_the_link_is_gone(end: End, protocol: Protocol) -> None:
    end.close()
    end.lose()
    assert protocol.told == ["made", ("lost", None)]
    assert end.is_closing()
    end.write(bytes(2 * BUFFER_BYTES))
    assert protocol.told == ["made", ("lost", None)]


def test_where_nothing_accepts_it_is_closed(loop: asyncio.AbstractEventLoop) -> None:
    def refuse() -> asyncio.Protocol:
        raise ConnectionRefusedError

    end = End(loop)
    end.begin(refuse)
    assert end.is_closing()
