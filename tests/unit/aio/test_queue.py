"""Verbs of a queue for tasks: the same names, arguments and errors as for threads."""

import asyncio

import pytest

import adapter
from adapter import errors as e
from adapter.core.contract import commands as c
from tests.support.loopback import Loopback


async def test_put_and_get(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        put = await queue.put("one", priority=4, correlation_id="c")
        assert put.put_time_ms
        got = await queue.get(timeout=5)
        assert got is not None
        assert (got.body, got.priority, got.message_id) == (b"one", 4, put.message_id)
        assert await queue.get() is None
        assert await queue.get(timeout=0.05) is None


async def test_a_get_waits_and_others_go_on(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        waiting = asyncio.create_task(queue.get(timeout=None))
        await asyncio.sleep(0.05)
        assert await queue.depth() == 0
        assert not waiting.done()
        await queue.put(b"it")
        got = await waiting
        assert got is not None
        assert got.body == b"it"
        assert await queue.depth() == 0


async def test_thousands_of_tasks_share_a_connection(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        bodies = [b"%d" % n for n in range(3_000)]
        async with asyncio.TaskGroup() as group:
            for body in bodies:
                group.create_task(queue.put(body))
            gets = [group.create_task(queue.get(timeout=30)) for _ in bodies]
        got = [message.body for get in gets if (message := get.result()) is not None]
        assert sorted(got) == sorted(bodies)
        assert server.call(lambda: len(server.clients)) == 1


async def test_a_selection_and_ids_choose(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        for colour in ("red", "blue"):
            await qm.put("Q", colour, properties={"colour": colour}, correlation_id=colour)
        chosen = await qm.queue("Q", selection="colour = 'blue'").get()
        assert chosen is not None
        assert chosen.body == b"blue"
        assert await qm.get("Q", correlation_id="green") is None
        other = await qm.get("Q", correlation_id="red", timeout=5)
        assert other is not None
        assert other.body == b"red"


async def test_errors_are_those_of_the_threaded_sdk(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        with pytest.raises(e.QueueNotFound):
            await qm.queue("MISSING").put(b"x")
        with pytest.raises(e.QueueNotFound):
            await qm.put("MISSING", b"x")
        with pytest.raises(e.QueueNotFound):
            await qm.queue("MISSING").depth()
        queue = qm.queue("Q")
        with pytest.raises(e.InvalidPriority):
            await queue.put(b"x", priority=10)
        with pytest.raises(e.InvalidOption, match="wait=False needs a unit"):
            await queue.put(b"x", wait=False)
        with pytest.raises(e.InvalidTimeout):
            await queue.get(timeout=-1)
        with adapter.connect(server.address) as admin:
            admin.queue("Q").set(inhibit_get=True)
        with pytest.raises(e.GetInhibited):
            await queue.get(timeout=5)


async def test_what_is_asked_of_a_queue(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm, qm.queue("Q") as queue:
        await queue.put(b"x")
        assert (await queue.status()).current_depth == 1
        assert (await queue.inquire()).max_depth
        assert await queue.purge() == 1
        assert await queue.depth() == 0
    assert repr(queue) == "<Queue Q>"


async def test_closing_a_queue_ends_its_gets(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        waiting = asyncio.create_task(queue.get(timeout=None))
        await asyncio.sleep(0.05)
        await queue.close()
        assert await waiting is None
        assert queue.is_closed
        with pytest.raises(e.NotOpen):
            await queue.put(b"x")
        with pytest.raises(e.NotOpen):
            queue.browse()


async def test_a_queue_that_is_let_go_of_closes_its_handles(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        await qm.queue("Q").put(b"x")
        await qm.queue("Q").put(b"x")
        await asyncio.sleep(0.05)
        assert server.count(c.Close) >= 1


async def test_opening_goes_wrong_for_a_cancelled_task_alone(server: Loopback) -> None:
    server.holds = (c.Open,)
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        first = asyncio.create_task(queue.put(b"first"))
        second = asyncio.create_task(queue.put(b"second"))
        await asyncio.sleep(0.05)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        await asyncio.sleep(0.05)
        await asyncio.to_thread(server.release)
        await second
        assert server.bodies("Q") == [b"second"]
