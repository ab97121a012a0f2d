"""Retries: what becomes of a message that a program has failed with, by `units(retry=)`.

Theory. A message that failed must not stand before the others, and must neither be lost nor be
there twice. So it is put to its queue again, to be delivered later, in the unit that gets it: one
commit takes it away here and puts it there. How often that was done is a property of the message,
and so holds for every program that works on the queue, and outlives all of them.

Which unit that is. If the program has done nothing in its unit but get the message, it is that very
unit: nothing has to be undone, and no other program ever sees the message in between. Else the unit
is backed out, and the message is got again by its place and id in a unit of its own. Another
program may be quicker and get it; and a program may die with a message in its hands. Therefore a
message that comes back is not shown to a program at once: the next program that gets it puts it
again in the same way, counting its backouts as attempts. What it failed with is then not known.

Units of several messages. Which of them failed is not known: all come back, each in a unit of its
own, and are shown at once. Only those that fail alone are tried later.
"""

from __future__ import annotations

import logging
import random
import time
from datetime import timedelta
from typing import Protocol

from msgspec import Struct

from adapter.client.aside import leads_to, put_aside
from adapter.client.conversion import incoming
from adapter.client.message import Message
from adapter.client.unit_steps import (
    Exchange,
    UnitEnd,
    UnitSteps,
    commit_aside,
    describe_queue,
    question,
)
from adapter.connection.channel import arguments as a
from adapter.connection.channel.books import ChannelBooks
from adapter.connection.channel.requests import Handle
from adapter.connection.channel.unit import UnitBooks
from adapter.connection.channel.verbs import (
    dead_letter_answer,
    dead_letter_question,
    get_request,
)
from adapter.core.attributes.table import NAME_LENGTH_MAX
from adapter.core.contract import backout
from adapter.core.contract import commands as c
from adapter.core.contract.message import PROPERTIES_MAX, Property, with_properties
from adapter.core.contract.results import Messages, Objects
from adapter.core.mq_layouts.dead_letter import DeadLetter, made_at
from adapter.errors import (
    BackedOut,
    ConnectionBroken,
    Error,
    InDoubt,
    InvalidOption,
    InvalidType,
    NotAuthorized,
    QueueNotFound,
)

TIMES_MAX = 1_000_000
COUNT_MAX = 2 * TIMES_MAX
"""More attempts are not counted: any program may give a message the property that counts them."""
ERROR_LENGTH_MAX = 1000
"""Characters of an exception's text that go into a property."""
LOST = (BackedOut, ConnectionBroken, InDoubt)
"""The unit is gone, or its outcome unknown: no put in it can be tried instead."""
APPLICATION_TYPE = 6
"""MQAT_UNIX: what a client is."""

log = logging.getLogger("adapter.client")


class Retry(Struct, frozen=True):
    """What becomes of a message that a program fails with: units(retry=Retry(...)), workers.

    It is tried again up to times times, the first time after backoff seconds, then after twice as
    long each time, up to backoff_max; jitter: up to this share longer, at random, so that what has
    failed together does not come back together. Until then it is a delayed message: others go on.
    The attempts are counted in its property mqk.attempts, and mqk.error is the last exception's
    text; its id stays, its put time is that of the last put, and an expiry begins anew.
    When all attempts have failed, it goes to the queue then, with the properties mqk.backout_reason
    (retries_used_up) and mqk.backout_queue; without then to the backout_requeue_queue of its queue,
    else to the dead-letter queue. If none of these takes it, it is tried again every backoff_max
    seconds, and an error is logged. A backout because a program or a connection was lost counts as
    an attempt, too. backout_threshold is not looked at; with backout_action MOVE the queue manager
    may move a message first.
    Order: what is tried again comes behind the messages that are there, also on a queue that is
    FIFO. A message of a group keeps its group and number, and comes later than the rest of it. Of
    a unit with several messages each is first shown alone, at once.
    """

    times: int = 5
    backoff: float | timedelta = 1.0
    jitter: float = 0.1
    then: str = ""
    backoff_max: float | timedelta = 3600.0

    def __post_init__(self) -> None:
        """Refuse what is no policy."""
        a.as_whole("times", self.times, 0, TIMES_MAX)
        for name in ("backoff", "backoff_max"):
            a.as_delay_s(name, getattr(self, name))
        if isinstance(self.jitter, bool) or not isinstance(self.jitter, (int, float)):
            raise InvalidType(f"jitter is a number, not {a.shown(self.jitter)}")
        if not 0 <= self.jitter <= 1:
            raise InvalidOption(f"jitter is 0 to 1, not {self.jitter}")
        a.as_text("then", self.then, NAME_LENGTH_MAX)

    def delay_s(self, failures: int) -> float:
        """Return how long to wait before the next attempt, after so many that have failed."""
        longest_s = a.as_delay_s("backoff_max", self.backoff_max)
        doubled = 2.0 ** min(failures - 1, 64)
        delay_s = min(a.as_delay_s("backoff", self.backoff) * doubled, longest_s)
        return float(delay_s * (1 + self.jitter * random.random()))


