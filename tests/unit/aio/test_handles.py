"""Handles of queue objects of tasks: an opening that is cancelled, and the next one."""

import asyncio

import pytest

import adapter
from adapter import errors as e
from adapter.core.contract import commands as c
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from tests.support.awaited import until
from tests.support.loopback import Loopback
from tests.support.scripted import Command


def refuse_opens(_: int, command: Command) -> Refused | None:
    if isinstance(command, c.Open):
        return Refused(Reason.AUTHORITY_MISSING, "Q")
    return None


@pytest.mark.parametrize("cancelled", range(3))
async def test_an_opening_that_was_cancelled_without_a_link_is_made_again(
    server: Loopback, cancelled: int
) -> None:
    """The handle had a number before, and could not be opened again when a link was made."""
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        assert await queue.get() is None
        server.before = refuse_opens
        server.cut_all()
        await until(lambda: qm.statistics()["reconnects"] == 1)
        with pytest.raises(e.NotAuthorized):
            await queue.get()
        server.before = lambda _number, _command: None
        server.crash()
        await until(lambda: not qm.statistics()["connected"])
        for _ in range(cancelled):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.02):
                    await queue.get()
        waiting = asyncio.create_task(queue.get())
        await asyncio.sleep(0.02)
        server.start()
        assert await asyncio.wait_for(waiting, 10) is None
        await queue.put(b"x")
        got = await queue.get(timeout=5)
        assert got is not None
        server.cut_all()
        await queue.put(b"y")
        assert await queue.get(timeout=5) is not None
