"""Queue managers for tests that are coroutines."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import uvloop

import adapter
from adapter import testing
from adapter.errors import QueueDamaged, QueueManagerNotAvailable
from adapter.testing import AioTestQueueManager
from tests.support.backlog import until

WAIT_S = 30.0


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[AioTestQueueManager, adapter.aio.Connection]]:
    async with (
        asyncio.timeout(WAIT_S),
        testing.aio_queue_manager() as manager,
        await manager.connect() as qm,
    ):
        await qm.define_queue("Q")
        yield manager, qm


@pytest.mark.parametrize(
    "make", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"]
)
def test_it_stops_and_starts_while_the_event_loop_runs(
    make: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def work() -> None:
        async with connected() as (manager, qm):
            await qm.put("Q", "1")
            for act in (manager.restart, manager.crash):
                await act()
                if not manager.is_running:
                    await manager.start()
                assert await qm.queue("Q").depth() == 1
            assert qm.statistics()["reconnects"] == 2
            await manager.drop_next_reply()
            await qm.put("Q", "2")
            assert qm.statistics()["reconnects"] == 3
            assert await qm.queue("Q").depth() == 2
            assert (manager.name, manager.is_running) == ("QM1", True)
            assert (await manager.statistics())["state"] == "running"
            assert "CURDEPTH(2)" in await manager.mqsc("DISPLAY QLOCAL(Q) CURDEPTH")
            async with await adapter.aio.connect(manager.address) as other:
                assert (await other.get("Q")) is not None

    with asyncio.Runner(loop_factory=make) as runner:
        runner.run(work())


def is_quiescing(manager: AioTestQueueManager) -> bool:
    return bool(asyncio.run(manager.statistics())["state"] == "quiescing")


def test_a_stop_waits_for_a_unit_of_the_same_event_loop() -> None:
    async def work() -> None:
        async with connected() as (manager, qm):
            async with qm.unit():
                await qm.put("Q", "1")
                stopping = asyncio.create_task(manager.stop(quiesce_s=WAIT_S))
                await asyncio.to_thread(until, lambda: is_quiescing(manager))
                assert not stopping.done()
            await stopping
            assert not manager.is_running
            await manager.start()
            assert await qm.queue("Q").depth() == 1

    asyncio.run(work())


def test_its_clock_is_advanced() -> None:
    async def work() -> None:
        async with (
            testing.aio_queue_manager("TEST", clock="manual", units_per_connection=0) as manager,
            await manager.connect() as qm,
        ):
            await qm.define_queue("Q")
            before_ms = manager.clock.now_ms()
            await qm.put("Q", "1", expiry_s=60)
            await manager.clock.advance(59)
            assert await qm.queue("Q").depth() == 1
            await manager.clock.step(2)
            assert await qm.get("Q") is None
            assert manager.clock.now_ms() - before_ms == 61_000
            with pytest.raises(adapter.errors.LimitReached):
                async with qm.unit():
                    await qm.put("Q", "1")
        async with testing.aio_queue_manager() as other:
            with pytest.raises(ValueError, match="manual"):
                _ = other.clock

    asyncio.run(work())


def test_a_message_is_damaged() -> None:
    async def work() -> None:
        async with connected() as (manager, qm):
            await qm.put("Q", "1")
            await manager.corrupt("Q")
            with pytest.raises(QueueDamaged):
                await qm.get("Q")

    asyncio.run(work())


def test_a_queue_manager_of_threads_serves_tasks_too() -> None:
    async def work(manager: testing.TestQueueManager) -> None:
        async with await manager.connect_aio(application="billing") as qm:
            await qm.define_queue("Q")
            await qm.put("Q", bytes(3_000_000))
            got = await qm.get("Q")
            assert got is not None
            assert (len(got.body), got.application) == (3_000_000, "billing")
        manager.stop()
        with pytest.raises(QueueManagerNotAvailable):
            await manager.connect_aio(connect_timeout_s=1)
        manager.start()

    with testing.queue_manager() as manager:
        asyncio.run(work(manager))
