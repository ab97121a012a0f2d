"""Administration from tasks: the verbs of the threaded SDK, awaited."""

import asyncio

import pytest

import adapter
from adapter import errors as e
from adapter.connection.wire.frames import AskServer
from adapter.core.contract import commands as c
from tests.support.loopback import Loopback, OnCommand


async def test_queues(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        await qm.define_queue("ORDERS", max_depth=7)
        with pytest.raises(e.QueueExists):
            await qm.define_queue("ORDERS")
        await qm.define_queue("ORDERS", replace=True, description="of all shops")
        await qm.alter_queue("ORDERS", max_depth=8)
        (found,) = await qm.queues("ORD*")
        assert (found.max_depth, found.description) == (8, "of all shops")
        await qm.put("ORDERS", b"x")
        (status,) = await qm.queue_status("ORDERS", reset=True)
        assert (status.current_depth, status.put_since_reset) == (1, 1)
        assert (await qm.queue_status("ORDERS"))[0].put_since_reset == 0
        with pytest.raises(e.QueueNotEmpty):
            await qm.delete_queue("ORDERS")
        await qm.delete_queue("ORDERS", purge=True)
        assert [queue.name for queue in await qm.queues()] == ["Q"]


async def test_objects_and_the_queue_manager(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        await qm.define_object("alias", "A", target="Q")
        await qm.alter_object("alias", "A", description="another name")
        (alias,) = await qm.objects("alias")
        assert alias.attributes["description"] == "another name"
        await qm.delete_object("alias", "A")
        with pytest.raises(e.ObjectNotFound):
            await qm.delete_object("alias", "A")
        await qm.define_process("P", appl_id="/bin/true", user_data="u")
        (process,) = await qm.objects("process")
        assert process.attributes["appl_id"] == "/bin/true"
        assert process.attributes["user_data"] == "u"
        await qm.alter_queue_manager(description="of tests")
        (own,) = await qm.objects("queue_manager", system=True)
        assert own.attributes["description"] == "of tests"


async def test_who_is_connected(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address, application="tasks") as qm:
        queue = qm.queue("Q")
        async with qm.unit():
            await queue.put(b"x")
            (unit,) = await qm.open_units()
            assert unit.puts == 1
            assert [handle.queue for handle in await qm.open_handles()] == ["Q"]
        with adapter.connect(server.address, application="other") as other:
            found = {one.application: one.number for one in await qm.connections()}
            assert await qm.end_connection(found["other"]) == 0
            assert other.queue("Q").depth() == 1
        with pytest.raises(e.ConnectionNotFound):
            await qm.end_connection(1_000)


async def test_the_process(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        assert await qm.figures() == {"name": "QM1"}
        await qm.stop_queue_manager(immediate=True)
        with pytest.raises(e.InvalidType):
            await qm.stop_queue_manager(immediate=1)  # type: ignore[arg-type]


async def test_a_cancelled_definition_has_its_outcome_first(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        server.holds = (c.DefineQueue,)
        defining = asyncio.create_task(qm.define_queue("ORDERS"))
        await asyncio.sleep(0.05)
        defining.cancel()
        await asyncio.sleep(0.05)
        assert not defining.done()
        await asyncio.to_thread(server.release)
        await defining
        assert [queue.name for queue in await qm.queues()] == ["ORDERS", "Q"]


async def test_a_definition_that_was_not_sent_is_cancelled_at_once(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        await asyncio.to_thread(server.crash)
        await asyncio.sleep(0.05)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await qm.define_queue("ORDERS")
        await asyncio.to_thread(server.start)
        assert [queue.name for queue in await qm.queues()] == ["Q"]


@pytest.mark.parametrize("kind", [c.Inquire, AskServer])
async def test_a_cancelled_question_ends_at_once(server: Loopback, kind: type) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        server.holds = (kind,)
        asking = asyncio.create_task(qm.queues() if kind is c.Inquire else qm.figures())
        await asyncio.sleep(0.05)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert qm.statistics()["unanswered"] == 0


@pytest.mark.parametrize("sent", range(0, 120, 7))
async def test_a_definition_is_done_once_wherever_the_connection_breaks(
    server: Loopback, sent: int
) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        server.cut_after(received=sent + 1)
        await qm.define_queue("ONE")
        await asyncio.to_thread(server.cut_after, sent=sent + 1)
        await qm.define_queue("TWO")
        assert [queue.name for queue in await qm.queues()] == ["ONE", "Q", "TWO"]


async def test_a_connection_that_was_lost_while_it_ended_another(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        OnCommand(server, c.EndConnection, server.cut_here)
        with pytest.raises(e.ConnectionBroken, match="list the connections again"):
            await qm.end_connection(1_000)


async def test_more_commands_than_a_session_numbers_wait_their_turn(server: Loopback) -> None:
    server.holds = (c.PurgeQueue,)
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        purging = [asyncio.create_task(queue.purge()) for _ in range(1_000)]
        await asyncio.sleep(0.3)
        assert 0 < qm.statistics()["unanswered"] < 768
        await asyncio.to_thread(server.release)
        assert await asyncio.gather(*purging) == [0] * 1_000


async def test_verbs_of_another_loop_are_refused(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        with pytest.raises(e.WrongEventLoop):
            await asyncio.to_thread(asyncio.run, qm.queues())
