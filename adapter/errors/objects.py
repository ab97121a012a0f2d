"""Errors of queues, other objects, and handles."""

# ruff: noqa: N818 -- these are published names

from __future__ import annotations

from adapter.core.contract.reasons import Reason
from adapter.errors.root import Error, raised_for


@raised_for(Reason.QUEUE_NOT_FOUND, "queue {name} does not exist", "define it, or check the name")
class QueueNotFound(Error):
    """The queue does not exist."""

    reason, reason_name = 2085, "MQRC_UNKNOWN_OBJECT_NAME"


@raised_for(
    Reason.QUEUE_EXISTS, "queue {name} already exists", "alter it, or define it with replace=True"
)
class QueueExists(Error):
    """A queue of this name already exists."""

    reason, reason_name = 2100, "MQRC_OBJECT_ALREADY_EXISTS"


@raised_for(
    Reason.QUEUE_FULL, "queue {name} is full", "get messages from it, or raise its max_depth"
)
class QueueFull(Error):
    """The queue holds as many messages as its max_depth allows."""

    reason, reason_name = 2053, "MQRC_Q_FULL"


@raised_for(
    Reason.QUEUE_PARKED,
    "copies for the topic of queue {name} wait, and are at the limit",
    "find why its topic cannot be written or its movers lag or hold (mqk qmgr status, the "
    "queue manager's log), correct that, and put again; gets continue",
)
class QueueParked(Error):
    """The topic of the queue cannot be written, and its backlog is at the limit."""

    reason, reason_name = 2192, "MQRC_STORAGE_MEDIUM_FULL"


@raised_for(
    Reason.OBJECT_DAMAGED,
    "the topic of queue {name} has lost a message",
    "restore the topic, or purge the queue to continue without the lost messages",
)
class QueueDamaged(Error):
    """A message of the queue is missing from its topic: the topic or its records were deleted."""

    reason, reason_name = 2101, "MQRC_OBJECT_DAMAGED"


@raised_for(
    Reason.QUEUE_DELETED,
    "queue {name} was deleted while it was open",
    "close it, and open another one",
)
class QueueDeleted(Error):
    """The queue was deleted while this program had it open."""

    reason, reason_name = 2052, "MQRC_Q_DELETED"


@raised_for(
    Reason.OBJECT_NOT_FOUND, "object {name} does not exist", "define it, or check its type and name"
)
class ObjectNotFound(Error):
    """No object of this kind has this name."""

    reason, reason_name = 2085, "MQRC_UNKNOWN_OBJECT_NAME"


@raised_for(
    Reason.OBJECT_EXISTS,
    "object {name} already exists",
    "choose another name, or alter the existing object",
)
class ObjectExists(Error):
    """An object of this name already exists."""

    reason, reason_name = 2100, "MQRC_OBJECT_ALREADY_EXISTS"


@raised_for(
    Reason.OBJECT_TYPE_ERROR,
    "wrong object type for this operation: {name}",
    "name an object of a suitable type",
)
class WrongObjectType(Error):
    """The object has the wrong type for this operation."""

    reason, reason_name = 2043, "MQRC_OBJECT_TYPE_ERROR"


@raised_for(
    Reason.UNKNOWN_ALIAS_BASE,
    "alias {name} has no target queue",
    "define the target queue, or alter the alias",
)
class UnknownAliasBase(Error):
    """The target queue of the alias does not exist."""

    reason, reason_name = 2082, "MQRC_UNKNOWN_ALIAS_BASE_Q"


@raised_for(
    Reason.ALIAS_BASE_TYPE_ERROR,
    "the target of alias {name} is not a local queue",
    "alter the alias's target",
)
class AliasBaseTypeError(Error):
    """The target of the alias is not a local queue."""

    reason, reason_name = 2001, "MQRC_ALIAS_BASE_Q_TYPE_ERROR"


@raised_for(
    Reason.DYNAMIC_NAME_ERROR,
    "invalid dynamic queue name {name}",
    "give 1 to 48 of A-Z a-z 0-9 . _ / %, or at most 32 of them and a *",
)
class DynamicNameError(Error):
    """The name is invalid for a dynamic queue."""

    reason, reason_name = 2011, "MQRC_DYNAMIC_Q_NAME_ERROR"


@raised_for(
    Reason.PERSISTENT_NOT_ALLOWED,
    "queue {name} does not accept persistent messages",
    "put it with persistent=False, or to a permanent queue",
)
class PersistentNotAllowed(Error):
    """The queue does not accept persistent messages: it is a temporary dynamic queue."""

    reason, reason_name = 2048, "MQRC_PERSISTENT_NOT_ALLOWED"


