"""Getting in units: the loop that a worker program is, with its poison messages set aside.

A message that was backed out before comes in a unit of its own, so that no innocent neighbour's
count rises with its own.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Protocol
from weakref import WeakSet

from adapter.client.context import Context
from adapter.client.conversion import incoming
from adapter.client.message import Message
from adapter.client.poison import move_poison
from adapter.client.prefetch import Prefetch, left_ms
from adapter.client.retry import GotFrom, Retries
from adapter.client.schemas import Schemas
from adapter.client.unit import ProducingUnit
from adapter.client.unit_steps import UnitSteps, carry_out
from adapter.connection.channel import arguments as a
from adapter.connection.channel.books import ChannelBooks
from adapter.connection.channel.cancelling import CancelToken
from adapter.connection.channel.channel import Channel
from adapter.connection.channel.commits import CommitsInFlight
from adapter.connection.channel.requests import Handle, Pending
from adapter.connection.channel.unit import GONE, AnyUnit, UnitBooks, UnitState
from adapter.connection.channel.verbs import get_request
from adapter.core.contract import commands as c
from adapter.core.contract.message import Delivered
from adapter.core.contract.results import Messages
from adapter.errors import (
    BackedOut,
    ConnectionBroken,
    Error,
    NotOpen,
    UnitInProgress,
)

PREFETCH_MAX = 100
"""Units of one loop."""
COMMITS_MAX = 100
"""Of the 512 commands that a connection may leave unanswered."""

STUCK_S = 1.0
"""Between two attempts to put a message elsewhere that no queue takes."""

log = logging.getLogger("adapter.client")


class WorkQueue(Protocol):
    """The queue that is worked on, as this loop sees it."""

    @property
    def is_closed(self) -> bool:
        """Whether it, or its connection, was closed."""

    def pause(self, seconds: float) -> bool:
        """Wait so long, or until it is closed; whether it was."""


class ClosableQueue(WorkQueue, Protocol):
    """A queue object that one loop has for itself."""

    def close(self) -> None:
        """Close it, which ends the loop."""


class WorkBooks(UnitBooks):
    """A unit that has got messages, as far as nothing is waited for.

    failed: it was backed out, and its messages come again; or its message was put again, to be
    tried later.
    """

    def __init__(self, channel: ChannelBooks, retries: Retries | None) -> None:
        """retries: what becomes of a message that failed; None: it comes again."""
        super().__init__(channel)
        self._source = GotFrom("")
        self._retries = retries
        self._is_used = False
        """Whether the program has done anything in it."""
        self.messages: list[Message] = []
        self.failed = False
        self.error: BaseException | None = None
        """Why it failed."""

    @property
    def message_ids(self) -> list[bytes]:
        """The messages that it has got, and those put with wait=False."""
        return [message.message_id for message in self.messages] + self._put_ids

    @property
    def has_come_back(self) -> bool:
        """Whether it has ended, and its messages come again."""
        return self._state is UnitState.BACKED_OUT or self._state in GONE

    def show(self, found: list[Delivered], source: GotFrom, schemas: Schemas) -> None:
        """Let the program have what was got from a source; from now on it works in the unit."""
        self._source = source
        self.messages = [incoming(delivered, schemas) for delivered in found]
        self._is_used = False

    def submit(self, requests: list[Pending]) -> None:
        self._is_used = True
        super().submit(requests)

    def put_later(self, put: c.Put, message_id: bytes, owner: object) -> bool:
        self._is_used = True
        return super().put_later(put, message_id, owner)

    def steps_aside(self) -> UnitSteps[str | None] | None:
        """Return what puts its message elsewhere before it is shown; None if it is to be shown.

        The steps lead to None if it is to be shown nevertheless, else to why it stays, or "".
        """
        message = self.messages[0]
        if self._retries is not None:
            return self._retries.set_aside(self, self._source, message)
        if not message.backout_count:
            return None
        return move_poison(self, self._source.queue, message)

    def _steps_again(self, error: BaseException | None) -> UnitSteps[None] | None:
        """Return what has its only message tried later, if nothing else was done in it."""
        is_message_alone = len(self.messages) == 1 and not self._is_used and self.is_open
        if self._retries is None or not isinstance(error, Exception) or not is_message_alone:
            return None
        return self._retries.put_again(self, self._source, self.messages[0], error)

    @property
    def _is_unended(self) -> bool:
        return self._state is UnitState.ACTIVE or self._state in GONE

    def _comes_again(self, problem: Error) -> bool:
        """Whether the error of its commit means that its messages come again, and no more."""
        is_lost = isinstance(problem, BackedOut) and not problem.units_failed
        return is_lost or self._put_refused

    def _note_failure(self, error: BaseException | None, is_put_again: bool) -> bool:
        """Note why it failed; return whether the loop goes on in spite of that."""
        if not isinstance(error, Exception):
            return False
        self.failed, self.error = True, error
        if not is_put_again or self.has_come_back:
            log.warning(
                "a unit of %d messages from queue %s was backed out",
                len(self.messages),
                self._source.queue,
                exc_info=error,
            )
        return True


def has_ended_itself(work: WorkBooks) -> bool:
    """Whether the program has committed a unit, or backed it out: an error behind that changes
    nothing any more.
    """
    return not work._is_unended


class Work(WorkBooks, ProducingUnit):
    """A unit that has got messages, as a loop shows it."""

    def __init__(
        self,
        context: Context,
        commits: CommitsInFlight | None = None,
        retries: Retries | None = None,
    ) -> None:
        """commits: where leaving the with statement leaves the commit in flight."""
        self._context = context
        super().__init__(context.channel, retries)
        self._commits = commits

    def _warn_of_drop(self) -> None:
        """Say nothing: the loop that shows it refers to it, so the two go together, and a loop that
        is left has its unit backed out. The garbage collector may come to the unit first.
        """

    def _put_again(self, error: BaseException | None) -> bool:
        """Have its message tried later; whether that was done, and is to be committed."""
        steps = self._steps_again(error)
        if steps is None:
            return False
        try:
            carry_out(self, steps)
        except Error:
            return False  # the unit is backed out
        return True

    def _commit_at_end(self) -> None:
        if self._commits is None:
            self.commit()
        else:
            self.commit_among(self._commits)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        try:
            was_unended = self._is_unended
            is_put_again = self._put_again(error)
            try:
                self._leave(None if is_put_again else error)
            except Error as problem:
                if not self._comes_again(problem):
                    raise
                error = problem
            return was_unended and self._note_failure(error, is_put_again)
        except BaseException:
            self._exit_interrupted()
            raise


class WorkSource(Protocol):
    """Where a loop has its units from."""

    def take(self, wait_ms: int, until_s: float) -> Work | None:
        """Return the next unit; None if nothing comes in time, or if a commit has failed."""

    def return_all(self) -> None:
        """See to it that messages which came back come again in their order."""

    def finish(self) -> None:
        """Wait for every commit in flight; raise what failed."""

    def give_back(self) -> None:
        """Give back what is not shown, from any thread: the queue is closed."""

    def close(self) -> None:
        """Give back what is not shown. The garbage collector may call it."""


class UnitByUnit:
    """A WorkSource: each unit is got when the loop needs it, and its commit is awaited."""

    def __init__(
        self,
        queue: WorkQueue,
        context: Context,
        handle: Callable[[], Handle],
        size: int,
        retries: Retries | None = None,
    ) -> None:
        self._queue = queue
        self._context = context
        self._handle = handle
        self._size = size
        self._retries = retries

    def take(self, wait_ms: int, until_s: float) -> Work | None:
        while not self._queue.is_closed:
            work = Work(self._context, None, self._retries)
            try:
                return self._got(work, left_ms(wait_ms, until_s))
            except BackedOut:
                if work.channel.holds(work.on_wire):
                    raise
                # The connection was lost while the get waited: nothing was got.
        return None

    def return_all(self) -> None:
        """See WorkSource: nothing was got behind the messages that came back."""

    def finish(self) -> None:
        """See WorkSource: no commit is in flight."""

    def give_back(self) -> None:
        """See WorkSource: everything that was got was shown."""

    def close(self) -> None:
        """See WorkSource: everything that was got was shown."""

    def _got(self, work: Work, wait_ms: int) -> Work | None:
        work.begin()
        command = c.Get(0, wait_ms=wait_ms, limit=self._size, alone=True)
        handle = self._handle()
        request = get_request(handle, command, work)
        try:
            found = work.perform([request], request, Messages).messages
            if not found:
                work.backout()
                return None
            work.show(found, GotFrom.of(handle), self._context.schemas)
            return work
        except Error:
            if work.is_open:
                work.backout()
            raise
        except BaseException:
            work.give_up()
            raise


class UnitsAhead:
    """A WorkSource: units are got ahead, and their commits may be in flight."""

    def __init__(
        self,
        context: Context,
        handle: Callable[[], Handle],
        size: int,
        prefetch: int,
        commits: int,
        retries: Retries | None = None,
    ) -> None:
        self._context = context
        self._commits = CommitsInFlight(commits)
        in_flight = self._commits if commits > 1 else None
        self._prefetch = Prefetch(
            context.channel,
            lambda: Work(context, in_flight, retries),
            handle,
            size,
            prefetch,
        )

    def take(self, wait_ms: int, until_s: float) -> Work | None:
        if self._commits.has_failed():
            return None
        self._prefetch.forget_taken()
        try:
            taken = self._prefetch.take(wait_ms, until_s, self._commits.has_failed)
            if taken is None:
                return None
            work, found, handle = taken
            work.begin()
            work.show(found, GotFrom.of(handle), self._context.schemas)
            return work
        except BaseException as error:
            channel = self._context.channel
            if self._prefetch.taken is not None:  # the loop does not show it
                self._prefetch.taken.give_up()
                channel.give_back([self._prefetch.taken.on_wire])
            elif channel.was_interrupted(error):
                channel.break_off()  # it may have had a unit in hand
            raise

    def return_all(self) -> None:
        self._prefetch.return_all()

    def finish(self) -> None:
        self._commits.flush()

    def give_back(self) -> None:
        self._prefetch.close()

    def close(self) -> None:
        """See WorkSource. Commits in flight are left to the connection."""
        self._prefetch.close()
        self._commits.hand_over(self._context.channel.commits)


def loop_sizes(size: int, prefetch: int, commits: int) -> tuple[int, int, int]:
    """Check how many messages a unit of a loop has, and how many units it keeps on their way."""
    return (
        a.as_whole("size", size, 1, 10_000),
        a.as_whole("prefetch", prefetch, 0, PREFETCH_MAX),
        a.as_whole("commits", commits, 1, COMMITS_MAX),
    )


def source_of(
    queue: WorkQueue,
    context: Context,
    handle: Callable[[], Handle],
    size: int,
    prefetch: int,
    commits: int,
    retries: Retries | None,
) -> WorkSource:
    """Check what a program asks for, and make the source of its units."""
    size, ahead, in_flight = loop_sizes(size, prefetch, commits)
    if ahead or in_flight > 1:
        return UnitsAhead(context, handle, size, ahead, in_flight, retries)
    return UnitByUnit(queue, context, handle, size, retries)


def units(
    queue: WorkQueue,
    channel: Channel,
    handle: Callable[[], Handle],
    source: WorkSource,
    wait_ms: int,
    retry_delay_s: float,
    retries: Retries | None = None,
) -> Iterator[Work]:
    """Yield units of got messages until nothing comes in time, or the queue is closed."""
    until_s, work = time.monotonic() + wait_ms / 1000, None
    try:
        while not queue.is_closed:
            work = _take(queue, source, wait_ms, until_s)
            if work is None:
                break
            if not _is_set_aside(queue, work):
                yield from _shown(work)
                if work.has_come_back:
                    source.return_all()
                    if retries is not None and retries.concern(work):
                        _put_again(queue, channel, handle, work, retries)
                if work.failed and queue.pause(retry_delay_s):
                    break
            until_s = time.monotonic() + wait_ms / 1000
        channel.check_process()
        source.finish()
    finally:
        try:
            if work is not None:
                work.give_up()  # if it is open, a signal handler has raised before it was shown
            source.close()
        except BaseException:
            channel.break_off()  # so has one now: what was got ahead goes with the link
            raise


class QueueLoops:
    """The loops of one queue object, which end with it."""

    def __init__(self) -> None:
        self.sources: WeakSet[WorkSource] = WeakSet()
        self._own: WeakSet[ClosableQueue] = WeakSet()
        """Queue objects that loops with a token have for themselves."""

    def until_cancelled(
        self,
        queue: WorkQueue,
        own: ClosableQueue,
        loop: Iterator[Work],
        cancel: CancelToken,
        end: Callable[[], None],
    ) -> Iterator[Work]:
        """Yield the units of a loop until a token is cancelled, or the queue object is closed.

        own: what the loop has for itself. end: closes that, and does not wait.
        """
        self._own.add(own)
        if queue.is_closed:  # by another thread, which could not see it
            own.close()
        return _until_cancelled(own, loop, cancel, end)

    def end(self) -> None:
        """Give back what the loops have not shown; they get nothing more."""
        for source in list(self.sources):
            source.give_back()
        for own in list(self._own):
            own.close()


def _until_cancelled(
    queue: ClosableQueue, loop: Iterator[Work], cancel: CancelToken, end: Callable[[], None]
) -> Iterator[Work]:
    """Yield the units of a loop until a token is cancelled. queue: the loop's own."""
    try:
        with cancel.ending(end):
            yield from loop
    finally:
        queue.close()


