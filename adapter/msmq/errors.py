"""Errors of MSMQ programs, and the total table from core's reasons to MSMQ's error codes.

Errors of the connection keep their own type among their bases, so that a program may catch either.
This module knows no command.
"""

# ruff: noqa: N818 -- these are published names

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from adapter import errors
from adapter.core.contract.format_names import is_format_name
from adapter.core.contract.reasons import Reason
from adapter.errors import Error
from adapter.errors.refusals import REFUSALS
from adapter.msmq import identifiers
from adapter.msmq.error_codes import MessageQueueErrorCode as Code
from adapter.msmq.error_texts import (
    ENDED_TRANSACTION,
    ILLEGAL_FORMAT_NAME,
    LOST_TRANSACTION,
    TEXTS,
    ErrorText,
)


class MessageQueueException(Error):
    """An operation of MSMQ failed; message_queue_error_code says why.

    transaction_id: of a transaction whose outcome is unknown; ask Host.outcome() for it.
    """

    def __init__(
        self, code: Code, text: str, object_name: str = "", transaction_id: str = ""
    ) -> None:
        super().__init__(text, object_name)
        self.args = (code, text, object_name, transaction_id)
        self.message_queue_error_code = code
        self.transaction_id = transaction_id

    def __str__(self) -> str:
        code = self.message_queue_error_code
        return f"{self.text} [{code.name} 0x{code:08X}]"


class MessageQueueTimeout(MessageQueueException, TimeoutError):
    """No message came in time (IO_TIMEOUT)."""

    def __init__(self, text: str, object_name: str = "") -> None:
        super().__init__(Code.IO_TIMEOUT, text, object_name)
        self.args = (text, object_name)


class InvalidOperationError(Error):
    """The operation does not fit the state of its object (InvalidOperationException)."""

    def __str__(self) -> str:
        return self.text


class ObjectDisposedError(InvalidOperationError):
    """The object was closed (ObjectDisposedException)."""


