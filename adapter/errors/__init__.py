"""The one error tree of every face; refusals has the total table from core's reasons to it.

    Error                            comp, reason, reason_name, object_name
    ├── InvalidType                  also a TypeError: an argument of a wrong type
    ├── InvalidValue                 also a ValueError: an argument no queue manager could take
    │   ├── InvalidName  InvalidAttribute  InvalidOption  InvalidTimeout
    │   └── InvalidPriority  InvalidPersistence  InvalidExpiry  InvalidIdentifier
    │       InvalidMessageType  InvalidProperty  InvalidMessageFlags  InvalidOffset
    │       EmptySegment  PriorityTooHigh  InvalidSelector  SelectionTooLong  MissingReplyTo
    │       InvalidTopic  InvalidSubscriptionName
    ├── QueueNotFound  QueueExists  QueueFull  QueueNotEmpty  QueueInUse  QueueParked  QueueDamaged
    ├── QueueDeleted  ObjectNotFound  ObjectExists  WrongObjectType  PersistentNotAllowed
    ├── UnknownAliasBase  AliasBaseTypeError  DynamicNameError  OptionNotValidForType
    ├── GetInhibited  PutInhibited  MessageTooLong  NotAuthorized  ConnectionNotFound
    ├── NotOpen                      the handle was never opened, or is closed
    │   └── NotOpenForInput  NotOpenForOutput  NotOpenForBrowse  NotOpenForInquire  NotOpenForSet
    ├── NoMessageUnderCursor  NoMessageLocked  MessageTruncated
    ├── GroupError                   a group or a segmented message could not go on
    │   └── IncompleteGroup  IncompleteMessage  InconsistentPersistence  InconsistentUnit
    ├── PublishError                 publishing or subscribing could not be done
    │   ├── PublicationFailed  NoSubscribers  RetainedQueueError  RetainedNotDelivered
    │   │   NoRetainedMessage  SubscribeInhibited  DurabilityNotAllowed  TopicNotAlterable
    │   │   DurabilityNotAlterable  DestinationClassNotAlterable
    │   │   LevelNotAlterable  SelectorNotAlterable
    │   └── SubscriptionNotFound  SubscriptionInUse  SubscriptionExists
    ├── RouteError                   no transmission queue leads to the other queue manager
    │   ├── UnknownRemoteQueueManager  RemoteQueueNameError
    │   ├── UnknownTransmissionQueue  TransmissionQueueTypeError  TransmissionQueueUsageError
    │   └── UnknownDefaultTransmissionQueue  DefaultTransmissionQueueTypeError
    │       DefaultTransmissionQueueUsageError
    ├── ConversationError            a conversation of Service Broker could not go on
    │   ├── ConversationNotFound  ConversationStateError  QueueDisabled
    │   └── LockTimeout  DeadlockVictim  ObjectInUse
    ├── ConsumerError                a durable consumer of a queue could not go on
    │   └── ConsumerNotFound  ConsumerInUse  ClaimLost  BatchNotFound
    ├── UnitError                    a unit of work could not go on
    │   ├── UnitTooLarge  UnitInProgress  UnitEnded
    │   ├── BackedOut                the unit is gone, nothing of it took effect
    │   ├── InDoubt                  .unit_id: ask outcome() what became of it
    │   └── BackoutThresholdReached  a message came back too often and cannot be set aside
    ├── ConnectionBroken             also a ConnectionError
    │   ├── ConnectionClosed         this program closed it
    │   └── QueueManagerNotAvailable, QueueManagerQuiescing, QueueManagerStopping,
    │       WrongQueueManager, WrongVersion
    ├── SchemaError                  .code: an Avro schema, or a value of one, is not as it must be
    │   ├── SchemaNotFound  SchemaIncompatible  InvalidSchema  NotAvro
    │   └── RegistryNotAvailable     also a ConnectionError
    ├── NoReply                      also a TimeoutError
    ├── StartError                   a queue manager did not start
    ├── KafkaNotAvailable            also a ConnectionError
    ├── CallInProgress               a signal handler interrupted a call of the same connection
    ├── LimitReached                 a bound of the queue manager
    └── UnexpectedAnswer             the two ends do not understand each other

An error's text says what happened, to which object, and what to do. The numbers are IBM MQ's
reason codes; the text of a mistake that is found before anything is sent has none. This room knows
core's reasons; it knows neither the wire nor any verb.
"""

