"""Ending gets that wait: nothing is taken for nobody."""

import asyncio
import random
import re
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import adapter
from adapter import errors as e
from adapter.core.contract import commands as c
from tests.support.loopback import Loopback, OnCommand

WAIT_S = 20.0
Got = adapter.Message | None
PAGE = Path(__file__).parents[4] / "docs" / "threads.md"


@pytest.fixture
def pool() -> Any:
    with ThreadPoolExecutor() as made:
        yield made


def waits(server: Loopback) -> threading.Event:
    """Set when the next get has arrived."""
    return OnCommand(server, c.Get).arrived


def get_by(how: str, qm: adapter.Connection) -> Callable[..., Got]:
    return qm.queue("Q").get if how == "queue" else lambda **options: qm.get("Q", **options)


@pytest.mark.parametrize("how", ["queue", "connection"])
@pytest.mark.parametrize("timeout", [None, WAIT_S])
def test_a_get_that_was_given_up_takes_nothing(
    server: Loopback,
    qm: adapter.Connection,
    pool: ThreadPoolExecutor,
    how: str,
    timeout: float | None,
) -> None:
    token, waiting = adapter.CancelToken(), waits(server)
    got = pool.submit(get_by(how, qm), timeout=timeout, cancel=token)
    assert waiting.wait(WAIT_S)
    token.cancel()
    assert got.result(WAIT_S) is None
    qm.put("Q", b"important")
    status = qm.queue("Q").status()
    assert (status.current_depth, status.waiting_gets, status.open_input_count) == (1, 0, 0)


def test_a_cancelled_token_ends_what_comes_later_without_asking(
    server: Loopback, qm: adapter.Connection
) -> None:
    qm.put("Q", b"x")
    token = adapter.CancelToken()
    token.cancel()
    token.cancel()
    assert token.is_cancelled
    assert qm.get("Q", timeout=None, cancel=token) is None
    assert qm.queue("Q").get(cancel=token) is None
    assert server.count(c.Get) == 0


@pytest.mark.parametrize("timeout", [0, WAIT_S])
def test_what_comes_first_is_returned(
    server: Loopback, qm: adapter.Connection, timeout: float
) -> None:
    qm.put("Q", b"x")
    token = adapter.CancelToken()
    message = qm.queue("Q").get(timeout=timeout, cancel=token)
    token.cancel()
    assert message is not None
    assert message.body == b"x"


def test_a_token_ends_many_gets_of_many_connections(
    qm: adapter.Connection, connect: Callable[..., adapter.Connection], pool: ThreadPoolExecutor
) -> None:
    token, other = adapter.CancelToken(), connect()
    gets: list[Future[Got]] = [
        pool.submit(one.queue("Q").get, timeout=None, cancel=token) for one in (qm, other, qm)
    ]
    while qm.queue("Q").status().waiting_gets < len(gets):
        assert not any(get.done() for get in gets)
    token.cancel()
    assert [get.result(WAIT_S) for get in gets] == [None] * 3


def test_a_unit_goes_on_without_what_was_given_up(
    server: Loopback, qm: adapter.Connection, pool: ThreadPoolExecutor
) -> None:
    token, waiting = adapter.CancelToken(), waits(server)
    unit = qm.unit()
    unit.begin()
    got = pool.submit(qm.queue("Q").get, timeout=None, cancel=token, unit=unit)
    assert waiting.wait(WAIT_S)
    token.cancel()
    assert got.result(WAIT_S) is None
    qm.put("Q", b"x", unit=unit)
    unit.commit()
    assert server.bodies("Q") == [b"x"]


def test_it_may_be_cancelled_as_the_connection_is_lost(
    server: Loopback, qm: adapter.Connection, pool: ThreadPoolExecutor
) -> None:
    token, waiting = adapter.CancelToken(), waits(server)
    got = pool.submit(qm.queue("Q").get, timeout=None, cancel=token)
    assert waiting.wait(WAIT_S)
    OnCommand(server, c.Close, server.cut_here)
    token.cancel()
    assert got.result(WAIT_S) is None
    qm.put("Q", b"x")
    assert server.bodies("Q") == [b"x"]


def test_it_may_be_cancelled_while_there_is_no_connection(
    server: Loopback, qm: adapter.Connection, pool: ThreadPoolExecutor
) -> None:
    token, waiting = adapter.CancelToken(), waits(server)
    got = pool.submit(qm.queue("Q").get, timeout=None, cancel=token)
    assert waiting.wait(WAIT_S)
    server.crash()
    token.cancel()
    server.start()
    assert got.result(WAIT_S) is None
    qm.put("Q", b"x")
    assert server.bodies("Q") == [b"x"]


def test_it_may_be_cancelled_after_the_connection_was_closed(
    server: Loopback, qm: adapter.Connection, pool: ThreadPoolExecutor
) -> None:
    token, waiting = adapter.CancelToken(), waits(server)
    got = pool.submit(qm.queue("Q").get, timeout=None, cancel=token)
    assert waiting.wait(WAIT_S)
    qm.close()
    token.cancel()
    with pytest.raises(e.ConnectionClosed):
        got.result(WAIT_S)


