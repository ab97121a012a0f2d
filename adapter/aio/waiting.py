"""How tasks wait for answers, and what their cancellation means.

Theory. A task that waits can be cancelled at any moment, also between the arrival of its answer and
its next step. What the wait is for decides what becomes of it:

- A question, or a wait for messages in a unit, ends at once: nothing depends on its answer, or the
  unit is backed out, which gives back what was taken.
- What takes effect by itself (a commit; a put, or a get without a wait, outside a unit) and has
  been sent cannot be taken back, and a program that did not hear of its outcome would lose what it
  got or do its work twice. So the outcome is awaited, and the cancellation comes right behind it,
  in the task's next wait: as if it had been asked for a moment later.

A cancellation that comes later must not come at all if it was meant for a block that has been left:
asyncio.timeout() and TaskGroup take theirs back with Task.uncancel() when they are left, and the
count of Task.cancelling() tells so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from adapter.connection.channel.requests import Pending


class TaskWake:
    """Wakes the tasks that wait for an answer: of a commit in flight these may be several."""

    __slots__ = ("waiters",)

    def __init__(self) -> None:
        self.waiters: list[asyncio.Future[None]] = []

    def put(self, _item: None, /) -> None:
        """Wake them."""
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(None)


CancelArguments = tuple[Any, ...]
"""Of a CancelledError that is put off. The error itself would hold the frame that keeps it, and so
everything that the task has left, until the garbage collector finds both.
"""
_cancelled: set[asyncio.Task[Any]] = set()
"""Tasks whose cancellation is to come in their next wait."""


async def let_cancel() -> None:
    """Let a cancellation come that has been put off: before anything else is sent."""
    if _cancelled and asyncio.current_task() in _cancelled:
        await asyncio.sleep(0)


async def let_send() -> None:
    """Let the event loop send what the current task has submitted; a cancellation comes later.

    In the next turn of the loop the link writes it; uvloop sends at the end of that turn.
    """
    cancelled: CancelArguments | None = None
    for _ in range(2):
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError as error:
            cancelled = error.args
    if cancelled is not None:
        cancel_later(cancelled)


async def await_answers(requests: Sequence[Pending]) -> None:
    """Wait until each of these has an answer, or the task is cancelled."""
    for request in requests:
        if request.answer is None:
            await _answer(request)


async def await_outcomes(
    requests: Sequence[Pending], abandon: Callable[[Sequence[Pending]], None]
) -> None:
    """Wait until each of these has an answer; a cancellation comes when they have.

    abandon: called if the task is cancelled before they were sent, and the cancellation comes then.
    """
    cancelled: CancelArguments | None = None
    for request in requests:
        while request.answer is None:
            try:
                await _answer(request)
            except asyncio.CancelledError as error:
                if not request.sent:
                    abandon(requests)
                    raise
                cancelled = error.args
    if cancelled is not None:
        cancel_later(cancelled)


def cancel_later(arguments: CancelArguments) -> None:
    """Cancel the current task in its next wait, unless what asked for it has been left by then.

    arguments: of the CancelledError that has come.
    """
    task = asyncio.current_task()
    if task is None:
        return
    count = task.cancelling()
    _cancelled.add(task)

    def look() -> None:
        _cancelled.discard(task)
        if not task.done() and count and task.cancelling() >= count:
            task.uncancel()
            task.cancel(*arguments)

    task.get_loop().call_soon(look)


async def _answer(request: Pending) -> None:
    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    wake = request.wake
    if not isinstance(wake, TaskWake):
        request.wake = wake = TaskWake()
    wake.waiters.append(waiter)
    try:
        await waiter
    finally:
        wake.waiters.remove(waiter)
