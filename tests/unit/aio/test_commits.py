"""Commits in flight of tasks: bounded, awaited by any number of tasks, each failure raised once."""

import asyncio

import pytest

import adapter
from adapter import errors as e
from adapter.connection.channel.commits import IN_FLIGHT_MAX
from adapter.core.contract import commands as c
from tests.support.backlog import until
from tests.support.loopback import Loopback

BODIES = [b"%d" % number for number in range(IN_FLIGHT_MAX + 1)]


@pytest.fixture
def shut(server: Loopback) -> Loopback:
    """A scripted queue manager with a queue SHUT, which takes no puts."""
    with adapter.connect(server.address) as qm:
        qm.define_queue("SHUT", inhibit_put=True)
    return server


async def committed(qm: adapter.aio.Connection, body: bytes, to: str = "Q") -> adapter.aio.Unit:
    """Put a message in a unit, and leave its commit in flight."""
    async with qm.queue(to) as queue, qm.unit() as unit:
        await queue.put(body, wait=False)
        await unit.commit(wait=False)
    return unit


async def test_commits_in_flight_are_not_awaited_until_there_are_too_many(
    server: Loopback,
) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        server.holds = (c.Commit,)
        units = [await committed(qm, body) for body in BODIES[:-1]]
        assert qm.statistics()["unanswered"] == IN_FLIGHT_MAX
        with pytest.raises(e.UnitEnded, match="is being committed"):
            await units[0].commit()
        one_more = asyncio.create_task(committed(qm, BODIES[-1]))
        await asyncio.wait([one_more], timeout=0.05)
        assert not one_more.done()
        await asyncio.to_thread(server.release)
        await one_more
        await qm.flush()
        assert qm.statistics()["unanswered"] == 0
        assert server.bodies("Q") == BODIES
        with pytest.raises(e.UnitEnded, match="has been committed"):
            await units[0].commit()


async def test_many_tasks_wait_for_the_same_commits(server: Loopback) -> None:
    waiting: list[asyncio.Task[object]]
    units: list[adapter.aio.Unit] = []
    have_all_put = asyncio.Event()

    async def commit_one(qm: adapter.aio.Connection) -> None:
        async with qm.queue("Q") as queue, qm.unit() as unit:
            await queue.put(b"x", wait=False)
            units.append(unit)
            if len(units) == 20:
                have_all_put.set()
            await unit.commit(wait=False)

    async with await adapter.aio.connect(server.address) as qm:
        server.holds = (c.Commit,)
        for body in BODIES[:-1]:
            await committed(qm, body)
        waiting = [asyncio.create_task(commit_one(qm)) for _ in range(20)]
        waiting += [asyncio.create_task(qm.flush()) for _ in range(20)]
        await asyncio.wait_for(have_all_put.wait(), 10)
        for one in waiting[::4]:
            one.cancel()
        await asyncio.to_thread(server.release)
        await asyncio.wait_for(asyncio.wait(waiting), 10)
        outcomes = [one.cancelled() for one in waiting]
        assert outcomes[20::4] == [True] * 5  # a flush ends at once
        assert sum(outcomes[20:]) == 5
        await qm.flush()
        assert server.bodies("Q").count(b"x") == 20  # what waits for room is committed first


async def put(qm: adapter.aio.Connection) -> None:
    await committed(qm, b"x")


async def test_a_failure_is_raised_by_the_next_commit_which_commits_nothing(
    shut: Loopback,
) -> None:
    async with await adapter.aio.connect(shut.address) as qm:
        failing = await committed(qm, b"x", "SHUT")
        with pytest.raises(e.PutInhibited, match="SHUT") as caught:
            async with qm.unit() as unit:
                await qm.queue("Q").put(b"not put")
        (failure,) = caught.value.units_failed
        assert (failure.unit_id, failure.message_ids) == (failing.id, failing.message_ids)
        assert failure.error is caught.value
        assert not unit.is_open
        await qm.flush()  # it has been raised
        async with qm.unit():
            await qm.put("Q", b"put")
        assert shut.bodies("Q") == [b"put"]


