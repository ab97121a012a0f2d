"""MessageQueueTransaction: a unit of work, in the states of System.Messaging.

A transaction is one of this queue manager; it is not coordinated with other resource managers. This
module knows no queue.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Protocol, Self

from adapter.connection.channel.channel import Channel
from adapter.connection.channel.closing import CommitOnExit
from adapter.connection.channel.plain_arguments import WrongArgument, WrongArgumentType
from adapter.connection.channel.unit import Unit
from adapter.errors import BackedOut, Error, InDoubt, UnitEnded
from adapter.msmq import identifiers
from adapter.msmq.computers import ComputerChannel, ComputerConnections
from adapter.msmq.enumerations import MessageQueueTransactionStatus as Status
from adapter.msmq.enumerations import MessageQueueTransactionType as Kind
from adapter.msmq.error_codes import MessageQueueErrorCode as Code
from adapter.msmq.errors import (
    InvalidOperationError,
    MessageQueueException,
    ObjectDisposedError,
    translate,
)

log = logging.getLogger("adapter.msmq")

OF_ANOTHER_HOST = (
    "an operation with MessageQueueTransactionType.AUTOMATIC at queue manager %s takes part in no "
    "transaction: the transaction scope that is open is of another host. Use the host of the "
    "scope; in a function that a trigger service calls, adapter.msmq.triggers.current_host()"
)


class HasComputers(Protocol):
    """What has connections: a host."""

    @property
    def computers(self) -> ComputerConnections:
        """The connections."""


class MessageQueueTransaction(CommitOnExit):
    """A transaction on one host. As a context manager: entering begins it, leaving normally
    commits, any exception aborts; after an explicit outcome leaving does nothing.

    It is one of a single queue manager: of the host's own, or, if it first receives from a queue of
    another computer, of that computer's.

    It may be begun again after its outcome, also after one that is unknown.
    """

    def __init__(self, host: HasComputers) -> None:
        self._computers = host.computers
        self._unit: Unit | None = None
        self._status = Status.INITIALIZED
        self._entered = False
        self._disposed = False
        self._is_in_doubt = False
        """It is pending for ever: its commit has ended it, and said nothing of the outcome."""

    @property
    def status(self) -> Status:
        """INITIALIZED, PENDING, COMMITTED or ABORTED."""
        return self._status

    @property
    def is_open(self) -> bool:
        """Whether it is pending."""
        return self._status is Status.PENDING

    @property
    def _goes_on(self) -> bool:
        return self._status is Status.PENDING and not self._is_in_doubt

    @property
    def id(self) -> str:
        """Its id, that of its messages; "" before it is begun. Host.outcome() takes it.

        It is settled by the first operation in it: if that receives from a queue of another
        computer, it is an id of that computer's queue manager.
        """
        return identifiers.shown(self._unit.id) if self._unit is not None else ""

    @property
    def computer(self) -> str:
        """The computer whose queue manager has it, for Host.outcome(); "": the host's own."""
        channel = None if self._unit is None else self._unit.channel
        return channel.computer if isinstance(channel, ComputerChannel) else ""

    def begin(self) -> None:
        """Begin it. Raises InvalidOperationError if it is pending, ObjectDisposedError."""
        if self._disposed:
            raise ObjectDisposedError("the transaction is disposed of: make another")
        if self._goes_on:
            if self._entered:
                self._entered = False  # inside its with statement this is accepted once
                return
            raise InvalidOperationError("the transaction is pending: commit or abort it first")
        self._unit = _begin_unit(self._computers.own.channel)
        self._status, self._is_in_doubt = Status.PENDING, False

    def commit(self) -> None:
        """Make everything in it take effect, durably. When this returns, it has happened.

        Raises InvalidOperationError if it is not pending; MessageQueueException if it was lost with
        the connection (TRANSACTION_SEQUENCE; status is ABORTED then), or if its outcome is unknown
        (transaction_id is set).
        """
        unit = self._pending("commit")
        try:
            unit.commit()
        except BackedOut as lost:
            self._status = Status.ABORTED
            raise translate(lost, computer=self.computer) from lost
        except Error as error:
            self._is_in_doubt = isinstance(error, InDoubt)
            raise translate(error, computer=self.computer) from error
        self._status = Status.COMMITTED

    def abort(self) -> None:
        """Undo everything in it: what was sent vanishes, what was received is back in its place.

        Raises InvalidOperationError if it is not pending.
        """
        unit = self._pending("abort")
        self._status = Status.ABORTED
        try:
            unit.backout()
        except UnitEnded as ended:  # by a commit whose outcome is unknown
            self._status = Status.PENDING
            raise translate(ended, computer=self.computer) from ended
        except Error as error:
            raise translate(error, computer=self.computer) from error

    def _undo(self) -> None:
        self.abort()

    def dispose(self) -> None:
        """Abort it if it is pending, and let it not be begun again."""
        self._disposed = True
        if self._goes_on:
            self.abort()

    def belongs_to(self, computers: ComputerConnections) -> bool:
        """Whether it is of the host with these connections."""
        return self._computers is computers

    def unit_for(self, computers: ComputerConnections, channel: Channel | None) -> Unit:
        """Return the unit of work to take part in. channel: over which; None: over any.

        Raises MessageQueueException: TRANSACTION_ENLIST.
        """
        if not self.belongs_to(computers):
            raise WrongArgument("the transaction is of another host: make one with this host")
        unit = self._pending("use")
        if channel is None or unit.belongs_to(channel):
            return unit
        if unit.has_operations:
            raise MessageQueueException(
                Code.TRANSACTION_ENLIST,
                f"the transaction is one of queue manager {unit.channel.queue_manager} already, "
                f"and cannot read from a queue of {channel.queue_manager}: read in a transaction "
                "of its own, and there before anything else",
            )
        self._unit = _begin_unit(channel)
        return self._unit

    def _pending(self, what: str) -> Unit:
        if self._disposed and self._status is not Status.PENDING:
            raise ObjectDisposedError("the transaction is disposed of: make another")
        if self._status is not Status.PENDING or self._unit is None:
            state = self._status.value
            raise InvalidOperationError(f"cannot {what} a transaction that is {state}: begin() it")
        return self._unit

    def __enter__(self) -> Self:
        if not self._goes_on:
            self.begin()
        self._entered = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._entered = False
        super().__exit__(kind, error, traceback)

    def __repr__(self) -> str:
        return f"<MessageQueueTransaction {self._status.name}>"


