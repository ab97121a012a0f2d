"""Getting in units: the loop that a worker program is, with its poison messages set aside.

A message that was backed out before comes in a unit of its own, so that no innocent neighbour's
count rises with its own.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Protocol

from msgspec import Struct

from adapter.channel import arguments as a
from adapter.channel.cancelling import CancelToken
from adapter.channel.channel import Channel
from adapter.channel.commits import CommitsInFlight
from adapter.channel.requests import Handle, Pending
from adapter.channel.unit import AnyUnit, UnitBooks, UnitState
from adapter.channel.verbs import get_request
from adapter.client import admin
from adapter.client.aside import put_aside
from adapter.client.context import Context
from adapter.client.message import Message, incoming
from adapter.client.prefetch import Prefetch, left_ms
from adapter.client.retry import Retries
from adapter.core.contract import commands as c
from adapter.core.contract.backout import explain
from adapter.core.contract.results import Messages
from adapter.errors import (
    BackedOut,
    BackoutThresholdReached,
    ConnectionBroken,
    Error,
    InDoubt,
    NotOpen,
    UnitInProgress,
)

PREFETCH_MAX = 100
"""Units of one loop."""
COMMITS_MAX = 100
"""Of the 768 commands that a connection may leave unanswered."""

STUCK_S = 1.0
"""Between two attempts to put a message elsewhere that no queue takes."""

log = logging.getLogger("adapter.client")


class WorkQueue(Protocol):
    """The queue that is worked on, as this loop sees it."""

    name: str

    @property
    def is_closed(self) -> bool:
        """Whether it, or its connection, was closed."""

    def pause(self, seconds: float) -> bool:
        """Wait so long, or until it is closed; whether it was."""


class ClosableQueue(WorkQueue, Protocol):
    """A queue object that one loop has for itself."""

    def close(self) -> None:
        """Close it, which ends the loop."""


class Work(AnyUnit):
    """A unit that has got messages. failed: it was backed out, and its messages come again; or its
    message was put again, to be tried later.
    """

    def __init__(
        self,
        channel: Channel,
        queue: str,
        commits: CommitsInFlight | None = None,
        retries: Retries | None = None,
    ) -> None:
        """commits: where leaving the with statement leaves the commit in flight. retries: what
        becomes of a message that failed; None: it comes again.
        """
        super().__init__(channel)
        self._queue = queue
        self._commits = commits
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
        return self._state in (UnitState.BACKED_OUT, UnitState.LOST)

    def show(self, messages: list[Message]) -> None:
        """Let the program have what was got; from now on it works in the unit."""
        self.messages = messages
        self._is_used = False

    def submit(self, requests: list[Pending]) -> None:
        self._is_used = True
        super().submit(requests)

    def put_later(self, put: c.Put, message_id: bytes, owner: object) -> None:
        self._is_used = True
        super().put_later(put, message_id, owner)

    def _put_again(self, error: BaseException | None) -> bool:
        """Let its only message be tried later, if nothing else was done in it."""
        is_message_alone = len(self.messages) == 1 and not self._is_used and self.is_open
        if self._retries is None or not isinstance(error, Exception) or not is_message_alone:
            return False
        try:
            self._retries.put_again(self, self.messages[0], error)
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
        was_open = self._state in (UnitState.ACTIVE, UnitState.LOST)
        is_put_again = self._put_again(error)
        try:
            self._leave(None if is_put_again else error)
        except Error as problem:
            is_lost = isinstance(problem, BackedOut) and not problem.units_failed
            if not is_lost and not self._put_refused:
                raise
            error = problem
        if not was_open or error is None or not isinstance(error, Exception):
            return False
        self.failed, self.error = True, error
        if is_put_again and not self.has_come_back:
            return True
        log_failed(self._queue, len(self.messages), error)
        return True


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
            work = Work(self._context.channel, self._queue.name, None, self._retries)
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
        request = get_request(self._handle(), command, work)
        try:
            found = work.perform([request], request, Messages).messages
        except Error:
            if work.is_open:
                work.backout()
            raise
        if not found:
            work.backout()
            return None
        work.show([incoming(delivered, self._context.schemas) for delivered in found])
        return work


class UnitsAhead:
    """A WorkSource: units are got ahead, and their commits may be in flight."""

    def __init__(
        self,
        queue: WorkQueue,
        context: Context,
        handle: Callable[[], Handle],
        size: int,
        prefetch: int,
        commits: int,
        retries: Retries | None = None,
    ) -> None:
        self._queue = queue
        self._context = context
        channel = context.channel
        self._commits = CommitsInFlight(commits)
        in_flight = self._commits if commits > 1 else None
        self._prefetch = Prefetch(
            channel, lambda: Work(channel, queue.name, in_flight, retries), handle, size, prefetch
        )

    def take(self, wait_ms: int, until_s: float) -> Work | None:
        if self._commits.has_failed():
            return None
        taken = self._prefetch.take(wait_ms, until_s, self._commits.has_failed)
        if taken is None:
            return None
        work, found = taken
        work.begin()
        work.show([incoming(delivered, self._context.schemas) for delivered in found])
        return work

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
    size = a.as_whole("size", size, 1, 10_000)
    ahead = a.as_whole("prefetch", prefetch, 0, PREFETCH_MAX)
    in_flight = a.as_whole("commits", commits, 1, COMMITS_MAX)
    if ahead or in_flight > 1:
        return UnitsAhead(queue, context, handle, size, ahead, in_flight, retries)
    return UnitByUnit(queue, context, handle, size, retries)


def units(
    queue: WorkQueue,
    channel: Channel,
    source: WorkSource,
    wait_ms: int,
    retry_delay_s: float,
    retries: Retries | None = None,
) -> Iterator[Work]:
    """Yield units of got messages until nothing comes in time, or the queue is closed."""
    until_s = time.monotonic() + wait_ms / 1000
    try:
        while not queue.is_closed:
            work = _take(queue, source, wait_ms, until_s)
            if work is None:
                break
            if not _is_set_aside(queue, channel, work, retries):
                yield from _shown(work)
                if work.has_come_back:
                    source.return_all()
                    if retries is not None:
                        _pause_if_stuck(queue, retries.after_backout(work))
                if work.failed and queue.pause(retry_delay_s):
                    break
            until_s = time.monotonic() + wait_ms / 1000
        channel.check_process()
        source.finish()
    finally:
        source.close()


def until_cancelled(
    queue: ClosableQueue, loop: Iterator[Work], cancel: CancelToken
) -> Iterator[Work]:
    """Yield the units of a loop until a token is cancelled. queue: the loop's own."""
    try:
        with cancel.ending(queue.close):
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


