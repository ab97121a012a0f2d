"""The tasks of one process that work on a queue, for a coroutine function.

They share one event loop and one connection of adapter.aio. The loop has a thread of its own: so
the main thread hears signals, and tells what is done, also while a coroutine blocks the loop. This
module knows no processes and no signals.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import Future
from contextlib import suppress
from importlib import import_module

from adapter.aio.connection import Connection, connect
from adapter.aio.queue import Queue
from adapter.aio.work import TaskWork
from adapter.client.message import Message
from adapter.connection.channel.flag import Flag
from adapter.errors import Error
from adapter.host import watched
from adapter.workers.figures import WorkFigures, WorkTally
from adapter.workers.handlers import Calls, Handler, failed_behind, unfinished
from adapter.workers.settings import WorkerSettings

log = logging.getLogger("adapter.workers")

ABRUPT_S = 1.0
"""A loop that does not close its connection within this is blocked: the process ends without it."""


class WorkerTasks:
    """Tasks that await a coroutine function with each message of a queue."""

    kind = "tasks"

    def __init__(self, function: Handler, settings: WorkerSettings, ended: Flag) -> None:
        """ended: raised when a task has ended that was not to end."""
        self._function = function
        self._settings = settings
        self._ended = ended
        self._tally = WorkTally()
        self._ready: Future[tuple[asyncio.AbstractEventLoop, Connection]] = Future()
        self._stopping = asyncio.Event()
        self._has_ended = False
        """Whether the event loop ends: what is still at work is cancelled then."""
        self._thread: threading.Thread | None = None
        self.problem = ""
        """Why a task has ended that was not to end."""

    def start(self) -> None:
        """Connect, and start the tasks. Raises what connect() raises."""
        self._thread = watched.thread("event loop", self._run, self._note)
        self._ready.result()

    def stop(self) -> None:
        """Have each task finish what it has in hand. Does not wait."""
        loop, _ = self._ready.result()
        with suppress(RuntimeError):  # it has ended
            loop.call_soon_threadsafe(self._stopping.set)

    def join(self, timeout_s: float) -> int:
        """Wait for the tasks; return how many are still at work."""
        assert self._thread is not None, "it was started"
        self._thread.join(timeout_s)
        return max(self._tally.figures(is_connected=True).in_hand, 1) * self._thread.is_alive()

    def figures(self) -> WorkFigures:
        """Return what was done so far."""
        _, qm = self._ready.result()
        return self._tally.figures(is_connected=bool(qm.statistics()["connected"]))

    def close(self, *, abrupt: bool) -> None:
        """Close the connection, if that was not done when the tasks ended; abrupt: it was not."""
        if abrupt:
            loop, qm = self._ready.result()
            closing = asyncio.run_coroutine_threadsafe(qm.disconnect(abrupt=True), loop)
            with suppress(TimeoutError):
                closing.result(ABRUPT_S)

    def _note(self, problem: str) -> None:
        self.problem = self.problem or problem
        self.stop()
        self._ended.set()

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=_new_event_loop) as runner:
                runner.run(self._main())
        except BaseException as problem:
            if self._ready.done():
                raise
            self._ready.set_exception(problem)

    async def _main(self) -> None:
        qm = await connect(**self._settings.connecting)
        self._ready.set_result((asyncio.get_running_loop(), qm))
        queue = qm.queue(self._settings.queue)
        tasks = [
            watched.task(f"worker {number}", self._work(qm, queue), self._note)
            for number in range(1, self._settings.threads + 1)
        ]
        try:
            await self._stopping.wait()
            with suppress(Error):  # without a connection there is no handle to close
                await queue.close()
            await asyncio.wait(tasks)
        finally:
            self._has_ended = True
            await _close(qm)

    async def _work(self, qm: Connection, queue: Queue) -> None:
        if self._stopping.is_set():
            return
        calls = Calls(self._function, qm)
        try:
            async for unit in queue.units(**self._settings.loop):
                await self._take(unit, calls)
        except Error as problem:
            self._note(str(problem))
            return
        except asyncio.CancelledError:
            if not self._has_ended:
                self._note("the task was cancelled, and not by the worker")
            raise
        if not self._stopping.is_set():
            self._note("the loop has ended, and was not stopped")

    async def _take(self, unit: TaskWork, calls: Calls) -> None:
        began_s = self._tally.begin()
        try:
            async with unit:
                for message in unit.messages:
                    await self._call(calls, message, unit)
        finally:
            self._tally.end(began_s)
        self._tally.count(failed=unit.failed)

    async def _call(self, calls: Calls, message: Message, unit: TaskWork) -> None:
        """Await the function. One that cancels itself or its task has failed, and no more."""
        task = asyncio.current_task()
        assert task is not None, "a task runs this"
        try:
            result = await calls.call(message, unit)
            if task.cancelling():
                await asyncio.sleep(0)  # what has cancelled the task is heard here, not later
        except asyncio.CancelledError as error:
            if self._has_ended:
                raise
            raise RuntimeError("the coroutine was cancelled") from error
        except Exception as error:
            if not failed_behind(unit, error):
                raise
            return
        finally:
            while not self._has_ended and task.uncancel():
                pass
        if problem := unfinished(result):
            with suppress(Error):  # it is undone with its connection
                await unit.backout(counted=False)
            raise SystemExit(problem)


async def _close(qm: Connection) -> None:
    try:
        await qm.close()
    except Error as problem:
        log.warning("the connection was closed: %s", problem)


def _new_event_loop() -> asyncio.AbstractEventLoop:
    """Return a loop of uvloop, where that is installed."""
    with suppress(ImportError):
        loop: asyncio.AbstractEventLoop = import_module("uvloop").new_event_loop()
        return loop
    return asyncio.new_event_loop()
