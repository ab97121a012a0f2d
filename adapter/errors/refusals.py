"""The total table from core's reasons to the errors of every face, and to their sentences."""

from __future__ import annotations

from msgspec import Struct

from adapter.core.reasons import Reason
from adapter.errors import (
    AliasBaseTypeError,
    BackedOut,
    BatchNotFound,
    ClaimLost,
    ConnectionBroken,
    ConnectionNotFound,
    ConsumerInUse,
    ConsumerNotFound,
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
    RetainedNotDelivered,
    RetainedQueueError,
    SelectionTooLong,
    SelectorNotAlterable,
    SubscribeInhibited,
    SubscriptionExists,
    SubscriptionInUse,
    SubscriptionNotFound,
    TopicNotAlterable,
    UnexpectedAnswer,
    UnitTooLarge,
    UnknownAliasBase,
    UnknownRemoteQueueManager,
    WrongObjectType,
    WrongQueueManager,
    WrongVersion,
)


class Case(Struct, frozen=True):
    """What a refusal becomes: the error, what happened ({name} is the object), what to do."""

    error: type[Error]
    happened: str
    remedy: str


REFUSALS: dict[Reason, Case] = {
    Reason.QUEUE_NOT_FOUND: Case(
        QueueNotFound, "there is no queue {name}", "define it, or check the name"
    ),
    Reason.QUEUE_EXISTS: Case(
        QueueExists, "queue {name} exists already", "alter it, or define it with replace=True"
    ),
    Reason.QUEUE_FULL: Case(
        QueueFull, "queue {name} is full", "get messages from it, or raise its max_depth"
    ),
    Reason.NOT_AUTHORIZED: Case(
        NotAuthorized, "user {name} is not let in", "check user and password, or ask for rights"
    ),
    Reason.QUEUE_PARKED: Case(
        QueueParked,
        "the topic of queue {name} cannot be written, and too much waits for it",
        "mend the topic as the queue manager's log says, and put again; gets go on",
    ),
    Reason.OBJECT_DAMAGED: Case(
        QueueDamaged,
        "the topic of queue {name} has lost a message",
        "bring the topic back as it was, or purge the queue to go on without what it has lost",
    ),
    Reason.QUEUE_DELETED: Case(
        QueueDeleted, "queue {name} was deleted while it was open", "close it, and open another one"
    ),
    Reason.OBJECT_NOT_FOUND: Case(
        ObjectNotFound, "there is no such object {name}", "define it, or check kind and name"
    ),
    Reason.OBJECT_EXISTS: Case(
        ObjectExists,
        "there is an object {name} already",
        "choose another name, or alter what there is",
    ),
    Reason.OBJECT_TYPE_ERROR: Case(
        WrongObjectType, "{name} is not of a kind for this", "name one of the kinds that are"
    ),
    Reason.UNKNOWN_ALIAS_BASE: Case(
        UnknownAliasBase,
        "alias {name} leads to no queue",
        "define the queue, or alter the alias's target",
    ),
    Reason.ALIAS_BASE_TYPE_ERROR: Case(
        AliasBaseTypeError,
        "alias {name} does not lead to a local queue",
        "alter the alias's target",
    ),
    Reason.UNKNOWN_REMOTE_QUEUE_MANAGER: Case(
        UnknownRemoteQueueManager,
        "queue {name} is on another queue manager",
        "connect to that one; queue managers do not send to each other yet",
    ),
    Reason.DYNAMIC_NAME_ERROR: Case(
        DynamicNameError,
        "{name} is not a name for a dynamic queue",
        "give 1 to 48 of A-Z a-z 0-9 . _ / %, or at most 32 of them and a *",
    ),
    Reason.PERSISTENT_NOT_ALLOWED: Case(
        PersistentNotAllowed,
        "queue {name} takes no persistent messages",
        "put it with persistent=False, or to a queue that is not temporary",
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
        BackedOut, "unit {name} was backed out", "do its work again in a new unit"
    ),
    Reason.HANDLE_NOT_OPEN: Case(NotOpen, "the queue is not open", "open it again"),
    Reason.HANDLE_IN_USE: Case(
        NotOpen, "the handle for queue {name} is taken", "open the queue again"
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
        InvalidPriority, "the priority is not one", "use 0 to 9, or None for the queue's default"
    ),
    Reason.PERSISTENCE_ERROR: Case(
        InvalidPersistence,
        "the persistence is not one",
        "use True, False, or None for the queue's default",
    ),
    Reason.EXPIRY_ERROR: Case(
        InvalidExpiry, "the expiry is not one", "use a positive time, or None for no expiry"
    ),
    Reason.IDENTIFIER_ERROR: Case(
        InvalidIdentifier, "an id or a group number is not one", "ids are 24 bytes"
    ),
    Reason.OPTIONS_ERROR: Case(
        InvalidOption,
        "an option is not one, or too much was asked for at once",
        "see the documentation of the verb",
    ),
    Reason.NAME_ERROR: Case(InvalidName, "{name!r} is no name for a queue", "choose another"),
    Reason.ATTRIBUTE_ERROR: Case(
        InvalidAttribute, "an attribute of queue {name} is not one", "correct it"
    ),
    Reason.WAIT_INTERVAL_ERROR: Case(
        InvalidTimeout, "the time to wait is not one", "use 0 or more seconds, or None"
    ),
    Reason.LIMIT_REACHED: Case(
        LimitReached,
        "a limit of the queue manager is reached",
        "close what is no longer used, or try again later",
    ),
    Reason.OUTCOME_UNKNOWN: Case(
        InDoubt, "the outcome is no longer known", "compare what is on the queues"
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
        "queue manager {name} takes no new work, for it is being stopped",
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
    Reason.PROPERTY_ERROR: Case(InvalidProperty, "a message property is not one", "correct it"),
    Reason.CONNECTION_NOT_FOUND: Case(
        ConnectionNotFound, "there is no connection {name}", "list the connections that there are"
    ),
    Reason.CONNECTION_ENDED: Case(
        ConnectionBroken,
        "connection {name} was ended by an administrator, and its units were backed out",
        "connect again, and do their work again",
    ),
    Reason.MESSAGE_TYPE_ERROR: Case(
        InvalidMessageType, "the message type is not one", "use 1, 2, 4, 8, or 65536 to 999999999"
    ),
    Reason.MESSAGE_FLAGS_ERROR: Case(
        InvalidMessageFlags, "the message flags are none", "use 1, 2, 4, 8 and 16, added up"
    ),
    Reason.OFFSET_ERROR: Case(InvalidOffset, "the offset is not one", "use 0 to 999999999"),
    Reason.SEGMENT_EMPTY: Case(
        EmptySegment, "the segment is empty", "give it bytes, or make it the last one"
    ),
    Reason.PRIORITY_TOO_HIGH: Case(
        PriorityTooHigh, "the priority is higher than any", "use a priority of 0 to 9"
    ),
    Reason.NO_MESSAGE_UNDER_CURSOR: Case(
        NoMessageUnderCursor,
        "queue {name} has no message under the cursor that may be had",
        "browse on to the next message",
    ),
    Reason.NO_MESSAGE_LOCKED: Case(
        NoMessageLocked,
        "no message of queue {name} is locked by this handle",
        "lock one with a browse first",
    ),
    Reason.MESSAGE_TRUNCATED: Case(
        MessageTruncated,
        "the message is longer than was asked for",
        "ask again with room for all of it",
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
        "the selection string for {name} is not one",
        "correct it where the text says",
    ),
    Reason.SELECTION_TOO_LONG: Case(
        SelectionTooLong,
        "the selection string for {name} is too long",
        "select by less, or by another property",
    ),
    Reason.MISSING_REPLY_TO: Case(
        MissingReplyTo,
        "a message for queue {name} asks for an answer and names no queue for it",
        "give it reply_to",
    ),
    Reason.CONSUMER_NOT_FOUND: Case(
        ConsumerNotFound,
        "there is no consumer {name}",
        "check the name; `mqk consumer list` shows those there are",
    ),
    Reason.CONSUMER_IN_USE: Case(
        ConsumerInUse,
        "consumer {name} is in use",
        "end the other program first, or give this one a name of its own to share the queue",
    ),
    Reason.CLAIM_LOST: Case(
        ClaimLost,
        "consumer {name} was away too long, and what it was given has gone back to the queue",
        "begin anew, without what the program remembers of its batches; give it a longer timeout",
    ),
    Reason.BATCH_NOT_FOUND: Case(
        BatchNotFound,
        "consumer {name} has no such batches",
        "begin anew where the consumer stands, or give the program a consumer of its own",
    ),
    Reason.TOPIC_STRING_ERROR: Case(
        InvalidTopic,
        "{name} is no topic string",
        "give 1 to 10,240 characters, in at most 256 levels",
    ),
    Reason.TOPIC_NOT_ALTERABLE: Case(
        TopicNotAlterable,
        "the topic of subscription {name} stays",
        "close and remove the subscription, and make a new one",
    ),
    Reason.PUBLICATION_FAILED: Case(
        PublicationFailed,
        "the publication on topic {name} could not be given to all",
        "see to the queue that is named, and publish again",
    ),
    Reason.NO_SUBSCRIBERS: Case(
        NoSubscribers,
        "no subscription means topic {name}",
        "nothing need be done if that is no surprise",
    ),
    Reason.SUBSCRIPTION_NOT_FOUND: Case(
        SubscriptionNotFound,
        "there is no subscription {name}",
        "check the name, or make the subscription",
    ),
    Reason.SUBSCRIPTION_IN_USE: Case(
        SubscriptionInUse,
        "subscription {name} is in use",
        "close it there first",
    ),
    Reason.SUBSCRIPTION_EXISTS: Case(
        SubscriptionExists,
        "there is a subscription {name} already",
        "resume it, or choose another name",
    ),
    Reason.SUBSCRIPTION_NAME_ERROR: Case(
        InvalidSubscriptionName,
        "{name} is no name of a subscription",
        "give 1 to 10,240 characters",
    ),
    Reason.SUBSCRIBE_INHIBITED: Case(
        SubscribeInhibited,
        "topic {name} takes no subscriptions",
        "alter the topic object: its subscribe is DISABLED",
    ),
    Reason.DURABILITY_NOT_ALLOWED: Case(
        DurabilityNotAllowed,
        "topic {name} takes no durable subscriptions",
        "make it not durable, or alter the topic object",
    ),
    Reason.RETAINED_QUEUE_ERROR: Case(
        RetainedQueueError,
        "the queue of retained publications cannot take it",
        "see to SYSTEM.RETAINED.PUB.QUEUE, or retain less",
    ),
    Reason.RETAINED_NOT_DELIVERED: Case(
        RetainedNotDelivered,
        "what is retained could not be put to the subscription's queue",
        "see to the queue, and request it again",
    ),
    Reason.NO_RETAINED_MESSAGE: Case(
        NoRetainedMessage,
        "nothing is retained for topic {name}",
        "publish with retain, or wait for publications",
    ),
    Reason.DURABILITY_NOT_ALTERABLE: Case(
        DurabilityNotAlterable,
        "subscription {name} stays durable, or not, as it is",
        "close and remove the subscription, and make a new one",
    ),
    Reason.DESTINATION_CLASS_NOT_ALTERABLE: Case(
        DestinationClassNotAlterable,
        "the queue of subscription {name} stays managed, or provided, as it is",
        "close and remove the subscription, and make a new one",
    ),
    Reason.LEVEL_NOT_ALTERABLE: Case(
        LevelNotAlterable,
        "subscription {name} stays at its level",
        "close and remove the subscription, and make a new one",
    ),
    Reason.SELECTOR_NOT_ALTERABLE: Case(
        SelectorNotAlterable,
        "the selection of subscription {name} stays as it is",
        "close and remove the subscription, and make a new one",
    ),
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
    happened = case.happened.format(name=name)
    more = f" ({detail})" if detail else ""
    error = case.error(f"{happened}{more}: {case.remedy}", name)
    error.refused = Reason(reason)
    return error