# ruff: noqa: N818 -- these are published names

from __future__ import annotations

from adapter.errors.consuming import BatchNotFound as BatchNotFound
from adapter.errors.consuming import ClaimLost as ClaimLost
from adapter.errors.consuming import ConsumerError as ConsumerError
from adapter.errors.consuming import ConsumerInUse as ConsumerInUse
from adapter.errors.consuming import ConsumerNotFound as ConsumerNotFound
from adapter.errors.conversing import ConversationError as ConversationError
from adapter.errors.conversing import ConversationNotFound as ConversationNotFound
from adapter.errors.conversing import ConversationStateError as ConversationStateError
from adapter.errors.conversing import DeadlockVictim as DeadlockVictim
from adapter.errors.conversing import LockTimeout as LockTimeout
from adapter.errors.conversing import ObjectInUse as ObjectInUse
from adapter.errors.conversing import QueueDisabled as QueueDisabled
from adapter.errors.publishing import (
    DestinationClassNotAlterable as DestinationClassNotAlterable,
)
from adapter.errors.publishing import DurabilityNotAllowed as DurabilityNotAllowed
from adapter.errors.publishing import DurabilityNotAlterable as DurabilityNotAlterable
from adapter.errors.publishing import LevelNotAlterable as LevelNotAlterable
from adapter.errors.publishing import NoRetainedMessage as NoRetainedMessage
from adapter.errors.publishing import NoSubscribers as NoSubscribers
from adapter.errors.publishing import PublicationFailed as PublicationFailed
from adapter.errors.publishing import PublishError as PublishError
from adapter.errors.publishing import RetainedNotDelivered as RetainedNotDelivered
from adapter.errors.publishing import RetainedQueueError as RetainedQueueError
from adapter.errors.publishing import SelectorNotAlterable as SelectorNotAlterable
from adapter.errors.publishing import SubscribeInhibited as SubscribeInhibited
from adapter.errors.publishing import SubscriptionExists as SubscriptionExists
from adapter.errors.publishing import SubscriptionInUse as SubscriptionInUse
from adapter.errors.publishing import SubscriptionNotFound as SubscriptionNotFound
from adapter.errors.publishing import TopicNotAlterable as TopicNotAlterable
from adapter.errors.root import Error as Error
from adapter.errors.root import UnitFailure as UnitFailure
from adapter.errors.root import text_of_mistake
from adapter.errors.routing import (
    DefaultTransmissionQueueTypeError as DefaultTransmissionQueueTypeError,
)
from adapter.errors.routing import (
    DefaultTransmissionQueueUsageError as DefaultTransmissionQueueUsageError,
)
from adapter.errors.routing import OptionNotValidForType as OptionNotValidForType
from adapter.errors.routing import RemoteQueueNameError as RemoteQueueNameError
from adapter.errors.routing import RouteError as RouteError
from adapter.errors.routing import TransmissionQueueTypeError as TransmissionQueueTypeError
from adapter.errors.routing import TransmissionQueueUsageError as TransmissionQueueUsageError
from adapter.errors.routing import (
    UnknownDefaultTransmissionQueue as UnknownDefaultTransmissionQueue,
)
from adapter.errors.routing import UnknownRemoteQueueManager as UnknownRemoteQueueManager
from adapter.errors.routing import UnknownTransmissionQueue as UnknownTransmissionQueue
from adapter.errors.schemas import InvalidSchema as InvalidSchema
from adapter.errors.schemas import NotAvro as NotAvro
from adapter.errors.schemas import RegistryNotAvailable as RegistryNotAvailable
from adapter.errors.schemas import SchemaError as SchemaError
from adapter.errors.schemas import SchemaIncompatible as SchemaIncompatible
from adapter.errors.schemas import SchemaNotFound as SchemaNotFound


class InvalidType(Error, TypeError):
    """An argument has the wrong type."""

    reason, reason_name = 2046, "MQRC_OPTIONS_ERROR"

    def __str__(self) -> str:
        return text_of_mistake(self)


class InvalidValue(Error, ValueError):
    """An argument has an invalid value."""

    reason, reason_name = 2046, "MQRC_OPTIONS_ERROR"

    def __str__(self) -> str:
        return text_of_mistake(self)


class InvalidOption(InvalidValue):
    """An option, a limit or a combination of options is invalid."""


