"""Errors of units of work, groups of messages and durable consumers."""

# ruff: noqa: N818 -- these are published names

from __future__ import annotations

from adapter.core.contract.reasons import Reason
from adapter.errors.root import Error, raised_for


class GroupError(Error):
    """An operation on a message group or a segmented message failed."""


@raised_for(
    Reason.INCOMPLETE_GROUP,
    "the handle of queue {name} is in the middle of a group",
    "end the group first",
)
class IncompleteGroup(GroupError):
    """The handle is in the middle of a group, and the message is not its next one."""

    reason, reason_name = 2241, "MQRC_INCOMPLETE_GROUP"


@raised_for(
    Reason.INCOMPLETE_MESSAGE,
    "the handle of queue {name} is in the middle of a segmented message",
    "end the message first",
)
class IncompleteMessage(GroupError):
    """The handle is in the middle of a segmented message, and the segment is not its next one."""

    reason, reason_name = 2242, "MQRC_INCOMPLETE_MSG"


@raised_for(
    Reason.INCONSISTENT_PERSISTENCE,
    "the persistence is not that of the group",
    "put all messages of a group with the same persistence",
)
class InconsistentPersistence(GroupError):
    """The persistence of a message differs from that of its group."""

    reason, reason_name = 2185, "MQRC_INCONSISTENT_PERSISTENCE"


@raised_for(
    Reason.INCONSISTENT_UNIT,
    "the other messages of the group are in units, or this one is",
    "put and get all messages of a group in units, or none",
)
class InconsistentUnit(GroupError):
    """A message of a group is in a unit of work and the others are not, or vice versa."""

    reason, reason_name = 2245, "MQRC_INCONSISTENT_UOW"


@raised_for(
    Reason.GROUP_POSITION_LOST,
    "the handle of queue {name} is in no group any more: its connection was lost meanwhile",
    "put the rest of the group by its id and numbers, or get it by them",
)
class GroupPositionLost(GroupError):
    """The place of a handle in a group was lost with its connection."""

    reason, reason_name = 2547, "MQRC_RECONNECT_INCOMPATIBLE"


@raised_for(
    Reason.MATCH_OPTIONS_ERROR,
    "the next message of the group on queue {name} is another one than that asked for",
    "ask for the next message, or get without logical order",
)
class InconsistentMatch(GroupError):
    """The handle is in a group, and ids or numbers ask for another message than its next one."""

    reason, reason_name = 2247, "MQRC_MATCH_OPTIONS_ERROR"


class UnitError(Error):
    """An operation on a unit of work failed."""


@raised_for(Reason.UNIT_TOO_LARGE, "the unit is too large", "commit more often")
class UnitTooLarge(UnitError):
    """The unit has the maximum number of messages or bytes."""

    reason, reason_name = 2024, "MQRC_SYNCPOINT_LIMIT_REACHED"


class UnitInProgress(UnitError):
    """A unit is open where none is allowed."""

    reason, reason_name = 2128, "MQRC_UOW_IN_PROGRESS"


class UnitEnded(UnitError):
    """The unit has been committed or backed out, or was never begun."""

    reason, reason_name = 2255, "MQRC_UOW_NOT_AVAILABLE"


@raised_for(Reason.BACKED_OUT, "unit {name} was backed out", "repeat its work in a new unit")
class BackedOut(UnitError):
    """The unit was backed out: nothing it put exists, and what it got is back on its queues."""

    reason, reason_name = 2003, "MQRC_BACKED_OUT"


@raised_for(
    Reason.OUTCOME_UNKNOWN, "the outcome is no longer known", "check the queues for its messages"
)
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


class ConsumerError(Error):
    """An operation of a durable consumer failed."""


@raised_for(
    Reason.CONSUMER_NOT_FOUND,
    "consumer {name} does not exist",
    "check the name; `mqk consumer list` shows all consumers",
)
class ConsumerNotFound(ConsumerError):
    """The queue has no consumer of that name."""

    reason, reason_name = 2085, "MQRC_UNKNOWN_OBJECT_NAME"


@raised_for(
    Reason.CONSUMER_IN_USE,
    "consumer {name} is in use",
    "end the other program first, or give this one a name of its own to share the queue",
)
class ConsumerInUse(ConsumerError):
    """Another program has the consumer open."""

    reason, reason_name = 2042, "MQRC_OBJECT_IN_USE"


@raised_for(
    Reason.CLAIM_LOST,
    "consumer {name} was gone longer than its timeout, and its assigned messages returned to "
    "the queue",
    "begin again, without what the program remembers of its batches; give it a longer timeout",
)
class ClaimLost(ConsumerError):
    """The consumer was gone longer than its timeout; its messages returned to the queue."""

    reason, reason_name = 2041, "MQRC_OBJECT_CHANGED"


@raised_for(
    Reason.BATCH_NOT_FOUND,
    "consumer {name} has no such batch",
    "begin again where the consumer stands, or give each program its own consumer",
)
class BatchNotFound(ConsumerError):
    """The consumer was not assigned such a batch, or has consumed it."""

    reason, reason_name = 2033, "MQRC_NO_MSG_AVAILABLE"
