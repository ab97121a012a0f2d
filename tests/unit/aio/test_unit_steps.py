"""queue.units(retry=) of tasks: what failed is tried later, and stands before nothing meanwhile."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

import adapter
from adapter import errors as e
from adapter import testing
from adapter.core.contract import commands as c
from tests.support.backlog import until
from tests.support.loopback import Loopback

LATER = adapter.Retry(2, backoff=60)
Act = Callable[[adapter.Message], Awaitable[None]]


@pytest.fixture
def manager() -> Iterator[testing.TestQueueManager]:
    with testing.queue_manager() as running:
        with running.connect() as qm:
            for name in ("Q", "OUT", "FAILED"):
                qm.define_queue(name)
        yield running


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "adapter.client")


async def work(
    queue: adapter.aio.Queue, retry: adapter.Retry | None, act: Act, **options: Any
) -> list[bytes]:
    """Run the loop until nothing comes; return what it was shown."""
    shown: list[bytes] = []
    async for unit in queue.units(**{"timeout": 0, **options}, retry=retry):
        async with unit:
            for message in unit.messages:
                shown.append(message.body)
                await act(message)
    return shown


def failing(qm: adapter.aio.Connection, *, puts: bool) -> Act:
    """A handler that fails with poison, when it has put something or before."""

    async def act(message: adapter.Message) -> None:
        if puts:
            await qm.put("OUT", message.body)
        if message.body == b"poison":
            raise ValueError("cannot do it")

    return act


async def succeed(_message: adapter.Message) -> None:
    """Do nothing."""


def bodies(manager: testing.TestQueueManager, name: str) -> list[bytes]:
    with manager.connect() as qm:
        return [message.body for message in qm.queue(name).browse()]


def figures(manager: testing.TestQueueManager) -> tuple[int, int]:
    """How many messages are on Q, and how many come later."""
    with manager.connect() as qm:
        status = qm.queue("Q").status()
    return status.current_depth, status.delayed


@pytest.mark.parametrize("options", [{}, {"prefetch": 4}, {"prefetch": 4, "commits": 4}])
@pytest.mark.parametrize("puts", [False, True])
async def test_a_message_that_fails_stands_before_no_other(
    manager: testing.TestQueueManager, puts: bool, options: dict[str, Any]
) -> None:
    async with await adapter.aio.connect(manager.address) as qm:
        queue = qm.queue("Q")
        for body in (b"1", b"poison", b"2", b"3"):
            await queue.put(body)
        shown = await work(queue, LATER, failing(qm, puts=puts), **options)
        assert shown == [b"1", b"poison", b"2", b"3"]
        assert figures(manager) == (0, 1)
        assert bodies(manager, "OUT") == ([b"1", b"2", b"3"] if puts else [])


@pytest.mark.parametrize("puts", [False, True])
async def test_when_all_attempts_have_failed_it_goes_to_then_with_the_reason(
    manager: testing.TestQueueManager, puts: bool
) -> None:
    async with await adapter.aio.connect(manager.address) as qm:
        queue = qm.queue("Q")
        sent = await queue.put(b"poison", priority=3, user="anna", application="x")
        retry = adapter.Retry(2, 0.02, 0, then="FAILED")
        shown = await work(queue, retry, failing(qm, puts=puts), timeout=0.5)
        assert shown == [b"poison"] * 3
        failed = await qm.get("FAILED")
        assert failed is not None
        assert (failed.message_id, failed.priority) == (sent.message_id, 3)
        assert (failed.user, failed.application) == ("anna", "x")
        assert failed.properties == {
            "mqk.attempts": 3,
            "mqk.error": "ValueError: cannot do it",
            "mqk.backout_reason": "retries_used_up",
            "mqk.backout_queue": "Q",
        }
        assert figures(manager) == (0, 0)


async def test_without_then_it_goes_to_the_dead_letter_queue(
    manager: testing.TestQueueManager,
) -> None:
    with manager.connect() as admin:
        admin.define_queue("DEAD")
        admin.alter_queue_manager(dead_letter_queue="DEAD")
    async with await adapter.aio.connect(manager.address) as qm:
        await qm.put("Q", b"poison")
        await work(qm.queue("Q"), adapter.Retry(0), failing(qm, puts=False))
        dead = await qm.get("DEAD")
        assert dead is not None
        assert dead.dead_letter is not None
        assert (dead.body, dead.dead_letter.reason) == (b"poison", 2362)


async def test_what_can_be_put_nowhere_stays_and_is_told(
    manager: testing.TestQueueManager, caplog: pytest.LogCaptureFixture
) -> None:
    with manager.connect() as admin:
        admin.put("Q", b"poison")
        admin.alter_queue_manager(dead_letter_queue="")
        admin.alter_queue("Q", inhibit_put=True)
    async with await adapter.aio.connect(manager.address) as qm:
        queue = qm.queue("Q")
        working = asyncio.create_task(work(queue, LATER, failing(qm, puts=True), timeout=None))
        stays = "has failed, and stays before the others: puts are inhibited"
        await asyncio.to_thread(until, lambda: stays in caplog.text)
        await queue.close()
        assert await working == [b"poison"]
    assert figures(manager) == (1, 0)


async def test_what_comes_back_from_a_program_that_died_is_tried_later(
    manager: testing.TestQueueManager,
) -> None:
    dying = await adapter.aio.connect(manager.address)
    for body in (b"first", b"second"):
        await dying.put("Q", body)
    unit = await anext(dying.queue("Q").units(retry=LATER))
    assert unit.messages[0].body == b"first"
    await dying.disconnect(abrupt=True)
    async with await adapter.aio.connect(manager.address) as qm:
        assert await work(qm.queue("Q"), LATER, succeed) == [b"second"]
    assert figures(manager) == (0, 1)


async def test_of_several_messages_only_those_that_fail_alone_are_tried_later(
    manager: testing.TestQueueManager,
) -> None:
    async with await adapter.aio.connect(manager.address) as qm:
        queue = qm.queue("Q")
        for body in (b"1", b"poison", b"2"):
            await queue.put(body)
        shown = await work(queue, LATER, failing(qm, puts=False), size=3)
        assert shown == [b"1", b"poison", b"1", b"poison", b"2"]
    assert figures(manager) == (0, 1)


@pytest.mark.parametrize("puts", [False, True])
async def test_a_loop_whose_queue_is_closed_leaves_it_to_the_next_program(
    manager: testing.TestQueueManager, puts: bool
) -> None:
    async with await adapter.aio.connect(manager.address) as qm:
        queue = qm.queue("Q")
        await queue.put(b"poison")
        fail = failing(qm, puts=puts)

        async def act(message: adapter.Message) -> None:
            await queue.close()
            await fail(message)

        assert await work(queue, LATER, act) == [b"poison"]
        assert figures(manager) == ((1, 0) if puts else (0, 1))
        assert await work(qm.queue("Q"), LATER, succeed) == []
        assert figures(manager) == (0, 1)


async def test_a_cancellation_is_no_failure(manager: testing.TestQueueManager) -> None:
    async with await adapter.aio.connect(manager.address) as qm:
        queue = qm.queue("Q")
        await queue.put(b"x")
        is_there = asyncio.Event()

        async def act(_message: adapter.Message) -> None:
            is_there.set()
            await asyncio.Event().wait()

        working = asyncio.create_task(work(queue, LATER, act))
        await is_there.wait()
        working.cancel()
        await asyncio.wait([working])
        assert working.cancelled()
        assert figures(manager) == (1, 0)


@pytest.mark.parametrize("puts", [False, True])
async def test_a_cancellation_while_it_is_put_again_loses_and_doubles_nothing(
    server: Loopback, puts: bool
) -> None:
    """Its answer is held back; the unit, with the message and its copy, is backed out."""
    with adapter.connect(server.address) as admin:
        admin.define_queue("OUT")
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        await queue.put(b"poison")
        fail = failing(qm, puts=puts)
        puts_before = server.count(c.Put) + puts

        async def act(message: adapter.Message) -> None:
            try:
                await fail(message)
            finally:
                server.holds = (c.Put,)

        working = asyncio.create_task(work(queue, LATER, act))
        await asyncio.to_thread(until, lambda: server.count(c.Put) > puts_before)
        working.cancel()
        await asyncio.wait([working])
        assert working.cancelled()
        await asyncio.to_thread(server.release)
        await asyncio.to_thread(until, lambda: server.bodies("Q") == [b"poison"])
        (again,) = [message async for message in queue.browse()]
        assert again.backout_count == 1
        status = await queue.status()
        assert (status.current_depth, status.delayed, status.uncommitted) == (1, 0, 0)


@pytest.mark.parametrize("retry", [None, adapter.Retry(0)])
async def test_a_cancellation_while_something_is_asked_gives_the_message_back(
    server: Loopback, retry: adapter.Retry | None
) -> None:
    """For the backout queue of a message that came back, or the dead-letter queue."""
    with adapter.connect(server.address) as admin:
        admin.put("Q", b"poison")
        with admin.unit() as unit:
            admin.get("Q")
            unit.backout()
    server.holds = (c.Inquire, c.InquireObjects)
    async with await adapter.aio.connect(server.address) as qm:
        working = asyncio.create_task(work(qm.queue("Q"), retry, succeed))
        await asyncio.to_thread(until, lambda: server.count(c.Inquire) == 1)
        working.cancel()
        await asyncio.wait([working])
        assert working.cancelled()
        await asyncio.to_thread(until, lambda: server.bodies("Q") == [b"poison"])


async def test_behind_a_cancelled_block_nothing_is_in_its_unit(server: Loopback) -> None:
    """The block has failed, and was cancelled while its message was put again."""
    async with await adapter.aio.connect(server.address) as qm:
        await qm.put("Q", b"poison")
        server.holds = (c.Put,)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await work(qm.queue("Q"), LATER, failing(qm, puts=False))
        await asyncio.to_thread(server.release)
        await qm.put("Q", b"later")
        assert server.bodies("Q") == [b"poison", b"later"]


@pytest.mark.parametrize("prefetch", [0, 8])
async def test_a_lost_connection_is_outlived(
    manager: testing.TestQueueManager, prefetch: int
) -> None:
    async with await adapter.aio.connect(manager.address) as qm:
        queue = qm.queue("Q")
        for number in range(10):
            await queue.put(b"%d" % number)
        done: list[bytes] = []
        retry = adapter.Retry(50, 0.01, 0, backoff_max=0.02)
        turn = -1
        async for unit in queue.units(timeout=0.5, retry=retry, prefetch=prefetch):
            turn += 1
            async with unit:
                if turn in (0, 3, 6):
                    await asyncio.to_thread(manager.restart)
                if turn in (1, 4, 7):
                    raise ValueError
                await qm.put("OUT", unit.messages[0].body)
            if not unit.failed:
                done += [message.body for message in unit.messages]
        assert sorted(done) == sorted(bodies(manager, "OUT"))
        assert sorted(done) == [b"%d" % number for number in range(10)]
        assert figures(manager) == (0, 0)


@pytest.mark.parametrize("options", [{}, {"prefetch": 8, "commits": 8}])
async def test_without_a_policy_poison_is_moved_at_its_threshold(
    manager: testing.TestQueueManager, options: dict[str, Any]
) -> None:
    with manager.connect() as admin:
        admin.alter_queue("Q", backout_threshold=2, backout_requeue_queue="FAILED")
    async with await adapter.aio.connect(manager.address) as qm:
        queue = qm.queue("Q")
        for body in (b"1", b"poison", b"2"):
            await queue.put(body)
        shown = await work(queue, None, failing(qm, puts=False), **options)
        assert shown == [b"1", b"poison", b"poison", b"2"]
    assert bodies(manager, "FAILED") == [b"poison"]


async def test_a_unit_says_why_it_failed(manager: testing.TestQueueManager) -> None:
    async with await adapter.aio.connect(manager.address) as qm:
        queue = qm.queue("Q")
        await queue.put(b"x")
        async for unit in queue.units(timeout=0, retry=LATER):
            async with unit:
                raise ZeroDivisionError
            assert unit.failed
            assert isinstance(unit.error, ZeroDivisionError)


async def test_units_take_a_policy_and_nothing_else(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        with pytest.raises(e.InvalidType, match=r"retry is an adapter\.Retry"):
            qm.queue("Q").units(retry=5)  # type: ignore[arg-type]
