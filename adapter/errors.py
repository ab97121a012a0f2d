"""The one error tree of every face, and the total table from core's reasons to it.

    Error                            comp, reason, reason_name, object_name
    ├── InvalidType                  also a TypeError: an argument of a wrong type
    ├── InvalidValue                 also a ValueError: an argument no queue manager could take
    │   ├── InvalidName  InvalidAttribute  InvalidOption  InvalidTimeout
    │   └── InvalidPriority  InvalidPersistence  InvalidExpiry  InvalidIdentifier
    │       InvalidMessageType  InvalidProperty  InvalidMessageFlags  InvalidOffset
    │       EmptySegment  PriorityTooHigh
    ├── QueueNotFound  QueueExists  QueueFull  QueueNotEmpty  QueueInUse  QueueParked  QueueDamaged
    ├── GetInhibited  PutInhibited  MessageTooLong  NotAuthorized  ConnectionNotFound
    ├── NotOpen                      the handle was never opened, or is closed
    │   └── NotOpenForInput  NotOpenForOutput  NotOpenForBrowse  NotOpenForInquire  NotOpenForSet
    ├── NoMessageUnderCursor  NoMessageLocked  MessageTruncated
    ├── GroupError                   a group or a segmented message could not go on
    │   └── IncompleteGroup  IncompleteMessage  InconsistentPersistence  InconsistentUnit
    ├── UnitError                    a unit of work could not go on
    │   ├── UnitTooLarge  UnitInProgress  UnitEnded
    │   ├── BackedOut                the unit is gone, nothing of it took effect
    │   ├── InDoubt                  .unit_id: ask outcome() what became of it
    │   └── BackoutThresholdReached  a message came back too often and cannot be set aside
    ├── ConnectionBroken             also a ConnectionError
    │   ├── ConnectionClosed         this program closed it
    │   └── QueueManagerNotAvailable, QueueManagerQuiescing, QueueManagerStopping,
    │       WrongQueueManager, WrongVersion
    ├── NoReply                      also a TimeoutError
    ├── StartError                   a queue manager did not start
    ├── LimitReached                 a bound of the queue manager
    └── UnexpectedAnswer             the two ends do not understand each other

An error's text says what happened, to which object, and what to do. The numbers are IBM MQ's
reason codes. This module knows core's reasons; it knows neither the wire nor any verb.
"""

# ruff: noqa: N818 -- these are published names

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from adapter.core.reasons import Reason

FAILED = 2  # MQCC_FAILED; MQCC_WARNING is 1, and no error here is a mere warning


class Error(Exception):
    """Whatever goes wrong. comp: MQCC; reason: MQRC; object_name: what it happened to, or "".

    messages_put: how many messages put_many() had put, durably, when this ended it.
    """

    comp: ClassVar[int] = FAILED
    reason: ClassVar[int] = 2195
    reason_name: ClassVar[str] = "MQRC_UNEXPECTED_ERROR"

    def __init__(self, text: str, object_name: str = "") -> None:
        super().__init__(text, object_name)
        self.text = text
        self.object_name = object_name
        self.messages_put = 0

    def __str__(self) -> str:
        return f"{self.text} [{self.reason_name}]"


class InvalidType(Error, TypeError):
    """An argument is of a type that is not taken here."""

    reason, reason_name = 2046, "MQRC_OPTIONS_ERROR"


class InvalidValue(Error, ValueError):
    """An argument has a value that no queue manager could take."""

    reason, reason_name = 2046, "MQRC_OPTIONS_ERROR"


class InvalidOption(InvalidValue):
    """An option, a limit or a combination of options is not one."""


class InvalidName(InvalidValue):
    """A name is not one."""

    reason, reason_name = 2152, "MQRC_OBJECT_NAME_ERROR"


class InvalidAttribute(InvalidValue):
    """A queue has no such attribute, or it does not take this value."""

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
    """A message, correlation, group or unit id is not 24 bytes, or a group number is not one."""

    reason, reason_name = 2206, "MQRC_MSG_ID_ERROR"


class InvalidMessageType(InvalidValue):
    """A message type is not one."""

    reason, reason_name = 2029, "MQRC_MSG_TYPE_ERROR"


class InvalidProperty(InvalidValue):
    """A message property has a name or value that is not taken."""

    reason, reason_name = 2473, "MQRC_PROPERTY_TYPE_ERROR"


class InvalidMessageFlags(InvalidValue):
    """Flags of a message are none, or do not go together."""

    reason, reason_name = 2249, "MQRC_MSG_FLAGS_ERROR"


class InvalidOffset(InvalidValue):
    """The offset of a segment is negative, or too large."""

    reason, reason_name = 2251, "MQRC_OFFSET_ERROR"


class EmptySegment(InvalidValue):
    """A segment that is not the last one has no bytes."""

    reason, reason_name = 2253, "MQRC_SEGMENT_LENGTH_ZERO"


class PriorityTooHigh(InvalidValue):
    """A warning: the message was put at the highest priority there is, which is lower."""

    reason, reason_name = 2049, "MQRC_PRIORITY_EXCEEDS_MAXIMUM"


