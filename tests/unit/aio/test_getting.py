"""Gets that are cancelled at any moment: every message is got once in the end.

tests/simulation/cancel_work.py cancels far more of them, on links of virtual time.
"""

import asyncio
import random

import pytest

import adapter
import adapter.testing
from adapter.core.contract import commands as c
from tests.support.loopback import Loopback


async def test_a_cancelled_get_takes_nothing(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        getting = asyncio.create_task(queue.get(timeout=None))
        await asyncio.sleep(0.05)
        getting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await getting
        await queue.put(b"x")
        assert server.bodies("Q") == [b"x"]


async def test_a_message_that_was_taken_meanwhile_comes_back_uncounted(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        await queue.put(b"x")
        server.holds = (c.Get,)
        getting = asyncio.create_task(queue.get(timeout=None))
        await asyncio.sleep(0.05)
        assert server.bodies("Q") == []
        getting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await getting
        await asyncio.to_thread(server.release)
        got = await queue.get(timeout=5)
        assert got is not None
        assert (got.body, got.backout_count) == (b"x", 0)


async def test_a_get_is_cancelled_while_the_connection_is_lost(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        getting = asyncio.create_task(queue.get(timeout=None))
        await asyncio.sleep(0.05)
        await asyncio.to_thread(server.crash)
        await asyncio.sleep(0.05)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await queue.get(timeout=None)
        getting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await getting
        await asyncio.to_thread(server.start)
        await queue.put(b"x")
        assert server.bodies("Q") == [b"x"]


async def test_a_get_goes_on_over_a_lost_connection(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        getting = asyncio.create_task(queue.get(timeout=10))
        await asyncio.sleep(0.05)
        await asyncio.to_thread(server.cut_all)
        await queue.put(b"x")
        got = await getting
        assert got is not None
        assert got.body == b"x"
        assert server.bodies("Q") == []


async def test_a_commit_lost_with_the_connection_is_no_message(server: Loopback) -> None:
    """The get's own unit was backed out with the connection: the message comes again."""
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        await queue.put(b"x")
        seen: list[object] = []

        def cut(_number: int, command: object) -> None:
            if isinstance(command, c.Commit) and not seen:
                seen.append(command)
                server.cut_here()

        server.before = cut
        got = await queue.get(timeout=10)
        assert got is not None
        assert got.body == b"x"
        assert seen
        assert server.bodies("Q") == []


@pytest.mark.parametrize("wait_s", [0.0, 5.0])
@pytest.mark.parametrize("turns", range(14))
async def test_a_get_by_a_name_is_cancelled_at_any_turn(
    server: Loopback, wait_s: float, turns: int
) -> None:
    """Its queue is closed behind the get: the task has the message by then, or the queue has it."""
    async with await adapter.aio.connect(server.address) as qm:
        await qm.put("Q", b"x")
        for held in ((), (c.Get,), (c.Commit,), (c.Close,)):
            server.holds = held
            getting = asyncio.create_task(qm.get("Q", timeout=wait_s))
            for _ in range(turns):
                await asyncio.sleep(0)
            if held and server.count(held[0]):
                await asyncio.sleep(0.01)
            getting.cancel()
            await asyncio.wait([getting], timeout=0.05)
            await asyncio.to_thread(server.release)
            await asyncio.wait([getting], timeout=10)
            message = None if getting.cancelled() else getting.result()
            if message is None:
                message = await qm.get("Q", timeout=5)
            assert message is not None
            assert message.body == b"x"
            await qm.put("Q", b"x")


MESSAGES = 300
CANCELS = 1_000


@pytest.mark.parametrize("restarts", [0, 6])
async def test_gets_are_cancelled_at_random(restarts: int) -> None:
    chance = random.Random(restarts)
    got: list[bytes] = []
    cancels = 0
    with adapter.testing.queue_manager() as manager:
        with manager.connect() as admin:
            admin.define_queue("Q")
        async with await adapter.aio.connect(manager.address) as qm:
            queue = qm.queue("Q")

            async def get() -> None:
                message = await queue.get(timeout=None)
                assert message is not None
                got.append(message.body)

            async def produce() -> None:
                for n in range(MESSAGES):
                    await queue.put(b"%d" % n)
                    await asyncio.sleep(chance.random() * 0.002)

            async def disturb() -> None:
                for _ in range(restarts):
                    await asyncio.sleep(0.2)
                    await asyncio.to_thread(manager.crash)
                    await asyncio.to_thread(manager.start)

            producing = asyncio.create_task(produce())
            disturbing = asyncio.create_task(disturb())
            while cancels < CANCELS:
                getting = [asyncio.create_task(get()) for _ in range(chance.randint(1, 8))]
                await asyncio.sleep(chance.choice((0.0, 0.0005, 0.002, 0.004)) * chance.random())
                for one in getting:
                    cancels += one.cancel()
                await asyncio.wait(getting)
                for one in getting:
                    assert one.cancelled() or one.exception() is None
            await asyncio.gather(producing, disturbing)
            while (message := await queue.get(timeout=0.2)) is not None:
                got.append(message.body)
    assert sorted(got) == sorted(b"%d" % n for n in range(MESSAGES))