CODES: dict[Reason, Code] = {
    Reason.QUEUE_NOT_FOUND: Code.QUEUE_NOT_FOUND,
    Reason.QUEUE_EXISTS: Code.QUEUE_EXISTS,
    Reason.QUEUE_FULL: Code.INSUFFICIENT_RESOURCES,
    Reason.QUEUE_NOT_EMPTY: Code.SHARING_VIOLATION,
    Reason.QUEUE_IN_USE: Code.SHARING_VIOLATION,
    Reason.GET_INHIBITED: Code.ACCESS_DENIED,
    Reason.PUT_INHIBITED: Code.ACCESS_DENIED,
    Reason.MESSAGE_TOO_LONG: Code.INSUFFICIENT_RESOURCES,
    Reason.UNIT_TOO_LARGE: Code.INSUFFICIENT_RESOURCES,
    Reason.BACKED_OUT: Code.TRANSACTION_SEQUENCE,
    Reason.HANDLE_NOT_OPEN: Code.INVALID_HANDLE,
    Reason.HANDLE_IN_USE: Code.INVALID_HANDLE,
    Reason.NOT_OPEN_FOR_INPUT: Code.ACCESS_DENIED,
    Reason.NOT_OPEN_FOR_OUTPUT: Code.ACCESS_DENIED,
    Reason.NOT_OPEN_FOR_BROWSE: Code.ACCESS_DENIED,
    Reason.NOT_OPEN_FOR_INQUIRE: Code.ACCESS_DENIED,
    Reason.NOT_OPEN_FOR_SET: Code.ACCESS_DENIED,
    Reason.NOT_OPEN_FOR_PASS_IDENTITY: Code.ACCESS_DENIED,
    Reason.NOT_OPEN_FOR_PASS_ALL: Code.ACCESS_DENIED,
    Reason.NOT_OPEN_FOR_SET_IDENTITY: Code.ACCESS_DENIED,
    Reason.NOT_OPEN_FOR_SET_ALL: Code.ACCESS_DENIED,
    Reason.CONTEXT_HANDLE_ERROR: Code.INVALID_HANDLE,
    Reason.CONTEXT_NOT_AVAILABLE: Code.INVALID_PARAMETER,
    Reason.PRIORITY_ERROR: Code.ILLEGAL_PROPERTY_VALUE,
    Reason.PERSISTENCE_ERROR: Code.ILLEGAL_PROPERTY_VALUE,
    Reason.EXPIRY_ERROR: Code.ILLEGAL_PROPERTY_VALUE,
    Reason.IDENTIFIER_ERROR: Code.ILLEGAL_PROPERTY_VALUE,
    Reason.GROUP_NUMBER_ERROR: Code.ILLEGAL_PROPERTY_VALUE,
    Reason.OPTIONS_ERROR: Code.INVALID_PARAMETER,
    Reason.NAME_ERROR: Code.ILLEGAL_QUEUE_PATHNAME,
    Reason.ATTRIBUTE_ERROR: Code.ILLEGAL_PROPERTY_VALUE,
    Reason.WAIT_INTERVAL_ERROR: Code.INVALID_PARAMETER,
    Reason.LIMIT_REACHED: Code.INSUFFICIENT_RESOURCES,
    Reason.OUTCOME_UNKNOWN: Code.GENERIC,
    Reason.OUT_OF_ORDER: Code.GENERIC,
    Reason.MALFORMED_REQUEST: Code.GENERIC,
    Reason.QUEUE_MANAGER_NAME_ERROR: Code.MACHINE_NOT_FOUND,
    Reason.QUEUE_MANAGER_STOPPING: Code.SERVICE_NOT_AVAILABLE,
    Reason.QUEUE_MANAGER_NOT_AVAILABLE: Code.SERVICE_NOT_AVAILABLE,
    Reason.STANDBY_QUEUE_MANAGER: Code.SERVICE_NOT_AVAILABLE,
    Reason.PROTOCOL_VERSION_ERROR: Code.SERVICE_NOT_AVAILABLE,
    Reason.PROPERTY_ERROR: Code.ILLEGAL_PROPERTY_VALUE,
    Reason.MESSAGE_TYPE_ERROR: Code.ILLEGAL_PROPERTY_VALUE,
    Reason.CONNECTION_NOT_FOUND: Code.GENERIC,
    Reason.UNEXPECTED_ERROR: Code.GENERIC,
    Reason.CONNECTION_ENDED: Code.SERVICE_NOT_AVAILABLE,
    Reason.QUEUE_MANAGER_QUIESCING: Code.SERVICE_NOT_AVAILABLE,
    Reason.QUEUE_PARKED: Code.MESSAGE_STORAGE_FAILED,
    Reason.OBJECT_DAMAGED: Code.MESSAGE_STORAGE_FAILED,
    Reason.OBJECT_NOT_FOUND: Code.QUEUE_NOT_FOUND,
    Reason.OBJECT_EXISTS: Code.QUEUE_EXISTS,
    Reason.OBJECT_TYPE_ERROR: Code.UNSUPPORTED_FORMATNAME_OPERATION,
    Reason.UNKNOWN_ALIAS_BASE: Code.QUEUE_NOT_FOUND,
    Reason.ALIAS_BASE_TYPE_ERROR: Code.QUEUE_NOT_FOUND,
    Reason.UNKNOWN_REMOTE_QUEUE_MANAGER: Code.MACHINE_NOT_FOUND,
    Reason.DYNAMIC_NAME_ERROR: Code.ILLEGAL_QUEUE_PATHNAME,
    Reason.PERSISTENT_NOT_ALLOWED: Code.ILLEGAL_PROPERTY_VALUE,
    Reason.QUEUE_DELETED: Code.QUEUE_DELETED,
    Reason.MESSAGE_FLAGS_ERROR: Code.ILLEGAL_PROPERTY_VALUE,
    Reason.OFFSET_ERROR: Code.ILLEGAL_PROPERTY_VALUE,
    Reason.SEGMENT_EMPTY: Code.ILLEGAL_PROPERTY_VALUE,
    Reason.PRIORITY_TOO_HIGH: Code.ILLEGAL_PROPERTY_VALUE,
    Reason.NO_MESSAGE_UNDER_CURSOR: Code.MESSAGE_ALREADY_RECEIVED,
    Reason.INVALID_MESSAGE_UNDER_CURSOR: Code.MESSAGE_ALREADY_RECEIVED,
    Reason.NO_MESSAGE_LOCKED: Code.MESSAGE_NOT_FOUND,
    Reason.MESSAGE_TRUNCATED: Code.INSUFFICIENT_RESOURCES,
    Reason.INCOMPLETE_GROUP: Code.INVALID_PARAMETER,
    Reason.GROUP_POSITION_LOST: Code.INVALID_PARAMETER,
    Reason.MATCH_OPTIONS_ERROR: Code.INVALID_PARAMETER,
    Reason.INCOMPLETE_MESSAGE: Code.INVALID_PARAMETER,
    Reason.INCONSISTENT_PERSISTENCE: Code.INVALID_PARAMETER,
    Reason.INCONSISTENT_UNIT: Code.TRANSACTION_USAGE,
    Reason.SELECTOR_SYNTAX_ERROR: Code.INVALID_PARAMETER,
    Reason.SELECTION_TOO_LONG: Code.INVALID_PARAMETER,
    Reason.NOT_AUTHORIZED: Code.ACCESS_DENIED,
    Reason.AUTHORITY_MISSING: Code.ACCESS_DENIED,
    Reason.TOPIC_STRING_ERROR: Code.INVALID_PARAMETER,
    Reason.TOPIC_NOT_ALTERABLE: Code.PROPERTY_NOT_ALLOWED,
    Reason.PUBLICATION_FAILED: Code.MESSAGE_STORAGE_FAILED,
    Reason.NO_SUBSCRIBERS: Code.QUEUE_NOT_FOUND,
    Reason.SUBSCRIPTION_NOT_FOUND: Code.QUEUE_NOT_FOUND,
    Reason.SUBSCRIPTION_IN_USE: Code.SHARING_VIOLATION,
    Reason.SUBSCRIPTION_EXISTS: Code.QUEUE_EXISTS,
    Reason.SUBSCRIPTION_NAME_ERROR: Code.INVALID_PARAMETER,
    Reason.SUBSCRIBE_INHIBITED: Code.ACCESS_DENIED,
    Reason.DURABILITY_NOT_ALLOWED: Code.PROPERTY_NOT_ALLOWED,
    Reason.RETAINED_QUEUE_ERROR: Code.MESSAGE_STORAGE_FAILED,
    Reason.RETAINED_NOT_DELIVERED: Code.MESSAGE_STORAGE_FAILED,
    Reason.NO_RETAINED_MESSAGE: Code.MESSAGE_NOT_FOUND,
    Reason.MISSING_REPLY_TO: Code.ILLEGAL_PROPERTY_VALUE,
    Reason.CONSUMER_NOT_FOUND: Code.QUEUE_NOT_FOUND,
    Reason.CONSUMER_IN_USE: Code.SHARING_VIOLATION,
    Reason.CLAIM_LOST: Code.STALE_HANDLE,
    Reason.BATCH_NOT_FOUND: Code.MESSAGE_NOT_FOUND,
    Reason.DURABILITY_NOT_ALTERABLE: Code.PROPERTY_NOT_ALLOWED,
    Reason.DESTINATION_CLASS_NOT_ALTERABLE: Code.PROPERTY_NOT_ALLOWED,
    Reason.LEVEL_NOT_ALTERABLE: Code.PROPERTY_NOT_ALLOWED,
    Reason.SELECTOR_NOT_ALTERABLE: Code.PROPERTY_NOT_ALLOWED,
    Reason.TRANSACTION_USAGE: Code.TRANSACTION_USAGE,
    Reason.MESSAGE_NOT_FOUND: Code.MESSAGE_NOT_FOUND,
    Reason.MESSAGE_ALREADY_RECEIVED: Code.MESSAGE_ALREADY_RECEIVED,
    Reason.ILLEGAL_CURSOR_ACTION: Code.ILLEGAL_CURSOR_ACTION,
    Reason.SHARING_VIOLATION: Code.SHARING_VIOLATION,
    Reason.ILLEGAL_QUEUE_PATH: Code.ILLEGAL_QUEUE_PATHNAME,
    Reason.UNSUPPORTED_FORMAT_NAME: Code.UNSUPPORTED_FORMATNAME_OPERATION,
    Reason.UNSUPPORTED_ACCESS_MODE: Code.UNSUPPORTED_ACCESS_MODE,
    Reason.MESSAGE_LOCKED: Code.MESSAGE_LOCKED_UNDER_TRANSACTION,
    Reason.OPERATION_CANCELLED: Code.OPERATION_CANCELLED,
    Reason.ACCESS_DENIED: Code.ACCESS_DENIED,
    Reason.LABEL_TOO_LONG: Code.LABEL_TOO_LONG,
    Reason.COMPUTER_NOT_REACHABLE: Code.MACHINE_NOT_FOUND,
    Reason.REMOTE_QUEUE_NAME_ERROR: Code.ILLEGAL_QUEUE_PATHNAME,
    Reason.OPTION_NOT_VALID_FOR_TYPE: Code.UNSUPPORTED_FORMATNAME_OPERATION,
    Reason.UNKNOWN_TRANSMISSION_QUEUE: Code.MACHINE_NOT_FOUND,
    Reason.TRANSMISSION_QUEUE_TYPE_ERROR: Code.MACHINE_NOT_FOUND,
    Reason.TRANSMISSION_QUEUE_USAGE_ERROR: Code.MACHINE_NOT_FOUND,
    Reason.UNKNOWN_DEFAULT_TRANSMISSION_QUEUE: Code.MACHINE_NOT_FOUND,
    Reason.DEFAULT_TRANSMISSION_QUEUE_TYPE_ERROR: Code.MACHINE_NOT_FOUND,
    Reason.DEFAULT_TRANSMISSION_QUEUE_USAGE_ERROR: Code.MACHINE_NOT_FOUND,
    Reason.CONVERSATION_NOT_FOUND: Code.MESSAGE_NOT_FOUND,
    Reason.CONVERSATION_STATE_ERROR: Code.INVALID_PARAMETER,
    Reason.QUEUE_DISABLED: Code.ACCESS_DENIED,
    Reason.LOCK_TIMEOUT: Code.IO_TIMEOUT,
    Reason.DEADLOCK_VICTIM: Code.TRANSACTION_SEQUENCE,
    Reason.OBJECT_IN_USE: Code.SHARING_VIOLATION,
}
"""Every reason of core has exactly one row here."""


