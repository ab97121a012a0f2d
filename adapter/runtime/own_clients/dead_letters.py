"""A dead letter that a client of its own queue manager puts, in the unit that got its message.

This module must not know why a message is one.
"""

from __future__ import annotations

from msgspec import structs

from adapter.connection.channel.channel import Channel
from adapter.connection.channel.requests import Pending, open_request
from adapter.connection.channel.unit import AnyUnit, perform
from adapter.connection.channel.verbs import (
    ask_to_open,
    close_handles,
    dead_letter_queue,
    put_request,
)
from adapter.core.contract import commands as c
from adapter.core.contract.message import MessageData
from adapter.core.contract.results import Opened, PutDone
from adapter.errors import ConnectionBroken, Error, UnitTooLarge

CONFIRMATIONS = 0x3F00
"""MQRO_COA and MQRO_COD with data: of arrival and delivery, which a dead letter has not."""


class NoDeadLetterError(Exception):
    """No dead-letter queue takes a message. The text says why, and what to do."""


class UnitFullError(NoDeadLetterError):
    """The unit that got a message has no room for its dead letter."""


def put_letter(
    channel: Channel,
    unit: AnyUnit,
    source: str,
    letter: MessageData,
    now_ms: int,
    expires_at_ms: int,
) -> None:
    """Put a dead letter, in the unit that got its message.

    source: the local queue that the message was got from, which may not get it back: it would go
    round for ever. expires_at_ms: of the message; 0: never. Raises NoDeadLetterError,
    UnitFullError, ConnectionBroken.
    """
    name = dead_letter_queue(channel)
    if not name:
        raise NoDeadLetterError(
            f"queue manager {channel.queue_manager} has no dead-letter queue: name one by ALTER "
            "QMGR DEADQ, or get the message"
        )
    if name == source:
        raise NoDeadLetterError(
            f"the dead-letter queue {name} is the queue that it is on: name another one by ALTER "
            "QMGR DEADQ, or get the message"
        )
    letter = structs.replace(
        letter,
        report=letter.report & ~CONFIRMATIONS,
        transmission=None,
        delay_ms=0,
        deliver_at_ms=0,
        expires_at_ms=0,
        expiry_ms=max(expires_at_ms - now_ms, 1) if expires_at_ms else -1,
    )
    try:
        handle = channel.new_handle(name, c.OUTPUT | c.EXISTING | c.SET_CONTEXT)
        opening = open_request(handle)
        ask_to_open(channel, opening, handle)
        if not _is_local(opening, name):
            close_handles(channel, [handle])
            raise NoDeadLetterError(
                f"{name}, which DEADQ names, is not a local queue: name one by ALTER QMGR DEADQ, "
                "or get the message"
            )
        request = put_request(handle, [letter], unit, c.SET_CONTEXT)
        perform(channel, unit, [request], request, PutDone)
        close_handles(channel, [handle])
    except ConnectionBroken:
        raise
    except UnitTooLarge as error:
        raise UnitFullError(
            "the unit that got it has no room for its dead letter: raise max_uncommitted_messages"
        ) from error
    except Error as error:
        raise NoDeadLetterError(f"the dead-letter queue does not take it: {error}") from error


def _is_local(opening: Pending, name: str) -> bool:
    """Whether the name that was opened is a local queue's own, as the core asks it of what it puts
    there: what is put by the alias of a topic is published, and lost without a subscription.
    """
    answer = opening.answer
    if not isinstance(answer, Opened):
        return True
    return answer.queue == name and not answer.is_topic and not answer.queue_manager
