"""ServiceBrokerError, and which of SQL Server's numbers a refusal of the queue manager has.

Source of the numbers: sys.messages of SQL Server (its documentation, database engine events and
errors). A refusal that SQL Server has no number for has 0.
"""

# ruff: noqa: N818 -- these are published names

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from adapter import errors
from adapter.core.contract.reasons import Reason
from adapter.errors import Error

DEADLOCK_VICTIM = 1205

NUMBERS: dict[Reason, int] = {
    Reason.QUEUE_NOT_FOUND: 208,
    Reason.AUTHORITY_MISSING: 229,
    Reason.QUEUE_DELETED: 208,
    Reason.QUEUE_PARKED: 1105,
    Reason.LOCK_TIMEOUT: 1222,
    Reason.DEADLOCK_VICTIM: DEADLOCK_VICTIM,
    Reason.OBJECT_EXISTS: 2714,
    Reason.OBJECT_IN_USE: 3716,
    Reason.CONVERSATION_NOT_FOUND: 8426,
    Reason.CONVERSATION_STATE_ERROR: 8429,
    Reason.MESSAGE_TYPE_ERROR: 8431,
    Reason.MESSAGE_TOO_LONG: 8459,
    Reason.QUEUE_DISABLED: 9617,
    Reason.OBJECT_NOT_FOUND: 15151,
}


TEXTS: dict[Reason, str] = {
    Reason.NAME_ERROR: "the name {name!r} is not valid: {detail}",
    Reason.ATTRIBUTE_ERROR: "{name}: {detail}",
    Reason.OPTIONS_ERROR: "{detail}",
    Reason.IDENTIFIER_ERROR: "{detail}",
    Reason.OBJECT_NOT_FOUND: "{name!r} is not found: {detail}; create it, or check the name",
    Reason.OBJECT_EXISTS: "{name!r} exists: {detail}; choose another name, or alter that one",
    Reason.OBJECT_IN_USE: "{name!r} cannot be dropped: {detail}",
    Reason.MESSAGE_TYPE_ERROR: "{detail}; send one that the contract has for this side",
    Reason.MESSAGE_TOO_LONG: "the message is too long ({detail}): send less in one message",
    Reason.QUEUE_PARKED: (
        "messages for service {name!r} wait for their copies, and are at the limit: {detail}; find "
        "why a topic cannot be written or movers lag or hold (mqk qmgr status, the queue "
        "manager's log), correct that, and send again: the transaction can go on"
    ),
    Reason.UNIT_TOO_LARGE: "the transaction is too large ({detail}): commit more often",
}
"""Refusals whose general words are those of other programs. detail: why it was refused."""
ROLLED_BACK = (
    "the transaction was rolled back, as its connection was lost, and nothing of it has happened: "
    "run it again, as a new one"
)
NAME_SHOWN_MAX = 128
"""Characters of a name that an error shows: as many as a name can have."""
BY_ENDING: dict[int, tuple[tuple[str, int], ...]] = {
    0: ((" send at least one message type", 8492),),
    8423: (("a contract of this name does not exist", 8425),),
    8431: (
        (" the initiator does not send messages of this type", 8432),
        (" the target does not send messages of this type", 8434),
    ),
}
"""Refusals of one reason that have numbers of their own: how their details end, by the number that
all of them would have. A detail may have names within, which are any text, but none at its end.
"""


class ServiceBrokerError(Error):
    """A statement of Service Broker failed. number: SQL Server's, 0 if it has none for it."""

    number: int = 0

    def __init__(self, number: int, text: str, object_name: str = "") -> None:
        super().__init__(f"{text} ({number})" if number else text, object_name)
        self.args = (number, text, object_name)  # by which it is made again from a pickle
        self.number = number

    def __str__(self) -> str:
        return self.text


class InvalidArgument(ServiceBrokerError, errors.InvalidOption):
    """An argument, or a combination of arguments, is invalid. It is a ValueError too."""

    def __init__(self, text: str, number: int = 0) -> None:
        super().__init__(number, text)
        self.args = (text, number)


class InvalidArgumentType(ServiceBrokerError, errors.InvalidType):
    """An argument has the wrong type. It is a TypeError too."""

    def __init__(self, text: str) -> None:
        super().__init__(0, text)
        self.args = (text,)


class TransactionRolledBack(ServiceBrokerError):
    """The transaction was rolled back, and nothing of it has happened: run it again, as a new one.

    number: 1205: it was the deadlock victim; 0: its connection was lost.
    """


def translate(error: Error, numbers: Mapping[Reason, int]) -> ServiceBrokerError:
    """Return the error of Service Broker for one of the connection, or of an argument."""
    if isinstance(error, ServiceBrokerError):
        return error
    if isinstance(error, errors.InvalidType):
        return InvalidArgumentType(error.text)
    if isinstance(error, errors.InvalidValue) and error.refused is None:
        return InvalidArgument(error.text)
    if isinstance(error, errors.BackedOut):
        problem: ServiceBrokerError = TransactionRolledBack(0, ROLLED_BACK)
    else:
        problem = _of_statement(error, numbers)
    problem.refused = error.refused
    return problem


def _of_statement(error: Error, numbers: Mapping[Reason, int]) -> ServiceBrokerError:
    number, text = 0, error.text
    if isinstance(error, errors.UnitEnded):
        text = text.replace(f"unit {error.object_name} ", "the transaction ", 1)
    if error.refused is not None:
        number = numbers.get(error.refused, NUMBERS.get(error.refused, 0))
        text = _text(error)
    endings = BY_ENDING.get(number, ())
    number = next((own for ending, own in endings if error.detail.endswith(ending)), number)
    kind = TransactionRolledBack if number == DEADLOCK_VICTIM else ServiceBrokerError
    return kind(number, text, error.object_name)


def _text(error: Error) -> str:
    """Say a refusal in the words of Service Broker, where the general ones do not fit."""
    name = error.object_name
    shown = name if len(name) <= NAME_SHOWN_MAX else f"{name[:NAME_SHOWN_MAX]}..."
    if error.refused is Reason.QUEUE_NOT_FOUND:
        return f"queue {shown!r} does not exist: create it, or check the name"
    words = TEXTS.get(error.refused) if error.refused is not None else None
    if words is None or not error.detail:
        return error.text
    return words.format(name=shown, detail=error.detail)


@contextmanager
def as_broker(numbers: Mapping[Reason, int] | None = None) -> Iterator[None]:
    """Have errors of the connection raised as Service Broker's. numbers: those of a statement."""
    try:
        yield
    except Error as error:
        problem = translate(error, numbers or {})
        if problem is error:
            raise
        raise problem from error
