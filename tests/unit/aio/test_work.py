"""The loop of a worker: `async for unit in queue.units()`."""

import asyncio

import pytest

import adapter
from adapter import errors as e
from tests.support.loopback import Loopback


async def test_units_are_committed_when_they_are_left(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        for n in range(5):
            await queue.put(b"%d" % n)
        sizes = []
        async for unit in queue.units(size=2, timeout=0.05):
            async with unit:
                sizes.append(len(unit.messages))
        assert sizes == [2, 2, 1]
        assert server.bodies("Q") == []


async def test_a_failure_is_tried_again_and_then_set_aside(
    server: Loopback, caplog: pytest.LogCaptureFixture
) -> None:
    with adapter.connect(server.address) as admin:
        admin.define_queue("ASIDE")
        admin.alter_queue("Q", backout_threshold=2, backout_requeue_queue="ASIDE")
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        for body in (b"1", b"poison", b"2"):
            await queue.put(body)
        done, counts = [], []
        async for unit in queue.units(timeout=0.1, retry_delay_s=0.01):
            async with unit:
                (message,) = unit.messages
                if message.body == b"poison":
                    counts.append(message.backout_count)
                    raise ValueError("it is poison")
                done.append(message.body)
        assert (done, counts) == ([b"1", b"2"], [0, 1])
        aside = await qm.get("ASIDE")
        assert aside is not None
        assert aside.body == b"poison"
    assert "moved to queue ASIDE" in caplog.text
    assert "a unit of 1 messages from queue Q was backed out" in caplog.text


async def test_a_message_that_cannot_be_set_aside_ends_the_loop(server: Loopback) -> None:
    with adapter.connect(server.address) as admin:
        admin.alter_queue("Q", backout_threshold=1)
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        await queue.put(b"poison")

        async def work() -> None:
            async for unit in queue.units():
                async with unit:
                    raise ValueError("it is poison")

        with pytest.raises(e.BackoutThresholdReached, match="no backout_requeue_queue"):
            await work()
        assert server.bodies("Q") == [b"poison"]


async def test_a_cancelled_worker_gives_its_unit_back(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        await queue.put(b"1")
        has_begun = asyncio.Event()

        async def work() -> None:
            async for unit in queue.units():
                async with unit:
                    has_begun.set()
                    await asyncio.sleep(30)

        working = asyncio.create_task(work())
        await has_begun.wait()
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        again = await queue.get(timeout=5)
        assert again is not None
        assert again.backout_count == 1


async def test_a_unit_that_was_not_ended_is_an_error(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        await queue.put(b"1")

        async def work() -> None:
            async for _ in queue.units():
                pass

        with pytest.raises(e.UnitInProgress, match="neither committed nor backed out"):
            await work()
        assert server.bodies("Q") == [b"1"]


async def test_the_loop_ends_with_its_queue(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        seen = []

        async def work() -> None:
            async for unit in queue.units():
                async with unit:
                    seen.append(unit.messages[0].body)

        working = asyncio.create_task(work())
        await queue.put(b"1")
        await asyncio.to_thread(server.cut_all)
        await queue.put(b"2")
        await asyncio.sleep(0.2)
        await queue.close()
        await working
        assert set(seen) == {b"1", b"2"}