class QueueNotFound(Error):
    """There is no queue of this name."""

    reason, reason_name = 2085, "MQRC_UNKNOWN_OBJECT_NAME"


class QueueExists(Error):
    """There is a queue of this name already."""

    reason, reason_name = 2100, "MQRC_OBJECT_ALREADY_EXISTS"


class QueueFull(Error):
    """The queue holds as many messages as its max_depth allows."""

    reason, reason_name = 2053, "MQRC_Q_FULL"


class QueueParked(Error):
    """The queue's topic cannot be written, and as much waits for it as may."""

    reason, reason_name = 2192, "MQRC_STORAGE_MEDIUM_FULL"


class QueueDamaged(Error):
    """A message that waits on the queue is not on the queue's topic any more."""

    reason, reason_name = 2101, "MQRC_OBJECT_DAMAGED"


class QueueNotEmpty(Error):
    """The queue has messages, and deleting them was not asked for."""

    reason, reason_name = 2055, "MQRC_Q_NOT_EMPTY"


class QueueInUse(Error):
    """Somebody has the queue open, exclusively or at all."""

    reason, reason_name = 2042, "MQRC_OBJECT_IN_USE"


class GetInhibited(Error):
    """Gets are inhibited on the queue."""

    reason, reason_name = 2016, "MQRC_GET_INHIBITED"


class PutInhibited(Error):
    """Puts are inhibited on the queue."""

    reason, reason_name = 2051, "MQRC_PUT_INHIBITED"


class MessageTooLong(Error):
    """The body is longer than the queue, or a queue manager, takes."""

    reason, reason_name = 2030, "MQRC_MSG_TOO_BIG_FOR_Q"


class ConnectionNotFound(Error):
    """There is no connection of this number; it has ended, maybe."""

    reason, reason_name = 3174, "MQRCCF_CONNECTION_ID_ERROR"


class NotAuthorized(Error):
    """The user may not do this."""

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
    """The message under the browse cursor has gone, or somebody else holds it."""

    reason, reason_name = 2034, "MQRC_NO_MSG_UNDER_CURSOR"


class NoMessageLocked(Error):
    """The handle has locked no message that it could unlock."""

    reason, reason_name = 2209, "MQRC_NO_MSG_LOCKED"


class MessageTruncated(Error):
    """A warning: the message is longer than was asked for, and stays on the queue."""

    reason, reason_name = 2080, "MQRC_TRUNCATED_MSG_FAILED"


class GroupError(Error):
    """A group of messages, or a segmented message, could not go on."""


class IncompleteGroup(GroupError):
    """The handle is in the middle of a group, and this is not its next message."""

    reason, reason_name = 2241, "MQRC_INCOMPLETE_GROUP"


class IncompleteMessage(GroupError):
    """The handle is in the middle of a segmented message, and this is not its next segment."""

    reason, reason_name = 2242, "MQRC_INCOMPLETE_MSG"


class InconsistentPersistence(GroupError):
    """A message is persistent and the others of its group are not, or the other way."""

    reason, reason_name = 2185, "MQRC_INCONSISTENT_PERSISTENCE"


class InconsistentUnit(GroupError):
    """A message of a group is in a unit of work and the others are not, or the other way."""

    reason, reason_name = 2245, "MQRC_INCONSISTENT_UOW"


class UnitError(Error):
    """A unit of work could not go on."""


class UnitTooLarge(UnitError):
    """The unit has as many messages or bytes as a unit may have."""

    reason, reason_name = 2024, "MQRC_SYNCPOINT_LIMIT_REACHED"


class UnitInProgress(UnitError):
    """A unit is open where none may be."""

    reason, reason_name = 2128, "MQRC_UOW_IN_PROGRESS"


class UnitEnded(UnitError):
    """The unit has been committed or backed out, or was never begun."""

    reason, reason_name = 2255, "MQRC_UOW_NOT_AVAILABLE"


class BackedOut(UnitError):
    """The unit is gone: nothing it put exists, what it got is back in its place."""

    reason, reason_name = 2003, "MQRC_BACKED_OUT"


class InDoubt(UnitError):
    """A commit was sent and no answer is to be had; outcome(unit_id) tells what became of it."""

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


class QueueManagerQuiescing(ConnectionBroken):
    """The queue manager takes no new work: it is being stopped. Nothing was done."""

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
    """A queue manager did not start; the text says why."""

    reason, reason_name = 2059, "MQRC_Q_MGR_NOT_AVAILABLE"


class LimitReached(Error):
    """A bound of the queue manager or of the connection is reached."""

    reason, reason_name = 2102, "MQRC_RESOURCE_PROBLEM"


class UnexpectedAnswer(Error):
    """One end sent what the other does not understand."""


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
        PriorityTooHigh, "the priority is higher than any", "use 0 to 9"
    ),
    Reason.NO_MESSAGE_UNDER_CURSOR: Case(
        NoMessageUnderCursor,
        "queue {name} has no message under the cursor that may be had",
        "browse on",
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
    return case.error(f"{happened}{more}: {case.remedy}", name)
