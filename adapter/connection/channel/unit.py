"""Units of work, and how operations find the one they belong to.

Inside `with qm.unit():` operations on that connection, in the same context, join the unit. This
module knows how a unit begins and ends; it does not know puts and gets.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from enum import Enum
from types import MappingProxyType, TracebackType
from typing import Any, Final, Self, TypeVar, overload

from adapter.connection.channel import arguments as a
from adapter.connection.channel.books import ChannelBooks
from adapter.connection.channel.channel import Channel
from adapter.connection.channel.commits import CommitsInFlight
from adapter.connection.channel.deferred import DeferredPuts
from adapter.connection.channel.dropped import warn_of_dropped
from adapter.connection.channel.requests import Pending, UnitOnWire
from adapter.core.contract import commands as c
from adapter.core.contract.results import Done
from adapter.errors import (
    BackedOut,
    Error,
    InDoubt,
    InvalidOption,
    InvalidType,
    LimitReached,
    UnitEnded,
    UnitInProgress,
)

log = logging.getLogger("adapter.client")

ResultT = TypeVar("ResultT")
UnitT = TypeVar("UnitT", bound="UnitBooks")
WhileWaiting = Callable[[], AbstractContextManager[None]]


NO_CLAIMS: Final[Mapping[str, set[bytes]]] = MappingProxyType({})


class NoUnit(Enum):
    """The type of NO_UNIT."""

    NO_UNIT = "no unit"


NO_UNIT: Final = NoUnit.NO_UNIT
"""Given as unit=, it keeps an operation out of the unit it would join."""


class UnitState(Enum):
    """Where a unit stands. The value says it in an error's text."""

    NEW = "has not begun: call begin(), or use it in a with statement"
    ACTIVE = "is open"
    LOST = "was backed out when the connection was lost: do its work again in a new unit"
    CANCELLED = (
        "was backed out when a call in it was cancelled or interrupted: do its work again in a new "
        "unit"
    )
    COMMITTED = "has been committed: begin another"
    BACKED_OUT = "has been backed out: begin another"
    COMMITTING = "is being committed, and flush() waits for the outcome: begin another"
    IN_DOUBT = "has an unknown outcome: ask outcome(unit_id)"


GONE = (UnitState.LOST, UnitState.CANCELLED)
"""Backed out, and not because the program said so."""

_ambient: ContextVar[tuple[UnitBooks, ...]] = ContextVar("units", default=())