def _begin_unit(channel: Channel) -> Unit:
    unit = Unit(channel)
    unit.begin()
    return unit


Transaction = MessageQueueTransaction | Kind
_ambient: ContextVar[tuple[MessageQueueTransaction, ...]] = ContextVar("scopes", default=())


@contextmanager
def transaction_scope(host: HasComputers) -> Iterator[MessageQueueTransaction]:
    """Begin the ambient transaction: operations with AUTOMATIC on this host take part in it.

    Leaving normally commits, any exception aborts. Scopes of one host do not nest.
    """
    if _of(host.computers) is not None:
        raise InvalidOperationError("a transaction scope of this host is open: end it first")
    transaction = MessageQueueTransaction(host)
    with transaction:
        token = _ambient.set((*_ambient.get(), transaction))
        try:
            yield transaction
        finally:
            _ambient.reset(token)


def _of(computers: ComputerConnections) -> MessageQueueTransaction | None:
    for transaction in _ambient.get():
        if transaction.belongs_to(computers):
            return transaction
    return None


def resolve(
    computers: ComputerConnections, transaction: Transaction | None, channel: Channel | None = None
) -> tuple[Unit | None, bool]:
    """Return the unit that an operation takes part in, and whether it is one of its own.

    channel: over which it goes; None: over any of these connections.
    """
    if transaction is None or transaction is Kind.NONE:
        return None, False
    if transaction is Kind.SINGLE:
        return None, True
    if transaction is Kind.AUTOMATIC:
        ambient = _of(computers)
        if ambient is None and _ambient.get():
            log.warning(OF_ANOTHER_HOST, computers.own.channel.queue_manager)
        return (None if ambient is None else ambient.unit_for(computers, channel)), False
    if not isinstance(transaction, MessageQueueTransaction):
        raise WrongArgumentType(
            "transaction is a MessageQueueTransaction, a MessageQueueTransactionType or None, not "
            f"{transaction!r}"
        )
    return transaction.unit_for(computers, channel), False
