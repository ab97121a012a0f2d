"""Units that are got ahead of the loop that shows them: `units(prefetch=8)`.

Theory. A lone program waits for the queue manager in every step: for the get, then for the commit.
So gets of the next units are on their way while the program works on the present one. Each is a
unit of its own that begins *ahead*: until the client touches it, the queue manager raises no
backout count when the unit is backed out, whatever ends it. The touch is a one-way operation that
goes out before the program sees a message. So when a program dies, the messages that it was shown
count as backed out, and the others do not.

Which gets wait. At most one does, and it is the last one; behind a get that waits there is nothing
to be had. While the queue is short, one unit is asked for ahead, by a get that waits: a program
that is faster than its producers costs one get a message, and leaves other messages to others. When
such gets found messages in a row, more units are asked for, by gets that do not wait (probes),
twice as many each time, up to `most`. A probe that finds nothing reduces that to one unit again,
and the next attempt comes after twice as many steps, up to PATIENCE_MAX.

Order. Units are shown in the order of their gets, which the queue manager executes in order. If a
unit comes back, because the program failed or backed it out, every unit ahead is backed out, and
that is awaited, before the next get: the message that came back is then the first one again. Units
whose connection was lost are gone; they are dropped here before they can be shown.

A queue manager that does not know one-way operations is asked for each unit when it is needed.

The loop's thread takes units. Any other thread, the garbage collector's too, may give all of them
back at any moment; each entry is taken out of the deque by one of them, and there is no lock.

PrefetchBooks waits for nothing, and serves the loops of tasks too (adapter/aio/prefetch.py).
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Generic, TypeVar

from adapter.connection.channel import requests as rq
from adapter.connection.channel.books import ChannelBooks
from adapter.connection.channel.channel import Channel
from adapter.connection.channel.requests import Handle, Pending
from adapter.connection.channel.unit import AnyUnit, UnitBooks
from adapter.connection.channel.verbs import get_request
from adapter.core.contract import commands as c
from adapter.core.contract.message import Delivered
from adapter.core.contract.results import Messages
from adapter.errors import BackedOut, ConnectionBroken, Error, LimitReached

AHEAD_BYTES_MAX: Final = 1024 * 1024
"""Bodies of units ahead, estimated by the largest unit of late: no program waits for more."""
PATIENCE_MAX: Final = 64
"""Steps between two attempts to get more than one unit ahead of a short queue: 2 % of its gets."""
DECAY: Final = 7 / 8
"""By this the estimate of a unit's bytes shrinks with each smaller unit."""

BooksT = TypeVar("BooksT", bound=UnitBooks)
UnitT = TypeVar("UnitT", bound=AnyUnit)


class UnitAhead(Generic[BooksT]):
    """A unit whose get has been sent. is_probe: the get does not wait. is_ahead: the unit is to be
    touched before its messages are shown.
    """

    __slots__ = ("get", "handle", "is_ahead", "is_probe", "unit")

    def __init__(
        self, unit: BooksT, handle: Handle, get: Pending, is_probe: bool, is_ahead: bool
    ) -> None:
        self.unit = unit
        self.handle = handle
        self.get = get
        self.is_probe = is_probe
        self.is_ahead = is_ahead


