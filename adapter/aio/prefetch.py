"""Units that are got ahead of the loop of a task: `units(prefetch=8)`.

How many, in which order, and what is counted is said in adapter/client/prefetch.py. A loop without
prefetch works in the same way: its one unit begins ahead too, so that a message which was taken for
a task that is cancelled comes back uncounted. A unit is shown when its touch has been sent: so a
program that dies with a message counts, even if it dies before its first wait.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from adapter.aio.channel import TaskChannel
from adapter.aio.unit import TaskUnit
from adapter.aio.waiting import await_answers, let_send
from adapter.client.prefetch import PrefetchBooks, left_ms
from adapter.connection.channel.requests import Handle
from adapter.core.contract.message import Delivered

TaskUnitT = TypeVar("TaskUnitT", bound=TaskUnit)


class TaskPrefetch(PrefetchBooks[TaskUnitT]):
    """The units ahead of one loop of a task."""

    _channel: TaskChannel

    def __init__(
        self,
        channel: TaskChannel,
        make: Callable[[], TaskUnitT],
        open_handle: Callable[[], Awaitable[Handle]],
        size: int,
        most: int,
    ) -> None:
        """See PrefetchBooks; open_handle: returns the handle that messages are got by."""
        opened: list[Handle] = []  # none of its methods: it goes when nothing refers to it
        super().__init__(channel, make, lambda: opened[0], size, most)
        self._open_handle = open_handle
        self._opened = opened
        """The handle, once take() has opened it."""

    def give_back(self) -> None:
        """Back out every unit ahead, and do not wait. The garbage collector may call it."""
        units = [unit.on_wire for unit in self._take_all()]
        if units:
            self._channel.let_go_of(units)

    async def take(
        self, wait_ms: int, until_s: float, is_over: Callable[[], bool]
    ) -> tuple[TaskUnitT, list[Delivered], Handle] | None:
        """Return the next unit, touched, its messages and the handle they were got by; None if none
        come in time.

        See Prefetch.take(). If the task is cancelled meanwhile, the unit stays ahead; if the unit
        has been touched, it is returned, and the cancellation comes behind it.
        """
        while await self._can_ask():
            oldest = self._oldest()
            head = oldest or self._ask(left_ms(wait_ms, until_s))
            if head is None:
                continue
            await await_answers([head.get])
            found = self._judge(head, oldest is None, is_over, wait_ms)
            if found is None:
                continue
            if found and head.is_ahead:
                await let_send()
            return (head.unit, found, head.handle) if found else None
        return None

    async def _can_ask(self) -> bool:
        """Wait for room and for a handle; return whether the loop goes on."""
        if not self._is_closed:
            await self._channel.room()
            self._opened[:] = [await self._open_handle()]
        return not self._is_closed
