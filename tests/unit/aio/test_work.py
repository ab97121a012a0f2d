"""The loop of a worker: `async for unit in queue.units()`."""

import asyncio
import random
from contextlib import suppress
from typing import Any

import pytest

import adapter
import adapter.testing
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


async def test_finding_client_4_poison_got_by_an_alias_is_set_aside(server: Loopback) -> None:
    with adapter.connect(server.address) as admin:
        admin.define_queue("ASIDE")
        admin.define_object("alias", "ALIAS", target="Q")
        admin.alter_queue("Q", backout_threshold=1, backout_requeue_queue="ASIDE")
    async with await adapter.aio.connect(server.address) as qm:
        await qm.put("Q", b"poison")
        async for unit in qm.queue("ALIAS").units(timeout=0.05):
            async with unit:
                raise ValueError("it is poison")
        aside = await qm.get("ASIDE")
        assert aside is not None
        assert aside.properties["mqk.backout_queue"] == "Q"


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


MESSAGES = 200
CANCELS = 200
OPTIONS: list[dict[str, Any]] = [
    {},
    {"prefetch": 4},
    {"commits": 4},
    {"prefetch": 8, "commits": 8, "size": 3},
    {"prefetch": 2, "retry": adapter.Retry(1000, 0.01, backoff_max=0.02)},
]


class Copying:
    """Loops that copy from Q to OUT, and fail now and then."""

    def __init__(self, qm: adapter.aio.Connection, chance: random.Random) -> None:
        self._qm = qm
        self._chance = chance

    async def run(self, timeout: float | None, **options: Any) -> None:  # noqa: ASYNC109
        """Run one loop; a commit that failed, and so was not executed, may end it."""
        out = self._qm.queue("OUT")
        with suppress(e.BackedOut):
            async for unit in self._qm.queue("Q").units(timeout=timeout, **options):
                async with unit:
                    for message in unit.messages:
                        await out.put(message.body, wait=self._chance.random() < 0.5)
                    if self._chance.random() < 0.05:
                        raise ValueError("it fails now and then")


@pytest.mark.parametrize("restarts", [0, 4])
async def test_loops_are_cancelled_at_random(restarts: int) -> None:
    """Each message has its effect once, and no unit is left open."""
    chance = random.Random(restarts)
    sent = [b"%d" % number for number in range(MESSAGES)]
    with adapter.testing.queue_manager() as manager:
        with manager.connect() as admin:
            for name in ("Q", "OUT"):
                admin.define_queue(name)
        async with await adapter.aio.connect(manager.address) as qm:
            copying = Copying(qm, chance)

            async def produce() -> None:
                for body in sent:
                    await qm.put("Q", body)
                    await asyncio.sleep(chance.random() * 0.002)

            async def disturb() -> None:
                for _ in range(restarts):
                    await asyncio.sleep(0.2)
                    await asyncio.to_thread(manager.crash)
                    await asyncio.to_thread(manager.start)

            background = asyncio.gather(produce(), disturb())
            cancels = 0
            while cancels < CANCELS:
                loops = [
                    asyncio.create_task(copying.run(None, **chance.choice(OPTIONS)))
                    for _ in range(chance.randint(1, 4))
                ]
                await asyncio.sleep(chance.random() * 0.02)
                for one in loops:
                    cancels += one.cancel()
                await asyncio.wait(loops)
                for one in loops:
                    assert one.cancelled() or one.exception() is None
            await background
            with suppress(e.BackedOut):
                await qm.flush()
            while (status := await qm.queue("Q").status()).current_depth + status.delayed:
                await copying.run(0.1)
            with manager.connect() as judge:
                assert sorted(one.body for one in judge.queue("OUT").browse()) == sorted(sent)
                assert not judge.open_units()