def _take(queue: WorkQueue, source: WorkSource, wait_ms: int, until_s: float) -> Work | None:
    """Return the next unit; None if none comes, also because another thread closed the queue."""
    try:
        return source.take(wait_ms, until_s)
    except (ConnectionBroken, NotOpen):
        if queue.is_closed:
            return None
        raise


def _shown(work: Work) -> Iterator[Work]:
    """Let the caller have a unit, and see that it is ended."""
    try:
        yield work
        if work.is_open:
            raise left_open(work)
    finally:
        if work.is_open:
            with suppress(ConnectionBroken):  # it is gone with the connection
                work.backout()


def _is_set_aside(queue: WorkQueue, work: Work) -> bool:
    """Put a message elsewhere that is not to be shown now; whether that was done."""
    steps = work.steps_aside()
    problem = None if steps is None else carry_out(work, steps)
    if problem is None:
        return False
    _pause_if_stuck(queue, problem)
    return True


def _put_again(
    queue: WorkQueue,
    channel: Channel,
    handle: Callable[[], Handle],
    work: Work,
    retries: Retries,
) -> None:
    """Have the message of a unit that was backed out tried later."""
    unit = AnyUnit(channel)
    unit.begin()
    try:
        problem = carry_out(unit, retries.after_backout(unit, handle(), work))
    except (ConnectionBroken, NotOpen):
        if queue.is_closed:  # it comes again, and is tried later then
            return
        raise
    _pause_if_stuck(queue, problem)


def _pause_if_stuck(queue: WorkQueue, problem: str) -> None:
    """Say that a message that failed stays before the others, and wait for better times."""
    if problem:
        log.error("%s", problem)
        queue.pause(STUCK_S)


def left_open(work: UnitBooks) -> UnitInProgress:
    """Make the error of a loop whose unit was not ended."""
    return UnitInProgress(
        f"unit {work.id.hex()} was neither committed nor backed out: use `with u:` in the loop",
        work.id.hex(),
    )
