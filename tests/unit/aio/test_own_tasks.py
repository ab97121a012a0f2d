"""The tasks of a connection's own: cancelled by the program, and started again where needed."""

import asyncio

from adapter.aio.own_tasks import OwnTasks


class Started:
    """Tasks that wait for ever, and how many were started."""

    def __init__(self) -> None:
        self.tasks: list[asyncio.Task[None]] = []

    def start(self) -> asyncio.Task[None]:
        async def wait() -> None:
            await asyncio.Event().wait()

        self.tasks.append(asyncio.create_task(wait()))
        return self.tasks[-1]

    async def cancel_last(self) -> None:
        """As a program does, and let what hears of it do what it does."""
        self.tasks[-1].cancel()
        await asyncio.wait(self.tasks[-1:])
        await asyncio.sleep(0)


async def test_a_cancelled_task_that_is_needed_is_started_again_at_once() -> None:
    started, own = Started(), OwnTasks(lambda: True)
    own.add(started.start)
    await started.cancel_last()
    assert len(started.tasks) == 2
    assert not started.tasks[-1].done()
    own.end()


async def test_one_that_is_not_needed_is_started_when_it_is() -> None:
    started, own = Started(), OwnTasks(lambda: False)
    own.add(started.start)
    await started.cancel_last()
    assert len(started.tasks) == 1
    own.revive()
    own.revive()
    assert len(started.tasks) == 2
    own.end()


async def test_what_was_ended_stays_so() -> None:
    started, own = Started(), OwnTasks(lambda: True)
    own.add(started.start)
    own.end()
    assert own.are_none
    await asyncio.wait(started.tasks)
    await asyncio.sleep(0)
    own.revive()
    assert len(started.tasks) == 1
