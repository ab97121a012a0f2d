"""Errors of Service Broker: conversations, their groups, and queues that are off."""

# ruff: noqa: N818 -- these are published names

from __future__ import annotations

from adapter.core.contract.reasons import Reason
from adapter.errors.root import Error, raised_for


class ConversationError(Error):
    """A conversation could not go on."""


@raised_for(
    Reason.CONVERSATION_NOT_FOUND,
    "the conversation handle {name} is not found",
    "check the handle; a conversation that has been ended has no handle any more",
)
class ConversationNotFound(ConversationError):
    """There is no conversation with this handle, or it has been ended."""

    reason, reason_name = 2085, "MQRC_UNKNOWN_OBJECT_NAME"


@raised_for(
    Reason.CONVERSATION_STATE_ERROR,
    "the conversation {name} is not in a valid state for this",
    "receive what is left of it, and end it",
)
class ConversationStateError(ConversationError):
    """The far side has ended the conversation, or has broken it off."""

    reason, reason_name = 2195, "MQRC_UNEXPECTED_ERROR"


@raised_for(
    Reason.QUEUE_DISABLED,
    "the service queue {name} is currently disabled",
    "look for a poison message, and set the status of the queue to ON",
)
class QueueDisabled(ConversationError):
    """The queue is OFF: nothing can be received."""

    reason, reason_name = 2016, "MQRC_GET_INHIBITED"


@raised_for(
    Reason.LOCK_TIMEOUT,
    "the wait for a conversation group of queue {name} timed out",
    "try again, or wait longer for locks",
)
class LockTimeout(ConversationError):
    """Another transaction has a conversation group locked for too long."""

    reason, reason_name = 2033, "MQRC_NO_MSG_AVAILABLE"


@raised_for(
    Reason.DEADLOCK_VICTIM,
    "the transaction was backed out as the victim of a deadlock on queue {name}",
    "do its work again in a new transaction",
)
class DeadlockVictim(ConversationError):
    """Transactions waited for each other's conversation groups; this one was backed out."""

    reason, reason_name = 2003, "MQRC_BACKED_OUT"


@raised_for(Reason.OBJECT_IN_USE, "{name} is in use", "drop or end what uses it first")
class ObjectInUse(ConversationError):
    """The object is needed by another one, or by conversations."""

    reason, reason_name = 2042, "MQRC_OBJECT_IN_USE"
