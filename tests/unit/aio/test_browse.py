"""Browsing by async for."""

import asyncio

import adapter
from adapter.core.contract import commands as c
from tests.support.loopback import Loopback


async def test_every_message_once_in_order(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        for n in range(250):
            await queue.put(b"%d" % n, priority=n % 3)
        shown = []
        async for message in queue.browse():
            shown.append(message.body)
            if len(shown) == 120:
                await asyncio.to_thread(server.cut_all)
        assert shown == server.bodies("Q")
        assert len(shown) == 250


async def test_a_browsed_message_is_removed(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        await queue.put(b"1")
        await queue.put(b"2")
        async for message in queue.browse():
            if message.body == b"1":
                assert await message.remove()
                assert not await message.remove()
            else:
                async with qm.unit() as unit:
                    assert await message.remove()
                    await unit.backout()
        assert server.bodies("Q") == [b"2"]


async def test_a_browse_that_waits_and_is_cancelled(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        shown = []

        async def follow() -> None:
            async for message in queue.browse(timeout=None):
                shown.append(message.body)  # noqa: PERF401 -- it is looked at meanwhile

        following = asyncio.create_task(follow())
        for body in (b"1", b"2"):
            await queue.put(body)
            await asyncio.sleep(0.05)
        following.cancel()
        await asyncio.wait([following])
        assert following.cancelled()
        assert shown == [b"1", b"2"]
        await queue.depth()
        await asyncio.sleep(0.05)
        assert server.count(c.Close) == 1
        waits = server.call(lambda: sum(len(s.waiters) for s in server.qm.connections.values()))
        assert waits == 0


async def test_it_ends_with_the_time_and_with_the_queue(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        await queue.put(b"1")
        assert [message.body async for message in queue.browse(timeout=0.05)] == [b"1"]
        iterating = queue.browse(timeout=None)
        assert (await anext(iterating)).body == b"1"
        waiting = asyncio.create_task(anext(iterating, None))
        await asyncio.sleep(0.05)
        await queue.close()
        assert await waiting is None