class UnitBooks:
    """A unit of work as far as nothing is waited for: what it has asked, and where it stands."""

    _state: UnitState = UnitState.NEW  # also before __init__: the garbage collector looks at it
    claimed: Mapping[str, set[bytes]] = NO_CLAIMS
    """The tokens of claims that it has, by their queue."""

    def __init__(self, channel: ChannelBooks, *, ahead: bool = False) -> None:
        """ahead: the program is not shown what it gets, and a backout raises no count."""
        self._channel = channel
        self._enlisted = channel.enlist(ahead=ahead)
        self._begun_by_hand = False
        self._is_left = False
        """Whether its with statement was left, perhaps in another context, as a generator's is that
        the garbage collector closes: the context which has entered it does not see that."""
        self._deferred: DeferredPuts | None = None
        self._put_refused = False
        self._put_ids: list[bytes] = []
        """Of deferred puts."""

    @property
    def id(self) -> bytes:
        """Its id, 24 bytes: a program that saved it can ask outcome(id), even after a restart."""
        return self._enlisted.ident

    @property
    def message_ids(self) -> list[bytes]:
        """The messages that it is known to have: those put with wait=False."""
        return self._put_ids

    @property
    def on_wire(self) -> UnitOnWire:
        """The unit as its connection sees it."""
        return self._enlisted

    @property
    def channel(self) -> ChannelBooks:
        """The connection it is on."""
        return self._channel

    @property
    def has_operations(self) -> bool:
        """Whether anything has been asked for in it."""
        unit = self._enlisted
        return unit.beginning is not None or bool(self._deferred) or unit.is_broken

    @property
    def is_open(self) -> bool:
        """Whether it has begun and not ended."""
        return self._state is UnitState.ACTIVE

    def begin(self) -> None:
        """Begin it, outside a with statement. Inside one this is accepted once and does nothing."""
        if self._state is UnitState.NEW:
            self._state = UnitState.ACTIVE
        self.check_open()
        if self._begun_by_hand:
            raise UnitInProgress(f"unit {self.id.hex()} has begun already", self.id.hex())
        self._begun_by_hand = True

    def _commit_request(self) -> Pending:
        return Pending(c.Commit(self._enlisted.ident))

    def _send_commit(self, request: Pending, meanwhile: UnitState) -> None:
        """Send the commit. meanwhile: how the unit stands from then on."""
        self._state = meanwhile
        try:
            self.submit([request])
        except BackedOut:
            self._end(UnitState.LOST)
            raise
        except Error:
            self._state = UnitState.ACTIVE  # nothing was sent
            raise
        self._channel.forget_unit(self._enlisted)

    def _leave_commit(self, request: Pending) -> None:
        """Note what is known of a commit whose call was interrupted, and wait for it no longer."""
        self._channel.abandon([request])
        if self._state is UnitState.COMMITTED:
            return
        if not request.sent:
            self._state = UnitState.ACTIVE
            self.give_up()
            return
        self._channel.forget_unit(self._enlisted)
        is_done = isinstance(request.answer, Done)
        self._state = UnitState.COMMITTED if is_done else UnitState.IN_DOUBT

    def give_up(self) -> None:
        """Back it out without a wait: a call of it was cancelled, or interrupted."""
        if self._state is UnitState.ACTIVE:
            self._state = UnitState.CANCELLED
            self._forget_deferred()
            self._channel.give_back([self._enlisted])

    def _settle(self, commit: Pending, refused: UnitState) -> None:
        """Note the outcome of a commit. refused: how the unit stands if only that was refused."""
        try:
            self._channel.result(commit, Done, self._enlisted)
        except BackedOut:
            self._state = UnitState.LOST
            raise
        except InDoubt:
            self._state = UnitState.IN_DOUBT
            raise
        except Error:
            self._put_refused = self._deferred is not None
            self._state = UnitState.BACKED_OUT if self._put_refused else refused
            if self._state is UnitState.BACKED_OUT:  # by the queue manager, if a put was refused
                self._channel.give_back([self._enlisted])
            raise
        self._state = UnitState.COMMITTED

    def settle(self, commit: Pending) -> None:
        """Note the outcome of a commit in flight; raise the error that it is."""
        self._settle(commit, UnitState.BACKED_OUT)

    def check_open(self) -> None:
        """Raise BackedOut or UnitEnded if nothing can be done in this unit."""
        if self._state is UnitState.ACTIVE:
            return
        error = BackedOut if self._state in GONE else UnitEnded
        raise error(f"unit {self.id.hex()} {self._state.value}", self.id.hex())

    def put_later(self, put: c.Put, message_id: bytes, owner: object) -> bool:
        """Keep a put that is sent with the unit's next verb that waits. Its options say so.

        Returns whether what is kept is to be sent now. owner: of the put's handle, which closes it
        when nothing refers to it any more.
        """
        try:
            if self._deferred is None:
                self._deferred = DeferredPuts()
            is_full = self._deferred.keep(put, owner)
            self._channel.keeping[self._enlisted.ident] = self._enlisted, self._deferred
            self._put_ids.append(message_id)
            return is_full
        except BaseException as error:
            if self._channel.was_interrupted(error):
                self.give_up()
            raise

    def submit(self, requests: list[Pending]) -> None:
        """Send requests in this unit, behind its deferred puts; do not wait for their answers."""
        if self._deferred:
            self._channel.submit_behind(self._deferred, requests, self._enlisted)
        else:
            self._channel.submit(requests, self._enlisted)

    def _end(self, state: UnitState) -> None:
        self._state = state
        self._channel.forget_unit(self._enlisted)
        self._forget_deferred()

    def _forget_deferred(self) -> None:
        """Send no deferred puts any more."""
        if self._deferred is not None:
            self._deferred.clear()
            self._channel.keeping.pop(self._enlisted.ident, None)

    def belongs_to(self, channel: ChannelBooks) -> bool:
        """Whether it is a unit of this connection."""
        return self._channel is channel

    def _enter(self) -> Self:
        """Enter a with statement: operations in this context join it from now on."""
        other = _of(self._channel)
        if other is not None:
            raise UnitInProgress(
                f"unit {other.id.hex()} is open here, and units do not nest: end it first, or use "
                "begin() and unit= for a second one",
                other.id.hex(),
            )
        if self._state is UnitState.NEW:
            self._state = UnitState.ACTIVE
        self.check_open()
        self._is_left = False
        _ambient.set((*(unit for unit in _ambient.get() if not unit._is_left), self))
        channel = self._channel
        if log.isEnabledFor(logging.DEBUG) and not channel.is_hinted:
            channel.entered[self.id] = channel.caller
        return self

    def _exit(self) -> bool:
        """Leave the with statement; return whether the unit is to be ended now."""
        self._is_left = True
        _ambient.set(_without(_ambient.get(), self))
        if self._channel.entered:
            self._channel.entered.pop(self.id, None)
        return self._state is UnitState.ACTIVE or self._state in GONE

    def _exit_interrupted(self) -> None:
        """Leave the with statement where something was raised while it was entered or left, a
        signal handler's exception perhaps: nothing joins the unit any more, and it is not open."""
        self._exit()
        self.give_up()

    def _backout_request(self, counted: object) -> Pending | None:
        """End it; return what undoes it at the queue manager, None if it never began there."""
        is_counted = a.as_flag("counted", counted)
        is_cancelled = self._state is UnitState.CANCELLED
        if self._state not in GONE:
            self.check_open()
        self._end(UnitState.BACKED_OUT)
        if is_cancelled or self._enlisted.beginning is None:
            return None
        return Pending(c.Backout(self.id, uncounted=not is_counted))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id.hex()} {self._state.name}>"

    def __del__(self) -> None:
        if self._state is UnitState.ACTIVE:
            self._drop()

    def _drop(self) -> None:
        """Have it backed out, and say so: the program has lost it. Takes no lock, because the
        garbage collector calls it at any moment, in any thread."""
        channel, unit = self._channel, self._enlisted
        unit.is_dropped = True  # before it is looked at: see submit_behind()
        is_begun = channel.holds(unit)
        has_deferred = bool(self._deferred)
        self._forget_deferred()
        if channel.is_closed or not (is_begun or has_deferred):
            return  # there is nothing that a commit would have done
        if is_begun:
            channel.let_go_of([unit])
        self._warn_of_drop()

    def _warn_of_drop(self) -> None:
        name, ident = self._channel.queue_manager, self._enlisted.ident
        warn_of_dropped(
            f"unit {ident.hex()} on queue manager {name} was dropped without commit or backout, "
            "and is backed out: end it, or use it in a with statement",
            self,
        )