def test_a_get_that_is_refused_says_why(qm: adapter.Connection) -> None:
    token = adapter.CancelToken()
    with pytest.raises(e.QueueNotFound):
        qm.get("NONE", timeout=1, cancel=token)
    qm.alter_queue("Q", inhibit_get=True)
    with pytest.raises(e.GetInhibited):
        qm.queue("Q").get(timeout=1, cancel=token)
    assert qm.statistics()["handles"] == 0


def test_what_cannot_be_cancelled_is_refused(qm: adapter.Connection) -> None:
    token = adapter.CancelToken()
    with pytest.raises(e.InvalidOption, match="handle of its own"):
        qm.queue("Q").get(cancel=token, logical_order=True)
    with pytest.raises(e.InvalidOption, match="handle of its own"):
        qm.queue("Q", open_for="input_exclusive").get(cancel=token)
    with pytest.raises(e.InvalidType, match="CancelToken"):
        qm.get("Q", cancel=True)  # type: ignore[arg-type]
    queue = qm.queue("Q")
    queue.close()
    with pytest.raises(e.NotOpen):
        queue.get(cancel=token)


def documented() -> Callable[..., Coroutine[Any, Any, Got]]:
    """The function that the page shows."""
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, Any] = {"__name__": "page"}
    exec(program, names)
    found: Callable[..., Coroutine[Any, Any, Got]] = names["get"]
    return found


def test_the_page_says_how_an_asyncio_task_gives_up(qm: adapter.Connection) -> None:
    get, queue = documented(), qm.queue("Q")

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(get(queue, timeout=WAIT_S), 0.05)

    asyncio.run(give_up())
    queue.put(b"important")
    assert queue.depth() == 1
    got = asyncio.run(get(queue, timeout=WAIT_S))
    assert got is not None
    assert got.body == b"important"


def test_tasks_that_give_up_at_any_moment_lose_nothing(qm: adapter.Connection) -> None:
    get, queue, chance = documented(), qm.queue("Q"), random.Random(1)
    wanted = [b"%d" % number for number in range(100)]
    found: list[bytes] = []

    async def get_some() -> None:
        while len(found) < len(wanted):
            try:
                message = await asyncio.wait_for(
                    get(queue, timeout=WAIT_S), chance.choice([0, 0.0005, 0.002, 0.01])
                )
            except TimeoutError:
                continue
            assert message is not None
            found.append(message.body)

    async def main() -> None:
        async with asyncio.timeout(WAIT_S), asyncio.TaskGroup() as tasks:
            tasks.create_task(get_some())
            for body in wanted:
                await asyncio.to_thread(queue.put, body)
                await asyncio.sleep(chance.choice([0, 0.001, 0.003]))

    asyncio.run(main())
    assert found == wanted


def test_a_subscription_waits_with_a_token_too(
    server: Loopback, qm: adapter.Connection, pool: ThreadPoolExecutor
) -> None:
    token = adapter.CancelToken()
    with qm.subscribe("fruit/#") as fruit:
        qm.publish("fruit/apple", b"x")
        message = fruit.get(timeout=WAIT_S, cancel=token)
        assert message is not None
        assert message.body == b"x"
        waiting = waits(server)
        got = pool.submit(fruit.get, timeout=None, cancel=token)
        assert waiting.wait(WAIT_S)
        token.cancel()
        assert got.result(WAIT_S) is None
        qm.publish("fruit/apple", b"y")
        assert fruit.depth() == 1


def test_a_subscription_that_a_lost_connection_has_ended_gets_from_the_one_in_its_place(
    server: Loopback, qm: adapter.Connection
) -> None:
    with qm.subscribe("fruit/#") as fruit:
        server.cut_all()
        assert fruit.get(cancel=adapter.CancelToken()) is None
        qm.publish("fruit/apple", b"x")
        message = fruit.get(timeout=WAIT_S, cancel=adapter.CancelToken())
        assert message is not None
        assert message.body == b"x"


def test_a_subscription_goes_on_waiting_when_its_connection_is_lost(
    server: Loopback, qm: adapter.Connection, pool: ThreadPoolExecutor
) -> None:
    with qm.subscribe("fruit/#") as fruit:
        OnCommand(server, c.Get, server.cut_here)
        got = pool.submit(fruit.get, timeout=WAIT_S, cancel=adapter.CancelToken())
        while not server.call(lambda: is_waited_for_anew(server)):
            assert not got.done()
        qm.publish("fruit/apple", b"x")
        message = got.result(WAIT_S)
        assert message is not None
        assert message.body == b"x"


def is_waited_for_anew(server: Loopback) -> bool:
    """Whether a get waits on the queue of the second subscription."""
    waited_for = any(map(server.qm.waiters.count, server.qm.queues.values()))
    return server.count(c.Subscribe) > 1 and waited_for