@raised_for(
    Reason.QUEUE_NOT_EMPTY,
    "queue {name} is not empty",
    "delete it with purge=True, or empty it first",
)
class QueueNotEmpty(Error):
    """The queue has messages, and purge was not requested."""

    reason, reason_name = 2055, "MQRC_Q_NOT_EMPTY"


@raised_for(Reason.QUEUE_IN_USE, "queue {name} is in use", "close it elsewhere, or try again later")
@raised_for(
    Reason.SHARING_VIOLATION,
    "MSMQ queue {name} is open for receiving, and one of its programs shares it with no other",
    "close the other handle, or open the queue for sending or peeking",
)
@raised_for(
    Reason.MESSAGE_LOCKED,
    "a transaction holds the message of MSMQ queue {name}",
    "try again when that transaction has ended",
)
class QueueInUse(Error):
    """Another program has the queue open, exclusively or at all."""

    reason, reason_name = 2042, "MQRC_OBJECT_IN_USE"


@raised_for(
    Reason.GET_INHIBITED, "gets are inhibited on queue {name}", "alter it with inhibit_get=False"
)
class GetInhibited(Error):
    """Gets are inhibited on the queue."""

    reason, reason_name = 2016, "MQRC_GET_INHIBITED"


@raised_for(
    Reason.PUT_INHIBITED,
    "puts are inhibited on {name}",
    'alter a queue with inhibit_put=False, the topic object of a topic with publish="ENABLED"',
)
class PutInhibited(Error):
    """Puts are inhibited on the queue."""

    reason, reason_name = 2051, "MQRC_PUT_INHIBITED"


@raised_for(
    Reason.MESSAGE_TOO_LONG,
    "the message is too long for queue {name}",
    "raise its max_message_length, or send less",
)
class MessageTooLong(Error):
    """The body is longer than the maximum of the queue, or of the queue manager."""

    reason, reason_name = 2030, "MQRC_MSG_TOO_BIG_FOR_Q"


@raised_for(Reason.CONNECTION_NOT_FOUND, "connection {name} does not exist", "list the connections")
class ConnectionNotFound(Error):
    """No connection has this number; it may have ended."""

    reason, reason_name = 3174, "MQRCCF_CONNECTION_ID_ERROR"


@raised_for(Reason.HANDLE_NOT_OPEN, "the queue is not open", "open it again")
@raised_for(
    Reason.HANDLE_IN_USE, "the handle for queue {name} is already in use", "open the queue again"
)
@raised_for(
    Reason.OPERATION_CANCELLED,
    "the handle of MSMQ queue {name} was closed while a program waited for a message",
    "open the queue again",
)
class NotOpen(Error):
    """The queue object or its handle is not open."""

    reason, reason_name = 2019, "MQRC_HOBJ_ERROR"


@raised_for(Reason.NOT_OPEN_FOR_INPUT, "queue {name} is not open for input", "open it for input")
@raised_for(
    Reason.ACCESS_DENIED,
    "MSMQ queue {name} is not open for this",
    "open it with the access that is needed",
)
class NotOpenForInput(NotOpen):
    """The handle was not opened for input."""

    reason, reason_name = 2037, "MQRC_NOT_OPEN_FOR_INPUT"


@raised_for(Reason.NOT_OPEN_FOR_OUTPUT, "queue {name} is not open for output", "open it for output")
class NotOpenForOutput(NotOpen):
    """The handle was not opened for output."""

    reason, reason_name = 2039, "MQRC_NOT_OPEN_FOR_OUTPUT"


@raised_for(Reason.NOT_OPEN_FOR_BROWSE, "queue {name} is not open for browse", "open it for browse")
class NotOpenForBrowse(NotOpen):
    """The handle was not opened for browse."""

    reason, reason_name = 2036, "MQRC_NOT_OPEN_FOR_BROWSE"


@raised_for(
    Reason.NOT_OPEN_FOR_INQUIRE, "queue {name} is not open for inquire", "open it for inquire"
)
class NotOpenForInquire(NotOpen):
    """The handle was not opened for inquire."""

    reason, reason_name = 2038, "MQRC_NOT_OPEN_FOR_INQUIRE"


