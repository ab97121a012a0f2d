"""Verbs of a queue for tasks: the same names, arguments and errors as for threads."""

import asyncio

import pytest

import adapter
from adapter import errors as e
from adapter.core.contract import commands as c
from tests.support.awaited import until
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


async def test_a_queue_is_opened_before_any_verb(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        mine = await qm.queue("Q", open_for="input_exclusive")
        with pytest.raises(e.QueueInUse):
            await qm.queue("Q", open_for="input")
        with pytest.raises(e.QueueInUse):
            async with qm.queue("Q", open_for="input"):
                pass
        await qm.put("Q", b"x")
        got = await mine.get(timeout=5)
        assert got is not None
        await mine.close()
        async with qm.queue("Q", open_for="input") as other:
            (handle,) = await qm.open_handles()
            assert (handle.queue, handle.modes) == ("Q", c.INPUT)
            async for _ in other.units(timeout=0):
                pass
            assert len(await qm.open_handles()) == 1
        with pytest.raises(e.QueueNotFound):
            await qm.queue("MISSING", open_for="output")
        with pytest.raises(e.InvalidSelector):
            await qm.queue("Q", open_for="browse", selection="colour =")
        with pytest.raises(e.InvalidOption, match="open_for is one of"):
            qm.queue("Q", open_for="everything")  # type: ignore[arg-type]
        assert await qm.queue("MISSING") is not None  # nothing is asked


async def test_opening_is_cancelled(server: Loopback) -> None:
    server.holds = (c.Open,)
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q", open_for="input_exclusive")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await queue
        await asyncio.to_thread(server.release)
        async with qm.queue("Q", open_for="input"):
            pass


async def test_attributes_are_set(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        await queue.set(inhibit_get=True)
        with pytest.raises(e.GetInhibited):
            await queue.get()
        with pytest.raises(e.InvalidAttribute):
            await queue.set(max_depth=7.5)  # type: ignore[call-arg]
        server.holds = (c.SetAttributes,)
        setting = asyncio.create_task(queue.set(inhibit_get=False))
        await asyncio.sleep(0.05)
        setting.cancel()
        await asyncio.sleep(0.05)
        assert not setting.done()
        await asyncio.to_thread(server.release)
        await setting
        assert not (await queue.inquire()).inhibit_get


async def test_groups_in_logical_order(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        async with qm.unit():
            for body in "ab":
                await queue.put(body, logical_order=True)
            assert (
                await queue.get(logical_order=True, all_messages=True, unit=adapter.NO_UNIT) is None
            )
            await queue.put("c", logical_order=True, last_in_group=True)
        first = await queue.get(logical_order=True, all_messages=True)
        assert first is not None
        assert (first.body, first.group_seq) == (b"a", 1)
        second = await queue.get(logical_order=True, timeout=5)
        assert second is not None
        assert (second.body, second.details is not None) == (b"b", True)
        third = await queue.get(group_id=first.group_id, group_seq=3)
        assert third is not None
        assert third.last_in_group


async def test_a_cancelled_get_in_logical_order_gives_its_place_back(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        for body in "abc":
            await queue.put(body, logical_order=True, last_in_group=body == "c")
        first = await queue.get(logical_order=True)
        server.holds = (c.Get,)
        getting = asyncio.create_task(queue.get(logical_order=True))
        await asyncio.sleep(0.05)
        getting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await getting
        await asyncio.to_thread(server.release)
        rest = [await queue.get(logical_order=True, timeout=5) for _ in range(2)]
        assert [one.body for one in (first, *rest) if one is not None] == [b"a", b"b", b"c"]


async def test_in_a_unit_only_if_it_is_persistent(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        await queue.put("soft", persistent=False)
        await queue.put("hard", persistent=True)
        async with qm.unit() as unit:
            got = [await queue.get(if_persistent=True) for _ in range(2)]
            assert [one.body for one in got if one is not None] == [b"soft", b"hard"]
            await unit.backout()
        left = await queue.get(if_persistent=True)
        assert left is not None
        assert left.body == b"hard", "outside a unit it says nothing"
        assert await queue.get() is None


async def test_a_cancellation_that_was_put_off_leaves_no_queue_open(server: Loopback) -> None:
    """It comes in the close, behind the outcome of the put."""
    async with await adapter.aio.connect(server.address) as qm:

        async def work() -> None:
            async with qm.queue("Q", open_for="input_exclusive") as queue:
                server.holds = (c.Put,)
                await queue.put("x")

        working = asyncio.create_task(work())
        await until(lambda: server.count(c.Put))
        working.cancel()
        await asyncio.sleep(0.05)
        await asyncio.to_thread(server.release)
        with pytest.raises(asyncio.CancelledError):
            await working
        async with qm.queue("Q", open_for="input_exclusive") as again:
            assert [one.queue for one in await qm.open_handles()] == ["Q"]
            assert await again.get(timeout=5) is not None