class AnyUnit(UnitBooks):
    """A unit of work on one connection: everything put and got in it takes effect together."""

    def __init__(self, channel: Channel, *, ahead: bool = False) -> None:
        """ahead: see UnitBooks."""
        super().__init__(channel, ahead=ahead)
        self._blocking = channel
        """The connection, as threads wait for its answers."""

    @property
    def channel(self) -> Channel:
        """The connection it is on."""
        return self._blocking

    def commit(self, wait: object = True) -> None:
        """Make everything in it take effect, durably.

        wait=False: do not wait for the outcome, unless 8 of the connection are in flight: then for
        the oldest. A commit that failed is raised by a later commit(), which commits nothing then,
        or by flush() or close() of the connection.
        Raises BackedOut if it was lost, InDoubt if no answer is to be had, UnitEnded, and why a put
        with wait=False was refused: the unit is backed out then.
        """
        self.check_open()
        is_awaited = a.as_flag("wait", wait)
        self._blocking.check_process()
        commits = self._blocking.commits
        if commits:
            commits.check()
        if not self.has_operations:  # no verb: there is nothing to commit
            self._end(UnitState.COMMITTED)
        elif is_awaited:
            self._commit_now()
        else:
            self.commit_among(commits)

    def _commit_now(self) -> None:
        request = self._commit_request()
        try:
            self._send_commit(request, UnitState.IN_DOUBT)  # so it is, until there is an answer
            self._blocking.await_all([request])
            self._settle(request, UnitState.ACTIVE)
        except BaseException as error:
            if self._blocking.was_interrupted(error):
                self._leave_commit(request)
            raise

    def commit_among(self, commits: CommitsInFlight) -> None:
        """Commit it and do not wait, unless too many commits are in flight among these."""
        commits.make_room()
        request = self._commit_request()
        try:
            self._send_commit(request, UnitState.COMMITTING)
            commits.add(self, request)
        except BaseException as error:
            if self._blocking.was_interrupted(error):
                self._leave_commit(request)
            raise

    def send_kept(self) -> None:
        """Send its deferred puts now."""
        try:
            self.submit([])
        except BaseException as error:
            if self._blocking.was_interrupted(error):
                self.give_up()
            raise

    def await_outcome(self, commit: Pending) -> None:
        """Wait for the outcome of a commit in flight."""
        self._blocking.await_all([commit])

    def backout(self, *, counted: object = True) -> None:
        """Undo everything in it: puts vanish, what was got is back in its place.

        counted=False: its messages' backout counts do not rise, because the program has not worked
        on them.
        Raises UnitEnded; ConnectionBroken if the queue manager is not to be reached: the unit is
        undone all the same, with its connection.
        """
        try:
            request = self._backout_request(counted)
            if request is None:
                return
            self._blocking.ask([request], self._enlisted)
            self._blocking.result(request, Done, self._enlisted)
        except BackedOut:
            return  # it was gone with a lost connection, which is the same
        except UnitEnded:
            raise
        except BaseException as error:
            self._channel.give_back([self._enlisted])
            if not isinstance(error, LimitReached):
                raise  # else it is undone as soon as there is room for one command more

    def perform(
        self,
        requests: list[Pending],
        request: Pending,
        kind: type[ResultT],
        after: Pending | None = None,
        waiting: WhileWaiting = nullcontext,
    ) -> ResultT:
        """Ask requests in this unit; return the answer of one. See perform()."""
        try:
            self.submit(requests)
            return _answer(self._blocking, self._enlisted, requests, request, kind, after, waiting)
        except BackedOut:
            self._end(UnitState.LOST)
            raise
        except BaseException as error:
            if self._blocking.was_interrupted(error):
                self._blocking.abandon(requests)
                self.give_up()
            raise

    def __enter__(self) -> Self:
        try:
            return self._enter()
        except BaseException as error:
            if self._blocking.was_interrupted(error):
                self._exit_interrupted()
            raise

    def _leave(self, error: BaseException | None) -> None:
        """Leave the with statement: commit, or back out because of an exception."""
        if not self._exit():
            return
        if error is not None:
            self._leave_failed()
            return
        try:
            self._commit_at_end()
        except Error:
            if self._state is UnitState.ACTIVE:
                self._leave_failed()
            raise

    def _commit_at_end(self) -> None:
        """Commit because the with statement is left."""
        self.commit()

    def _leave_failed(self) -> None:
        """Back out on the way of an exception, which is what the caller is to see."""
        try:
            self.backout()
        except Error:
            self._state = UnitState.LOST  # the connection is gone, and the unit with it


