"""put_many from a task: in order, once, the beginning of what was given, also when cancelled."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

import adapter
from adapter import errors as e
from adapter.client.put_many import IN_FLIGHT_MAX
from adapter.core.contract import commands as c
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from tests.support.loopback import Loopback
from tests.support.scripted import Command


def numbered(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


@pytest.mark.parametrize(("count", "units"), [(0, 0), (1, 1), (10, 1), (95, 10)])
async def test_everything_is_put_in_order_in_units(
    server: Loopback, count: int, units: int
) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        assert await qm.queue("Q").put_many(iter(numbered(count)), unit_size=10) == count
        assert server.bodies("Q") == numbered(count)
        assert server.count(c.Commit) == units


async def test_other_tasks_go_on_meanwhile(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        server.holds = (c.Commit,)
        putting = asyncio.create_task(queue.put_many(numbered(100), unit_size=10))
        while server.count(c.Commit) < IN_FLIGHT_MAX:
            assert await queue.depth() >= 0
        assert not putting.done()
        await asyncio.to_thread(server.release)
        assert await putting == 100
        assert server.bodies("Q") == numbered(100)


@pytest.mark.parametrize("at", range(1, 8))
async def test_a_unit_on_a_new_connection_does_not_overtake_one_that_was_lost(
    server: Loopback, at: int
) -> None:
    commits = 0

    def cut(number: int, command: Command) -> Refused | None:
        nonlocal commits
        commits += isinstance(command, c.Commit)
        if not isinstance(command, c.Commit) or commits != at:
            return None
        server.clients[number].cut()
        return Refused(Reason.UNEXPECTED_ERROR)  # which is not sent any more

    async with await adapter.aio.connect(server.address) as qm:
        server.before = cut
        assert await qm.queue("Q").put_many(numbered(12), unit_size=1) == 12
        assert server.bodies("Q") == numbered(12)
        assert qm.statistics()["connections_lost"] == 1


async def test_a_unit_refused_in_the_middle_ends_it_there(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        await qm.alter_queue("Q", max_depth=45)
        with pytest.raises(e.QueueFull) as caught:
            await qm.queue("Q").put_many(numbered(100), unit_size=10)
        assert caught.value.messages_put == 40
        assert "40 messages were put before" in caught.value.__notes__
        assert server.bodies("Q") == numbered(40)
        figures = qm.statistics()
        assert (figures["units"], figures["unanswered"]) == (0, 0)


async def test_an_iterable_that_fails_leaves_whole_units(server: Loopback) -> None:
    def failing() -> Iterator[bytes]:
        yield from numbered(25)
        raise ZeroDivisionError

    async with await adapter.aio.connect(server.address) as qm:
        with pytest.raises(ZeroDivisionError) as caught:
            await qm.queue("Q").put_many(failing(), unit_size=10)
        assert caught.value.__notes__ == ["20 messages were put before"]
        assert server.bodies("Q") == numbered(20)


async def test_inside_a_unit_everything_belongs_to_it(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        async with qm.unit():
            assert await queue.put_many(numbered(25), unit_size=10) == 25
            assert server.bodies("Q") == []
        assert server.bodies("Q") == numbered(25)
        assert server.count(c.Commit) == 1
        async with qm.unit() as unit:
            await queue.put_many(numbered(5))
            await unit.backout()
        assert await queue.depth() == 25


@pytest.mark.parametrize("kind", [c.Put, c.Commit], ids=["put", "commit"])
@pytest.mark.parametrize("direction", ["received", "sent"])
async def test_lost_connections_neither_lose_nor_double_nor_reorder(
    server: Loopback, direction: str, kind: type
) -> None:
    seen = 0

    def cut_now_and_then(number: int, command: Command) -> Refused | None:
        nonlocal seen
        seen += isinstance(command, kind)
        if isinstance(command, kind) and seen % 3 == 0:
            setattr(server.clients[number].budget, direction, seen % 40)
        return None

    async with await adapter.aio.connect(server.address) as qm:
        server.before = cut_now_and_then
        assert await qm.queue("Q").put_many(numbered(200), unit_size=10) == 200
        assert qm.statistics()["connections_lost"] >= 5
        assert server.bodies("Q") == numbered(200)


async def test_a_cancellation_gives_the_unit_at_hand_back(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")

        fourth = threading.Event()

        def hold(_number: int, command: Command) -> Refused | None:
            if isinstance(command, c.Commit) and server.count(c.Commit) == 2:
                server.holds = (c.Put,)
            elif isinstance(command, c.Put) and server.count(c.Commit) == 3:
                fourth.set()
            return None

        server.before = hold
        putting = asyncio.create_task(queue.put_many(numbered(100), unit_size=10))
        assert await asyncio.to_thread(fourth.wait, 10)
        putting.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await putting
        assert caught.value.__notes__ == ["30 messages were put before"]
        await asyncio.to_thread(server.release)
        await queue.depth()
        assert server.bodies("Q") == numbered(30)
        assert server.call(lambda: server.qm.queues["Q"].uncommitted_puts) == 0
        figures = qm.statistics()
        assert (figures["units"], figures["unanswered"]) == (0, 0)


async def test_a_cancellation_comes_behind_the_commits_that_were_sent(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        server.holds = (c.Commit,)
        putting = asyncio.create_task(queue.put_many(numbered(100), unit_size=10))
        last = threading.Event()

        def see(_number: int, command: Command) -> Refused | None:
            if isinstance(command, c.Commit) and server.count(c.Commit) == IN_FLIGHT_MAX - 1:
                last.set()
            return None

        server.before = see
        assert await asyncio.to_thread(last.wait, 10)
        putting.cancel()
        await asyncio.sleep(0.1)
        assert not putting.done()
        await asyncio.to_thread(server.release)
        with pytest.raises(asyncio.CancelledError) as caught:
            await putting
        assert caught.value.__notes__ == ["40 messages were put before"]
        assert server.bodies("Q") == numbered(40)


async def test_a_cancellation_ends_at_once_without_a_connection(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        await queue.put_many([b"first"])
        await asyncio.to_thread(server.crash)
        await asyncio.sleep(0.05)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await queue.put_many(numbered(100), unit_size=10)
        await asyncio.to_thread(server.start)
        await queue.put(b"last")
        assert server.bodies("Q") == [b"first", b"last"]


async def test_a_cancellation_inside_a_unit_backs_it_out(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        server.holds = (c.Put,)
        with pytest.raises(TimeoutError):  # noqa: PT012
            async with asyncio.timeout(0.1):
                async with qm.unit():
                    await queue.put_many(numbered(100), unit_size=10)
        await asyncio.to_thread(server.release)
        assert await queue.depth() == 0
