"""Units ahead of a loop of a task: in order, each once, and uncounted unless it was shown."""

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import adapter
from adapter import errors as e
from adapter.aio.work import TaskUnits, TaskWork
from adapter.core.contract import commands as c
from tests.support.backlog import until
from tests.support.loopback import Loopback

BODIES = [b"%d" % number for number in range(40)]
OPTIONS = [(0, 1), (1, 1), (8, 1), (0, 8), (8, 8)]
Leave = Callable[[adapter.aio.Queue], Awaitable[None]]


@pytest.fixture
def full(server: Loopback) -> Loopback:
    """A scripted queue manager with messages on Q."""
    with adapter.connect(server.address) as qm:
        qm.queue("Q").put_many(BODIES)
        qm.define_queue("OUT")
        qm.define_queue("SHUT", inhibit_put=True)
    return server


def held(server: Loopback) -> int:
    """How many units are open at the queue manager."""
    return server.call(lambda: sum(len(one.units) for one in server.qm.connections.values()))


def waiting(server: Loopback) -> bool:
    """Whether a get waits."""
    return server.call(lambda: any(one.waiters for one in server.qm.connections.values()))


def counts(server: Loopback) -> dict[bytes, int]:
    """The messages on Q, and how often they were backed out."""
    with adapter.connect(server.address) as qm:
        return {message.body: message.backout_count for message in qm.queue("Q").browse()}


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait in a thread, so that the tasks of this loop run."""
    await asyncio.to_thread(until, condition)


async def ahead(queue: adapter.aio.Queue) -> TaskUnits:
    """A loop that has shown ten units, so that it has eight ahead."""
    units = queue.units(timeout=5, prefetch=8)
    for _ in range(10):
        async with await anext(units):
            pass
    return units


@pytest.mark.parametrize(("prefetch", "commits"), OPTIONS)
@pytest.mark.parametrize("size", [1, 3])
async def test_every_message_comes_once_and_in_order(
    full: Loopback, prefetch: int, commits: int, size: int
) -> None:
    async with await adapter.aio.connect(full.address) as qm:
        out = qm.queue("OUT")
        units = qm.queue("Q").units(size, timeout=0, prefetch=prefetch, commits=commits)
        async for unit in units:
            async with unit:
                for message in unit.messages:
                    await out.put(message.body, wait=False)
        assert full.bodies("OUT") == BODIES
        assert qm.statistics()["unanswered"] == 0
        await out.depth()
        assert (held(full), qm.statistics()["units"]) == (0, 0)


@pytest.mark.parametrize(("prefetch", "commits"), OPTIONS)
async def test_a_failed_unit_comes_again_before_what_was_ahead(
    full: Loopback, prefetch: int, commits: int
) -> None:
    failing = {b"5", b"20", b"39"}
    seen = []
    async with await adapter.aio.connect(full.address) as qm:
        async for unit in qm.queue("Q").units(timeout=0, prefetch=prefetch, commits=commits):
            async with unit:
                (message,) = unit.messages
                seen.append((message.body, message.backout_count))
                if message.body in failing:
                    failing.remove(message.body)
                    raise ZeroDivisionError
        expected = [(body, 0) for body in BODIES]
        for number in (39, 20, 5):
            expected.insert(number + 1, (b"%d" % number, 1))
        assert seen == expected
        assert full.bodies("Q") == []


async def leave_by_break(queue: adapter.aio.Queue) -> None:
    turn = 0
    async for unit in queue.units(prefetch=8):
        if turn == 10:
            await unit.backout()
            break
        async with unit:
            turn += 1


async def leave_by_error(queue: adapter.aio.Queue) -> None:
    turn = 0
    with pytest.raises(LookupError):  # noqa: PT012
        async for unit in queue.units(prefetch=8):
            if turn == 10:
                await unit.backout()
                raise LookupError
            async with unit:
                turn += 1


async def leave_by_aclose(queue: adapter.aio.Queue) -> None:
    units = await ahead(queue)
    await anext(units)
    await units.aclose()
    with pytest.raises(StopAsyncIteration):
        await anext(units)


async def leave_by_cancellation(queue: adapter.aio.Queue) -> None:
    is_there = asyncio.Event()

    async def work() -> None:
        turn = 0
        async for unit in queue.units(prefetch=8):
            async with unit:
                if turn == 10:
                    is_there.set()
                    await asyncio.Event().wait()
                turn += 1

    working = asyncio.create_task(work())
    await is_there.wait()
    working.cancel()
    await asyncio.wait([working])
    assert working.cancelled()


async def leave_to_the_garbage_collector(queue: adapter.aio.Queue) -> None:
    """It runs in another thread, and the event loop is told of it."""
    units = await ahead(queue)
    unit = await anext(units)
    cycle: list[object] = [units]
    cycle.append(cycle)
    del units, cycle
    await asyncio.to_thread(gc.collect)
    with pytest.raises(e.UnitEnded):
        await unit.commit()


@pytest.mark.parametrize(
    "leave",
    [
        leave_by_break,
        leave_by_error,
        leave_by_aclose,
        leave_by_cancellation,
        leave_to_the_garbage_collector,
    ],
)
async def test_leaving_the_loop_gives_back_what_was_not_shown_uncounted(
    full: Loopback, leave: Leave
) -> None:
    async with await adapter.aio.connect(full.address) as qm:
        await leave(qm.queue("Q"))
        await eventually(lambda: full.bodies("Q") == BODIES[10:])
        assert counts(full) == {body: int(body == b"10") for body in BODIES[10:]}
        assert held(full) == 0


async def test_what_is_asked_behind_a_break_finds_everything_in_its_place(full: Loopback) -> None:
    async with await adapter.aio.connect(full.address) as qm:
        queue = qm.queue("Q")
        async for unit in queue.units(prefetch=8):
            async with unit:
                if unit.messages[0].body == b"10":
                    break
        got = await queue.get()
        assert got is not None
        assert (got.body, got.backout_count) == (b"11", 0)


@pytest.mark.parametrize("prefetch", [0, 8])
async def test_messages_taken_for_a_cancelled_step_come_back_uncounted(
    full: Loopback, prefetch: int
) -> None:
    """The step is cancelled when the queue manager has taken them, and the answers are on the way.

    The loop may go on.
    """
    async with await adapter.aio.connect(full.address) as qm:
        units = qm.queue("Q").units(prefetch=prefetch)
        for _ in range(10):
            async with await anext(units):
                pass
        full.holds = (c.Get,)
        shown = 10
        while True:
            stepping = asyncio.create_task(_step(units))
            if not (await asyncio.wait([stepping], timeout=0.1))[0]:
                break
            async with stepping.result():
                shown += 1
        await eventually(lambda: len(full.bodies("Q")) <= 39 - shown)
        stepping.cancel()
        await asyncio.wait([stepping])
        assert stepping.cancelled()
        await eventually(lambda: full.bodies("Q") == BODIES[shown:])
        assert counts(full) == dict.fromkeys(BODIES[shown:], 0)
        await asyncio.to_thread(full.release)
        async with await anext(units) as unit:
            assert unit.messages[0].body == BODIES[shown]


async def _step(units: TaskUnits) -> TaskWork:
    return await anext(units)


async def test_closing_the_queue_gives_back_what_is_ahead_at_once(full: Loopback) -> None:
    async with await adapter.aio.connect(full.address) as qm:
        queue = qm.queue("Q")
        units = await ahead(queue)
        async with await anext(units) as unit:
            await eventually(lambda: len(full.bodies("Q")) == len(BODIES) - 11 - 8)
            await queue.close()
            assert full.bodies("Q") == BODIES[11:]
            assert unit.messages[0].body == b"10"
        with pytest.raises(StopAsyncIteration):
            await anext(units)
        assert counts(full) == dict.fromkeys(BODIES[11:], 0)
        assert held(full) == 0


@pytest.mark.parametrize("prefetch", [0, 8])
@pytest.mark.parametrize("closed", ["queue", "connection"])
async def test_a_loop_that_waits_ends_when_the_queue_is_closed(
    server: Loopback, prefetch: int, closed: str
) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        stepping = asyncio.create_task(_step(queue.units(prefetch=prefetch)))
        await eventually(lambda: waiting(server))
        await (queue if closed == "queue" else qm).close()
        await asyncio.wait([stepping])
        assert isinstance(stepping.exception(), StopAsyncIteration | RuntimeError)
        await eventually(lambda: held(server) == 0)


async def test_the_loop_ends_when_nothing_comes_in_time(full: Loopback) -> None:
    waits: list[int] = []
    full.before = lambda _n, command: (
        waits.append(command.wait_ms) if isinstance(command, c.Get) else None
    )
    async with await adapter.aio.connect(full.address) as qm:
        seen = []
        async for unit in qm.queue("Q").units(timeout=0.1, prefetch=8):
            async with unit:
                seen.append(unit.messages[0].body)
        assert seen == BODIES
        assert max(waits) <= 100


async def test_a_lost_connection_is_outlived_in_order(full: Loopback) -> None:
    done: list[bytes] = []
    async with await adapter.aio.connect(full.address) as qm:
        turn = 0
        async for unit in qm.queue("Q").units(timeout=0.2, prefetch=8):
            async with unit:
                turn += 1
                if turn % 5 == 0:
                    await asyncio.to_thread(full.cut_all)
                    await eventually(lambda: not unit.channel.holds(unit.on_wire))  # noqa: B023
            if not unit.failed:
                done.append(unit.messages[0].body)
        assert done == BODIES
        assert full.bodies("Q") == []
        assert qm.statistics()["connections_lost"] >= 8


async def test_a_commit_that_failed_is_raised_by_the_next_step(full: Loopback) -> None:
    shown: list[adapter.Message] = []
    async with await adapter.aio.connect(full.address) as qm:
        shut = qm.queue("SHUT")

        async def work() -> None:
            async for unit in qm.queue("Q").units(timeout=1, prefetch=2, commits=4):
                async with unit:
                    shown.append(unit.messages[0])
                    if shown[-1].body == b"5":
                        await shut.put(b"x", wait=False)

        with pytest.raises(e.PutInhibited) as caught:
            await work()
        (failure,) = caught.value.units_failed
        assert shown[5].message_id in failure.message_ids
        assert len(shown) < 12
        await qm.flush()  # it has been raised
        await eventually(lambda: held(full) == 0)
        assert counts(full)[b"5"] == 1
        assert sum(counts(full).values()) == 1
        assert (held(full), qm.statistics()["unanswered"]) == (0, 0)


async def test_commits_that_a_break_leaves_in_flight_are_raised_by_flush(full: Loopback) -> None:
    async with await adapter.aio.connect(full.address) as qm:
        shut = qm.queue("SHUT")
        async for unit in qm.queue("Q").units(commits=8):
            async with unit:
                await shut.put(b"x", wait=False)
                break
        with pytest.raises(e.PutInhibited):
            await qm.flush()
        assert full.bodies("Q") == BODIES


async def test_leaving_a_block_does_not_wait_for_the_commit(full: Loopback) -> None:
    async with await adapter.aio.connect(full.address) as qm:
        full.holds = (c.Commit,)
        units = qm.queue("Q").units(timeout=0, commits=3)
        for _ in range(3):
            async with await anext(units):
                pass
        assert qm.statistics()["unanswered"] == 3
        fourth = await anext(units)
        leaving = asyncio.create_task(_leave(fourth))
        await asyncio.wait([leaving], timeout=0.05)
        assert not leaving.done()
        await asyncio.to_thread(full.release)
        await leaving
        await units.aclose()
        await qm.flush()
        assert full.bodies("Q") == BODIES[4:]


async def _leave(unit: TaskWork) -> None:
    async with unit:
        pass


@pytest.mark.parametrize("prefetch", [0, 8])
async def test_an_older_queue_manager_gives_unit_by_unit(full: Loopback, prefetch: int) -> None:
    full.version = 1
    full.executed.clear()
    async with await adapter.aio.connect(full.address) as qm:
        seen = []
        async for unit in qm.queue("Q").units(timeout=0, prefetch=prefetch, commits=8):
            assert held(full) <= 2  # one whose commit is on its way
            async with unit:
                seen.append(unit.messages[0].body)
        assert seen == BODIES
        assert full.count(c.Touch) == 0
        assert not [one for one in full.executed if isinstance(one, c.Begin) and one.ahead]


@pytest.mark.parametrize("prefetch", [0, 8])
async def test_what_a_dead_program_was_shown_is_counted(full: Loopback, prefetch: int) -> None:
    dying = await adapter.aio.connect(full.address)
    unit = await anext(dying.queue("Q").units(prefetch=prefetch))
    assert unit.messages[0].body == b"0"
    await dying.disconnect(abrupt=True)
    await eventually(lambda: full.bodies("Q") == BODIES)
    assert counts(full) == {body: int(body == b"0") for body in BODIES}


async def test_a_loop_outlives_its_event_loop(full: Loopback) -> None:
    """The garbage collector finds it when the event loop is closed."""
    kept: list[TaskUnits] = []

    def run() -> None:
        async def work() -> None:
            qm = await adapter.aio.connect(full.address)
            kept.append(await ahead(qm.queue("Q")))
            await qm.disconnect(abrupt=True)

        asyncio.run(work())

    thread = threading.Thread(target=run)
    thread.start()
    await asyncio.to_thread(thread.join, 10)
    kept.clear()
    gc.collect()
    await eventually(lambda: full.bodies("Q") == BODIES[10:])


@pytest.mark.parametrize("options", [{"prefetch": -1}, {"prefetch": 101}, {"commits": 0}])
async def test_options_have_bounds(server: Loopback, options: dict[str, Any]) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        with pytest.raises(e.InvalidOption):
            qm.queue("Q").units(**options)
