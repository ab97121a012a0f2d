"""The one error tree of every face; refusals has the total table from core's reasons to it.

    Error                            comp, reason, reason_name, object_name
    ├── InvalidType                  also a TypeError: an argument of a wrong type
    ├── InvalidValue                 also a ValueError: an argument no queue manager could take
    │   ├── InvalidName  InvalidAttribute  InvalidOption  InvalidTimeout
    │   └── InvalidPriority  InvalidPersistence  InvalidExpiry  InvalidIdentifier
    │       InvalidMessageType  InvalidProperty  InvalidMessageFlags  InvalidOffset
    │       EmptySegment  PriorityTooHigh  InvalidSelector  SelectionTooLong  MissingReplyTo
    │       InvalidTopic  InvalidSubscriptionName  InvalidGroupNumber
    ├── QueueNotFound  QueueExists  QueueFull  QueueNotEmpty  QueueInUse  QueueParked  QueueDamaged
    ├── QueueDeleted  ObjectNotFound  ObjectExists  WrongObjectType  PersistentNotAllowed
    ├── UnknownAliasBase  AliasBaseTypeError  DynamicNameError  OptionNotValidForType
    ├── GetInhibited  PutInhibited  MessageTooLong  NotAuthorized  ConnectionNotFound
    ├── NotOpen                      the handle was never opened, or is closed
    │   ├── NotOpenForInput  NotOpenForOutput  NotOpenForBrowse  NotOpenForInquire  NotOpenForSet
    │   └── NotOpenForPassIdentity  NotOpenForPassAll  NotOpenForSetIdentity  NotOpenForSetAll
    ├── ContextHandleError  ContextNotAvailable
    ├── NoMessageUnderCursor  InvalidMessageUnderCursor  NoMessageLocked  MessageTruncated
    ├── GroupError                   a group or a segmented message could not go on
    │   ├── IncompleteGroup  IncompleteMessage  InconsistentPersistence  InconsistentUnit
    │   └── GroupPositionLost  InconsistentMatch
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
    │   ├── QueueManagerNotAvailable
    │   │   └── StandbyQueueManager  its standby answers: name the other addresses too
    │   └── QueueManagerQuiescing  QueueManagerStopping  WrongQueueManager  WrongVersion
    ├── SchemaError                  .code: an Avro schema, or a value of one, is not as it must be
    │   ├── SchemaNotFound  SchemaIncompatible  InvalidSchema  NotAvro
    │   ├── RegistryNotAuthorized    the registry lets its user not do it
    │   └── RegistryNotAvailable     also a ConnectionError
    ├── TableError                   a table of adapter.kafka cannot be read
    │   └── TableBehind  ClaimNotFree    also a TimeoutError
    ├── NoReply                      also a TimeoutError
    ├── StartError                   a queue manager did not start
    ├── NotSwitched                  a queue manager was not handed over, and goes on
    ├── KafkaNotAvailable            also a ConnectionError
    ├── CallInProgress               a signal handler interrupted a call of the same connection
    ├── WrongEventLoop               a connection of adapter.aio was used in another event loop
    ├── CommandFailed                the queue manager failed at the command, twice
    ├── LimitReached                 a bound of the queue manager
    └── UnexpectedAnswer             the two ends do not understand each other

An error's text says what happened, to which object, and what to do. The numbers are IBM MQ's
reason codes; the text of a mistake that is found before anything is sent has none. This room knows
core's reasons; it knows neither the wire nor any verb.
"""

# ruff: noqa: F403 -- each module has a branch of the tree

from adapter.errors.arguments import *
from adapter.errors.connections import *
from adapter.errors.conversing import *
from adapter.errors.objects import *
from adapter.errors.publishing import *
from adapter.errors.root import Error as Error
from adapter.errors.root import UnitFailure as UnitFailure
from adapter.errors.routing import *
from adapter.errors.schemas import *
from adapter.errors.tables import *
from adapter.errors.units import *
