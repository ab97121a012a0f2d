"""Errors of Service Broker: conversations, their groups, and queues that are off."""

# ruff: noqa: N818 -- these are published names

from __future__ import annotations

from adapter.core.contract.reasons import Reason
from adapter.errors.case import Case
from adapter.errors.root import Error


class ConversationError(Error):
    """A conversation could not go on."""


class ConversationNotFound(ConversationError):
    """There is no conversation with this handle, or it has been ended."""

    reason, reason_name = 2085, "MQRC_UNKNOWN_OBJECT_NAME"


class ConversationStateError(ConversationError):
    """The far side has ended the conversation, or has broken it off."""

    reason, reason_name = 2195, "MQRC_UNEXPECTED_ERROR"


class QueueDisabled(ConversationError):
    """The queue is OFF: nothing can be received."""

    reason, reason_name = 2016, "MQRC_GET_INHIBITED"


class LockTimeout(ConversationError):
    """Another transaction has a conversation group locked for too long."""

    reason, reason_name = 2033, "MQRC_NO_MSG_AVAILABLE"


class DeadlockVictim(ConversationError):
    """Transactions waited for each other's conversation groups; this one was backed out."""

    reason, reason_name = 2003, "MQRC_BACKED_OUT"


class ObjectInUse(ConversationError):
    """The object is needed by another one, or by conversations."""

    reason, reason_name = 2042, "MQRC_OBJECT_IN_USE"


CONVERSING: dict[Reason, Case] = {
    Reason.CONVERSATION_NOT_FOUND: Case(
        ConversationNotFound,
        "the conversation handle {name} is not found",
        "check the handle; a conversation that has been ended has no handle any more",
    ),
    Reason.CONVERSATION_STATE_ERROR: Case(
        ConversationStateError,
        "the conversation {name} is not in a valid state for this",
        "receive what is left of it, and end it",
    ),
    Reason.QUEUE_DISABLED: Case(
        QueueDisabled,
        "the service queue {name} is currently disabled",
        "look for a poison message, and set the status of the queue to ON",
    ),
    Reason.LOCK_TIMEOUT: Case(
        LockTimeout,
        "the wait for a conversation group of queue {name} timed out",
        "try again, or wait longer for locks",
    ),
    Reason.DEADLOCK_VICTIM: Case(
        DeadlockVictim,
        "the transaction was backed out as the victim of a deadlock on queue {name}",
        "do its work again in a new transaction",
    ),
    Reason.OBJECT_IN_USE: Case(
        ObjectInUse,
        "{name} is in use",
        "drop or end what uses it first",
    ),
}
"""The rows of REFUSALS for these."""
