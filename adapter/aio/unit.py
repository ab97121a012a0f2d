"""Units of work of tasks. Operations in the same context join the unit of their `async with`.

A task that is cancelled while a verb of a unit is under way leaves it open what the unit holds; so
the unit is backed out with it. This module knows no verb.
"""

from __future__ import annotations

import asyncio
from typing import Self, TypeVar

from adapter.aio.channel import TaskChannel
from adapter.aio.commits import TaskCommits
from adapter.aio.waiting import await_answers
from adapter.connection.channel import arguments as a
from adapter.connection.channel.requests import Pending
from adapter.connection.channel.unit import GONE, UnitBooks, UnitState
from adapter.core.contract.results import Done
from adapter.errors import BackedOut, Error, LimitReached

ResultT = TypeVar("ResultT")


class TaskUnit(UnitBooks):
    """A unit of work on one connection: everything put and got in it takes effect together."""

    _channel: TaskChannel

    @property
    def channel(self) -> TaskChannel:
        """The connection it is on."""
        return self._channel

    async def commit(self, wait: bool = True) -> None:
        """Make everything in it take effect, durably.

        wait=False: do not wait for the outcome, unless 8 of the connection are in flight: then for
        the oldest. A commit that failed is raised by a later commit(), which commits nothing then,
        or by flush() or close() of the connection.
        A cancellation comes when the outcome is known. Raises BackedOut if it was lost, InDoubt if
        no answer is to be had, UnitEnded, and why a put with wait=False was refused: the unit is
        backed out then.
        """
        self.check_open()
        is_awaited = a.as_flag("wait", wait)
        commits = self._channel.commits
        if commits:
            await commits.check()
        if not self.has_operations:  # no verb: there is nothing to commit
            self._end(UnitState.COMMITTED)
        elif is_awaited:
            await self.commit_apart()
        else:
            await self.commit_among(commits)

    async def commit_apart(self) -> None:
        """Commit it and wait, whatever has become of other commits: of a unit that the program does
        not know, which is to be told of those by its own next commit.
        """
        await self._channel.room()
        self.check_open()
        request = self._commit_request()
        try:
            self._send_commit(request, UnitState.IN_DOUBT)  # so it is, until there is an answer
            await self._channel.await_outcomes([request])
            self._settle(request, UnitState.ACTIVE)
        except BaseException as error:
            if self._channel.was_interrupted(error):
                self._leave_commit(request)
            raise

    async def commit_among(self, commits: TaskCommits) -> None:
        """Commit it and do not wait, unless too many commits are in flight among these."""
        await self._channel.room()
        await commits.make_room()
        self.check_open()
        request = self._commit_request()
        self._send_commit(request, UnitState.COMMITTING)
        commits.add(self, request)

    async def send_kept(self) -> None:
        """Send its deferred puts when there is room for them. Other tasks go on meanwhile."""
        try:
            await asyncio.sleep(0)
            await self._channel.room()
        except asyncio.CancelledError:
            self.give_up()
            raise
        if self._state in GONE:  # by a cancellation of another task
            self.check_open()
        if self._deferred:  # else another task has sent them
            self.submit([])

    async def backout(self, *, counted: object = True) -> None:
        """Undo everything in it: puts vanish, what was got is back in its place.

        counted=False: its messages' backout counts do not rise, because the program has not worked
        on them.
        Raises UnitEnded; ConnectionBroken if the queue manager is not to be reached: the unit is
        undone all the same, with its connection.
        """
        request = self._backout_request(counted)
        if request is None:
            return
        try:
            self._channel.submit([request], self._enlisted)
            await self._channel.await_outcomes([request])
            self._channel.result(request, Done, self._enlisted)
        except BackedOut:
            return  # it was gone with a lost connection, which is the same
        except BaseException as error:
            self._channel.give_back([self._enlisted])
            if not isinstance(error, LimitReached):
                raise  # else it is undone as soon as there is room for one command more

    def let_go(self) -> None:
        """Back it out because nothing refers to its loop any more. The garbage collector may call
        it, in the midst of anything and in any thread."""
        if self._state is UnitState.ACTIVE:
            self._state = UnitState.BACKED_OUT
            self._enlisted.is_dropped = True
            self._forget_deferred()
            self._channel.let_go_of([self._enlisted])

    async def perform(
        self,
        requests: list[Pending],
        request: Pending,
        kind: type[ResultT],
        after: Pending | None = None,
    ) -> ResultT:
        """Ask requests in this unit; return the answer of one. See perform()."""
        try:
            await self._channel.room()
            self.check_open()
            self.submit(requests)
            await await_answers(requests)
            if self._state in GONE:  # by a cancellation of another task
                self.check_open()
            return self._channel.result(request, kind, self._enlisted, after)
        except asyncio.CancelledError:
            self._channel.abandon(requests)
            self.give_up()
            raise
        except BackedOut:
            if self._state is UnitState.ACTIVE:
                self._end(UnitState.LOST)
            raise

    async def __aenter__(self) -> Self:
        self._channel.check_usable()
        return self._enter()

    async def _leave(self, error: BaseException | None) -> None:
        """Leave the with statement: commit, or back out because of an exception."""
        if not self._exit():
            return
        if error is not None:
            await self._leave_failed()
            return
        try:
            await self._commit_at_end()
        except Error:
            if self._state is UnitState.ACTIVE:
                await self._leave_failed()
            raise
        except asyncio.CancelledError:
            self.give_up()
            raise

    async def _commit_at_end(self) -> None:
        """Commit because the with statement is left."""
        await self.commit()

    async def _leave_failed(self) -> None:
        """Back out on the way of an exception, which is what the caller is to see."""
        try:
            await self.backout()
        except Error:
            self._state = UnitState.LOST  # the connection is gone, and the unit with it


async def perform(
    channel: TaskChannel,
    unit: TaskUnit | None,
    requests: list[Pending],
    request: Pending,
    kind: type[ResultT],
    after: Pending | None = None,
) -> ResultT:
    """Ask requests, in a unit or outside any; return the answer of one of them.

    after: the open that goes before it in the same exchange; its refusal explains the other's.
    """
    if unit is not None:
        return await unit.perform(requests, request, kind, after)
    if request.durable:
        await channel.decide(requests)
    else:
        await channel.ask(requests)
    return channel.result(request, kind, None, after)