def as_retry(value: object) -> Retry | None:
    """Take a policy, or None."""
    if value is None or isinstance(value, Retry):
        return value
    raise InvalidType(f"retry is an adapter.Retry or None, not {a.shown(value)}")


class GotFrom(Struct, frozen=True):
    """Where messages of a loop came from.

    queue: the local queue. given: the name that the program has opened, perhaps of an alias; "" if
    it has opened none, as with a subscription.
    """

    queue: str
    given: str = ""

    @classmethod
    def of(cls, handle: Handle) -> GotFrom:
        """Say it of a handle by which messages have just been got: another link may change it."""
        return cls(handle.source, handle.queue)


class FailedUnit(Protocol):
    """A unit that a program has failed in, as retries see it."""

    messages: list[Message]
    error: BaseException | None


class Retries:
    """The retries of one loop, of a thread or a task."""

    def __init__(self, policy: Retry, channel: ChannelBooks, size: int) -> None:
        """size: messages of a unit."""
        self._policy = policy
        self._channel = channel
        self._innocent = 0 if size == 1 else 1
        """Backouts that say nothing of a message: it was in company."""

    def put_again(
        self,
        unit: UnitBooks,
        source: GotFrom,
        message: Message,
        error: BaseException | None,
        *,
        is_logged: bool = False,
    ) -> UnitSteps[None]:
        """Put a message that has failed where it is to go, in a unit that has got it.

        error: None if another program has failed with it. is_logged: its traceback is already.
        Raises why it cannot be put anywhere.
        """
        failures = self._failures(message) + (error is not None)
        told = _count_in(message, failures, error)
        trace = None if is_logged else error
        problem: Error | None = None
        if failures <= self._policy.times and told is not None:
            delay_s = self._policy.delay_s(failures)
            problem = yield from self._put_back(unit, source, message, told, delay_s)
            if problem is None:
                what = f"it is tried again in {delay_s:.3g} s"
                self._log(source, message, failures, what, trace)
                return
        target = yield from self._give_up(unit, source, message, told)
        if target:
            self._log(source, message, failures, f"it was moved to queue {target}", trace)
            return
        longest_s = a.as_delay_s("backoff_max", self._policy.backoff_max)
        if problem is None:
            problem = yield from self._put_back(unit, source, message, told, longest_s)
        if problem is not None:
            raise problem
        log.error(
            "message %s of queue %s failed, attempt %d, and neither a backout_requeue_queue nor "
            "the dead-letter queue takes it: it is tried again in %.3g s",
            message.message_id.hex(),
            source.queue,
            failures,
            longest_s,
            exc_info=trace,
        )

    def set_aside(
        self, unit: UnitBooks, source: GotFrom, message: Message
    ) -> UnitSteps[str] | None:
        """Put a message that has come back again, and commit; None if it is to be shown.

        The steps lead to why it stays where it is, or "".
        """
        if message.backout_count <= self._innocent:
            return None
        return self._in_unit(unit, source, message, None)

    def concern(self, failed: FailedUnit) -> bool:
        """Whether the message of a unit that was backed out is to be put again."""
        return len(failed.messages) == 1 and failed.error is not None

    def after_backout(self, unit: UnitBooks, handle: Handle, failed: FailedUnit) -> UnitSteps[str]:
        """Put the message of a unit that was backed out again, if it is still there.

        unit: a new one. handle: the one to get by. Leads to why it stays where it is, or "".
        """
        (message,) = failed.messages
        command = c.Get(0, message_id=message.message_id, place=message.place)
        request = get_request(handle, command, unit)
        try:
            found = (yield Exchange([request], request, Messages)).messages
        except BackedOut:
            return ""  # the connection was lost: it comes again
        except Error:
            if unit.is_open:
                yield UnitEnd.BACKOUT
            raise
        if not found:  # another program has got it
            yield UnitEnd.BACKOUT
            return ""
        got = incoming(found[0])
        got.backout_count = message.backout_count
        return (yield from self._in_unit(unit, GotFrom.of(handle), got, failed.error))

    def _in_unit(
        self, unit: UnitBooks, source: GotFrom, message: Message, error: BaseException | None
    ) -> UnitSteps[str]:
        # The backout was logged with the error.
        steps = self.put_again(unit, source, message, error, is_logged=True)
        problem = yield from commit_aside(steps)
        if problem is None or isinstance(problem, BackedOut):  # done, or it comes again
            return ""
        return (
            f"message {message.message_id.hex()} of queue {source.queue} has failed, and stays "
            f"before the others: {problem}"
        )

    def _failures(self, message: Message) -> int:
        """How often a message has failed before it was got."""
        counted = message.properties.get(backout.ATTEMPTS)
        before = counted if type(counted) is int and counted > 0 else 0
        failures = before + max(message.backout_count - self._innocent, 0)
        return min(failures, COUNT_MAX)

    def _put_back(
        self,
        unit: UnitBooks,
        source: GotFrom,
        message: Message,
        told: dict[str, Property] | None,
        delay_s: float,
    ) -> UnitSteps[Error | None]:
        """Put a message where it came from; return why that is refused.

        A user may have the right to put by an alias alone.
        """
        problem = yield from self._offer(unit, source.queue, message, told, delay_s)
        if isinstance(problem, NotAuthorized) and source.given not in ("", source.queue):
            return (yield from self._offer(unit, source.given, message, told, delay_s))
        return problem

    def _offer(
        self,
        unit: UnitBooks,
        target: str,
        message: Message,
        told: dict[str, Property] | None,
        delay_s: float,
    ) -> UnitSteps[Error | None]:
        """Put a message in a unit, to be delivered later; return why the queue does not take it."""
        properties = message.properties if told is None else told
        later = {"deliver_after": delay_s, "deliver_at": None}
        try:
            yield from put_aside(unit, target, message, properties=properties, **later)
        except LOST:
            raise
        except Error as problem:
            return problem
        return None

    def _give_up(
        self,
        unit: UnitBooks,
        source: GotFrom,
        message: Message,
        told: dict[str, Property] | None,
    ) -> UnitSteps[str]:
        """Put a message where it stays; return the queue's name, or ""."""
        target = self._policy.then or (yield from _backout_queue(source.queue))
        more = {backout.REASON: backout.RETRIES_USED_UP, backout.QUEUE: source.queue}
        properties = message.properties if told is None else with_properties(told, more)
        if target and not (yield from leads_to(self._channel, target, source.queue)):
            problem = yield from self._offer(unit, target, message, properties, 0)
            if problem is None:
                return str(target)
            log.warning("queue %s does not take a message that failed: %s", target, problem)
        dead = yield from _dead_letter_queue(self._channel)
        if dead in ("", target) or (yield from leads_to(self._channel, dead, source.queue)):
            return ""
        header = self._header(source)
        try:
            fields = {"properties": properties, "deliver_at": None, "feedback": header.reason}
            yield from put_aside(unit, dead, message, dead_letter=header, **fields)
        except LOST:
            raise
        except Error as problem:
            log.warning("the dead-letter queue does not take a message that failed: %s", problem)
            return ""
        return dead

    def _header(self, source: GotFrom) -> DeadLetter:
        return made_at(
            int(time.time() * 1000),
            reason=backout.MQRC_BACKOUT_THRESHOLD_REACHED,
            destination=source.queue,
            destination_queue_manager=self._channel.queue_manager,
            application_type=APPLICATION_TYPE,
        )

    def _log(
        self,
        source: GotFrom,
        message: Message,
        failures: int,
        what: str,
        trace: BaseException | None,
    ) -> None:
        log.warning(
            "message %s of queue %s failed, attempt %d of %d: %s",
            message.message_id.hex(),
            source.queue,
            failures,
            self._policy.times + 1,
            what,
            exc_info=trace,
        )


