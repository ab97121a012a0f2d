"""Errors of arguments."""

# ruff: noqa: N818 -- these are published names

from __future__ import annotations

from adapter.core.contract.reasons import Reason
from adapter.errors.root import Error, raised_for, text_of_mistake


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


@raised_for(
    Reason.OPTIONS_ERROR,
    "invalid option, or combination of options",
    "see the documentation of the verb",
)
@raised_for(
    Reason.TRANSACTION_USAGE,
    "MSMQ queue {name} does not allow this in a transaction",
    "use a local transactional queue, or no transaction",
)
@raised_for(
    Reason.ILLEGAL_CURSOR_ACTION,
    "the cursor of MSMQ queue {name} is at no message",
    "peek at the current message first",
)
@raised_for(
    Reason.UNSUPPORTED_ACCESS_MODE,
    "MSMQ queue {name} cannot be opened for this access",
    "open it for receiving, sending, moving or peeking",
)
class InvalidOption(InvalidValue):
    """An option, a limit or a combination of options is invalid."""


@raised_for(
    Reason.NAME_ERROR, "invalid queue name {name!r}", "use 1-48 characters of A-Z a-z 0-9 . _ / %"
)
@raised_for(
    Reason.ILLEGAL_QUEUE_PATH,
    "invalid path name of an MSMQ queue: {name}",
    "use COMPUTER\\private$\\NAME",
)
@raised_for(
    Reason.UNSUPPORTED_FORMAT_NAME,
    "the format name {name} is not supported for this",
    "use the direct format name of one queue",
)
class InvalidName(InvalidValue):
    """A name is invalid."""

    reason, reason_name = 2152, "MQRC_OBJECT_NAME_ERROR"


@raised_for(Reason.ATTRIBUTE_ERROR, "invalid attribute of object {name}", "correct it")
class InvalidAttribute(InvalidValue):
    """A queue has no such attribute, or the value is invalid for it."""

    reason, reason_name = 4005, "MQRCCF_ATTR_VALUE_ERROR"


@raised_for(Reason.WAIT_INTERVAL_ERROR, "invalid wait interval", "use 0 or more seconds, or None")
class InvalidTimeout(InvalidValue):
    """A time to wait is negative or too long."""

    reason, reason_name = 2090, "MQRC_WAIT_INTERVAL_ERROR"


@raised_for(
    Reason.PRIORITY_ERROR, "invalid priority", "use 0 to 9, or None for the queue's default"
)
class InvalidPriority(InvalidValue):
    """A priority is not 0 to 9."""

    reason, reason_name = 2050, "MQRC_PRIORITY_ERROR"


@raised_for(
    Reason.PERSISTENCE_ERROR,
    "invalid persistence",
    "use True, False, or None for the queue's default",
)
class InvalidPersistence(InvalidValue):
    """A persistence is neither true nor false."""

    reason, reason_name = 2047, "MQRC_PERSISTENCE_ERROR"


@raised_for(Reason.EXPIRY_ERROR, "invalid expiry", "use a positive time, or None for no expiry")
class InvalidExpiry(InvalidValue):
    """An expiry is not positive, or too long."""

    reason, reason_name = 2013, "MQRC_EXPIRY_ERROR"


@raised_for(
    Reason.IDENTIFIER_ERROR,
    "invalid message, correlation, group or unit id",
    "use ids of 24 bytes",
)
class InvalidIdentifier(InvalidValue):
    """An id is longer than 24 bytes, or a unit id not 24 bytes."""

    reason, reason_name = 2206, "MQRC_MSG_ID_ERROR"


@raised_for(Reason.GROUP_NUMBER_ERROR, "invalid number in a group", "use 1 to 999999999")
class InvalidGroupNumber(InvalidIdentifier):
    """The number of a message in its group is not positive, or too large."""

    reason, reason_name = 2250, "MQRC_MSG_SEQ_NUMBER_ERROR"


@raised_for(
    Reason.MESSAGE_TYPE_ERROR,
    "invalid message type",
    "in the MQI, use 1, 2, 4, 8, or 65536 to 999999999; in Service Broker, a type that the "
    "contract has for this side",
)
class InvalidMessageType(InvalidValue):
    """A message type is invalid."""

    reason, reason_name = 2029, "MQRC_MSG_TYPE_ERROR"


@raised_for(Reason.PROPERTY_ERROR, "invalid message property", "correct it")
@raised_for(
    Reason.LABEL_TOO_LONG,
    "the label of a message for MSMQ queue {name} is too long",
    "use at most 249 characters",
)
class InvalidProperty(InvalidValue):
    """A message property has an invalid name or value."""

    reason, reason_name = 2473, "MQRC_PROPERTY_TYPE_ERROR"


@raised_for(Reason.MESSAGE_FLAGS_ERROR, "invalid message flags", "use a sum of 1, 2, 4, 8 and 16")
class InvalidMessageFlags(InvalidValue):
    """Message flags are invalid, or contradict each other."""

    reason, reason_name = 2249, "MQRC_MSG_FLAGS_ERROR"


@raised_for(Reason.OFFSET_ERROR, "invalid offset", "use 0 to 999999999")
class InvalidOffset(InvalidValue):
    """The offset of a segment is negative, or too large."""

    reason, reason_name = 2251, "MQRC_OFFSET_ERROR"


@raised_for(Reason.SEGMENT_EMPTY, "the segment is empty", "give it bytes, or make it the last one")
class EmptySegment(InvalidValue):
    """A segment that is not the last one has no bytes."""

    reason, reason_name = 2253, "MQRC_SEGMENT_LENGTH_ZERO"


@raised_for(
    Reason.PRIORITY_TOO_HIGH, "the priority exceeds the maximum", "use a priority of 0 to 9"
)
class PriorityTooHigh(InvalidValue):
    """A warning: the message was put at the maximum priority, which is lower."""

    reason, reason_name = 2049, "MQRC_PRIORITY_EXCEEDS_MAXIMUM"


@raised_for(
    Reason.SELECTOR_SYNTAX_ERROR,
    "invalid selection string for {name}",
    "correct it where the text says",
)
class InvalidSelector(InvalidValue):
    """A selection string is invalid; the text says where."""

    reason, reason_name = 2459, "MQRC_SELECTOR_SYNTAX_ERROR"


@raised_for(
    Reason.SELECTION_TOO_LONG,
    "the selection string for {name} is too long",
    "select by less, or by another property",
)
class SelectionTooLong(InvalidValue):
    """A selection string is too long."""

    reason, reason_name = 2519, "MQRC_SELECTION_STRING_ERROR"


@raised_for(
    Reason.MISSING_REPLY_TO,
    "a request or report message for queue {name} names no reply queue",
    "set reply_to",
)
class MissingReplyTo(InvalidValue):
    """A request, or a message that asks for reports, names no queue to reply to."""

    reason, reason_name = 2027, "MQRC_MISSING_REPLY_TO_Q"


@raised_for(
    Reason.TOPIC_STRING_ERROR,
    "invalid topic string {name}",
    "give 1 to 10,240 characters, in at most 256 levels",
)
class InvalidTopic(InvalidValue):
    """The topic string is invalid."""

    reason, reason_name = 2425, "MQRC_TOPIC_STRING_ERROR"


@raised_for(
    Reason.SUBSCRIPTION_NAME_ERROR,
    "invalid subscription name {name}",
    "give 1 to 10,240 characters",
)
class InvalidSubscriptionName(InvalidValue):
    """The subscription name is invalid."""

    reason, reason_name = 2440, "MQRC_SUB_NAME_ERROR"
