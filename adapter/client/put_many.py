"""Putting many messages in units, pipelined: the next unit is on its way while the last commits.

A unit is committed only when its puts have been accepted, and units are committed in order, so
that what was put is always the beginning of what was given. Commits of one TCP connection are
executed in order. When it is lost, those on their way may be lost while later ones, on the next
connection, are not: so a unit of another connection is committed when the outcome of those before
it is known, and behind those that are put again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress

from msgspec import Struct

from adapter.connection.channel.books import ChannelBooks
from adapter.connection.channel.channel import Channel
from adapter.connection.channel.requests import Handle, Pending, UnitOnWire
from adapter.connection.channel.steps import ROOM, Steps, exchange, run
from adapter.connection.channel.unit import AnyUnit
from adapter.connection.channel.verbs import put_request
from adapter.core.contract import commands as c
from adapter.core.contract.message import MessageData
from adapter.core.contract.results import Done, PutDone
from adapter.core.contract.weights import weight
from adapter.errors import BackedOut, Error

IN_FLIGHT_MAX = 4
"""Commits without an answer: enough to keep a ledger busy that takes one entry at a time."""
UNIT_BYTES_MAX = 4 * 1024 * 1024
"""A unit ends before it has more: a longer one only makes all others wait longer for it."""
RETRIES_MAX = 10
"""Lost connections in a row without any unit getting through."""


class InFlight(Struct):
    """A unit on its way."""

    messages: list[MessageData]
    unit: UnitOnWire
    commit: Pending


def _is_on_its_way(sent: InFlight, behind: UnitOnWire) -> bool:
    """Whether the commit of a unit is executed before that of a later one which is sent now."""
    if sent.commit.answer is not None:
        return isinstance(sent.commit.answer, Done)
    return sent.unit.epoch == behind.epoch


def in_units(messages: Iterable[MessageData], size: int) -> Iterator[list[MessageData]]:
    """Cut messages into units of at most so many, and of bounded bytes."""
    unit: list[MessageData] = []
    total = 0
    for message in messages:
        bytes_ = weight(message)
        if unit and (len(unit) == size or total + bytes_ > UNIT_BYTES_MAX):
            yield unit
            unit, total = [], 0
        unit.append(message)
        total += bytes_
    if unit:
        yield unit


def put_inside(handle: Handle, messages: Iterable[MessageData], size: int, unit: AnyUnit) -> int:
    """Put messages into a unit that is open; returns how many."""
    count = 0
    for some in in_units(messages, size):
        request = put_request(handle, some, unit)
        unit.perform([request], request, PutDone)
        count += len(some)
    return count


def put_in_units(
    channel: Channel, handle: Handle, messages: Iterable[MessageData], size: int
) -> int:
    """Put messages in units of their own; returns how many."""
    pipeline = Pipeline(channel, handle)
    try:
        return run(channel, pipeline.put(messages, size))
    except Exception:
        raise
    except BaseException:  # of a signal handler
        channel.abandon(pipeline.commits)
        channel.break_off()
        raise


class Pipeline:
    """The units of one put_many(). count: how many messages are known to be on the queue."""

    def __init__(self, channel: ChannelBooks, handle: Handle) -> None:
        self.count = 0
        self._channel = channel
        self._handle = handle
        self._in_flight: deque[InFlight] = deque()
        self._again: deque[list[MessageData]] = deque()
        self._retries = 0
        self._why: BackedOut | None = None
        """Why the last unit was lost."""

    @property
    def commits(self) -> list[Pending]:
        """Those in flight."""
        return [sent.commit for sent in self._in_flight]

    def put(self, messages: Iterable[MessageData], size: int) -> Steps[int]:
        """Put everything; returns how many."""
        units = in_units(messages, size)
        try:
            while (unit := (yield from self._next(units))) is not None:
                yield from self._start(unit)
                while len(self._in_flight) >= IN_FLIGHT_MAX:
                    yield from self._await_oldest()
        except Exception as error:
            yield from self.settle(error)
            raise
        return self.count

    def settle(self, error: BaseException) -> Steps[None]:
        """Wait for what is on its way, so that the error can say how many messages were put: up to
        the first that was not.
        """
        count = -1  # what is to be put again is behind all that is on its way
        while self._in_flight:
            is_put = False
            with suppress(Error):
                is_put = yield from self._is_put(self._in_flight.popleft())
            if not is_put and count < 0:
                count = self.count
        self.count = count if count >= 0 else self.count
        if isinstance(error, Error):
            error.messages_put = self.count
        error.add_note(f"{self.count} messages were put before")

    def _next(self, units: Iterator[list[MessageData]]) -> Steps[list[MessageData] | None]:
        """Return the next unit to put; None when all of them are on the queue."""
        while True:
            if self._again:
                return self._again.popleft()
            unit = next(units, None)
            if unit is not None or not self._in_flight:
                return unit
            yield from self._await_oldest()

    def _start(self, messages: list[MessageData]) -> Steps[None]:
        channel = self._channel
        unit = channel.enlist()
        put = Pending(c.Put(self._handle.number, messages, unit.ident), handle=self._handle)
        commit = Pending(c.Commit(unit.ident))
        try:
            yield from exchange(channel, [put], unit)
            channel.result(put, PutDone, unit)
            if lost := (yield from self._lost_before(unit)):
                yield from self._back_out(unit)
                self._put_again([*lost, messages])
                return
            channel.submit([commit], unit)
            channel.forget_unit(unit)
        except BackedOut as why:
            self._why = why
            self._put_again([*(yield from self._lost_in_flight()), messages])
        except Error:
            yield from self._back_out(unit)
            raise
        except BaseException:  # interrupted, or the steps are closed
            channel.give_back([unit])
            raise
        else:
            self._in_flight.append(InFlight(messages, unit, commit))

    def _await_oldest(self) -> Steps[None]:
        """Wait until the oldest unit is durable."""
        sent = self._in_flight.popleft()
        if not (yield from self._is_put(sent)):
            self._put_again([sent.messages, *(yield from self._lost_in_flight())])

    def _lost_before(self, unit: UnitOnWire) -> Steps[list[list[MessageData]]]:
        """Wait until a unit may be committed; return what has to be put again before it is."""
        while True:
            yield ROOM
            if all(_is_on_its_way(sent, unit) for sent in self._in_flight):
                return []
            if lost := (yield from self._lost_in_flight()):
                return lost

    def _lost_in_flight(self) -> Steps[list[list[MessageData]]]:
        """Wait for everything on its way; return, in order, what is not on the queue."""
        lost = []
        while self._in_flight:
            sent = self._in_flight.popleft()
            if not (yield from self._is_put(sent)):
                lost.append(sent.messages)
        return lost

    def _is_put(self, sent: InFlight) -> Steps[bool]:
        """Wait for the outcome of a unit: whether it is on the queue, or known not to be."""
        try:
            yield [sent.commit]
            self._channel.result(sent.commit, Done, sent.unit)
        except BackedOut as why:
            self._why = why
            return False
        self.count += len(sent.messages)
        self._retries = 0
        return True

    def _put_again(self, units: list[list[MessageData]]) -> None:
        """Put units again that are known not to be on the queue, in their place in the order."""
        self._retries += 1
        if self._retries > RETRIES_MAX and self._why is not None:
            raise self._why
        self._again.extendleft(reversed(units))

    def _back_out(self, unit: UnitOnWire) -> Steps[None]:
        """End a unit whose puts were refused."""
        if unit.beginning is None:
            return
        request = Pending(c.Backout(unit.ident))
        try:
            yield from exchange(self._channel, [request], unit)
        except Error:  # it is gone with the connection, or there is no room for the command
            self._channel.give_back([unit])
        except BaseException:
            self._channel.give_back([unit])
            raise
        self._channel.forget_unit(unit)
