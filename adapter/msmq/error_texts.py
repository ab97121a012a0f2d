"""What errors say to programs of MSMQ: what happened, to which queue, and what to do.

For the reasons that commands of MSMQ are refused with; {name} is the queue. This module knows no
command.
"""

from __future__ import annotations

from msgspec import Struct

from adapter.core.contract.reasons import Reason


class ErrorText(Struct, frozen=True):
    """happened: what happened, to {name}. remedy: what to do."""

    happened: str
    remedy: str


TEXTS: dict[Reason, ErrorText] = {
    Reason.QUEUE_NOT_FOUND: ErrorText(
        "queue {name} does not exist", "create it, or check its path"
    ),
    Reason.QUEUE_EXISTS: ErrorText(
        "queue {name} already exists", "open it, or choose another path"
    ),
    Reason.QUEUE_DELETED: ErrorText(
        "queue {name} was deleted while it was open", "create it again, and open it"
    ),
    Reason.QUEUE_IN_USE: ErrorText(
        "queue {name} is in use", "wait until these transactions have ended"
    ),
    Reason.QUEUE_PARKED: ErrorText(
        "queue {name} accepts no more messages: its topic on Kafka cannot be written",
        "let an administrator repair the topic, and send again",
    ),
    Reason.OBJECT_DAMAGED: ErrorText(
        "a message of queue {name} is lost: its topic on Kafka does not have it",
        "let an administrator restore the topic, or purge the queue",
    ),
    Reason.MESSAGE_TOO_LONG: ErrorText(
        "the message is too long for queue {name}", "send less in one message"
    ),
    Reason.UNIT_TOO_LARGE: ErrorText("the transaction is too large", "commit more often"),
    Reason.BACKED_OUT: ErrorText(
        "the transaction was aborted by the queue manager", "repeat its work in a new transaction"
    ),
    Reason.ATTRIBUTE_ERROR: ErrorText("invalid property of queue {name}", "correct the property"),
    Reason.HANDLE_NOT_OPEN: ErrorText("the queue or cursor is not open", "open it again"),
    Reason.HANDLE_IN_USE: ErrorText("the queue or cursor is open already", "open another one"),
    Reason.PRIORITY_ERROR: ErrorText("invalid priority", "use a priority of 0 to 7"),
    Reason.EXPIRY_ERROR: ErrorText(
        "invalid time_to_be_received or time_to_reach_queue", "use 0 or more seconds, or None"
    ),
    Reason.IDENTIFIER_ERROR: ErrorText("invalid id of a message", "use GUID\\NUMBER"),
    Reason.OPTIONS_ERROR: ErrorText("invalid argument for queue {name}", "correct the argument"),
    Reason.WAIT_INTERVAL_ERROR: ErrorText("invalid timeout", "use 0 or more seconds, or None"),
    Reason.LIMIT_REACHED: ErrorText(
        "resources are insufficient for queue {name}",
        "receive messages, close what is not used, or let an administrator raise the limit",
    ),
    Reason.TRANSACTION_USAGE: ErrorText(
        "queue {name} does not allow this with this transaction",
        "send and receive in transactions on transactional queues only, and peek outside of them",
    ),
    Reason.MESSAGE_NOT_FOUND: ErrorText(
        "queue {name} has no such message", "check the lookup id: the message may be gone"
    ),
    Reason.MESSAGE_ALREADY_RECEIVED: ErrorText(
        "the message at the cursor of queue {name} is no longer available",
        "move the cursor to the next message",
    ),
    Reason.ILLEGAL_CURSOR_ACTION: ErrorText(
        "the cursor of queue {name} is at no message", "peek with PeekAction.CURRENT first"
    ),
    Reason.SHARING_VIOLATION: ErrorText(
        "queue {name} cannot be opened for receiving beside another handle",
        "close that one, or open the queue for peeking",
    ),
    Reason.ILLEGAL_QUEUE_PATH: ErrorText(
        "invalid path name of a queue: {name}", "use COMPUTER\\private$\\NAME"
    ),
    Reason.UNSUPPORTED_FORMAT_NAME: ErrorText(
        "the name {name} is not supported for this",
        "use the path or direct format name of one private queue",
    ),
    Reason.UNSUPPORTED_ACCESS_MODE: ErrorText(
        "queue {name} cannot be opened for this access",
        "open it for receiving, sending, moving or peeking",
    ),
    Reason.MESSAGE_LOCKED: ErrorText(
        "a transaction has received the message of queue {name}",
        "try again when that transaction has ended",
    ),
    Reason.OPERATION_CANCELLED: ErrorText(
        "queue {name} was closed while a read was pending", "open the queue again"
    ),
    Reason.ACCESS_DENIED: ErrorText(
        "queue {name} does not allow this", "open it with the access that is needed"
    ),
    Reason.LABEL_TOO_LONG: ErrorText(
        "the label of a message for queue {name} is too long", "use at most 249 characters"
    ),
    Reason.COMPUTER_NOT_REACHABLE: ErrorText(
        "the computer of queue {name} is not known",
        "check its name, and that its queue manager has been started on the same Kafka",
    ),
}
LOST_TRANSACTION = ErrorText(
    "transaction {name} was aborted: its connection was lost, or a call in it was interrupted",
    TEXTS[Reason.BACKED_OUT].remedy,
)
"""For a unit that the queue manager has refused nothing of. {name}: the transaction."""
ENDED_TRANSACTION = ErrorText(
    "the transaction has ended, or the outcome of its commit is unknown",
    "ask outcome() what became of it, or begin another",
)
ILLEGAL_FORMAT_NAME = ErrorText(
    "invalid format name of a queue: {name}", "use DIRECT=OS:COMPUTER\\private$\\NAME"
)
