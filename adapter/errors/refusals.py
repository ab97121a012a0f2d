"""The total table from core's reasons to the errors of every face, and to their sentences."""

from __future__ import annotations

from adapter.core.contract.reasons import Reason
from adapter.errors import (
    AliasBaseTypeError,
    BackedOut,
    BatchNotFound,
    ClaimLost,
    ConnectionBroken,
    ConnectionNotFound,
    ConsumerInUse,
    ConsumerNotFound,
    DefaultTransmissionQueueTypeError,
    DefaultTransmissionQueueUsageError,
    DestinationClassNotAlterable,
    DurabilityNotAllowed,
    DurabilityNotAlterable,
    DynamicNameError,
    EmptySegment,
    Error,
    GetInhibited,
    IncompleteGroup,
    IncompleteMessage,
    InconsistentPersistence,
    InconsistentUnit,
    InDoubt,
    InvalidAttribute,
    InvalidExpiry,
    InvalidIdentifier,
    InvalidMessageFlags,
    InvalidMessageType,
    InvalidName,
    InvalidOffset,
    InvalidOption,
    InvalidPersistence,
    InvalidPriority,
    InvalidProperty,
    InvalidSelector,
    InvalidSubscriptionName,
    InvalidTimeout,
    InvalidTopic,
    LevelNotAlterable,
    LimitReached,
    MessageTooLong,
    MessageTruncated,
    MissingReplyTo,
    NoMessageLocked,
    NoMessageUnderCursor,
    NoRetainedMessage,
    NoSubscribers,
    NotAuthorized,
    NotOpen,
    NotOpenForBrowse,
    NotOpenForInput,
    NotOpenForInquire,
    NotOpenForOutput,
    NotOpenForSet,
    ObjectExists,
    ObjectNotFound,
    OptionNotValidForType,
    PersistentNotAllowed,
    PriorityTooHigh,
    PublicationFailed,
    PutInhibited,
    QueueDamaged,
    QueueDeleted,
    QueueExists,
    QueueFull,
    QueueInUse,
    QueueManagerNotAvailable,
    QueueManagerQuiescing,
    QueueManagerStopping,
    QueueNotEmpty,
    QueueNotFound,
    QueueParked,
    RemoteQueueNameError,
    RetainedNotDelivered,
    RetainedQueueError,
    SelectionTooLong,
    SelectorNotAlterable,
    SubscribeInhibited,
    SubscriptionExists,
    SubscriptionInUse,
    SubscriptionNotFound,
    TopicNotAlterable,
    TransmissionQueueTypeError,
    TransmissionQueueUsageError,
    UnexpectedAnswer,
    UnitTooLarge,
    UnknownAliasBase,
    UnknownDefaultTransmissionQueue,
    UnknownRemoteQueueManager,
    UnknownTransmissionQueue,
    WrongObjectType,
    WrongQueueManager,
    WrongVersion,
)
from adapter.errors.case import Case
from adapter.errors.conversing import CONVERSING

