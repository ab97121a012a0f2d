"""Verbs of tasks at the bounds of a connection: each ends, and no unit stays open.

As many commands are unanswered as a connection may have, and more tasks wait for their turn. What
is asked then is answered when there is room, or fails when the connection is not made again in
time; tasks that are cancelled meanwhile stop no others.
"""

import asyncio
from contextlib import suppress

import pytest

import adapter
from adapter import errors as e
from adapter.connection.channel.deferred import KEPT_BYTES_MAX
from adapter.connection.channel.numbering import UNANSWERED_MAX
from adapter.core.contract import commands as c
from tests.support.awaited import until
from tests.support.loopback import Loopback

END_S = 20.0
"""No verb may take longer: a connection is tried again for RECONNECT_S."""
RECONNECT_S = 0.3
TASKS = 800
"""More than the commands that one connection leaves unanswered."""


class Site:
    """A connection whose puts to P are not answered, and a queue Q with messages."""

    def __init__(self, server: Loopback, qm: adapter.aio.Connection) -> None:
        self.server = server
        self.qm = qm
        self.queue = qm.queue("Q")
        self.tasks: list[asyncio.Task[object]] = []

    async def fill(self) -> None:
        """Have as many puts under way as the connection takes, and tasks that wait behind them."""
        await self.queue.put(b"first")
        await self.queue.put(b"second")
        async for _ in self.queue.browse():
            break
        self.server.holds = (c.Put, c.Commit)
        waiting = self.qm.queue("P")
        self.tasks = [asyncio.create_task(waiting.put(b"%d" % n)) for n in range(TASKS)]
        await until(lambda: self.qm.statistics()["unanswered"] > UNANSWERED_MAX // 2)
        await asyncio.sleep(0.05)  # more than the turns that the others need to come to wait

    async def settle(self) -> None:
        """Let everything end."""
        await asyncio.to_thread(self.server.release)
        async with asyncio.timeout(END_S):
            for ended in await asyncio.gather(*self.tasks, return_exceptions=True):
                assert isinstance(ended, e.Error | asyncio.CancelledError) or not isinstance(
                    ended, BaseException
                ), ended

    async def check(self) -> None:
        """See that the connection is whole, and that no unit is open at the queue manager."""
        async with asyncio.timeout(END_S):
            with suppress(e.InDoubt, e.BackedOut):  # of commits in flight
                await self.qm.flush()
            await self.qm.put("Q", b"last")
            await until(lambda: not self.open_units())

    def open_units(self) -> int:
        connections = self.server.qm.connections
        return self.server.call(lambda: sum(len(one.units) for one in connections.values()))


async def put(site: Site) -> None:
    await site.queue.put(b"x")


async def get(site: Site) -> None:
    await site.queue.get()


async def get_waiting(site: Site) -> None:
    await site.queue.get(timeout=0.1)


async def browse(site: Site) -> None:
    async for _ in site.queue.browse():
        pass


async def work(site: Site) -> None:
    async for unit in site.queue.units(timeout=0.1):
        async with unit:
            pass
        break


async def work_ahead(site: Site) -> None:
    async for unit in site.queue.units(timeout=0.1, prefetch=4, commits=4):
        async with unit:
            pass


async def fail_in_a_unit(site: Site) -> None:
    async with site.qm.unit():
        await site.queue.get()
        raise e.InvalidValue("as a program's own")


async def put_many(site: Site) -> None:
    await site.queue.put_many([b"1", b"2", b"3"], unit_size=1)


async def commit(site: Site) -> None:
    async with site.qm.unit():
        await site.queue.put(b"x", wait=False)


async def ask(site: Site) -> None:
    await site.queue.request(b"x", timeout=0.1)


async def look(site: Site) -> None:
    await site.queue.depth()


async def open_another(site: Site) -> None:
    queue = site.qm.queue("Q")
    await queue.get()
    await queue.close()


VERBS = (
    *(put, get, get_waiting, browse, work, work_ahead, fail_in_a_unit, put_many, commit, ask),
    *(look, open_another),
)


@pytest.fixture
def site_server(server: Loopback) -> Loopback:
    with adapter.connect(server.address) as qm:
        qm.define_queue("P")
    return server


@pytest.mark.parametrize("comes_back", [None, True, False])
async def test_every_verb_ends_at_the_bound_of_unanswered_commands(
    site_server: Loopback, comes_back: bool | None
) -> None:
    """comes_back: after a loss of the connection in that moment; None: it is not lost."""
    server = site_server
    async with await adapter.aio.connect(server.address, reconnect_timeout_s=RECONNECT_S) as qm:
        site = Site(server, qm)
        await site.fill()
        for verb in VERBS:
            site.tasks += [asyncio.create_task(verb(site), name=verb.__name__) for _ in range(3)]
            await asyncio.sleep(0)
            site.tasks[-1].cancel()
        if comes_back is not None:
            await asyncio.to_thread(server.crash)
        if comes_back is False:
            async with asyncio.timeout(END_S):
                await asyncio.gather(*site.tasks, return_exceptions=True)
        if comes_back is not None:
            await asyncio.to_thread(server.start)
        await site.settle()
        await site.check()


async def test_units_that_fail_when_no_command_more_may_be_sent_are_backed_out(
    site_server: Loopback,
) -> None:
    server = site_server
    async with await adapter.aio.connect(server.address) as qm:
        site = Site(server, qm)
        await asyncio.gather(*(site.queue.put(b"%d" % n) for n in range(TASKS)))
        have, fail = 0, asyncio.Event()
        all_have = asyncio.Event()

        async def work_and_fail() -> None:
            nonlocal have
            async with qm.unit():
                assert await site.queue.get() is not None
                have += 1
                if have == TASKS:
                    all_have.set()
                await fail.wait()
                raise KeyError

        failing = [asyncio.create_task(work_and_fail()) for _ in range(TASKS)]
        await all_have.wait()
        fail.set()
        ended = await asyncio.gather(*failing, return_exceptions=True)
        assert {type(one) for one in ended} == {KeyError}
        await site.check()
        assert len(server.bodies("Q")) == TASKS + 1


async def test_finding_client_10_puts_that_do_not_wait_let_other_tasks_go_on(
    server: Loopback,
) -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with await adapter.aio.connect(server.address) as qm:
        queue = await qm.queue("Q", open_for="output")
        counting = asyncio.create_task(count())
        async with qm.unit():
            for n in range(40):
                before = turns
                await queue.put(bytes(KEPT_BYTES_MAX), wait=False)
                assert turns > before, n
        counting.cancel()
    assert len(server.bodies("Q")) == 40


async def test_finding_client_10_puts_that_do_not_wait_have_a_bound(server: Loopback) -> None:
    """What the queue manager does not take does not fill the memory: the task waits for room."""
    async with await adapter.aio.connect(server.address) as qm:
        queue = await qm.queue("Q", open_for="output")
        unit, done = qm.unit(), 0
        await asyncio.to_thread(server.stall)

        async def fill() -> None:
            nonlocal done
            async with unit:
                while True:
                    await queue.put(bytes(1024 * 1024), wait=False)
                    done += 1

        filling = asyncio.create_task(fill())
        await asyncio.sleep(0.5)
        assert done < 30
        assert not filling.done()
        filling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await filling
        with pytest.raises(e.UnitEnded):
            unit.check_open()
        await asyncio.to_thread(server.stall, ends=True)
        await until(lambda: not qm.statistics()["units"])
    assert server.bodies("Q") == []
