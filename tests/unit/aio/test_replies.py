"""Request and reply between tasks."""

import asyncio
from collections.abc import Iterator

import pytest

import adapter
import adapter.testing
from adapter import errors as e
from adapter.testing import TestQueueManager
from tests.support.awaited import until


@pytest.fixture
def manager() -> Iterator[TestQueueManager]:
    with adapter.testing.queue_manager() as running:
        with running.connect() as admin:
            admin.define_queue("Q")
        yield running


async def serve(qm: adapter.aio.Connection, count: int) -> None:
    queue = qm.queue("Q")
    for _ in range(count):
        message = await queue.get(timeout=10)
        assert message is not None
        await qm.reply(message, message.body + b"!")


async def test_each_task_gets_its_own_reply(manager: TestQueueManager) -> None:
    async with await adapter.aio.connect(manager.address) as qm:
        queue = qm.queue("Q")
        serving = asyncio.create_task(serve(qm, 50))
        asked = [b"%d" % n for n in range(50)]
        replies = await asyncio.gather(*(queue.request(body, timeout=10) for body in asked))
        assert [reply.body for reply in replies] == [body + b"!" for body in asked]
        await serving


async def test_no_reply_and_no_request_in_a_unit(manager: TestQueueManager) -> None:
    async with await adapter.aio.connect(manager.address) as qm:
        queue = qm.queue("Q")
        with pytest.raises(e.NoReply, match="no reply came within 50 ms"):
            await queue.request(b"x", timeout=0.05)
        async with qm.unit():
            with pytest.raises(e.UnitInProgress):
                await queue.request(b"x", timeout=0.05)
        with pytest.raises(e.InvalidType):
            await qm.reply(b"x", b"y")  # type: ignore[arg-type]


async def test_a_cancelled_request_leaves_the_queue_usable(manager: TestQueueManager) -> None:
    async with await adapter.aio.connect(manager.address) as qm:
        queue = qm.queue("Q")
        asking = asyncio.create_task(queue.request(b"x", timeout=None))
        await until(queue.depth)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        serving = asyncio.create_task(serve(qm, 2))
        assert (await queue.request(b"y", timeout=10)).body == b"y!"
        await serving