REFUSALS: dict[Reason, Case] = {
    Reason.QUEUE_NOT_FOUND: Case(
        QueueNotFound, "queue {name} does not exist", "define it, or check the name"
    ),
    Reason.QUEUE_EXISTS: Case(
        QueueExists, "queue {name} already exists", "alter it, or define it with replace=True"
    ),
    Reason.QUEUE_FULL: Case(
        QueueFull, "queue {name} is full", "get messages from it, or raise its max_depth"
    ),
    Reason.NOT_AUTHORIZED: Case(
        NotAuthorized, "authentication failed for user {name}", "check the user and the password"
    ),
    Reason.QUEUE_PARKED: Case(
        QueueParked,
        "copies for the topic of queue {name} wait, and are at the limit",
        "find why its topic cannot be written or its movers lag or hold (mqk qmgr status, the "
        "queue manager's log), correct that, and put again; gets continue",
    ),
    Reason.OBJECT_DAMAGED: Case(
        QueueDamaged,
        "the topic of queue {name} has lost a message",
        "restore the topic, or purge the queue to continue without the lost messages",
    ),
    Reason.QUEUE_DELETED: Case(
        QueueDeleted, "queue {name} was deleted while it was open", "close it, and open another one"
    ),
    Reason.OBJECT_NOT_FOUND: Case(
        ObjectNotFound, "object {name} does not exist", "define it, or check its type and name"
    ),
    Reason.OBJECT_EXISTS: Case(
        ObjectExists,
        "object {name} already exists",
        "choose another name, or alter the existing object",
    ),
    Reason.OBJECT_TYPE_ERROR: Case(
        WrongObjectType,
        "wrong object type for this operation: {name}",
        "name an object of a suitable type",
    ),
    Reason.UNKNOWN_ALIAS_BASE: Case(
        UnknownAliasBase,
        "alias {name} has no target queue",
        "define the target queue, or alter the alias",
    ),
    Reason.ALIAS_BASE_TYPE_ERROR: Case(
        AliasBaseTypeError,
        "the target of alias {name} is not a local queue",
        "alter the alias's target",
    ),
    Reason.UNKNOWN_REMOTE_QUEUE_MANAGER: Case(
        UnknownRemoteQueueManager,
        "queue {name} is on another queue manager, which is unknown",
        "check its name; define a transmission queue for it, or start it on the same Kafka",
    ),
    Reason.DYNAMIC_NAME_ERROR: Case(
        DynamicNameError,
        "invalid dynamic queue name {name}",
        "give 1 to 48 of A-Z a-z 0-9 . _ / %, or at most 32 of them and a *",
    ),
    Reason.PERSISTENT_NOT_ALLOWED: Case(
        PersistentNotAllowed,
        "queue {name} does not accept persistent messages",
        "put it with persistent=False, or to a permanent queue",
    ),
    Reason.QUEUE_NOT_EMPTY: Case(
        QueueNotEmpty, "queue {name} is not empty", "delete it with purge=True, or empty it first"
    ),
    Reason.QUEUE_IN_USE: Case(
        QueueInUse, "queue {name} is in use", "close it elsewhere, or try again later"
    ),
    Reason.GET_INHIBITED: Case(
        GetInhibited, "gets are inhibited on queue {name}", "alter it with inhibit_get=False"
    ),
    Reason.PUT_INHIBITED: Case(
        PutInhibited, "puts are inhibited on queue {name}", "alter it with inhibit_put=False"
    ),
    Reason.MESSAGE_TOO_LONG: Case(
        MessageTooLong,
        "the message is too long for queue {name}",
        "raise its max_message_length, or send less",
    ),
    Reason.UNIT_TOO_LARGE: Case(UnitTooLarge, "the unit is too large", "commit more often"),
    Reason.BACKED_OUT: Case(
        BackedOut, "unit {name} was backed out", "repeat its work in a new unit"
    ),
    Reason.HANDLE_NOT_OPEN: Case(NotOpen, "the queue is not open", "open it again"),
    Reason.HANDLE_IN_USE: Case(
        NotOpen, "the handle for queue {name} is already in use", "open the queue again"
    ),
    Reason.NOT_OPEN_FOR_INPUT: Case(
        NotOpenForInput, "queue {name} is not open for input", "open it for input"
    ),
    Reason.NOT_OPEN_FOR_OUTPUT: Case(
        NotOpenForOutput, "queue {name} is not open for output", "open it for output"
    ),
    Reason.NOT_OPEN_FOR_BROWSE: Case(
        NotOpenForBrowse, "queue {name} is not open for browse", "open it for browse"
    ),
    Reason.NOT_OPEN_FOR_INQUIRE: Case(
        NotOpenForInquire, "queue {name} is not open for inquire", "open it for inquire"
    ),
    Reason.NOT_OPEN_FOR_SET: Case(
        NotOpenForSet, "queue {name} is not open for set", "open it for set"
    ),
    Reason.PRIORITY_ERROR: Case(
        InvalidPriority, "invalid priority", "use 0 to 9, or None for the queue's default"
    ),
    Reason.PERSISTENCE_ERROR: Case(
        InvalidPersistence,
        "invalid persistence",
        "use True, False, or None for the queue's default",
    ),
    Reason.EXPIRY_ERROR: Case(
        InvalidExpiry, "invalid expiry", "use a positive time, or None for no expiry"
    ),
    Reason.IDENTIFIER_ERROR: Case(
        InvalidIdentifier,
        "invalid message, correlation, group or unit id, or group number",
        "use ids of 24 bytes",
    ),
    Reason.OPTIONS_ERROR: Case(
        InvalidOption,
        "invalid option, or combination of options",
        "see the documentation of the verb",
    ),
    Reason.NAME_ERROR: Case(
        InvalidName, "invalid queue name {name!r}", "use 1-48 characters of A-Z a-z 0-9 . _ / %"
    ),
    Reason.ATTRIBUTE_ERROR: Case(
        InvalidAttribute, "invalid attribute of queue {name}", "correct it"
    ),
    Reason.WAIT_INTERVAL_ERROR: Case(
        InvalidTimeout, "invalid wait interval", "use 0 or more seconds, or None"
    ),
    Reason.LIMIT_REACHED: Case(
        LimitReached,
        "a limit of the queue manager is reached",
        "close what is no longer used, or try again later",
    ),
    Reason.OUTCOME_UNKNOWN: Case(
        InDoubt, "the outcome is no longer known", "check the queues for its messages"
    ),
    Reason.OUT_OF_ORDER: Case(
        UnexpectedAnswer, "the queue manager did not expect this command now", "connect again"
    ),
    Reason.MALFORMED_REQUEST: Case(
        UnexpectedAnswer,
        "the queue manager did not understand the request",
        "install the same release on both sides",
    ),
    Reason.QUEUE_MANAGER_NAME_ERROR: Case(
        WrongQueueManager, "queue manager {name} is not at this address", "check name and address"
    ),
    Reason.QUEUE_MANAGER_STOPPING: Case(
        QueueManagerStopping, "the queue manager is stopping", "try again when it has restarted"
    ),
    Reason.QUEUE_MANAGER_QUIESCING: Case(
        QueueManagerQuiescing,
        "queue manager {name} is quiescing and accepts no new work",
        "try again when it has restarted",
    ),
    Reason.QUEUE_MANAGER_NOT_AVAILABLE: Case(
        QueueManagerNotAvailable, "the queue manager is not available", "try again in a while"
    ),
    Reason.PROTOCOL_VERSION_ERROR: Case(
        WrongVersion,
        "the queue manager speaks another version of the protocol",
        "install the same release on both sides",
    ),
    Reason.PROPERTY_ERROR: Case(InvalidProperty, "invalid message property", "correct it"),
    Reason.CONNECTION_NOT_FOUND: Case(
        ConnectionNotFound, "connection {name} does not exist", "list the connections"
    ),
    Reason.CONNECTION_ENDED: Case(
        ConnectionBroken,
        "connection {name} was ended by an administrator, and its units were backed out",
        "connect again, and repeat the work of its units",
    ),
    Reason.MESSAGE_TYPE_ERROR: Case(
        InvalidMessageType,
        "invalid message type",
        "in the MQI, use 1, 2, 4, 8, or 65536 to 999999999; in Service Broker, a type that the "
        "contract has for this side",
    ),
    Reason.MESSAGE_FLAGS_ERROR: Case(
        InvalidMessageFlags, "invalid message flags", "use a sum of 1, 2, 4, 8 and 16"
    ),
    Reason.OFFSET_ERROR: Case(InvalidOffset, "invalid offset", "use 0 to 999999999"),
    Reason.SEGMENT_EMPTY: Case(
        EmptySegment, "the segment is empty", "give it bytes, or make it the last one"
    ),
    Reason.PRIORITY_TOO_HIGH: Case(
        PriorityTooHigh, "the priority exceeds the maximum", "use a priority of 0 to 9"
    ),
    Reason.NO_MESSAGE_UNDER_CURSOR: Case(
        NoMessageUnderCursor,
        "no message of queue {name} is available under the cursor",
        "browse on to the next message",
    ),
    Reason.NO_MESSAGE_LOCKED: Case(
        NoMessageLocked,
        "no message of queue {name} is locked by this handle",
        "lock a message by browsing it first",
    ),
    Reason.MESSAGE_TRUNCATED: Case(
        MessageTruncated,
        "the message is longer than the maximum length of this get",
        "get it again with a larger maximum length",
    ),
    Reason.INCOMPLETE_GROUP: Case(
        IncompleteGroup,
        "the handle of queue {name} is in the middle of a group",
        "end the group first",
    ),
    Reason.INCOMPLETE_MESSAGE: Case(
        IncompleteMessage,
        "the handle of queue {name} is in the middle of a segmented message",
        "end the message first",
    ),
    Reason.INCONSISTENT_PERSISTENCE: Case(
        InconsistentPersistence,
        "the persistence is not that of the group",
        "put all messages of a group with the same persistence",
    ),
    Reason.INCONSISTENT_UNIT: Case(
        InconsistentUnit,
        "the other messages of the group are in units, or this one is",
        "put and get all messages of a group in units, or none",
    ),
    Reason.SELECTOR_SYNTAX_ERROR: Case(
        InvalidSelector,
        "invalid selection string for {name}",
        "correct it where the text says",
    ),
    Reason.SELECTION_TOO_LONG: Case(
        SelectionTooLong,
        "the selection string for {name} is too long",
        "select by less, or by another property",
    ),
    Reason.MISSING_REPLY_TO: Case(
        MissingReplyTo,
        "a request or report message for queue {name} names no reply queue",
        "set reply_to",
    ),
    Reason.CONSUMER_NOT_FOUND: Case(
        ConsumerNotFound,
        "consumer {name} does not exist",
        "check the name; `mqk consumer list` shows all consumers",
    ),
    Reason.CONSUMER_IN_USE: Case(
        ConsumerInUse,
        "consumer {name} is in use",
        "end the other program first, or give this one a name of its own to share the queue",
    ),
    Reason.CLAIM_LOST: Case(
        ClaimLost,
        "consumer {name} was gone longer than its timeout, and its assigned messages returned to "
        "the queue",
        "begin again, without what the program remembers of its batches; give it a longer timeout",
    ),
    Reason.BATCH_NOT_FOUND: Case(
        BatchNotFound,
        "consumer {name} has no such batch",
        "begin again where the consumer stands, or give each program its own consumer",
    ),
    Reason.TOPIC_STRING_ERROR: Case(
        InvalidTopic,
        "invalid topic string {name}",
        "give 1 to 10,240 characters, in at most 256 levels",
    ),
    Reason.TOPIC_NOT_ALTERABLE: Case(
        TopicNotAlterable,
        "the topic of subscription {name} cannot be changed",
        "remove the subscription, and create a new one",
    ),
    Reason.PUBLICATION_FAILED: Case(
        PublicationFailed,
        "the publication on topic {name} was not delivered to all subscriptions",
        "check the queue that is named, and publish again",
    ),
    Reason.NO_SUBSCRIBERS: Case(
        NoSubscribers,
        "no subscription matches topic {name}",
        "ignore this if that is expected",
    ),
    Reason.SUBSCRIPTION_NOT_FOUND: Case(
        SubscriptionNotFound,
        "subscription {name} does not exist",
        "check the name, or create the subscription",
    ),
    Reason.SUBSCRIPTION_IN_USE: Case(
        SubscriptionInUse,
        "subscription {name} is in use",
        "close it in the other program first",
    ),
    Reason.SUBSCRIPTION_EXISTS: Case(
        SubscriptionExists,
        "subscription {name} already exists",
        "resume it, or choose another name",
    ),
    Reason.SUBSCRIPTION_NAME_ERROR: Case(
        InvalidSubscriptionName,
        "invalid subscription name {name}",
        "give 1 to 10,240 characters",
    ),
    Reason.SUBSCRIBE_INHIBITED: Case(
        SubscribeInhibited,
        "topic {name} does not accept subscriptions",
        "alter the topic object: its SUB attribute is DISABLED",
    ),
    Reason.DURABILITY_NOT_ALLOWED: Case(
        DurabilityNotAllowed,
        "topic {name} does not accept durable subscriptions",
        "make the subscription non-durable, or alter the topic object",
    ),
    Reason.RETAINED_QUEUE_ERROR: Case(
        RetainedQueueError,
        "the retained publication was not stored",
        "check SYSTEM.RETAINED.PUB.QUEUE, or retain fewer publications",
    ),
    Reason.RETAINED_NOT_DELIVERED: Case(
        RetainedNotDelivered,
        "a retained publication was not put to the subscription's queue",
        "check the queue, and request it again",
    ),
    Reason.NO_RETAINED_MESSAGE: Case(
        NoRetainedMessage,
        "no publication is retained for topic {name}",
        "publish with retain, or wait for publications",
    ),
    Reason.DURABILITY_NOT_ALTERABLE: Case(
        DurabilityNotAlterable,
        "the durability of subscription {name} cannot be changed",
        "remove the subscription, and create a new one",
    ),
    Reason.DESTINATION_CLASS_NOT_ALTERABLE: Case(
        DestinationClassNotAlterable,
        "the destination class of subscription {name} cannot be changed",
        "remove the subscription, and create a new one",
    ),
    Reason.LEVEL_NOT_ALTERABLE: Case(
        LevelNotAlterable,
        "the level of subscription {name} cannot be changed",
        "remove the subscription, and create a new one",
    ),
    Reason.SELECTOR_NOT_ALTERABLE: Case(
        SelectorNotAlterable,
        "the selector of subscription {name} cannot be changed",
        "remove the subscription, and create a new one",
    ),
    Reason.TRANSACTION_USAGE: Case(
        InvalidOption,
        "MSMQ queue {name} does not allow this in a transaction",
        "use a local transactional queue, or no transaction",
    ),
    Reason.MESSAGE_NOT_FOUND: Case(
        NoMessageUnderCursor,
        "MSMQ queue {name} has no such message",
        "check the lookup id",
    ),
    Reason.MESSAGE_ALREADY_RECEIVED: Case(
        NoMessageUnderCursor,
        "another program has received the message at the cursor of MSMQ queue {name}",
        "move the cursor to the next message",
    ),
    Reason.ILLEGAL_CURSOR_ACTION: Case(
        InvalidOption,
        "the cursor of MSMQ queue {name} is at no message",
        "peek at the current message first",
    ),
    Reason.SHARING_VIOLATION: Case(
        QueueInUse,
        "MSMQ queue {name} is open for receiving, and one of its programs shares it with no other",
        "close the other handle, or open the queue for sending or peeking",
    ),
    Reason.ILLEGAL_QUEUE_PATH: Case(
        InvalidName,
        "invalid path name of an MSMQ queue: {name}",
        "use COMPUTER\\private$\\NAME",
    ),
    Reason.UNSUPPORTED_FORMAT_NAME: Case(
        InvalidName,
        "the format name {name} is not supported for this",
        "use the direct format name of one queue",
    ),
    Reason.UNSUPPORTED_ACCESS_MODE: Case(
        InvalidOption,
        "MSMQ queue {name} cannot be opened for this access",
        "open it for receiving, sending, moving or peeking",
    ),
    Reason.MESSAGE_LOCKED: Case(
        QueueInUse,
        "a transaction holds the message of MSMQ queue {name}",
        "try again when that transaction has ended",
    ),
    Reason.OPERATION_CANCELLED: Case(
        NotOpen,
        "the handle of MSMQ queue {name} was closed while a program waited for a message",
        "open the queue again",
    ),
    Reason.ACCESS_DENIED: Case(
        NotOpenForInput,
        "MSMQ queue {name} is not open for this",
        "open it with the access that is needed",
    ),
    Reason.LABEL_TOO_LONG: Case(
        InvalidProperty,
        "the label of a message for MSMQ queue {name} is too long",
        "use at most 249 characters",
    ),
    Reason.COMPUTER_NOT_REACHABLE: Case(
        UnknownRemoteQueueManager,
        "no queue manager is known for the computer of MSMQ queue {name}",
        "check the name of the computer, and that its queue manager has been started",
    ),
    Reason.REMOTE_QUEUE_NAME_ERROR: Case(
        RemoteQueueNameError,
        "remote queue {name} has no valid name at its queue manager",
        "alter its RNAME, or put to a queue that has a name",
    ),
    Reason.OPTION_NOT_VALID_FOR_TYPE: Case(
        OptionNotValidForType,
        "queue {name} cannot be opened for this",
        "open a queue of another queue manager for output only",
    ),
    Reason.UNKNOWN_TRANSMISSION_QUEUE: Case(
        UnknownTransmissionQueue,
        "remote queue {name} has no transmission queue",
        "define it with usage XMITQ, or alter the XMITQ of the remote queue",
    ),
    Reason.TRANSMISSION_QUEUE_TYPE_ERROR: Case(
        TransmissionQueueTypeError,
        "the transmission queue of remote queue {name} is not a local queue",
        "name a local queue with usage XMITQ",
    ),
    Reason.TRANSMISSION_QUEUE_USAGE_ERROR: Case(
        TransmissionQueueUsageError,
        "the queue for messages to remote queue {name} is not a transmission queue",
        "alter its usage to XMITQ, or name another queue",
    ),
    Reason.UNKNOWN_DEFAULT_TRANSMISSION_QUEUE: Case(
        UnknownDefaultTransmissionQueue,
        "the default transmission queue for remote queue {name} does not exist",
        "define it with usage XMITQ, or alter DEFXMITQ of the queue manager",
    ),
    Reason.DEFAULT_TRANSMISSION_QUEUE_TYPE_ERROR: Case(
        DefaultTransmissionQueueTypeError,
        "the default transmission queue for remote queue {name} is not a local queue",
        "alter DEFXMITQ of the queue manager to a local queue with usage XMITQ",
    ),
    Reason.DEFAULT_TRANSMISSION_QUEUE_USAGE_ERROR: Case(
        DefaultTransmissionQueueUsageError,
        "the default transmission queue for remote queue {name} is not a transmission queue",
        "alter its usage to XMITQ, or alter DEFXMITQ of the queue manager",
    ),
    **CONVERSING,
}
"""Every reason of core has exactly one row here."""


def refusal(reason: int, name: str = "", detail: str = "") -> Error:
    """Make the error for a refusal of the queue manager; of a newer one, maybe, than this."""
    try:
        case = REFUSALS[Reason(reason)]
    except ValueError:
        return UnexpectedAnswer(
            f"the queue manager refused with the unknown reason {reason} ({detail}); "
            "install the same release on both sides",
            name,
        )
    happened = case.happened.format(name=name) + (f" ({detail})" if detail else "")
    error = case.error(f"{happened}: {case.remedy}", name)
    error.happened, error.remedy = happened, case.remedy
    error.refused = Reason(reason)
    return error