def translate(error: Error, name: str = "", computer: str = "") -> Error:
    """Return the error of MSMQ for one of the connection; what is MSMQ's already is kept.

    name: the queue, as the program knows it. computer: that the connection leads to, if it is
    another one than the program's.
    """
    if isinstance(error, MessageQueueException | InvalidOperationError | errors.InvalidType):
        return error
    if isinstance(error, errors.InvalidValue) and error.refused is None:
        return error  # an argument, which is a ValueError as in .NET
    if isinstance(error, errors.BackedOut) and error.refused is None:
        return _lost_transaction(error, name)
    if isinstance(error, errors.UnitEnded) and error.refused is None:
        text = f"{ENDED_TRANSACTION.happened}: {ENDED_TRANSACTION.remedy}"
        return MessageQueueException(Code.TRANSACTION_SEQUENCE, text, name)
    code = CODES[error.refused] if error.refused is not None else _code_of(error)
    text, unit = error.text, b""
    if error.refused is Reason.ILLEGAL_QUEUE_PATH and is_format_name(name or error.object_name):
        code, text = Code.ILLEGAL_FORMATNAME, _sentence(error, ILLEGAL_FORMAT_NAME, name)
    elif error.refused in TEXTS:
        text = _sentence(error, TEXTS[error.refused], name)
    if isinstance(error, errors.InDoubt):
        unit = error.unit_id
        of = f", computer={computer!r}" if computer else ""
        asked = f"outcome(transaction_id{of})"
        text = f"it is not known whether this was done: ask {asked} for the transaction ({text})"
    elif computer and code is Code.SERVICE_NOT_AVAILABLE:
        code = Code.REMOTE_MACHINE_NOT_AVAILABLE
        text = f"computer {computer} is not available: {text}"
    return MessageQueueException(code, text, name or error.object_name, identifiers.shown(unit))


