"""The connection that tasks share: lost and made again, closed, refused elsewhere."""

import asyncio
import gc
import os
import threading
from typing import Any

import pytest

import adapter
from adapter import errors as e
from adapter.core.contract import commands as c
from tests.support.backlog import until
from tests.support.loopback import Loopback


async def test_a_lost_connection_is_made_again_by_itself(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        await queue.put(b"1")
        await asyncio.to_thread(server.cut_all)
        await asyncio.sleep(0.3)
        assert "connected" in repr(qm)
        assert qm.statistics()["reconnects"] == 1
        await queue.put(b"2")
        assert server.bodies("Q") == [b"1", b"2"]


@pytest.mark.parametrize("sent", range(0, 120, 7))
async def test_a_put_is_done_once_wherever_the_connection_breaks(
    server: Loopback, sent: int
) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        await queue.put(b"first")
        server.cut_after(received=sent + 1)
        await queue.put(b"x")
        await asyncio.to_thread(server.cut_after, sent=sent + 1)
        await queue.put(b"y")
        assert server.bodies("Q") == [b"first", b"x", b"y"]


async def test_after_some_time_nothing_is_waited_for(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address, reconnect_timeout_s=0.2) as qm:
        queue = qm.queue("Q")
        await queue.put(b"x")
        await asyncio.to_thread(server.crash)
        with pytest.raises(e.ConnectionBroken):
            await queue.get(timeout=None)
        with pytest.raises(e.ConnectionBroken):
            await queue.depth()
        await asyncio.to_thread(server.start)
        assert await queue.depth() == 1


async def test_a_cancellation_of_all_tasks_leaves_the_connection_whole(server: Loopback) -> None:
    before = asyncio.all_tasks()
    async with await adapter.aio.connect(server.address) as qm:
        for task in asyncio.all_tasks() - before:
            task.cancel()
        await asyncio.sleep(0)
        await asyncio.to_thread(server.cut_all)
        await asyncio.wait_for(qm.queue("Q").put(b"x"), 10)
        assert server.bodies("Q") == [b"x"]


async def test_what_waits_when_all_tasks_are_cancelled_outlives_a_lost_connection(
    server: Loopback,
) -> None:
    before = asyncio.all_tasks()
    async with await adapter.aio.connect(server.address) as qm:
        of_connection = asyncio.all_tasks() - before
        getting = asyncio.create_task(qm.queue("Q").get(timeout=None))
        await asyncio.to_thread(until, lambda: server.count(c.Get) > 0)
        for task in of_connection:
            task.cancel()
        await asyncio.sleep(0)
        await asyncio.to_thread(server.cut_all)
        with adapter.connect(server.address) as other:
            await asyncio.to_thread(other.put, "Q", b"x")
        got = await asyncio.wait_for(getting, 10)
        assert got is not None
        assert got.body == b"x"


async def test_closing_ends_every_wait(server: Loopback) -> None:
    qm = await adapter.aio.connect(server.address)
    queue = qm.queue("Q")
    gets = [asyncio.create_task(queue.get(timeout=None)) for _ in range(20)]
    browsing = asyncio.create_task(anext(queue.browse(timeout=None)))
    working = asyncio.create_task(anext(queue.units()))
    await asyncio.sleep(0.1)
    await qm.close()
    await qm.close()
    ended = await asyncio.gather(*gets, browsing, working, return_exceptions=True)
    assert all(isinstance(one, e.ConnectionClosed) for one in ended[:-1])
    assert isinstance(ended[-1], StopAsyncIteration)
    with pytest.raises(e.ConnectionClosed):
        await queue.put(b"x")
    await asyncio.sleep(0.05)
    assert server.call(lambda: len(server.clients)) == 0
    assert repr(qm) == "<Connection to QM1, closed>"


async def test_closing_backs_units_out_and_awaits_what_is_durable(server: Loopback) -> None:
    qm = await adapter.aio.connect(server.address)
    unit = qm.unit()
    unit.begin()
    await qm.put("Q", b"in a unit", unit=unit)
    putting = asyncio.create_task(qm.put("Q", b"durable"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await qm.close()
    await putting
    assert server.bodies("Q") == [b"durable"]
    assert server.count(c.Backout) == 1


async def test_closing_while_it_connects_again(server: Loopback) -> None:
    qm = await adapter.aio.connect(server.address)
    await asyncio.to_thread(server.crash)
    await asyncio.sleep(0.05)
    getting = asyncio.create_task(qm.get("Q", timeout=None))
    await asyncio.sleep(0.05)
    await asyncio.wait_for(qm.close(), 2)
    with pytest.raises(e.ConnectionClosed):
        await getting


async def test_another_event_loop_is_refused(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")

        async def put() -> None:
            await queue.put(b"x")

        with pytest.raises(e.WrongEventLoop, match="made in another event loop"):
            await asyncio.to_thread(asyncio.run, put())
        with pytest.raises(e.WrongEventLoop):
            await asyncio.to_thread(queue.browse)
        await queue.put(b"y")
        assert server.bodies("Q") == [b"y"]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
async def test_a_forked_child_is_refused(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        await queue.put(b"1")
        child = os.fork()
        if not child:
            status = 1
            try:
                qm._channel.check_usable()
            except e.ConnectionClosed as error:
                status = 0 if "connect after the fork" in error.text else 2
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode((await asyncio.to_thread(os.waitpid, child, 0))[1]) == 0
        await queue.put(b"2")
        assert server.bodies("Q") == [b"1", b"2"]


async def test_more_commands_than_a_session_numbers_wait_their_turn(server: Loopback) -> None:
    server.holds = (c.Put,)
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        putting = [asyncio.create_task(queue.put(b"%d" % n)) for n in range(1_000)]
        await asyncio.sleep(0.3)
        unanswered = qm.statistics()["unanswered"]
        assert 0 < unanswered < 768
        putting[-1].cancel()
        with pytest.raises(asyncio.CancelledError):
            await putting.pop()
        await asyncio.to_thread(server.release)
        await asyncio.gather(*putting)
        assert len(server.bodies("Q")) == 999


async def test_long_messages_fill_the_link(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        body = bytes(1_000_000)
        await asyncio.gather(*(queue.put(body) for _ in range(20)))
        got = await asyncio.gather(*(queue.get() for _ in range(20)))
        assert {message.body for message in got if message is not None} == {body}


async def test_an_error_leaves_nothing_behind(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        for _ in range(50):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0):
                    await queue.get(timeout=None)
        await queue.put(b"x")
        await queue.get()
        gc.collect()
        await queue.depth()
        await asyncio.sleep(0.05)
        figures = qm.statistics()
        assert (figures["unanswered"], figures["units"]) == (0, 0)
        assert server.call(lambda: sum(len(s.units) for s in server.qm.connections.values())) == 0


@pytest.mark.parametrize("options", [{}, {"on_reconnect": print}], ids=["", "on_reconnect"])
async def test_a_dropped_connection_is_ended_and_warned_of(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    gone = threading.Event()
    monkeypatch.setattr(server, "gone", lambda _number: gone.set())
    before = asyncio.all_tasks()
    qm = await adapter.aio.connect(server.address, **options)
    (keeper,) = asyncio.all_tasks() - before
    await qm.put("Q", b"x")
    queue = qm.queue("Q")
    del qm
    assert await queue.depth() == 1  # its queue keeps it
    with pytest.warns(ResourceWarning, match="the connection to queue manager QM1 was dropped"):
        del queue
    await asyncio.wait([keeper], timeout=10)
    assert keeper.cancelled()
    assert await asyncio.to_thread(gone.wait, 10)