class Unit(AnyUnit):
    """A unit as qm.unit() returns it.

    As a context manager, entering begins it, leaving normally commits, any exception backs out;
    after an explicit commit() or backout() leaving does nothing.
    """

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._leave(error)
        except BaseException:
            self._exit_interrupted()
            raise


def _without(units: tuple[UnitBooks, ...], ended: UnitBooks) -> tuple[UnitBooks, ...]:
    if len(units) == 1 and units[0] is ended:
        return ()
    return tuple(unit for unit in units if unit is not ended)


def _of(channel: ChannelBooks) -> UnitBooks | None:
    for unit in _ambient.get():
        if unit._channel is channel and not unit._is_left:
            return unit
    return None


def _hint_outside(channel: ChannelBooks) -> None:
    """Log, once per connection, that a verb is outside a unit which its program may think it joins.

    Units are only noted as entered while the logger is at DEBUG.
    """
    entered = list(channel.entered.items())
    if not entered or channel.is_hinted:
        return  # another thread was faster
    channel.is_hinted = True
    channel.entered.clear()
    ident, caller = entered[0]
    log.debug(
        "%s works outside any unit on the connection to %s, while %s is in the with statement of "
        "unit %s, which includes only calls of its own context: name unit= to join it, or "
        "unit=adapter.NO_UNIT to stay outside (this is logged once per connection)",
        channel.caller,
        channel.queue_manager,
        caller,
        ident.hex(),
    )


