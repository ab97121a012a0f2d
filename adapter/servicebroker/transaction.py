"""A transaction of a session: its statements take effect together, or not at all.

This module does not know what a statement means.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol, Self

from adapter.connection.channel.channel import Channel
from adapter.connection.channel.closing import CommitOnExit
from adapter.connection.channel.unit import Unit
from adapter.core.contract import broker as b
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done
from adapter.errors import BackedOut, Error, UnitEnded
from adapter.servicebroker import arguments as a
from adapter.servicebroker.errors import ServiceBrokerError, as_broker
from adapter.servicebroker.statements import Statements


class TransactionOwner(Protocol):
    """What a transaction needs of its session."""

    channel: Channel

    @property
    def lock_timeout_ms(self) -> int:
        """See ServiceBroker."""

    def forget(self, transaction: Transaction) -> None:
        """Know that a transaction has ended."""


class Transaction(CommitOnExit, Statements):
    """A transaction; as a context manager see CommitOnExit."""

    def __init__(self, session: TransactionOwner, unit: Unit) -> None:
        self._session = session
        self._own = unit
        self._is_fresh = True

    @property
    def id(self) -> bytes:
        """Its id, 24 bytes: ServiceBroker.outcome() takes it, even after a restart."""
        self._is_fresh = False  # it must stay the same from now on
        return self._own.id

    @property
    def is_open(self) -> bool:
        """Whether it has neither been committed nor rolled back."""
        return self._own.is_open

    @property
    def _may_repeat(self) -> bool:
        return self._is_fresh

    @property
    def lock_timeout_ms(self) -> int:
        """That of its session."""
        return self._session.lock_timeout_ms

    @contextmanager
    def _unit(self) -> Iterator[tuple[Channel, Unit]]:
        try:
            yield self._session.channel, self._own
        except Error as error:
            if error.refused is Reason.DEADLOCK_VICTIM:
                self._end()
            elif self._is_fresh and isinstance(error, BackedOut):
                self._begin_again()
            raise
        self._is_fresh = False

    def _begin_again(self) -> None:
        """Begin anew: the connection was lost, and nothing had been done."""
        self._own._leave_failed()
        self._own = Unit(self._session.channel)
        self._own.begin()

    def save(self, name: str) -> None:
        """SAVE TRANSACTION: note a savepoint."""
        self._do(b.BrokerSave(b"", a.as_text("name", name)), Done)

    def rollback_to(self, name: str) -> None:
        """ROLLBACK TRANSACTION to a savepoint: messages come back, groups stay locked, and nothing
        counts as rolled back.
        """
        command = b.BrokerRollbackTo(b"", a.as_text("name", name))
        # an earlier release says of a savepoint that is not there that its name is not valid
        self._do(command, Done, {Reason.OBJECT_NOT_FOUND: 6401, Reason.NAME_ERROR: 6401})

    def commit(self) -> None:
        """COMMIT: when this returns, it has happened. Raises ServiceBrokerError."""
        with _ending(3902), as_broker():
            self._own.commit()
        self._session.forget(self)

    def rollback(self) -> None:
        """ROLLBACK: what was received is back in its place, and counts for its queues."""
        self._session.forget(self)
        with _ending(3903), as_broker():
            self._own.backout()

    def _undo(self) -> None:
        self.rollback()

    def _end(self) -> None:
        """Know that the queue manager has rolled it back."""
        self._session.forget(self)
        with suppress(UnitEnded):  # a statement of another thread knows it already
            self._own.backout()

    def __enter__(self) -> Self:
        return self


@contextmanager
def _ending(number: int) -> Iterator[None]:
    """Give COMMIT or ROLLBACK without an open transaction SQL Server's number."""
    try:
        yield
    except ServiceBrokerError as error:
        if isinstance(error.__cause__, UnitEnded):
            raise ServiceBrokerError(number, error.text) from error.__cause__
        raise
