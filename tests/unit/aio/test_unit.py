"""Units of tasks: who joins them, how they end, and what a cancellation does to them."""

import asyncio
import gc
import warnings
from collections.abc import AsyncIterator

import pytest

import adapter
from adapter import errors as e
from adapter.core.contract import commands as c
from tests.support.loopback import Loopback, OnCommand


async def test_leaving_commits_and_an_exception_backs_out(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        async with qm.unit() as unit:
            await queue.put(b"a")
            assert server.bodies("Q") == []
        assert await qm.outcome(unit.id) == "committed"
        with pytest.raises(ZeroDivisionError):  # noqa: PT012
            async with qm.unit() as unit:
                assert await queue.get() is not None
                await queue.put(1 / 0)  # type: ignore[arg-type]
        assert await qm.outcome(unit.id) == "backed out"
        assert server.bodies("Q") == [b"a"]


async def test_units_are_of_a_context(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")

        async def put_in_a_unit(body: bytes, fails: bool) -> None:
            async with qm.unit() as unit:
                await queue.put(body)
                await asyncio.sleep(0.01)
                if fails:
                    await unit.backout()

        outside = asyncio.create_task(queue.put(b"outside"))
        await asyncio.gather(put_in_a_unit(b"1", False), put_in_a_unit(b"2", True), outside)
        assert sorted(server.bodies("Q")) == [b"1", b"outside"]
        async with qm.unit() as unit:
            await asyncio.gather(queue.put(b"3"), queue.put(b"4"))  # begun inside: they join
            await queue.put(b"5", unit=adapter.NO_UNIT)
            await unit.backout()
        assert sorted(server.bodies("Q")) == [b"1", b"5", b"outside"]


async def test_units_by_hand(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        unit = qm.unit()
        with pytest.raises(e.UnitEnded):
            await unit.commit()
        unit.begin()
        await qm.put("Q", b"x", unit=unit)
        await unit.commit()
        with pytest.raises(e.UnitEnded):
            await unit.commit()
        assert server.bodies("Q") == [b"x"]
        async with qm.unit():
            with pytest.raises(e.UnitInProgress):
                async with qm.unit():
                    pass
        other = await adapter.aio.connect(server.address)
        async with other, other.unit() as of_other:
            with pytest.raises(e.InvalidOption, match="another connection"):
                await qm.put("Q", b"x", unit=of_other)


async def test_deferred_puts_go_with_the_commit(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        async with qm.unit():
            first = await queue.put(b"1", wait=False)
            await queue.put(b"2", wait=False)
            assert first.put_time_ms == 0
        assert server.bodies("Q") == [b"1", b"2"]
        with adapter.connect(server.address) as admin:
            admin.alter_queue("Q", max_depth=2)
        with pytest.raises(e.QueueFull):
            async with qm.unit():
                await queue.put(b"3", wait=False)


async def test_a_lost_connection_backs_a_unit_out(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        with pytest.raises(e.BackedOut, match="connection was lost"):  # noqa: PT012
            async with qm.unit():
                await queue.put(b"x")
                await asyncio.to_thread(server.cut_all)
                await asyncio.sleep(0.05)
        async with qm.unit():
            await queue.put(b"y")
        assert server.bodies("Q") == [b"y"]


async def test_a_cancelled_verb_backs_its_unit_out(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        await queue.put(b"got")
        with pytest.raises(TimeoutError):  # noqa: PT012
            async with asyncio.timeout(0.1):
                async with qm.unit():
                    assert await queue.get() is not None
                    await queue.get(timeout=None)
        await queue.put(b"later")
        assert server.bodies("Q") == [b"got", b"later"]


async def test_a_unit_cannot_be_committed_after_a_cancelled_verb(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        with pytest.raises(e.BackedOut, match="was cancelled"):  # noqa: PT012
            async with qm.unit():
                await queue.put(b"lost")
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.05):
                        await queue.get(timeout=None, correlation_id="none")
        await queue.put(b"later")
        assert server.bodies("Q") == [b"later"]


async def test_a_cancelled_commit_has_its_outcome_first(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        server.holds = (c.Commit,)
        steps = []

        async def work() -> None:
            async with qm.unit():
                await queue.put(b"x")
            steps.append("committed")
            await asyncio.sleep(30)
            steps.append("never")

        working = asyncio.create_task(work())
        await asyncio.sleep(0.1)
        working.cancel()
        await asyncio.sleep(0.05)
        assert not working.done()
        await asyncio.to_thread(server.release)
        with pytest.raises(asyncio.CancelledError):
            await working
        assert steps == ["committed"]
        assert server.bodies("Q") == [b"x"]


async def test_a_dropped_unit_is_backed_out_and_warned_of(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        unit = qm.unit()
        unit.begin()
        await qm.put("Q", b"x", unit=unit)
        ident = unit.id
        with pytest.warns(ResourceWarning, match=f"unit {ident.hex()} on queue manager QM1"):
            del unit
        backed_out = OnCommand(server, c.Backout)
        assert await asyncio.to_thread(backed_out.arrived.wait, 10)  # without a further request
        assert await qm.outcome(ident) == "backed out"


async def test_the_garbage_collector_may_drop_it_in_any_thread(server: Loopback) -> None:
    asyncio.get_running_loop().set_debug(True)  # which refuses calls of other threads
    async with await adapter.aio.connect(server.address) as qm:
        units = [qm.unit()]
        units[0].begin()
        await qm.put("Q", b"x", unit=units[0])
        backed_out = OnCommand(server, c.Backout)
        with pytest.warns(ResourceWarning):
            await asyncio.to_thread(units.clear)
        assert await asyncio.to_thread(backed_out.arrived.wait, 10)


async def test_other_units_are_dropped_silently(server: Loopback) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        async with await adapter.aio.connect(server.address) as qm:
            qm.unit().begin()
            async with qm.unit():
                await qm.put("Q", b"x")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05), qm.unit():
                    await qm.get("Q", timeout=None, message_id=b"none")
            closed = qm.unit()
            closed.begin()
            await qm.put("Q", b"y", unit=closed)
        del closed
        gc.collect()


async def test_a_call_beside_a_unit_of_another_task_is_logged_once(
    server: Loopback, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "adapter.client")
    async with await adapter.aio.connect(server.address) as qm:
        start = asyncio.Event()

        async def put() -> None:
            await start.wait()
            await qm.put("Q", b"outside")
            await qm.put("Q", b"outside")

        outside = asyncio.create_task(put(), name="outside")
        async with qm.unit() as unit:
            await asyncio.create_task(qm.put("Q", b"a task that begins here is inside"))
            start.set()
            await outside
    (hint,) = [one.getMessage() for one in caplog.records if "outside any" in one.getMessage()]
    assert hint.startswith("task outside works outside any unit on the connection to QM1, while ")
    assert f" is in the with statement of unit {unit.id.hex()}, " in hint


async def test_a_unit_that_another_task_has_left_is_joined_by_nothing(server: Loopback) -> None:
    """An async generator that a loop leaves is closed by a task of the event loop."""
    async with await adapter.aio.connect(server.address) as qm:
        closed = asyncio.Event()

        async def rows() -> AsyncIterator[int]:
            try:
                async with qm.unit():
                    await qm.put("Q", b"undone")
                    yield 1
            finally:
                closed.set()

        async for _ in rows():
            break
        gc.collect()
        await asyncio.wait_for(closed.wait(), 10)
        await qm.put("Q", b"outside")
        async with qm.unit():
            await qm.put("Q", b"inside")
        assert server.bodies("Q") == [b"outside", b"inside"]


@pytest.mark.parametrize("is_left", [False, True])
async def test_a_commit_that_is_cancelled_before_it_was_sent_backs_out(
    server: Loopback, is_left: bool
) -> None:
    """There is no link: nothing of the unit has been sent, and nothing of it stays open."""
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        await queue.put(b"warm")
        unit = qm.unit()
        with pytest.raises(TimeoutError):  # noqa: PT012
            async with asyncio.timeout(0.3):
                if is_left:
                    async with unit:
                        await queue.put(b"never", wait=False)
                        await asyncio.to_thread(server.crash)
                        await lost(qm)
                else:
                    unit.begin()
                    await queue.put(b"never", unit=unit, wait=False)
                    await asyncio.to_thread(server.crash)
                    await lost(qm)
                    await unit.commit()
        await asyncio.to_thread(server.start)
        await queue.put(b"after")
        assert await qm.outcome(unit.id) == "backed out"
        assert not server.call(
            lambda: [one.units for one in server.qm.connections.values() if one.units]
        )
        with pytest.raises(e.BackedOut, match="cancelled or interrupted"):
            await unit.commit()
        await unit.backout()  # which is no error: it is what has happened
        assert server.bodies("Q") == [b"warm", b"after"]


async def lost(qm: adapter.aio.Connection) -> None:
    """Wait until a connection has noticed that its link is lost."""
    while qm.statistics()["connections_lost"] == 0:  # noqa: ASYNC110
        await asyncio.sleep(0.001)
