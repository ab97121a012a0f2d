"""Commits in flight: units whose commits were sent, and whose outcomes were not awaited.

Theory. Commits are numbered commands of the session, and the queue manager executes those of a
connection in order. If the connection is lost, each is sent again under its number: it is answered
from its recorded outcome, or refused because its unit was lost before it arrived. Since frames
arrive in order, a lost connection divides the commits in flight: up to some point they took effect,
behind it they did not. A program loses nothing by not waiting, but it hears of a failure later.

A failure is raised once, by the next call here that may raise: it waits for all that is in flight
behind the failed commit, so that the error names every unit that failed (`units_failed`). The bound
makes a program that commits faster than the queue manager wait for its oldest commit.

Any thread may call this. It does not know what a unit does. CommitsBooks waits for nothing, and
serves the tasks of adapter.aio too.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol, cast

from adapter.connection.channel.forking import new_lock
from adapter.connection.channel.requests import Pending
from adapter.errors import Error
from adapter.errors.root import UnitFailure

IN_FLIGHT_MAX: Final = 8
"""Commits of a connection without an answer: so many keep the queue manager busy."""


class CommittedUnit(Protocol):
    """A unit whose commit was sent."""

    @property
    def id(self) -> bytes:
        """Its id."""

    @property
    def message_ids(self) -> list[bytes]:
        """The messages that it got or put, as far as the client knows."""

    def settle(self, commit: Pending) -> None:
        """Note the outcome, which is there; raise the error that it is."""


class AwaitedUnit(CommittedUnit, Protocol):
    """One whose outcome a thread waits for."""

    def await_outcome(self, commit: Pending) -> None:
        """Wait until the outcome is there."""


class CommitInFlight:
    """A unit and its commit."""

    __slots__ = ("commit", "unit")

    def __init__(self, unit: CommittedUnit, commit: Pending) -> None:
        self.unit = unit
        self.commit = commit


class CommitsBooks:
    """Commits without an answer, the oldest first, and failures that have not been raised."""

    def __init__(self, most: int) -> None:
        """most: how many may be unanswered."""
        self._most = most
        self._in_flight: deque[CommitInFlight] = deque()
        self._failed: deque[UnitFailure] = deque()
        self._first: Error | None = None
        self._lock = new_lock()
        """Held from when a commit is taken for settled until its failure is noted, so that it is
        in flight or its failure there to be raised, whichever thread looks."""

    def __bool__(self) -> bool:
        return bool(self._in_flight) or self._first is not None

    @property
    def is_full(self) -> bool:
        """Whether the oldest commit is to be awaited before another one is sent."""
        return len(self._in_flight) >= self._most

    def add(self, unit: CommittedUnit, commit: Pending) -> None:
        """Note a commit that has been sent."""
        self._in_flight.append(CommitInFlight(unit, commit))

    def has_failed(self) -> bool:
        """Note the outcomes that have arrived; return whether a commit is known to have failed."""
        if self._in_flight:
            self._settle_answered()
        return self._first is not None

    def raise_failed(self) -> None:
        """Raise the first failure, with all units that failed; every outcome is known."""
        with self._lock:
            first, self._first = self._first, None
            if first is None:
                return
            while self._failed:
                first.units_failed.append(self._failed.popleft())
        first.add_note("commits in flight that failed:")
        for failure in first.units_failed:
            first.add_note(str(failure))
        raise first

    def hand_over(self, to: CommitsBooks) -> None:
        """Leave to another one what is in flight here, and what failed."""
        to._take_over(self._in_flight, self._failed, self._first)
        self._in_flight, self._failed, self._first = deque(), deque(), None

    def _take_over(
        self, in_flight: deque[CommitInFlight], failed: deque[UnitFailure], first: Error | None
    ) -> None:
        self._in_flight.extend(in_flight)
        self._failed.extend(failed)
        self._first = self._first or first

    def _settle_answered(self) -> None:
        """Note the outcomes that have arrived, the oldest first."""
        with self._lock:
            while self._in_flight and self._in_flight[0].commit.answer is not None:
                oldest = self._in_flight[0]
                try:
                    oldest.unit.settle(oldest.commit)
                except Error as error:
                    self._note(oldest, error)
                self._in_flight.popleft()

    def _note(self, failed: CommitInFlight, error: Error) -> None:
        unit = failed.unit
        self._failed.append(UnitFailure(unit.id, unit.message_ids, error))
        self._first = self._first or error


class CommitsInFlight(CommitsBooks):
    """Commits in flight, as threads wait for them.

    One thread waits for the oldest, and others behind it. A commit whose wait a signal handler's
    exception has ended is in doubt: that is its answer then, see Channel.abandon().
    """

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self._waiting = new_lock()

    def make_room(self) -> None:
        """Wait until one more commit may be sent."""
        while self.is_full:
            self._await_oldest()

    def check(self) -> None:
        """If a commit is known to have failed, wait for all in flight and raise it."""
        if self.has_failed():
            self.flush()

    def flush(self) -> None:
        """Wait for every commit in flight. Raises the first failure, with all units that failed."""
        while self._in_flight:
            self._await_oldest()
        self.raise_failed()

    def _await_oldest(self) -> None:
        with self._waiting:
            try:
                oldest = self._in_flight[0]
            except IndexError:
                return  # another thread has just seen its outcome
            cast("AwaitedUnit", oldest.unit).await_outcome(oldest.commit)
            self._settle_answered()