async def test_flush_raises_the_first_failure_with_all_others(shut: Loopback) -> None:
    async with await adapter.aio.connect(shut.address) as qm:
        shut.holds = (c.Commit,)
        units = [await committed(qm, b"x", to) for to in ("SHUT", "Q", "SHUT")]
        await asyncio.to_thread(shut.release)
        with pytest.raises(e.PutInhibited) as caught:
            await qm.flush()
        failed = [one.unit_id for one in caught.value.units_failed]
        assert failed == [units[0].id, units[2].id]
        assert shut.bodies("Q") == [b"x"]


async def test_a_cancelled_flush_leaves_them_in_flight(shut: Loopback) -> None:
    async with await adapter.aio.connect(shut.address) as qm:
        shut.holds = (c.Commit,)
        await committed(qm, b"x", "SHUT")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await qm.flush()
        await asyncio.to_thread(shut.release)
        with pytest.raises(e.PutInhibited):
            await qm.flush()


async def test_a_unit_that_waits_for_room_is_committed_before_its_cancellation(
    server: Loopback,
) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        server.holds = (c.Commit,)
        for body in BODIES[:-1]:
            await committed(qm, body)
        last = asyncio.create_task(_commit_and_sleep(qm))
        await asyncio.wait([last], timeout=0.05)
        last.cancel()
        await asyncio.wait([last], timeout=0.05)
        assert not last.done()
        await asyncio.to_thread(server.release)
        await asyncio.wait([last])
        assert last.cancelled()
        await qm.flush()
        assert server.bodies("Q") == BODIES


async def _commit_and_sleep(qm: adapter.aio.Connection) -> None:
    await committed(qm, BODIES[-1])
    await asyncio.Event().wait()


async def test_close_waits_and_raises(shut: Loopback) -> None:
    qm = await adapter.aio.connect(shut.address)
    await committed(qm, b"x")
    await qm.close()
    assert shut.bodies("Q") == [b"x"]
    failing = await adapter.aio.connect(shut.address)
    with pytest.raises(e.PutInhibited):
        async with failing:
            await committed(failing, b"x", "SHUT")
    assert failing.is_closed


async def test_another_error_that_ends_a_connection_is_not_replaced(
    shut: Loopback, caplog: pytest.LogCaptureFixture
) -> None:
    qm = await adapter.aio.connect(shut.address)
    with pytest.raises(ZeroDivisionError):  # noqa: PT012
        async with qm:
            await committed(qm, b"x", "SHUT")
            raise ZeroDivisionError
    assert qm.is_closed
    assert "PutInhibited" in caplog.text


async def test_a_lost_connection_loses_none_that_arrived(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        server.holds = (c.Commit,)
        for body in BODIES[:-1]:
            await committed(qm, body)
        await asyncio.to_thread(until, lambda: server.bodies("Q") == BODIES[:-1])
        server.holds = ()
        await asyncio.to_thread(server.cut_all)
        await qm.flush()
        assert server.bodies("Q") == BODIES[:-1]


async def test_without_a_queue_manager_they_are_in_doubt(server: Loopback) -> None:
    qm = await adapter.aio.connect(server.address, reconnect_timeout_s=0.2)
    server.holds = (c.Commit,)
    units = [await committed(qm, b"x") for _ in range(3)]
    await asyncio.to_thread(until, lambda: server.count(c.Commit) == 3)
    await asyncio.to_thread(server.crash)
    with pytest.raises(e.InDoubt) as caught:
        await qm.flush()
    assert [one.unit_id for one in caught.value.units_failed] == [unit.id for unit in units]
    await qm.close()


async def test_a_get_with_a_unit_of_its_own_leaves_failures_to_the_program(shut: Loopback) -> None:
    """The program has not committed: what failed is raised where it commits, or flushes."""
    async with await adapter.aio.connect(shut.address) as qm:
        await qm.put("Q", b"there")
        failed = await committed(qm, b"x", "SHUT")
        await asyncio.to_thread(until, lambda: not qm.statistics()["unanswered"])
        message = await qm.get("Q", timeout=5)
        assert message is not None
        assert message.body == b"there"
        with pytest.raises(e.PutInhibited) as caught:
            await qm.flush()
        assert [one.unit_id for one in caught.value.units_failed] == [failed.id]