@raised_for(Reason.NOT_OPEN_FOR_SET, "queue {name} is not open for set", "open it for set")
class NotOpenForSet(NotOpen):
    """The handle was not opened for set."""

    reason, reason_name = 2040, "MQRC_NOT_OPEN_FOR_SET"


@raised_for(
    Reason.NOT_OPEN_FOR_PASS_IDENTITY,
    "{name} is not open to pass identity context",
    "open it to pass identity context",
)
class NotOpenForPassIdentity(NotOpen):
    """The handle was not opened to pass identity context."""

    reason, reason_name = 2094, "MQRC_NOT_OPEN_FOR_PASS_IDENT"


@raised_for(
    Reason.NOT_OPEN_FOR_PASS_ALL,
    "{name} is not open to pass all context",
    "open it to pass all context",
)
class NotOpenForPassAll(NotOpen):
    """The handle was not opened to pass all context."""

    reason, reason_name = 2093, "MQRC_NOT_OPEN_FOR_PASS_ALL"


@raised_for(
    Reason.NOT_OPEN_FOR_SET_IDENTITY,
    "{name} is not open to set identity context",
    "open it to set identity context",
)
class NotOpenForSetIdentity(NotOpen):
    """The handle was not opened to set identity context."""

    reason, reason_name = 2096, "MQRC_NOT_OPEN_FOR_SET_IDENT"


@raised_for(
    Reason.NOT_OPEN_FOR_SET_ALL,
    "{name} is not open to set all context",
    "open it to set all context",
)
class NotOpenForSetAll(NotOpen):
    """The handle was not opened to set all context."""

    reason, reason_name = 2095, "MQRC_NOT_OPEN_FOR_SET_ALL"


@raised_for(
    Reason.CONTEXT_HANDLE_ERROR,
    "the context of {name} cannot be passed",
    "name a queue that is open for input and saves contexts",
)
class ContextHandleError(Error):
    """The handle whose context is to be passed is not open, or saves no contexts."""

    reason, reason_name = 2097, "MQRC_CONTEXT_HANDLE_ERROR"


@raised_for(
    Reason.CONTEXT_NOT_AVAILABLE,
    "no context of queue {name} is saved",
    "get a message by the handle first, and not after the connection was lost",
)
class ContextNotAvailable(Error):
    """No message was got by the handle whose context is to be passed."""

    reason, reason_name = 2098, "MQRC_CONTEXT_NOT_AVAILABLE"


@raised_for(
    Reason.NO_MESSAGE_UNDER_CURSOR,
    "no message of queue {name} is available under the cursor",
    "browse on to the next message",
)
@raised_for(
    Reason.MESSAGE_NOT_FOUND, "MSMQ queue {name} has no such message", "check the lookup id"
)
@raised_for(
    Reason.MESSAGE_ALREADY_RECEIVED,
    "the message at the cursor of MSMQ queue {name} is no longer available",
    "move the cursor to the next message",
)
class NoMessageUnderCursor(Error):
    """The message under the browse cursor is gone, or another program has locked it."""

    reason, reason_name = 2034, "MQRC_NO_MSG_UNDER_CURSOR"


@raised_for(
    Reason.INVALID_MESSAGE_UNDER_CURSOR,
    "the message of queue {name} under the cursor is no beginning of a message",
    "browse to its first segment",
)
class InvalidMessageUnderCursor(Error):
    """A whole message was asked for, and a later segment of one is under the cursor."""

    reason, reason_name = 2246, "MQRC_INVALID_MSG_UNDER_CURSOR"


@raised_for(
    Reason.NO_MESSAGE_LOCKED,
    "no message of queue {name} is locked by this handle",
    "lock a message by browsing it first",
)
class NoMessageLocked(Error):
    """The handle has locked no message."""

    reason, reason_name = 2209, "MQRC_NO_MSG_LOCKED"


@raised_for(
    Reason.MESSAGE_TRUNCATED,
    "the message is longer than the maximum length of this get",
    "get it again with a larger maximum length",
)
class MessageTruncated(Error):
    """A warning: the message exceeds the maximum length of the get, and stays on the queue."""

    reason, reason_name = 2080, "MQRC_TRUNCATED_MSG_FAILED"


@raised_for(
    Reason.OPTION_NOT_VALID_FOR_TYPE,
    "queue {name} cannot be opened for this",
    "open a queue of another queue manager for output only; put to a model queue by opening it",
)
class OptionNotValidForType(Error):
    """An object of this type cannot be opened for this."""

    reason, reason_name = 2045, "MQRC_OPTION_NOT_VALID_FOR_TYPE"
