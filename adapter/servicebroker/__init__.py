"""SQL Server's Service Broker in Python: dialogs between services, on a queue manager.

    broker = servicebroker.connect("127.0.0.1:1414")
    with broker.transaction() as t:
        handle = t.begin_dialog("//stock/Withdrawals", "//stock/Inventory")
        t.send(handle, body="...")

Every name is that of a statement of Transact-SQL, in the spelling of Python. This room does not
know what a statement means: core decides it.
"""

from __future__ import annotations

from adapter.core.contract.broker import DEFAULT as DEFAULT
from adapter.core.contract.broker import DIALOG_TIMER as DIALOG_TIMER
from adapter.core.contract.broker import END_DIALOG as END_DIALOG
from adapter.core.contract.broker import ERROR as ERROR
from adapter.servicebroker.activation import ActivationService as ActivationService
from adapter.servicebroker.broker import ServiceBroker as ServiceBroker
from adapter.servicebroker.catalog import QueueActivation as QueueActivation
from adapter.servicebroker.connecting import connect as connect
from adapter.servicebroker.errors import InvalidArgument as InvalidArgument
from adapter.servicebroker.errors import InvalidArgumentType as InvalidArgumentType
from adapter.servicebroker.errors import ServiceBrokerError as ServiceBrokerError
from adapter.servicebroker.errors import TransactionRolledBack as TransactionRolledBack
from adapter.servicebroker.inspection import Inspection as Inspection
from adapter.servicebroker.inspection import Removal as Removal
from adapter.servicebroker.rows import Row as Row
from adapter.servicebroker.subscription import EventSubscription as Subscription
from adapter.servicebroker.subscription import QueueEvent as QueueEvent
from adapter.servicebroker.transaction import Transaction as Transaction

__all__ = [
    "DEFAULT",
    "DIALOG_TIMER",
    "END_DIALOG",
    "ERROR",
    "ActivationService",
    "Inspection",
    "InvalidArgument",
    "InvalidArgumentType",
    "QueueActivation",
    "QueueEvent",
    "Removal",
    "Row",
    "ServiceBroker",
    "ServiceBrokerError",
    "Subscription",
    "Transaction",
    "TransactionRolledBack",
    "connect",
]