@overload
def unit_for(channel: ChannelBooks, unit: None) -> Any: ...
@overload
def unit_for(channel: ChannelBooks, unit: UnitT | NoUnit | None) -> UnitT | None: ...
def unit_for(channel: ChannelBooks, unit: object) -> object:
    """Return the open unit that an operation belongs to: the one named, else the one around it."""
    if unit is None:
        around = _of(channel)
        if around is None:
            if channel.entered:
                _hint_outside(channel)
        elif around._state is not UnitState.ACTIVE:
            around.check_open()
        return around  # a channel's units are of one kind
    if unit is NO_UNIT:
        return None
    if not isinstance(unit, UnitBooks):
        raise InvalidType(f"unit is a unit of this connection or NO_UNIT, not {a.shown(unit)}")
    if not unit.belongs_to(channel):
        raise InvalidOption(
            "the unit belongs to another connection: begin one on this one", unit.id.hex()
        )
    unit.check_open()
    return unit


def show_interrupted(channel: Channel, unit: AnyUnit | None, error: BaseException) -> None:
    """Give a unit up whose program is not shown what was got in it: a signal handler has raised."""
    if unit is not None and channel.was_interrupted(error):
        unit.give_up()


def perform(
    channel: Channel,
    unit: AnyUnit | None,
    requests: list[Pending],
    request: Pending,
    kind: type[ResultT],
    after: Pending | None = None,
    waiting: WhileWaiting = nullcontext,
) -> ResultT:
    """Ask requests, in a unit or outside any; return the answer of one of them.

    after: the open that goes before it in the same exchange; its refusal explains the other's.
    waiting: a context for the time from when they have been sent until they have been answered.
    """
    if unit is not None:
        return unit.perform(requests, request, kind, after, waiting)
    try:
        channel.submit(requests)
        return _answer(channel, None, requests, request, kind, after, waiting)
    except BaseException:
        channel.abandon(requests)
        raise


def _answer(
    channel: Channel,
    unit: UnitOnWire | None,
    requests: list[Pending],
    request: Pending,
    kind: type[ResultT],
    after: Pending | None,
    waiting: WhileWaiting,
) -> ResultT:
    """Wait for the answers to requests; return one of them. See perform()."""
    if waiting is nullcontext:  # the usual case: no context is entered
        channel.await_all(requests)
    else:
        with waiting():
            channel.await_all(requests)
    return channel.result(request, kind, unit, after)