def retries_of(given: object, channel: ChannelBooks, size: int) -> Retries | None:
    """Check the policy of a loop, and make its retries; None without one."""
    policy = as_retry(given)
    return None if policy is None else Retries(policy, channel, size)


def _backout_queue(name: str) -> UnitSteps[str]:
    """Return a queue's backout queue; "" if it has none, or if the user may not see it."""
    try:
        described = yield from describe_queue(name)
    except (QueueNotFound, NotAuthorized):
        return ""
    return str(described.attributes["backout_requeue_queue"])


def _dead_letter_queue(channel: ChannelBooks) -> UnitSteps[str]:
    """Return the queue manager's dead-letter queue; "" if it has none, or none for the user."""
    try:
        found = yield question(dead_letter_question(channel), Objects)
    except NotAuthorized:
        return ""
    return dead_letter_answer(found)


def _count_in(
    message: Message, failures: int, error: BaseException | None
) -> dict[str, Property] | None:
    """Return a message's properties with those of its attempts; None if there is no room."""
    told: dict[str, Property] = {**message.properties, backout.ATTEMPTS: failures}
    if error is not None:
        text = a.shown_error(error)[:ERROR_LENGTH_MAX]
        told[backout.ERROR] = text.encode("utf-8", "backslashreplace").decode()
    return told if len(told) <= PROPERTIES_MAX else None