class InvalidName(InvalidValue):
    """A name is invalid."""

    reason, reason_name = 2152, "MQRC_OBJECT_NAME_ERROR"


class InvalidAttribute(InvalidValue):
    """A queue has no such attribute, or the value is invalid for it."""

    reason, reason_name = 4005, "MQRCCF_ATTR_VALUE_ERROR"


class InvalidTimeout(InvalidValue):
    """A time to wait is negative or too long."""

    reason, reason_name = 2090, "MQRC_WAIT_INTERVAL_ERROR"


class InvalidPriority(InvalidValue):
    """A priority is not 0 to 9."""

    reason, reason_name = 2050, "MQRC_PRIORITY_ERROR"


class InvalidPersistence(InvalidValue):
    """A persistence is neither true nor false."""

    reason, reason_name = 2047, "MQRC_PERSISTENCE_ERROR"


class InvalidExpiry(InvalidValue):
    """An expiry is not positive, or too long."""

    reason, reason_name = 2013, "MQRC_EXPIRY_ERROR"


class InvalidIdentifier(InvalidValue):
    """An id is longer than 24 bytes, a unit id not 24 bytes, or a group number is invalid."""

    reason, reason_name = 2206, "MQRC_MSG_ID_ERROR"


class InvalidMessageType(InvalidValue):
    """A message type is invalid."""

    reason, reason_name = 2029, "MQRC_MSG_TYPE_ERROR"


class InvalidProperty(InvalidValue):
    """A message property has an invalid name or value."""

    reason, reason_name = 2473, "MQRC_PROPERTY_TYPE_ERROR"


class InvalidMessageFlags(InvalidValue):
    """Message flags are invalid, or contradict each other."""

    reason, reason_name = 2249, "MQRC_MSG_FLAGS_ERROR"


class InvalidOffset(InvalidValue):
    """The offset of a segment is negative, or too large."""

    reason, reason_name = 2251, "MQRC_OFFSET_ERROR"


class EmptySegment(InvalidValue):
    """A segment that is not the last one has no bytes."""

    reason, reason_name = 2253, "MQRC_SEGMENT_LENGTH_ZERO"


class PriorityTooHigh(InvalidValue):
    """A warning: the message was put at the maximum priority, which is lower."""

    reason, reason_name = 2049, "MQRC_PRIORITY_EXCEEDS_MAXIMUM"


class InvalidSelector(InvalidValue):
    """A selection string is invalid; the text says where."""

    reason, reason_name = 2459, "MQRC_SELECTOR_SYNTAX_ERROR"


class SelectionTooLong(InvalidValue):
    """A selection string is too long."""

    reason, reason_name = 2519, "MQRC_SELECTION_STRING_ERROR"


class MissingReplyTo(InvalidValue):
    """A request, or a message that asks for reports, names no queue to reply to."""

    reason, reason_name = 2027, "MQRC_MISSING_REPLY_TO_Q"


class QueueNotFound(Error):
    """The queue does not exist."""

    reason, reason_name = 2085, "MQRC_UNKNOWN_OBJECT_NAME"


class QueueExists(Error):
    """A queue of this name already exists."""

    reason, reason_name = 2100, "MQRC_OBJECT_ALREADY_EXISTS"


class QueueFull(Error):
    """The queue holds as many messages as its max_depth allows."""

    reason, reason_name = 2053, "MQRC_Q_FULL"


class QueueParked(Error):
    """The topic of the queue cannot be written, and its backlog is at the limit."""

    reason, reason_name = 2192, "MQRC_STORAGE_MEDIUM_FULL"


class QueueDamaged(Error):
    """A message of the queue is missing from its topic: the topic or its records were deleted."""

    reason, reason_name = 2101, "MQRC_OBJECT_DAMAGED"


class QueueDeleted(Error):
    """The queue was deleted while this program had it open."""

    reason, reason_name = 2052, "MQRC_Q_DELETED"


class ObjectNotFound(Error):
    """No object of this kind has this name."""

    reason, reason_name = 2085, "MQRC_UNKNOWN_OBJECT_NAME"


class ObjectExists(Error):
    """An object of this name already exists."""

    reason, reason_name = 2100, "MQRC_OBJECT_ALREADY_EXISTS"


class WrongObjectType(Error):
    """The object has the wrong type for this operation."""

    reason, reason_name = 2043, "MQRC_OBJECT_TYPE_ERROR"


