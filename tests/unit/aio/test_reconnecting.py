"""on_reconnect of tasks: a function or coroutine function, in a task of its own, and harmless."""

import asyncio

import pytest

import adapter
from adapter import errors as e
from adapter.core.contract import commands as c
from tests.support.loopback import Loopback, OnCommand

Event = adapter.Reconnected[adapter.aio.Connection]


async def test_a_plain_function_is_called_with_what_happened(server: Loopback) -> None:
    events: asyncio.Queue[Event] = asyncio.Queue()
    async with await adapter.aio.connect(server.address, on_reconnect=events.put_nowait) as qm:
        for count in (1, 2):
            await asyncio.to_thread(server.cut_all)
            event = await events.get()
            assert event.connection is qm
            assert event.address == server.address
            assert event.count == count
            assert event.reason == "the queue manager closed the connection"
            assert await qm.queue("Q").depth() == 0
        assert events.empty()


async def test_a_coroutine_may_use_the_connection_which_may_be_lost_under_it(
    server: Loopback,
) -> None:
    done: asyncio.Queue[int] = asyncio.Queue()

    async def again(event: Event) -> None:
        await event.connection.put("Q", b"%d" % event.count)
        done.put_nowait(event.count)

    async with await adapter.aio.connect(server.address, on_reconnect=again):
        OnCommand(server, c.Put, server.cut_here)
        await asyncio.to_thread(server.cut_all)
        assert [await done.get() for _ in range(2)] == [1, 2]
        assert server.bodies("Q") == [b"1", b"2"]


async def test_an_exception_is_logged_and_the_connection_stays(
    server: Loopback, caplog: pytest.LogCaptureFixture
) -> None:
    called: asyncio.Queue[int] = asyncio.Queue()

    async def again(event: Event) -> None:
        called.put_nowait(event.count)
        raise ZeroDivisionError

    async with await adapter.aio.connect(server.address, on_reconnect=again) as qm:
        for count in (1, 2):
            await asyncio.to_thread(server.cut_all)
            assert await called.get() == count
        await qm.put("Q", b"x")
    failed = [one for one in caplog.records if one.getMessage().startswith("on_reconnect failed")]
    assert [one.levelname for one in failed] == ["ERROR"] * 2


async def test_closing_cancels_the_call(server: Loopback) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def again(_event: Event) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with await adapter.aio.connect(server.address, on_reconnect=again):
        await asyncio.to_thread(server.cut_all)
        await began.wait()
    await ended.wait()


async def test_it_may_close_the_connection(server: Loopback) -> None:
    closed = asyncio.Event()

    async def again(event: Event) -> None:
        await event.connection.close()
        await asyncio.sleep(0)
        closed.set()

    qm = await adapter.aio.connect(server.address, on_reconnect=again)
    await asyncio.to_thread(server.cut_all)
    await closed.wait()
    assert qm.is_closed


async def test_what_is_no_function_is_refused(server: Loopback) -> None:
    with pytest.raises(e.InvalidType, match="on_reconnect is a function or None, not 7"):
        await adapter.aio.connect(server.address, on_reconnect=7)  # type: ignore[arg-type]
