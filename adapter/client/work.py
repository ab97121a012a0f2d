"""Getting in units: the loop that a worker program is, with its poison messages set aside.

A message that was backed out before comes in a unit of its own, so that no innocent neighbour's
count rises with its own.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Protocol

from adapter.channel.channel import Channel
from adapter.channel.requests import Handle, open_request
from adapter.channel.unit import AnyUnit, UnitState
from adapter.channel.verbs import close_request, get_request, put_request
from adapter.client import admin
from adapter.client.context import Context
from adapter.client.message import Message, incoming, outgoing
from adapter.core.contract import commands as c
from adapter.core.contract.backout import explained
from adapter.core.contract.results import Messages, PutDone
from adapter.errors import (
    BackedOut,
    BackoutThresholdReached,
    ConnectionBroken,
    Error,
    InDoubt,
    NotOpen,
    UnitInProgress,
)

log = logging.getLogger("adapter.client")


class WorkQueue(Protocol):
    """The queue that is worked on, as this loop sees it."""

    name: str

    @property
    def is_closed(self) -> bool:
        """Whether it, or its connection, was closed."""
        ...

    def pause(self, seconds: float) -> bool:
        """Wait so long, or until it is closed; whether it was."""
        ...


class Work(AnyUnit):
    """A unit that has got messages. failed: it was backed out, and its messages come again."""

    def __init__(self, channel: Channel, queue: str) -> None:
        super().__init__(channel)
        self._queue = queue
        self.messages: list[Message] = []
        self.failed = False

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        was_open = self._state in (UnitState.ACTIVE, UnitState.LOST)
        try:
            self._leave(error)
        except BackedOut as lost:
            error = lost
        if not was_open or error is None or not isinstance(error, Exception):
            return False
        self.failed = True
        log.warning(
            "a unit of %d messages from queue %s was backed out",
            len(self.messages),
            self._queue,
            exc_info=error,
        )
        return True


def units(
    queue: WorkQueue,
    context: Context,
    handle: Callable[[], Handle],
    size: int,
    wait_ms: int,
    retry_delay_s: float,
) -> Iterator[Work]:
    """Yield units of got messages until nothing comes in time, or the queue is closed."""
    until_s = time.monotonic() + wait_ms / 1000
    while not queue.is_closed:
        try:
            work = _get(queue, context, handle(), size, _left_ms(wait_ms, until_s))
        except BackedOut:
            continue  # the connection was lost while the get waited: nothing was got
        except (ConnectionBroken, NotOpen):
            if _was_closed(queue):
                return
            raise
        if work is None:
            return
        if not _set_aside(context.channel, queue.name, work):
            yield from _shown(work)
            if work.failed and queue.pause(retry_delay_s):
                return
        until_s = time.monotonic() + wait_ms / 1000


def _left_ms(wait_ms: int, until_s: float) -> int:
    """Say how long the next get may wait, if all of them together may wait until then."""
    return wait_ms if wait_ms <= 0 else max(int((until_s - time.monotonic()) * 1000), 0)


def _was_closed(queue: WorkQueue) -> bool:
    """Whether another thread has closed the queue or its connection meanwhile."""
    return queue.is_closed


def _get(
    queue: WorkQueue, context: Context, handle: Handle, size: int, wait_ms: int
) -> Work | None:
    work = Work(context.channel, queue.name)
    work.begin()
    request = get_request(handle, c.Get(0, wait_ms=wait_ms, limit=size, alone=True), work)
    try:
        found = work.perform([request], request, Messages).messages
    except Error:
        if work.is_open:
            work.backout()
        raise
    if not found:
        work.backout()
        return None
    work.messages = [incoming(delivered, context.schemas) for delivered in found]
    return work


def _shown(work: Work) -> Iterator[Work]:
    """Let the caller have a unit, and see that it is ended."""
    try:
        yield work
        if work.is_open:
            raise UnitInProgress(
                f"unit {work.id.hex()} was neither committed nor backed out: "
                "use `with u:` in the loop",
                work.id.hex(),
            )
    finally:
        if work.is_open:
            work.backout()


def _set_aside(channel: Channel, name: str, work: Work) -> bool:
    """Move a message that came back too often to the backout queue, in the unit that got it."""
    message = work.messages[0]
    if not message.backout_count:
        return False
    described = admin.describe_one(channel, name)
    threshold = described.attributes["backout_threshold"]
    if not threshold or message.backout_count < threshold:
        return False
    moved_by = described.attributes.get("backout_action", "PROGRAM")  # an older one has none
    target = described.attributes["backout_requeue_queue"]
    happened = (
        f"message {message.message_id.hex()} of queue {name} was backed out "
        f"{message.backout_count} times, backout_threshold is {threshold}, and it "
    )
    if moved_by == "MOVE":
        work.backout()
        raise BackoutThresholdReached(
            happened + "is still there: the queue manager could move it neither to the "
            "backout_requeue_queue nor to the dead-letter queue; its event "
            "backout_threshold_reached says why",
            name,
        )
    if not target:
        work.backout()
        raise BackoutThresholdReached(
            happened + "stays there, because there is no backout_requeue_queue: set one, or set "
            "backout_threshold to 0",
            name,
        )
    try:
        _put_aside(channel, name, target, work, message)
        work.commit()
    except BackedOut:
        return True  # the connection was lost: it comes again
    except (InDoubt, ConnectionBroken):
        raise
    except Error as error:
        work.backout()
        raise BackoutThresholdReached(
            f"{happened}could not be moved to queue {target}; it stays where it is: {error}", name
        ) from error
    log.warning(
        "message %s of queue %s was backed out %d times: moved to queue %s",
        message.message_id.hex(),
        name,
        message.backout_count,
        target,
    )
    return True


def _put_aside(channel: Channel, name: str, target: str, work: Work, message: Message) -> None:
    """Put a message on the backout queue, with properties that say why."""
    handle = channel.new_handle(target, c.OUTPUT)
    told = {"properties": explained(message.properties, name, message.backout_count)}
    put = put_request(handle, [outgoing(message, told, message.application)], work)
    opening = open_request(handle, put.when_lost)
    work.perform([opening, put, close_request(handle)], put, PutDone, after=opening)
