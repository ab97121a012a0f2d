"""One client connection as tasks of one event loop share it: the driver for asyncio.

The books are those of the threaded driver (adapter/connection/channel): what is unanswered, the
numbers of the session, frames, and what is said on a new link. Here answers arrive by calls of the
event loop and wake the futures that tasks wait for; one task of the connection notices silence and
connects again. Nothing needs a lock: whatever changes the books runs in the loop's thread and waits
for nothing meanwhile. This module knows no verb.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar
from weakref import WeakMethod, ref

from adapter.aio.commits import TaskCommits
from adapter.aio.link import TaskHandshake, TaskLink
from adapter.aio.own_tasks import OwnTasks
from adapter.aio.recovery import TaskRecovery
from adapter.aio.renewal import keep_renewed
from adapter.aio.waiting import await_answers, await_outcomes, let_cancel
from adapter.connection.channel.books import ChannelBooks
from adapter.connection.channel.commits import IN_FLIGHT_MAX
from adapter.connection.channel.forking import disown_in_child
from adapter.connection.channel.link.port import Link
from adapter.connection.channel.numbering import UNANSWERED_MAX
from adapter.connection.channel.renewal import TokenSchedule, warn_of_end
from adapter.connection.channel.requests import Handle, Pending, UnitOnWire
from adapter.connection.channel.sending import Sender
from adapter.connection.channel.steps import Aside, Steps
from adapter.connection.channel.timeouts import Timeouts
from adapter.errors import ConnectionClosed, Error, LimitReached, WrongEventLoop
from adapter.host import watched

ResultT = TypeVar("ResultT")
ArgumentT = TypeVar("ArgumentT")

SPARE = 64
"""Numbered commands that may be sent without a wait for room: commits, and what is given back."""


def _weakly(method: Callable[[ArgumentT], None]) -> Callable[[ArgumentT], None]:
    """Return a call of a method which does not keep its object: what the event loop keeps must not
    keep a connection that programs have dropped."""
    weak = WeakMethod(method)

    def call(argument: ArgumentT) -> None:
        alive = weak()
        if alive is not None:
            alive(argument)

    return call


def _is_waited_for(find: Callable[[], TaskChannel | None]) -> bool:
    """Whether anything waits for an answer, or for room. find: returns the connection, and does
    not keep it."""
    found = find()
    if found is None or found.is_closed:
        return False
    return bool(found._outstanding.pending or found._for_room)


class TaskChannel(ChannelBooks):
    """Requests and answers of one client, in one event loop."""

    def __init__(self, handshake: TaskHandshake, timeouts: Timeouts) -> None:
        super().__init__(handshake, timeouts)
        self._own_tasks = OwnTasks(partial(_is_waited_for, ref(self)))
        self._is_renewed = False
        self._loop = asyncio.get_running_loop()
        self.commits = TaskCommits(IN_FLIGHT_MAX)
        """Of units that did not wait for the outcome."""
        self._sender = Sender(self._state)
        calls = _weakly(self._arrived), _weakly(self._gave_up)
        self._recovery = TaskRecovery(self._state, handshake, self._sender, *calls)
        self._for_room: deque[asyncio.Future[None]] = deque()
        disown_in_child(self)

    async def connect_first(self) -> None:
        """Make the first link; raises the error that the caller of connect() gets."""
        await self._recovery.connect_first()
        recovery, fail = self._recovery, _weakly(self._fail)
        self._own_tasks.add(lambda: watched.task("reconnection", recovery.keep(), fail))
        self.renew_by_itself()

    def renew_by_itself(self) -> None:
        """See ChannelBooks: a task does."""
        renewal, me = TokenSchedule(self._introduction), ref(self)
        if not self._is_renewed and renewal.is_possible:
            self._is_renewed = True
            self._own_tasks.add(
                lambda: watched.task("token renewal", keep_renewed(me, renewal), warn_of_end)
            )

    def check_usable(self) -> None:
        """Refuse another event loop or thread, a forked child, and a closed connection."""
        self.check_process()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            loop = None
        if loop is not self._loop:
            raise WrongEventLoop(
                "the connection was made in another event loop: connect in each loop and thread "
                "that uses one, or use adapter.connect(), whose connections serve all threads"
            )
        if self._closing.is_set():
            raise ConnectionClosed(self._state.why_closed)
        self._own_tasks.revive()

    @property
    def caller(self) -> str:
        """The task that calls; without one the thread."""
        with suppress(RuntimeError):  # no event loop runs here: the call is refused later
            task = asyncio.current_task()
            if task is not None:
                return f"task {task.get_name()}"
        return super().caller

    def disown(self) -> None:
        """Close it in a forked child, without a word; see forking."""
        state = self._state
        state.mark_inherited()
        link, state.link = state.link, None
        if link is not None:
            link.disown()

    # -- requests

    def new_handle(self, queue: str, modes: int) -> Handle:
        """Draw a handle number."""
        return self._outstanding.new_handle(queue, modes)

    def submit(self, requests: list[Pending], unit: UnitOnWire | None = None) -> None:
        """Number requests and send them in one frame, in order; do not wait.

        Raises what is wrong with the arguments, BackedOut if the unit is gone, ConnectionClosed and
        WrongEventLoop. While there is no link requests are kept to be sent later.
        """
        self.check_usable()
        self._send_closes()
        self._sender.send(requests, unit, None)
        if self._state.link is None:
            self._recovery.changed.set()

    async def room(self) -> None:
        """Wait until there is room for a request: on the link, and among unanswered commands."""
        self.check_usable()
        await let_cancel()
        while isinstance(link := self._state.link, TaskLink) and link.is_full:
            await link.drained()
        waits = bool(self._for_room) or not self._has_room
        while waits and not self._closing.is_set():
            if self._state.link is None:
                self._recovery.changed.set()  # there is room once another link is made, or is not
            waiter = self._loop.create_future()
            self._for_room.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                self._make_room()  # another task may have the place
                raise
            waits = not self._has_room

    async def ask(self, requests: list[Pending], unit: UnitOnWire | None = None) -> None:
        """Send requests in one frame and wait until each has an answer.

        If the task is cancelled meanwhile nothing waits for them any more.
        """
        await self.room()
        self.submit(requests, unit)
        await self._await_or_abandon(requests)

    async def run(self, steps: Steps[ResultT]) -> ResultT:
        """Drive a verb; return its result. The outcome of what is durable comes first, as decide()
        has it; for anything else a cancellation comes at once."""
        try:
            while True:
                requests = next(steps)
                if isinstance(requests, Aside):
                    await asyncio.to_thread(requests.call)
                elif not requests:
                    await self.room()
                elif any(request.durable for request in requests):
                    await self.await_outcomes(requests)
                else:
                    await self._await_or_abandon(requests)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        finally:
            steps.close()

    async def decide(self, requests: list[Pending]) -> None:
        """Like ask(), but what has been sent gets its answer before a cancellation comes."""
        await self.room()
        self.submit(requests)
        await self.await_outcomes(requests)

    async def await_outcomes(self, requests: Sequence[Pending]) -> None:
        """Wait for the answers to these submitted requests; a cancellation comes behind them."""
        await await_outcomes(requests, self._outstanding.abandon)

    async def _await_or_abandon(self, requests: Sequence[Pending]) -> None:
        try:
            await await_answers(requests)
        except asyncio.CancelledError:
            self._outstanding.abandon(requests)
            raise

    def abandon(self, requests: Sequence[Pending]) -> None:
        """Nothing waits for these any more."""
        self._outstanding.abandon(requests)

    def was_interrupted(self, error: BaseException) -> bool:
        """Whether a call has failed by a cancellation, or by what a signal handler has raised."""
        return not isinstance(error, Error)

    def give_back(self, units: Iterable[UnitOnWire]) -> None:
        """Have units backed out, and do not wait for it."""
        self._outstanding.let_go.extend(units)
        self._send_closes()

    def let_go_of(self, units: Iterable[UnitOnWire]) -> None:
        """Have units backed out in the next turn of the event loop; see ChannelBooks."""
        self._outstanding.let_go.extend(units)
        if not self._closing.is_set():
            with suppress(RuntimeError):  # the event loop is closed, and the link with it
                self._loop.call_soon_threadsafe(self._send_closes)

    def close_soon(self, handle: Handle) -> None:
        """Have a handle closed, and do not wait for it."""
        handle.is_open = False
        self.let_go({handle.number: handle})
        self._send_closes()

    @property
    def _has_room(self) -> bool:
        return self._outstanding.session.unanswered_count < UNANSWERED_MAX - SPARE

    def _make_room(self) -> None:
        """Wake tasks that wait for room: one for each command that may be sent now."""
        session = self._outstanding.session
        room = UNANSWERED_MAX - SPARE - session.unanswered_count
        if self._closing.is_set():
            room = len(self._for_room)
        while self._for_room and (room > 0 or self._for_room[0].done()):  # done: it was cancelled
            waiter = self._for_room.popleft()
            if not waiter.done():
                waiter.set_result(None)
                room -= 1

    def _send_closes(self) -> None:
        """Close and back out what programs have let go of."""
        state = self._state
        if not state.outstanding.let_go or state.link is None or self._closing.is_set():
            return
        closes = state.outstanding.closes()
        if closes:
            self._sender.send(closes, None, None)

    def _arrived(self, link: Link) -> None:
        """Settle what has arrived, or what went with the link; for the event loop."""
        if link is self._state.link:
            self._recovery.read(link)
        self._send_closes()
        self._make_room()

    def _gave_up(self, _recovery: TaskRecovery) -> None:
        """Let tasks go on that wait for room: what was unanswered has failed."""
        self._make_room()

    def _fail(self, why: str) -> None:
        """Close it, because its own task has ended unexpectedly."""
        self._state.why_closed = why
        self._closing.set()
        self._end(why)

    # -- the end

    async def close(self, abrupt: bool = False) -> None:
        """End the connection; every task that waits gets ConnectionClosed.

        Open units are backed out and handles closed before it returns, and what is durable is
        answered, if the queue manager is there. abrupt: without a word, as when a program dies.
        """
        state = self._state
        if self._closing.is_set():
            return
        with suppress(ConnectionClosed):
            self.check_usable()
        self._closing.set()
        outstanding = state.outstanding
        outstanding.leave(abrupt)
        self._make_room()
        try:
            if state.link is not None and not abrupt:
                farewell = outstanding.farewell()
                with suppress(LimitReached):
                    if farewell:
                        self._sender.send(farewell, None, None)
                with suppress(TimeoutError):
                    async with asyncio.timeout(state.timeouts.close_s):
                        await self._last_answers()
                if outstanding.session.has_seen:
                    self._sender.send([], None, None)
        finally:
            self._end("it was closed meanwhile")

    async def _last_answers(self) -> None:
        while self._outstanding.pending and self._state.link is not None:
            self._recovery.changed.clear()
            await self._recovery.changed.wait()

    def _end(self, why: str) -> None:
        """End the link and the task, and settle what is left."""
        state = self._state
        if state.link is not None:
            self._recovery.lose(state.link, "closed")
        state.outstanding.give_up(why, ConnectionClosed)
        self._make_room()
        self._own_tasks.end()

    def __del__(self) -> None:
        """End the link and the task of a connection that no program can close any more."""
        link = self._state.link
        if self._own_tasks.are_none or self._closing.is_set():
            return
        self._closing.set()
        with suppress(RuntimeError):  # the event loop is closed, and both have ended with it
            self._loop.call_soon_threadsafe(self._own_tasks.end)
            if link is not None:
                self._loop.call_soon_threadsafe(link.shutdown)
        self._warn_unclosed()

    def statistics(self) -> dict[str, Any]:
        """Figures of this connection since it was made."""
        figures = self._figures()
        link = self._state.link
        in_use = 0 if link is None else link.bytes_received
        return figures | {"bytes_received": figures["bytes_received"] + in_use}
