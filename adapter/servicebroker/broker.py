"""ServiceBroker: a session with a queue manager: the catalog, statements, transactions, inspection.

This module does not know what a statement means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from adapter.connection.channel.channel import Channel
from adapter.connection.channel.closing import Closing
from adapter.connection.channel.requests import Pending
from adapter.connection.channel.unit import Unit
from adapter.core.contract import commands
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import UnitOutcome, UnitState
from adapter.servicebroker import arguments as a
from adapter.servicebroker.errors import InvalidArgument, as_broker
from adapter.servicebroker.inspection import Poison
from adapter.servicebroker.permissions import Permissions
from adapter.servicebroker.statements import TIMEOUT_MAX_MS
from adapter.servicebroker.subscription import Subscribing
from adapter.servicebroker.transaction import Transaction


class ServiceBroker(Closing, Poison, Subscribing, Permissions):
    """A session: a statement joins its open transaction, or is a transaction of its own.

    It has at most one transaction at a time. Leaving it as a context closes it.
    """

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self._transaction: Transaction | None = None
        self._lock_timeout_ms = -1

    @property
    def queue_manager(self) -> str:
        """The name of the queue manager."""
        return self.channel.queue_manager

    @property
    def is_closed(self) -> bool:
        """Whether it has been closed."""
        return self.channel.is_closed

    @property
    def lock_timeout_ms(self) -> int:
        """SET LOCK_TIMEOUT: how long to wait for a conversation group; -1: without limit."""
        return self._lock_timeout_ms

    @lock_timeout_ms.setter
    def lock_timeout_ms(self, value: int) -> None:
        self._lock_timeout_ms = a.as_whole("lock_timeout_ms", value, -1, TIMEOUT_MAX_MS)

    def transaction(self) -> Transaction:
        """BEGIN TRANSACTION. Raises InvalidArgument if one is open: they do not nest."""
        self._check_no_transaction()
        unit = Unit(self.channel)
        unit.begin()
        self._transaction = Transaction(self, unit)
        return self._transaction

    def _check_no_transaction(self) -> None:
        if self._is_in_transaction:
            raise InvalidArgument(
                "the session has an open transaction: commit or roll it back first"
            )

    def another(self) -> ServiceBroker:
        """Open another session with the same queue manager, as the same user."""
        with as_broker():
            return ServiceBroker(self.channel.another())

    def forget(self, transaction: Transaction) -> None:
        """Know that a transaction has ended."""
        if self._transaction is transaction:
            self._transaction = None

    @property
    def _is_in_transaction(self) -> bool:
        return self._transaction is not None and self._transaction.is_open

    @property
    def _may_repeat(self) -> bool:
        transaction = self._transaction if self._is_in_transaction else None
        return transaction is None or transaction._may_repeat

    @contextmanager
    def _unit(self) -> Iterator[tuple[Channel, Unit]]:
        if self._transaction is not None and self._is_in_transaction:
            with self._transaction._unit() as joined:
                yield joined
            return
        unit = Unit(self.channel)
        unit.begin()
        try:
            yield self.channel, unit
            unit.commit()
        except BaseException:
            if unit.is_open:  # also if its commit was refused
                unit._leave_failed()
            raise

    def outcome(self, transaction_id: bytes) -> UnitState:
        """Say what became of a transaction: "committed", "backed out", "in flight" or "unknown"."""
        found: UnitOutcome = self._ask(
            commands.AskOutcome(a.as_unit_id(transaction_id)), UnitOutcome
        )
        return found.state

    def _ask(self, command: Any, kind: Any, *, numbers: Mapping[Reason, int] | None = None) -> Any:
        request = Pending(command)
        with as_broker(numbers):
            self.channel.ask([request])
            return self.channel.result(request, kind)

    def close(self) -> None:
        """End the connection: an open transaction is rolled back."""
        self.channel.close()

    def __repr__(self) -> str:
        return f"<ServiceBroker of {self.queue_manager}>"
