"""Threads, tasks and callbacks do not end without a word."""

import asyncio
import threading
from collections.abc import Callable

import pytest
import uvloop

from adapter.host import watched

WAIT_S = 10.0


class Odd(BaseException):
    """What no `except Exception` catches."""


def raising(problem: BaseException) -> Callable[[], object]:
    def run() -> object:
        raise problem

    return run


@pytest.mark.parametrize("problem", [ValueError("x"), Odd("x"), SystemExit(3)])
def test_a_thread_that_ends_by_an_exception_is_heard_of(problem: BaseException) -> None:
    heard: list[str] = []
    watched.thread("mover", raising(problem), heard.append).join(WAIT_S)
    assert heard == [f"the thread mover ended unexpectedly: {problem!r}"]


def test_a_thread_that_comes_to_its_end_is_not() -> None:
    heard: list[str] = []
    done = threading.Event()
    thread = watched.thread("mover", done.set, heard.append)
    thread.join(WAIT_S)
    assert (thread.daemon, thread.name, done.is_set(), heard) == (True, "mover", True, [])


def test_a_task_that_ends_by_an_exception_is_heard_of_and_a_cancelled_one_is_not() -> None:
    heard: list[str] = []

    async def fail() -> None:
        raise ValueError("x")

    async def main() -> None:
        failing = watched.task("recovery", fail(), heard.append)
        waiting = watched.task("wait", asyncio.Event().wait(), heard.append)
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait({failing, waiting}, timeout=WAIT_S)

    asyncio.run(main())
    assert heard == ["the task recovery ended unexpectedly: ValueError('x')"]


def test_callbacks_that_raise_are_heard_of() -> None:
    heard: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(watched.callback("a turn", raising(ValueError("x")), heard.append))
        future: asyncio.Future[int] = loop.create_future()
        watched.when_done("a page", future, lambda done: 1 // done.result(), heard.append)
        future.set_result(0)
        for _ in range(3):
            await asyncio.sleep(0)

    asyncio.run(main())
    assert [one.partition(":")[0] for one in heard] == [
        "a turn ended unexpectedly",
        "a page ended unexpectedly",
    ]


def test_a_callback_that_nothing_watches_is_heard_of() -> None:
    heard: list[str] = []

    async def main() -> None:
        running = asyncio.get_running_loop()
        watched.event_loop(running, heard.append)
        running.call_soon(raising(ValueError("x")))
        await asyncio.sleep(0)  # until what was called has run

    asyncio.run(main())
    (said,) = heard
    assert said.startswith("the callback <Handle ")
    assert said.endswith("ended unexpectedly: ValueError('x')")


def test_what_a_protocol_raises_costs_its_connection_alone() -> None:
    heard: list[str] = []
    lost = threading.Event()

    class Broken(asyncio.Protocol):
        def data_received(self, data: bytes) -> None:
            raise ValueError(data)

        def connection_lost(self, exc: Exception | None) -> None:
            lost.set()

    async def main() -> None:
        running = asyncio.get_running_loop()
        watched.event_loop(running, heard.append)
        server = await running.create_server(Broken, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"x")
        async with asyncio.timeout(WAIT_S):
            assert await reader.read() == b""
        writer.close()
        server.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
    assert lost.is_set()
    assert heard == []


def test_work_that_cannot_be_begun_has_failed_as_any_other() -> None:
    async def main(*, begins: bool) -> tuple[list[str], list[str]]:
        heard: list[str] = []
        done: list[str] = []
        loop = asyncio.get_running_loop()
        if not begins:
            full = RuntimeError("can't start new thread")
            loop.run_in_executor = raising_any(full)  # type: ignore[method-assign, assignment]

        def take(future: asyncio.Future[object]) -> None:
            done.append(repr(future.exception()))

        future = watched.in_thread("work", raising(ValueError("x")), take, heard.append)
        await asyncio.wait({future}, timeout=WAIT_S)
        await asyncio.sleep(0)
        return done, heard

    assert asyncio.run(main(begins=True)) == (["ValueError('x')"], [])
    assert asyncio.run(main(begins=False)) == (['RuntimeError("can\'t start new thread")'], [])


def raising_any(problem: Exception) -> Callable[..., object]:
    def run(*_: object) -> object:
        raise problem

    return run