class PrefetchBooks(Generic[BooksT]):
    """The units ahead of one loop, as far as nothing is waited for."""

    def __init__(
        self,
        channel: ChannelBooks,
        make: Callable[[], BooksT],
        handle: Callable[[], Handle],
        size: int,
        most: int,
    ) -> None:
        """make: returns a new unit. handle: returns the handle that messages are got by. size:
        messages of a unit. most: units ahead of the one that is shown.
        """
        self._channel = channel
        self._make = make
        self._handle = handle
        self._size = size
        self._most = most
        self._ahead: deque[UnitAhead[BooksT]] = deque()
        self._empty: deque[BooksT] = deque()
        """Units that have begun and got nothing: they are used again."""
        self._window = min(1, most)
        self._patience = 1
        self._found_in_row = 0
        self._unit_bytes = 0.0
        self._is_closed = False

    def give_back(self) -> None:
        """Back out every unit ahead, and do not wait. The garbage collector may call it."""
        self._channel.give_back([unit.on_wire for unit in self._take_all()])

    def close(self) -> None:
        """Give everything back, from any thread; the loop gets nothing more."""
        self._is_closed = True
        self.give_back()

    def _take_all(self) -> list[BooksT]:
        units = []
        while self._ahead or self._empty:
            with suppress(IndexError):  # another thread takes them too
                units.append(self._ahead.popleft().unit if self._ahead else self._empty.popleft())
        return units

    def _oldest(self) -> UnitAhead[BooksT] | None:
        """Return the oldest unit ahead; drop those that went with a lost connection."""
        while True:
            try:
                head = self._ahead[0]
            except IndexError:
                return None
            if self._channel.holds(head.unit.on_wire):
                return head
            self._take_out(head)

    def _take_out(self, head: UnitAhead[BooksT]) -> bool:
        """Take the oldest unit out; False if another thread has given it back."""
        try:
            first = self._ahead.popleft()
        except IndexError:
            return False
        if first is not head:
            self._channel.give_back([first.unit.on_wire])
        return first is head

    def _ask(self, wait_ms: int) -> UnitAhead[BooksT] | None:
        """Ask for one unit, because the loop needs it; None if the connection was just lost."""
        asked = self._request(wait_ms, is_probe=False)
        try:
            if asked.is_ahead:
                self._channel.submit(self._to_send(asked))
            else:
                self._channel.submit([asked.get], asked.unit.on_wire)
            self._ahead.append(asked)
        except BackedOut:
            return None
        except BaseException:
            self._channel.give_back([asked.unit.on_wire])
            raise
        return asked

    def _request(self, wait_ms: int, *, is_probe: bool) -> UnitAhead[BooksT]:
        is_ahead = self._channel.takes_one_way
        unit = self._unit()
        command = c.Get(0, wait_ms=wait_ms, limit=self._size, alone=True)
        handle = self._handle()
        return UnitAhead(unit, handle, get_request(handle, command, unit), is_probe, is_ahead)

    def _unit(self) -> BooksT:
        while self._empty:
            with suppress(IndexError):
                unit = self._empty.popleft()
                if self._channel.holds(unit.on_wire):
                    return unit
        return self._make()

    def _to_send(self, asked: UnitAhead[BooksT]) -> list[Pending]:
        if asked.unit.on_wire.beginning is not None:
            return [asked.get]
        begin = Pending(c.Begin(asked.unit.id, ahead=True), rq.FORGOTTEN, one_way=True)
        begin.begins = asked.unit.on_wire
        return [begin, asked.get]

    def _judge(
        self,
        head: UnitAhead[BooksT],
        is_needed: bool,
        is_over: Callable[[], bool],
        wait_ms: int,
    ) -> list[Delivered] | None:
        """Say what an answered get means: the messages to show, [] to show none, None to go on."""
        found = self._found(head, is_needed=is_needed)
        if not found:
            return found if is_needed else None
        if is_over():
            return []
        return found if self._show(head, wait_ms) else None

    def _found(self, head: UnitAhead[BooksT], *, is_needed: bool) -> list[Delivered] | None:
        """Return a unit's messages; None if the unit is of no use."""
        channel = self._channel
        try:
            found = channel.result(head.get, Messages, head.unit.on_wire).messages
        except Error as error:
            is_there = channel.holds(head.unit.on_wire)
            if self._take_out(head):
                channel.give_back([head.unit.on_wire])
            if is_needed and (is_there or not isinstance(error, BackedOut)):
                raise
            self._slow_down()
            return None
        if found:
            self._speed_up(head, sum(len(one.message.body) for one in found))
            return found
        if head.is_probe:
            self._slow_down()
        if self._take_out(head):
            self._empty.append(head.unit)
        return found

    def _speed_up(self, head: UnitAhead[BooksT], unit_bytes: int) -> None:
        """Decide how many units to get ahead, after one that was found."""
        self._unit_bytes = max(unit_bytes, self._unit_bytes * DECAY)
        self._found_in_row += 1
        if head.is_probe:
            self._patience = max(self._patience // 2, 1)
        elif self._found_in_row < self._patience:
            return
        self._window = min(self._window * 2, self._most)

    def _slow_down(self) -> None:
        """Get one unit ahead, because the queue is empty."""
        if self._window > 1:
            self._patience = min(self._patience * 2, PATIENCE_MAX)
        self._window = min(1, self._most)
        self._found_in_row = 0

    def _show(self, head: UnitAhead[BooksT], wait_ms: int) -> bool:
        """Touch a unit, and ask for more in the same frame; False if the unit is gone."""
        if not self._take_out(head):
            return False
        more: list[UnitAhead[BooksT]] = []
        try:
            more = self._more(wait_ms)
            requests = [request for asked in more for request in self._to_send(asked)]
            if head.is_ahead:
                requests.append(Pending(c.Touch(head.unit.id), rq.FORGOTTEN, one_way=True))
            if requests:
                self._channel.submit(requests, head.unit.on_wire)
            self._ahead.extend(more)
        except BackedOut:
            return False
        except BaseException:  # interrupted, or without a handle: the loop shows none of them
            self._channel.give_back([one.unit.on_wire for one in (head, *more)])
            raise
        if self._is_closed:  # by another thread, which could not see these
            self.give_back()
        return True

    def _more(self, wait_ms: int) -> list[UnitAhead[BooksT]]:
        """Make the gets of units that are to be got ahead."""
        if not self._channel.takes_one_way or (self._ahead and not self._ahead[-1].is_probe):
            return []
        room = int(AHEAD_BYTES_MAX / max(self._unit_bytes, 1.0))
        count = min(self._window, room) - len(self._ahead)
        is_probe = self._window > 1
        wait_ms = 0 if is_probe else wait_ms
        return [self._request(wait_ms, is_probe=is_probe) for _ in range(count)]


class Prefetch(PrefetchBooks[UnitT]):
    """The units ahead of one loop of a thread."""

    def __init__(
        self,
        channel: Channel,
        make: Callable[[], UnitT],
        handle: Callable[[], Handle],
        size: int,
        most: int,
    ) -> None:
        """See PrefetchBooks."""
        super().__init__(channel, make, handle, size, most)
        self._blocking = channel
        """The connection, as threads wait for its answers."""
        self.taken: UnitT | None = None
        """What take() has returned last: a signal handler may raise before its caller has it."""

    def take(
        self, wait_ms: int, until_s: float, is_over: Callable[[], bool]
    ) -> tuple[UnitT, list[Delivered], Handle] | None:
        """Return the next unit, touched, its messages and the handle they were got by; None if none
        come in time.

        wait_ms: how long a get waits, -1: without limit; until_s: when the time of this one is
        over. is_over: asked when a unit is there; if so, the unit stays ahead. Raises what a get
        that the loop waits for is refused with.
        """
        while not self._is_closed:
            oldest = self._oldest()
            head = oldest or self._ask(left_ms(wait_ms, until_s))
            if head is None:
                continue
            self._blocking.await_all([head.get])
            try:
                found = self._judge(head, oldest is None, is_over, wait_ms)
                if found:
                    self.taken = head.unit
                    return head.unit, found, head.handle
                if found is not None:
                    return None
            except BaseException:
                if head not in self._ahead:
                    self._channel.give_back([head.unit.on_wire])
                raise
        return None

    def forget_taken(self) -> None:
        """The caller has what take() has returned last."""
        self.taken = None

    def return_all(self) -> None:
        """Back out every unit ahead and wait for it, so that the next get finds every message in
        its place."""
        units = [unit.on_wire for unit in self._take_all()]
        backouts = [Pending(c.Backout(unit.ident)) for unit in units if self._blocking.holds(unit)]
        for unit in units:
            self._blocking.forget_unit(unit)
        try:
            if backouts:
                self._blocking.ask(backouts)
        except (ConnectionBroken, LimitReached):  # gone with the connection, or there is no room
            self._blocking.give_back(units)
        except BaseException:
            self._blocking.give_back(units)
            raise


def left_ms(wait_ms: int, until_s: float) -> int:
    """Say how long the next get may wait, if all of them together may wait until then."""
    return wait_ms if wait_ms <= 0 else max(math.ceil((until_s - time.monotonic()) * 1000), 0)
