"""Links of tasks within one process: to a server's end on an event loop of another thread."""

import asyncio
from collections.abc import Iterator

import pytest

from adapter.aio.in_process import InProcessTaskDialer
from adapter.aio.link import TaskLink
from adapter.connection.channel.link.port import HostNotReached, LinkLost
from tests.contract.link_contract import LONG, WAIT_S, InProcessEnds

FRAME = b"\0\0\0\3abc"


@pytest.fixture
def ends() -> Iterator[InProcessEnds]:
    made = InProcessEnds()
    yield made
    made.end()


async def opened(ends: InProcessEnds) -> TaskLink:
    link = await InProcessTaskDialer(ends.loop, ends.accept).dial(WAIT_S)
    ends.server.until(lambda: ends.server.transport)
    return link


async def lost(link: TaskLink) -> str:
    """Wait until a link is lost; return why."""
    with pytest.raises(LinkLost) as told:
        await asyncio.wait_for(link.payloads(), WAIT_S)
    return str(told.value)


async def test_frames_come_and_go(ends: InProcessEnds) -> None:
    link = await opened(ends)
    link.send(FRAME)
    await asyncio.sleep(0)
    ends.server.until(lambda: ends.server.got == FRAME)
    ends.call(lambda transport: transport.write(FRAME[:5]))
    ends.call(lambda transport: transport.write(FRAME[5:]))
    assert await link.payloads() == [b"abc"]
    assert link.bytes_received == len(FRAME)
    link.close()
    ends.server.until(lambda: ends.server.lost)


async def test_what_was_sent_before_an_end_arrives(ends: InProcessEnds) -> None:
    link = await opened(ends)
    link.send(FRAME)
    link.shutdown()
    link.shutdown()
    ends.server.until(lambda: ends.server.lost)
    assert (bytes(ends.server.got), ends.server.lost) == (FRAME, [None])
    with pytest.raises(LinkLost):
        link.send(FRAME)
    assert "closed" in await lost(link)


async def test_a_server_that_closes_is_heard_out(ends: InProcessEnds) -> None:
    link = await opened(ends)

    def leave(transport: asyncio.Transport) -> None:
        transport.write(FRAME)
        transport.close()
        transport.write(b"too late")
        assert transport.is_closing()
        assert not transport.is_reading()

    ends.call(leave)
    assert await link.payloads() == [b"abc"]
    assert "the queue manager closed the connection" in await lost(link)
    ends.server.until(lambda: ends.server.lost == [None])


async def test_a_protocol_that_fails_loses_its_link(ends: InProcessEnds) -> None:
    link = await opened(ends)
    ends.server.fails = True
    link.send(FRAME)
    assert await lost(link)
    ends.server.until(lambda: ends.server.lost)
    assert isinstance(ends.server.lost[0], RuntimeError)


async def test_a_link_is_full_while_the_server_reads_nothing(ends: InProcessEnds) -> None:
    link = await opened(ends)
    ends.call(lambda transport: transport.pause_reading())
    frame = bytes(range(250)) * (LONG // 250)
    link.send(frame)
    await asyncio.sleep(0)
    was_full = [link.is_full]
    drained = asyncio.create_task(link.drained())
    done, _ = await asyncio.wait([drained], timeout=0.05)
    assert not done
    ends.call(lambda transport: transport.resume_reading())
    await asyncio.wait_for(drained, WAIT_S)
    assert [*was_full, link.is_full] == [True, False]
    ends.server.until(lambda: len(ends.server.got) == LONG)
    assert ends.server.got == frame
    link.close()
    ends.server.until(lambda: ends.server.lost)


async def test_a_server_writes_no_more_while_the_event_loop_is_busy(ends: InProcessEnds) -> None:
    link = await opened(ends)
    frame = b"\0\1\0\0" + bytes(65_536)
    written = 0
    while not ends.server.pauses and written < LONG // len(frame):
        ends.call(lambda transport: transport.write(frame))  # and the loop of this test stands
        written += 1
    assert ends.server.pauses == ["paused"]
    received = 0
    while received < written:
        received += len(await link.payloads())
    ends.server.until(lambda: ends.server.pauses == ["paused", "resumed"])
    link.close()
    ends.server.until(lambda: ends.server.lost)


async def test_where_nothing_accepts_a_link_it_is_lost(ends: InProcessEnds) -> None:
    def refuse() -> asyncio.Protocol:
        raise ConnectionRefusedError

    link = await InProcessTaskDialer(ends.loop, refuse).dial(WAIT_S)
    assert "closed the connection" in await lost(link)
    ends.end()
    with pytest.raises(HostNotReached, match="this process"):
        await InProcessTaskDialer(ends.loop, ends.accept).dial(WAIT_S)
