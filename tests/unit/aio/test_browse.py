"""Browsing by async for."""

import asyncio

import pytest

import adapter
from adapter import errors as e
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


async def test_programs_that_cooperate_share_what_is_browsed(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        for body in ("1", "2", "3"):
            await queue.put(body)
        one, other = queue.browse(cooperate=True), queue.browse(cooperate=True)
        first, second, third = await anext(one), await anext(other), await anext(one)
        assert [found.body for found in (first, second, third)] == [b"1", b"2", b"3"]
        await first.unmark()
        assert (await anext(other)).body == b"1"
        assert await anext(other, None) is None
        assert await second.remove()
        await asyncio.to_thread(server.cut_all)
        assert (await anext(one)).body == b"1", "the marks have gone with the connection"
        assert [found.body async for found in one] == [b"3"]
        with pytest.raises(e.InvalidOption, match="takes no timeout"):
            queue.browse(cooperate=True, timeout=1)
        async for plain in queue.browse():
            await plain.unmark()


async def test_a_browse_goes_on_behind_a_step_that_was_cancelled(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        for body in (b"1", b"2", b"3"):
            await queue.put(body)
        browsing = queue.browse()
        server.holds = (c.Browse,)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await anext(browsing)
        await asyncio.to_thread(server.release)
        assert [found.body async for found in browsing] == [b"1", b"2", b"3"]
