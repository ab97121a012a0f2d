"""A cancellation that comes behind an outcome, and one that does not come any more."""

import asyncio
import gc
import weakref

import pytest

import adapter
from adapter.aio.waiting import cancel_later, let_send
from adapter.core.contract import commands as c
from tests.support.loopback import Loopback, OnCommand


async def expire(block: asyncio.Timeout, server: Loopback, command: OnCommand) -> None:
    """Let a timeout run out once a command has come, and only then let it be answered."""
    await asyncio.to_thread(command.arrived.wait, 20)
    block.reschedule(asyncio.get_running_loop().time())
    await asyncio.sleep(0.01)  # it has run out
    assert block.expired()
    await asyncio.to_thread(server.release)


async def test_a_timeout_that_was_left_cancels_nothing_afterwards(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        await queue.put(b"x")
        server.holds = (c.Get,)
        command = OnCommand(server, c.Get)
        async with asyncio.timeout(None) as block:
            expiring = asyncio.create_task(expire(block, server, command))
            got = await queue.get()
        assert block.expired()
        assert got is not None
        assert got.body == b"x"
        await asyncio.sleep(0.05)  # nothing cancels it
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await expiring


async def test_a_timeout_that_goes_on_cancels_the_next_wait(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        server.holds = (c.Put,)
        command = OnCommand(server, c.Put)
        steps = []
        with pytest.raises(TimeoutError):  # noqa: PT012
            async with asyncio.timeout(None) as block:
                expiring = asyncio.create_task(expire(block, server, command))
                await queue.put(b"x")
                steps.append("put")
                await asyncio.sleep(30)
        assert steps == ["put"]
        assert server.bodies("Q") == [b"x"]
        await expiring


async def test_a_cancelled_task_ends(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        server.holds = (c.Put,)

        async def put_for_ever() -> None:
            while True:
                await queue.put(b"x")

        putting = asyncio.create_task(put_for_ever())
        await asyncio.sleep(0.1)
        putting.cancel()
        await asyncio.to_thread(server.release)
        with pytest.raises(asyncio.CancelledError):
            await putting


async def test_what_was_not_sent_is_cancelled_at_once(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        await queue.put(b"first")
        await asyncio.to_thread(server.crash)
        await asyncio.sleep(0.05)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await queue.put(b"never")
        await asyncio.to_thread(server.start)
        await queue.put(b"second")
        assert server.bodies("Q") == [b"first", b"second"]


async def test_a_pause_of_no_time_swallows_no_cancellation(server: Loopback) -> None:
    """Not even one that comes behind an outcome, and so finds the task in the pause."""
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        steps = []

        async def work() -> None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError as cancelled:
                cancel_later(cancelled.args)
            steps.append(await queue.pause(0))
            await asyncio.Event().wait()

        working = asyncio.create_task(work())
        await asyncio.sleep(0)
        working.cancel()
        await asyncio.wait([working], timeout=5)
        assert working.cancelled()
        assert steps == [False]


class Work:
    """What a task has in hand."""


async def test_a_cancellation_that_is_put_off_holds_nothing_of_the_task() -> None:
    """What was got ahead is given back when it is freed: not when the garbage collector comes."""
    held: list[weakref.ref[Work]] = []

    async def run() -> None:
        work = Work()
        held.append(weakref.ref(work))
        await let_send()
        await asyncio.sleep(30)

    gc.disable()
    try:
        task = asyncio.create_task(run())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        del task
        await asyncio.sleep(0)
        assert [one() for one in held] == [None]
    finally:
        gc.enable()