class UnknownAliasBase(Error):
    """The target queue of the alias does not exist."""

    reason, reason_name = 2082, "MQRC_UNKNOWN_ALIAS_BASE_Q"


class AliasBaseTypeError(Error):
    """The target of the alias is not a local queue."""

    reason, reason_name = 2001, "MQRC_ALIAS_BASE_Q_TYPE_ERROR"


class DynamicNameError(Error):
    """The name is invalid for a dynamic queue."""

    reason, reason_name = 2011, "MQRC_DYNAMIC_Q_NAME_ERROR"


class PersistentNotAllowed(Error):
    """The queue does not accept persistent messages: it is a temporary dynamic queue."""

    reason, reason_name = 2048, "MQRC_PERSISTENT_NOT_ALLOWED"


class QueueNotEmpty(Error):
    """The queue has messages, and purge was not requested."""

    reason, reason_name = 2055, "MQRC_Q_NOT_EMPTY"


class QueueInUse(Error):
    """Another program has the queue open, exclusively or at all."""

    reason, reason_name = 2042, "MQRC_OBJECT_IN_USE"


class GetInhibited(Error):
    """Gets are inhibited on the queue."""

    reason, reason_name = 2016, "MQRC_GET_INHIBITED"


class PutInhibited(Error):
    """Puts are inhibited on the queue."""

    reason, reason_name = 2051, "MQRC_PUT_INHIBITED"


class MessageTooLong(Error):
    """The body is longer than the maximum of the queue, or of the queue manager."""

    reason, reason_name = 2030, "MQRC_MSG_TOO_BIG_FOR_Q"


class ConnectionNotFound(Error):
    """No connection has this number; it may have ended."""

    reason, reason_name = 3174, "MQRCCF_CONNECTION_ID_ERROR"


class NotAuthorized(Error):
    """The user is not authorized to do this."""

    reason, reason_name = 2035, "MQRC_NOT_AUTHORIZED"


class NotOpen(Error):
    """The queue object or its handle is not open."""

    reason, reason_name = 2019, "MQRC_HOBJ_ERROR"


class NotOpenForInput(NotOpen):
    """The handle was not opened for input."""

    reason, reason_name = 2037, "MQRC_NOT_OPEN_FOR_INPUT"


class NotOpenForOutput(NotOpen):
    """The handle was not opened for output."""

    reason, reason_name = 2039, "MQRC_NOT_OPEN_FOR_OUTPUT"


class NotOpenForBrowse(NotOpen):
    """The handle was not opened for browse."""

    reason, reason_name = 2036, "MQRC_NOT_OPEN_FOR_BROWSE"


class NotOpenForInquire(NotOpen):
    """The handle was not opened for inquire."""

    reason, reason_name = 2038, "MQRC_NOT_OPEN_FOR_INQUIRE"


class NotOpenForSet(NotOpen):
    """The handle was not opened for set."""

    reason, reason_name = 2040, "MQRC_NOT_OPEN_FOR_SET"


class NoMessageUnderCursor(Error):
    """The message under the browse cursor is gone, or another program has locked it."""

    reason, reason_name = 2034, "MQRC_NO_MSG_UNDER_CURSOR"


class NoMessageLocked(Error):
    """The handle has locked no message."""

    reason, reason_name = 2209, "MQRC_NO_MSG_LOCKED"


class MessageTruncated(Error):
    """A warning: the message exceeds the maximum length of the get, and stays on the queue."""

    reason, reason_name = 2080, "MQRC_TRUNCATED_MSG_FAILED"


class GroupError(Error):
    """An operation on a message group or a segmented message failed."""


class IncompleteGroup(GroupError):
    """The handle is in the middle of a group, and the message is not its next one."""

    reason, reason_name = 2241, "MQRC_INCOMPLETE_GROUP"


class IncompleteMessage(GroupError):
    """The handle is in the middle of a segmented message, and the segment is not its next one."""

    reason, reason_name = 2242, "MQRC_INCOMPLETE_MSG"


class InconsistentPersistence(GroupError):
    """The persistence of a message differs from that of its group."""

    reason, reason_name = 2185, "MQRC_INCONSISTENT_PERSISTENCE"


class InconsistentUnit(GroupError):
    """A message of a group is in a unit of work and the others are not, or vice versa."""

    reason, reason_name = 2245, "MQRC_INCONSISTENT_UOW"


