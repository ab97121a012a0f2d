"""An adapter.aio connection as its blocking twin: for tests that are written once for both drivers.

An event loop runs in a thread of its own. A verb called on a face runs there as a task, and the
caller waits for its end: `await`, `async with` and `async for` become a call, `with` and `for`.

The current unit of a task is a context variable. All calls of one thread of the test run in one
context, as those of one task do, so `with qm.unit(): queue.put(...)` puts into the unit.

A face has no rules of its own, and shows nothing private: a test that replaces a part of the
threaded driver fails on it.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import partial, wraps
from types import TracebackType
from typing import Any, Self

CALL_S = 60.0
"""No call of a test takes longer."""
END_S = 10.0


class TaskLoop:
    """An event loop in a thread, which runs what the threads of a test call."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        """What the event loop complained about."""
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(self._note)
        self._contexts = threading.local()
        self._thread = threading.Thread(target=self.loop.run_forever, name="tasks", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine as a task in the context of this thread; return its result."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("a call from within the event loop would wait for itself")
        done: Future[Any] = Future()
        self.loop.call_soon_threadsafe(self._begin, work, self._context(), done)
        return done.result(CALL_S)

    def end(self) -> list[str]:
        """End the loop. Return what was wrong: complaints, and tasks that have not ended."""
        self.run(self._settled())
        left = [repr(task) for task in asyncio.all_tasks(self.loop)]
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(END_S)
        self.loop.close()
        return self.problems + left

    def _context(self) -> contextvars.Context:
        if not hasattr(self._contexts, "own"):
            self._contexts.own = contextvars.copy_context()
        own: contextvars.Context = self._contexts.own
        return own

    def _begin(
        self, work: Coroutine[Any, Any, Any], context: contextvars.Context, done: Future[Any]
    ) -> None:
        task = self.loop.create_task(work, context=context)
        task.add_done_callback(partial(_hand_over, done))

    async def _settled(self) -> None:
        """Let the tasks of closed connections end."""
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            await asyncio.wait(others, timeout=END_S)

    def _note(self, _loop: asyncio.AbstractEventLoop, what: dict[str, Any]) -> None:
        self.problems.append(f"{what.get('message')}: {what.get('exception')!r}")


def _hand_over(done: Future[Any], task: asyncio.Task[Any]) -> None:
    if task.cancelled():
        done.cancel()
        done.set_running_or_notify_cancel()
    elif (error := task.exception()) is not None:
        done.set_exception(error)
    else:
        done.set_result(task.result())


class Face:
    """An object of adapter.aio, shown through the blocking interface."""

    _loop: TaskLoop
    _shown: Any

    def __init__(self, loop: TaskLoop, shown: object) -> None:
        object.__setattr__(self, "_loop", loop)
        object.__setattr__(self, "_shown", shown)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"a face of {self._shown!r} shows no {name}")
        found = getattr(self._shown, name)
        if not callable(found):
            return self._face_of(found)

        @wraps(found)
        def call(*args: Any, **named: Any) -> Any:
            return self._call(found, *args, **named)

        return call

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._shown, name, value)

    def __enter__(self) -> Self:
        self._call(self._shown.__aenter__)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        return bool(self._call(self._shown.__aexit__, kind, error, traceback))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        try:
            return self._call(self._shown.__anext__)
        except StopAsyncIteration:
            raise StopIteration from None

    def close(self, *args: Any, **named: Any) -> Any:
        """Close it; an iterator has aclose()."""
        shown = self._shown
        return self._call(shown.close if hasattr(shown, "close") else shown.aclose, *args, **named)

    def __eq__(self, other: object) -> bool:
        return bool(self._shown == _bare(other))

    def __hash__(self) -> int:
        return hash(self._shown)

    def __repr__(self) -> str:
        return repr(self._shown)

    def _call(self, verb: Callable[..., Any], *args: Any, **named: Any) -> Any:
        bare = [_bare(one) for one in args]
        bare_named = {name: _bare(one) for name, one in named.items()}

        async def run() -> tuple[Any, BaseException | None]:
            try:
                result = verb(*bare, **bare_named)
                return (await result if inspect.isawaitable(result) else result), None
            except (KeyboardInterrupt, SystemExit) as interruption:  # else it ends the loop
                return None, interruption

        result, interruption = self._loop.run(run())
        if interruption is not None:
            raise interruption
        return self._face_of(result)

    def _face_of(self, value: Any) -> Any:
        """Show an object of adapter.aio through a face, and everything else as it is."""
        if type(value).__module__.startswith("adapter.aio."):
            return Face(self._loop, value)
        return value


def _bare(value: Any) -> Any:
    return value._shown if isinstance(value, Face) else value