def _is_set_aside(queue: WorkQueue, channel: Channel, work: Work, retries: Retries | None) -> bool:
    """Put a message elsewhere that is not to be shown now; whether that was done."""
    if retries is None:
        return _set_aside(channel, queue.name, work)
    problem = retries.set_aside(work, work.messages)
    if problem is None:
        return False
    _pause_if_stuck(queue, problem)
    return True


def _pause_if_stuck(queue: WorkQueue, problem: str) -> None:
    """Say that a message that failed stays before the others, and wait for better times."""
    if problem:
        log.error("%s", problem)
        queue.pause(STUCK_S)


def _set_aside(channel: Channel, name: str, work: Work) -> bool:
    """Move a message that came back too often to the backout queue, in the unit that got it."""
    message = work.messages[0]
    if not message.backout_count:
        return False
    verdict = judge(name, message, admin.describe_one(channel, name).attributes)
    if verdict is None:
        return False
    if verdict.problem:
        work.backout()
        raise BackoutThresholdReached(verdict.problem, name)
    try:
        told = explain(message.properties, name, message.backout_count)
        put_aside(channel, verdict.target, work, message, properties=told)
        work.commit()
    except BackedOut as lost:
        if lost.units_failed:
            raise
        return True  # the connection was lost: it comes again
    except (InDoubt, ConnectionBroken):
        raise
    except Error as error:
        work.backout()
        raise BackoutThresholdReached(verdict.failure(error), name) from error
    log_aside(name, verdict.target, message)
    return True


class Judgement(Struct, frozen=True):
    """What becomes of a message that came back too often. problem: why it stays, or ""."""

    happened: str
    target: str
    problem: str = ""

    def failure(self, error: Error) -> str:
        """Say that it could not be moved."""
        return (
            f"{self.happened}could not be moved to queue {self.target}; it stays where it is: "
            f"{error}"
        )


def judge(name: str, message: Message, attributes: Mapping[str, Any]) -> Judgement | None:
    """Decide by its queue's attributes what becomes of a message; None: it is worked on."""
    threshold = attributes["backout_threshold"]
    if not threshold or message.backout_count < threshold:
        return None
    moved_by = attributes.get("backout_action", "PROGRAM")  # an older one has none
    target = attributes["backout_requeue_queue"]
    happened = (
        f"message {message.message_id.hex()} of queue {name} was backed out "
        f"{message.backout_count} times, backout_threshold is {threshold}, and it "
    )
    if moved_by == "MOVE":
        return Judgement(
            happened,
            target,
            happened + "is still there: the queue manager could move it neither to the "
            "backout_requeue_queue nor to the dead-letter queue; its event "
            "backout_threshold_reached says why",
        )
    if not target:
        return Judgement(
            happened,
            target,
            happened + "stays there, because there is no backout_requeue_queue: set one, or set "
            "backout_threshold to 0",
        )
    return Judgement(happened, target)


def log_aside(name: str, target: str, message: Message) -> None:
    """Say that a message was moved."""
    log.warning(
        "message %s of queue %s was backed out %d times: moved to queue %s",
        message.message_id.hex(),
        name,
        message.backout_count,
        target,
    )


def log_failed(name: str, count: int, error: BaseException) -> None:
    """Say that a unit was backed out, and that its messages come again."""
    log.warning("a unit of %d messages from queue %s was backed out", count, name, exc_info=error)


def left_open(work: UnitBooks) -> UnitInProgress:
    """Make the error of a loop whose unit was not ended."""
    return UnitInProgress(
        f"unit {work.id.hex()} was neither committed nor backed out: use `with u:` in the loop",
        work.id.hex(),
    )
