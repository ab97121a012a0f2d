r"""MSMQ on mqk, in the names of System.Messaging.

    from adapter import msmq

    with msmq.connect() as host:
        orders = host.create(r".\private$\orders", transactional=True)
        with msmq.MessageQueueTransaction(host) as transaction:
            orders.send("hello", label="greeting", transaction=transaction)
        print(orders.receive(timeout=5).body)

What an operation means is decided in core; this package translates. The trigger service is
adapter.msmq.triggers, the read-response server adapter.msmq.read_response.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from adapter.msmq.binary_formatter import BinaryMessageFormatter as BinaryMessageFormatter
from adapter.msmq.connecting import connect as connect
from adapter.msmq.cursor import MessageCursor as MessageCursor
from adapter.msmq.cursor import MessageEnumerator as MessageEnumerator
from adapter.msmq.enumerations import AccessControlEntryType as AccessControlEntryType
from adapter.msmq.enumerations import AcknowledgeTypes as AcknowledgeTypes
from adapter.msmq.enumerations import Acknowledgment as Acknowledgment
from adapter.msmq.enumerations import MessageLookupAction as MessageLookupAction
from adapter.msmq.enumerations import MessagePriority as MessagePriority
from adapter.msmq.enumerations import MessageQueueAccessRights as MessageQueueAccessRights
from adapter.msmq.enumerations import MessageQueueTransactionStatus as MessageQueueTransactionStatus
from adapter.msmq.enumerations import MessageQueueTransactionType as MessageQueueTransactionType
from adapter.msmq.enumerations import MessageType as MessageType
from adapter.msmq.enumerations import PeekAction as PeekAction
from adapter.msmq.enumerations import QueueAccessMode as QueueAccessMode
from adapter.msmq.enumerations import TrusteeType as TrusteeType
from adapter.msmq.error_codes import MessageQueueErrorCode as MessageQueueErrorCode
from adapter.msmq.errors import InvalidOperationError as InvalidOperationError
from adapter.msmq.errors import MessageQueueException as MessageQueueException
from adapter.msmq.errors import MessageQueueTimeout as MessageQueueTimeout
from adapter.msmq.errors import ObjectDisposedError as ObjectDisposedError
from adapter.msmq.filters import MessageReadPropertyFilter as MessageReadPropertyFilter
from adapter.msmq.formatters import ActiveXMessageFormatter as ActiveXMessageFormatter
from adapter.msmq.formatters import BytesFormatter as BytesFormatter
from adapter.msmq.host import Host as Host
from adapter.msmq.message import Message as Message
from adapter.msmq.permissions import AccessControlList as AccessControlList
from adapter.msmq.permissions import (
    MessageQueueAccessControlEntry as MessageQueueAccessControlEntry,
)
from adapter.msmq.permissions import Trustee as Trustee
from adapter.msmq.queue import MessageQueue as MessageQueue
from adapter.msmq.transaction import MessageQueueTransaction as MessageQueueTransaction
from adapter.msmq.transaction import transaction_scope as transaction_scope
from adapter.msmq.xml_formatter import XmlMessageFormatter as XmlMessageFormatter

if TYPE_CHECKING:
    from adapter.msmq import read_response as read_response
    from adapter.msmq import triggers as triggers
else:

    def __getattr__(name: str) -> Any:
        """Import a service when it is first used: most programs do without."""
        if name in ("read_response", "triggers"):
            return import_module(f"adapter.msmq.{name}")
        raise AttributeError(f"module 'adapter.msmq' has no attribute {name!r}")