class InvalidTopic(InvalidValue):
    """The topic string is invalid."""

    reason, reason_name = 2425, "MQRC_TOPIC_STRING_ERROR"


class InvalidSubscriptionName(InvalidValue):
    """The subscription name is invalid."""

    reason, reason_name = 2440, "MQRC_SUB_NAME_ERROR"


class UnitError(Error):
    """An operation on a unit of work failed."""


class UnitTooLarge(UnitError):
    """The unit has the maximum number of messages or bytes."""

    reason, reason_name = 2024, "MQRC_SYNCPOINT_LIMIT_REACHED"


class UnitInProgress(UnitError):
    """A unit is open where none is allowed."""

    reason, reason_name = 2128, "MQRC_UOW_IN_PROGRESS"


class UnitEnded(UnitError):
    """The unit has been committed or backed out, or was never begun."""

    reason, reason_name = 2255, "MQRC_UOW_NOT_AVAILABLE"


class BackedOut(UnitError):
    """The unit was backed out: nothing it put exists, and what it got is back on its queues."""

    reason, reason_name = 2003, "MQRC_BACKED_OUT"


class InDoubt(UnitError):
    """A commit, put or get has no answer; outcome(unit_id) says whether it was done."""

    reason, reason_name = 2549, "MQRC_CALL_INTERRUPTED"

    def __init__(self, text: str, object_name: str = "", unit_id: bytes = b"") -> None:
        super().__init__(text, object_name)
        self.args = (text, object_name, unit_id)
        self.unit_id = unit_id


class BackoutThresholdReached(UnitError):
    """A message was backed out too often, and could not be moved to the backout queue."""

    reason, reason_name = 2362, "MQRC_BACKOUT_THRESHOLD_REACHED"


class ConnectionBroken(Error, ConnectionError):
    """The queue manager could not be reached in time."""

    reason, reason_name = 2009, "MQRC_CONNECTION_BROKEN"

    def __init__(self, text: str, object_name: str = "") -> None:
        # Both arguments would make OSError read them as errno and text.
        Error.__init__(self, text, object_name)


class ConnectionClosed(ConnectionBroken):
    """This program closed the connection."""

    reason, reason_name = 2018, "MQRC_HCONN_ERROR"


class QueueManagerNotAvailable(ConnectionBroken):
    """No queue manager answers at the address."""

    reason, reason_name = 2059, "MQRC_Q_MGR_NOT_AVAILABLE"
    is_host_available = True
    """False if no host accepted a TCP connection."""


class QueueManagerQuiescing(ConnectionBroken):
    """The queue manager is quiescing and accepts no new work; nothing was done."""

    reason, reason_name = 2161, "MQRC_Q_MGR_QUIESCING"


class QueueManagerStopping(ConnectionBroken):
    """The queue manager is being stopped."""

    reason, reason_name = 2162, "MQRC_Q_MGR_STOPPING"


class WrongQueueManager(ConnectionBroken):
    """Another queue manager answers at the address."""

    reason, reason_name = 2058, "MQRC_Q_MGR_NAME_ERROR"


class WrongVersion(ConnectionBroken):
    """The queue manager speaks another version of the protocol."""

    reason, reason_name = 2273, "MQRC_CONNECTION_ERROR"


class NoReply(Error, TimeoutError):
    """A request was put, and no reply came in time."""

    reason, reason_name = 2033, "MQRC_NO_MSG_AVAILABLE"

    def __init__(self, text: str, object_name: str = "") -> None:
        Error.__init__(self, text, object_name)


class StartError(Error):
    """A queue manager or a tool of it did not start; the text says why."""

    reason, reason_name = 2059, "MQRC_Q_MGR_NOT_AVAILABLE"

    def __str__(self) -> str:
        return self.text  # no queue manager gave a reason


class KafkaNotAvailable(Error, ConnectionError):
    """Kafka, of which the program itself reads, could not be reached, or failed."""

    reason, reason_name = 2102, "MQRC_RESOURCE_PROBLEM"


class CallInProgress(Error):
    """A signal handler used the connection in the midst of a call of its own thread."""

    reason, reason_name = 2219, "MQRC_CALL_IN_PROGRESS"


class LimitReached(Error):
    """A limit of the queue manager or of the connection is reached."""

    reason, reason_name = 2102, "MQRC_RESOURCE_PROBLEM"


class UnexpectedAnswer(Error):
    """Client and queue manager do not understand each other."""
