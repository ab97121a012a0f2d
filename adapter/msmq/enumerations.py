"""The enumerations of System.Messaging, in Python spelling. This module knows no message."""

from __future__ import annotations

from enum import Enum, IntEnum, IntFlag

from adapter.core.contract import msmq as c
from adapter.core.contract import msmq_header as h


class QueueAccessMode(IntFlag):
    """What a queue is opened for."""

    RECEIVE = c.RECEIVE_ACCESS
    SEND = c.SEND_ACCESS
    SEND_AND_RECEIVE = SEND | RECEIVE
    PEEK = c.PEEK_ACCESS
    MOVE = c.MOVE_ACCESS


class PeekAction(Enum):
    """Which message a peek with a cursor is for."""

    CURRENT = c.CURRENT
    NEXT = c.NEXT


class MessageLookupAction(Enum):
    """Which message an operation with a lookup id is for."""

    CURRENT = c.CURRENT
    NEXT = c.NEXT
    PREVIOUS = c.PREVIOUS
    FIRST = c.FIRST
    LAST = c.LAST


class MessagePriority(IntEnum):
    """Priorities 0 to 7; in a transactional queue every message has 0."""

    LOWEST = 0
    VERY_LOW = 1
    LOW = 2
    NORMAL = 3
    ABOVE_NORMAL = 4
    HIGH = 5
    VERY_HIGH = 6
    HIGHEST = 7


class AcknowledgeTypes(IntFlag):
    """Which acknowledgments a message asks for."""

    NONE = 0
    POSITIVE_ARRIVAL = h.ACKNOWLEDGE_ARRIVAL
    POSITIVE_RECEIVE = h.ACKNOWLEDGE_RECEIVE
    NOT_ACKNOWLEDGE_REACH_QUEUE = h.ACKNOWLEDGE_NOT_ARRIVED
    FULL_REACH_QUEUE = POSITIVE_ARRIVAL | NOT_ACKNOWLEDGE_REACH_QUEUE
    NEGATIVE_RECEIVE = h.ACKNOWLEDGE_NOT_RECEIVED
    NOT_ACKNOWLEDGE_RECEIVE = NOT_ACKNOWLEDGE_REACH_QUEUE | NEGATIVE_RECEIVE
    FULL_RECEIVE = POSITIVE_RECEIVE | NOT_ACKNOWLEDGE_RECEIVE


class Acknowledgment(IntEnum):
    """What an acknowledgment says, or why a message is in a dead-letter queue: its class."""

    NONE = 0
    REPORT = 1
    REACH_QUEUE = 0x0002
    RECEIVE = 0x4000
    BAD_DESTINATION_QUEUE = 0x8000
    PURGED = 0x8001
    REACH_QUEUE_TIMEOUT = 0x8002
    QUEUE_EXCEED_MAXIMUM_SIZE = 0x8003
    ACCESS_DENIED = 0x8004
    HOP_COUNT_EXCEEDED = 0x8005
    BAD_SIGNATURE = 0x8006
    BAD_ENCRYPTION = 0x8007
    COULD_NOT_ENCRYPT = 0x8008
    NOT_TRANSACTIONAL_QUEUE = 0x8009
    NOT_TRANSACTIONAL_MESSAGE = 0x800A
    UNSUPPORTED_CRYPTO_PROVIDER = 0x800B
    SOURCE_COMPUTER_CHANGED = 0x800C
    QUEUE_DELETED = 0xC000
    QUEUE_PURGED = 0xC001
    RECEIVE_TIMEOUT = 0xC002
    RECEIVE_REJECTED = 0xC004


class MessageType(Enum):
    """What a message is: one of a program, an acknowledgment (or a dead letter), or a report."""

    ACKNOWLEDGMENT = 1
    NORMAL = 2
    REPORT = 3


class MessageQueueTransactionStatus(Enum):
    """Where a transaction stands."""

    ABORTED = "aborted"
    COMMITTED = "committed"
    INITIALIZED = "initialized"
    PENDING = "pending"


class MessageQueueTransactionType(Enum):
    """In place of a transaction: none, one of this single operation, or the ambient one."""

    NONE = "none"
    SINGLE = "single"
    AUTOMATIC = "automatic"


class MessageQueueAccessRights(IntFlag):
    """What may be done with a queue."""

    DELETE_MESSAGE = 0x1
    PEEK_MESSAGE = 0x2
    RECEIVE_MESSAGE = DELETE_MESSAGE | PEEK_MESSAGE
    WRITE_MESSAGE = 0x4
    DELETE_JOURNAL_MESSAGE = 0x8
    RECEIVE_JOURNAL_MESSAGE = DELETE_JOURNAL_MESSAGE | PEEK_MESSAGE
    SET_QUEUE_PROPERTIES = 0x10
    GET_QUEUE_PROPERTIES = 0x20
    DELETE_QUEUE = 0x10000
    GET_QUEUE_PERMISSIONS = 0x20000
    CHANGE_QUEUE_PERMISSIONS = 0x40000
    TAKE_QUEUE_OWNERSHIP = 0x80000
    GENERIC_WRITE = GET_QUEUE_PROPERTIES | GET_QUEUE_PERMISSIONS | WRITE_MESSAGE
    GENERIC_READ = (
        GET_QUEUE_PROPERTIES | GET_QUEUE_PERMISSIONS | RECEIVE_MESSAGE | RECEIVE_JOURNAL_MESSAGE
    )
    FULL_CONTROL = (
        GENERIC_READ | GENERIC_WRITE | SET_QUEUE_PROPERTIES | DELETE_QUEUE
        | CHANGE_QUEUE_PERMISSIONS | TAKE_QUEUE_OWNERSHIP
    )  # fmt: skip


class AccessControlEntryType(Enum):
    """What becomes of the rights that a trustee has."""

    ALLOW = 1
    SET = 2
    DENY = 3
    REVOKE = 4


class TrusteeType(Enum):
    """What a trustee is."""

    UNKNOWN = 0
    USER = 1
    GROUP = 2
    DOMAIN = 3
    ALIAS = 4
    COMPUTER = 5
