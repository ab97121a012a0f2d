"""Threads, tasks and callbacks whose unexpected end is reported.

A thread or a task that ends by an exception leaves its work undone, and Python goes on without a
word. So the parts of a queue manager's process start theirs here, and name who hears of it. This
module knows how to notice an end; what it means is decided by who started.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import threading
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

CALLBACK_MAX = 300
"""Characters that name a callback; its arguments may be long."""

T = TypeVar("T")
Ended = Callable[[str], None]
"""Called with a sentence that names what has ended, and by which exception."""

log = logging.getLogger("mqk.watched")
"""Python's own: clients run this module too, and have no other. Bridged in a queue manager."""


def thread(name: str, run: Callable[[], object], ended: Ended) -> threading.Thread:
    """Start a daemon thread; ended is called in it if it ends by an exception, whatever kind."""

    def guarded() -> None:
        _guard(f"the thread {name}", run, ended)

    started = threading.Thread(target=guarded, name=name, daemon=True)
    started.start()
    return started


def task(name: str, work: Coroutine[Any, Any, T], ended: Ended) -> asyncio.Task[T]:
    """Start a task; ended is called if it ends by an exception, but for its cancellation."""

    def look(done: asyncio.Task[T]) -> None:
        failure = None if done.cancelled() else done.exception()
        if failure is not None:
            _report(f"the task {name}", failure, ended)

    started = asyncio.get_running_loop().create_task(work, name=name)
    started.add_done_callback(look)
    return started


async def first(
    waits: Iterable[Coroutine[Any, Any, object]], ended: Ended, limit_s: float | None = None
) -> None:
    """Wait for the first of these to end, at most limit_s, and end the others."""
    tasks = {task("wait for the first", one, ended) for one in waits}
    await asyncio.wait(tasks, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
    for one in tasks:
        one.cancel()


def callback(name: str, call: Callable[[], object], ended: Ended) -> Callable[[], None]:
    """Return a call for the event loop; ended is called if it raises."""
    return lambda: _guard(name, call, ended)


def from_thread(
    name: str, loop: asyncio.AbstractEventLoop, call: Callable[[], object], ended: Ended
) -> None:
    """Have a loop call this, from another thread. A loop that is closed calls nothing more."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(callback(name, call, ended))


def event_loop(running: asyncio.AbstractEventLoop, ended: Ended) -> None:
    """Have ended called if a callback of this loop raises that nothing else watches.

    What a protocol raises costs the connection that it is of, and no other one: it is logged.
    """

    def hear(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        failure = context.get("exception")
        called = context.get("handle")
        if failure is None or called is None or "protocol" in context:
            log.error("%s", context.get("message", "the event loop met an error"), exc_info=failure)
        else:
            _report(f"the callback {called!r}"[:CALLBACK_MAX], failure, ended)

    running.set_exception_handler(hear)


def when_done(
    name: str, future: asyncio.Future[T], done: Callable[[asyncio.Future[T]], object], ended: Ended
) -> None:
    """Have done called with a future that is done; ended is called if that raises."""
    future.add_done_callback(lambda one: _guard(name, lambda: done(one), ended))


def in_thread(
    name: str,
    work: Callable[[], T],
    done: Callable[[asyncio.Future[T]], object],
    ended: Ended,
) -> asyncio.Future[T]:
    """Begin work in another thread, and have done called with its future; see when_done.

    That work cannot be begun, because no thread can be started, is a failure of it as any other.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T]
    try:
        future = loop.run_in_executor(None, work)
    except RuntimeError as error:
        future = loop.create_future()
        future.set_exception(error)
    when_done(name, future, done, ended)
    return future


def _guard(name: str, call: Callable[[], object], ended: Ended) -> None:
    try:
        call()
    except:  # noqa: E722 -- what a callback of librdkafka leaves behind need not be an exception
        _report(name, sys.exc_info()[1], ended)


def _report(name: str, failure: object, ended: Ended) -> None:
    ended(f"{name} ended unexpectedly: {failure!r}")
    trace = failure if isinstance(failure, BaseException) else None
    log.error("%s ended unexpectedly", name, exc_info=trace)