def _lost_transaction(error: errors.BackedOut, name: str) -> MessageQueueException:
    """Return the error for a unit that the connection has lost. Its name is the id, if known."""
    try:
        ident = identifiers.shown(bytes.fromhex(error.object_name))
    except ValueError:
        ident = ""
    happened = LOST_TRANSACTION.happened.format(name=ident).replace("  ", " ")
    text = f"{'' if ident else 'the '}{happened}: {LOST_TRANSACTION.remedy}"
    return MessageQueueException(Code.TRANSACTION_SEQUENCE, text, name or ident)


def _sentence(error: Error, text: ErrorText, name: str) -> str:
    """Say what happened and what to do. name: the queue, as the program knows it; of several
    names, the error says which.
    """
    assert error.refused is not None, "the queue manager has refused it"
    usual = REFUSALS[error.refused].happened.format(name=error.object_name)
    detail = error.happened.removeprefix(usual)
    shown = error.object_name if not name or "," in name else name
    return f"{text.happened.format(name=shown)}{detail}: {text.remedy}"


def _code_of(error: Error) -> Code:
    """Return the code of an error for which the queue manager gave no reason."""
    if isinstance(error, errors.ConnectionClosed):
        return Code.OPERATION_CANCELLED
    if isinstance(error, errors.ConnectionBroken):
        return Code.SERVICE_NOT_AVAILABLE
    if isinstance(error, errors.UnitError):
        return Code.TRANSACTION_SEQUENCE
    if isinstance(error, errors.LimitReached):
        return Code.INSUFFICIENT_RESOURCES
    return Code.GENERIC


@contextmanager
def as_msmq(name: str = "", computer: str = "") -> Iterator[None]:
    """Have errors of the connection raised as MSMQ's; see translate()."""
    try:
        yield
    except Error as error:
        problem = translate(error, name, computer)
        if problem is error:
            raise
        raise problem from error
