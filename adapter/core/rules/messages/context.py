"""Context: what a message says of who put it, and of where it comes from.

The queue manager writes it, from what it knows of the connection; what a client says in a message
is not believed. A put may ask for no context, for the one of the message that was got last by
another handle (pass), or for what the message itself says (set), each for identity and origin. What
a handle was opened for says which of these its puts may ask for, as on MQ. This module does not
know where a message goes.
"""

from __future__ import annotations

from typing import Final

from adapter.core.contract.commands import (
    CONTEXT_OPTIONS,
    NO_CONTEXT,
    PASS_CONTEXT,
    PASS_IDENTITY,
    PASS_ORIGIN,
    SAVE_CONTEXT,
    SET_CONTEXT,
    SET_IDENTITY,
    SET_ORIGIN,
    Put,
    Request,
)
from adapter.core.contract.details import APPL_TYPE_DEFAULT, NO_DATE_TIME
from adapter.core.contract.message import MessageData
from adapter.core.contract.parties import Party
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.model.connection import ConnectionState
from adapter.core.model.context import MessageContext, write_identity, write_origin
from adapter.core.model.handles import QueueHandle, TopicHandle
from adapter.core.model.manager import QueueManager
from adapter.core.rules.messages import putters
from adapter.core.rules.primitives.decision import connection_of

REQUIRED: Final = (
    (SET_ORIGIN, SET_ORIGIN, Reason.NOT_OPEN_FOR_SET_ALL),
    (SET_IDENTITY, SET_IDENTITY, Reason.NOT_OPEN_FOR_SET_IDENTITY),
    (PASS_ORIGIN, PASS_ORIGIN | SET_ORIGIN, Reason.NOT_OPEN_FOR_PASS_ALL),
    (PASS_IDENTITY, PASS_IDENTITY | SET_IDENTITY, Reason.NOT_OPEN_FOR_PASS_IDENTITY),
)
"""Option of a put, the modes of which its handle needs one, and the refusal without."""
NONE: Final = MessageContext(put_date_time=NO_DATE_TIME)
"""Of a message that is to have no context: it says so itself, with a type (MQAT_NO_CONTEXT) and a
date and time that are blank."""


def settle(
    qm: QueueManager, request: Request, command: Put, handle: QueueHandle | TopicHandle
) -> None:
    """Write the context of the messages of a put, or refuse what it asks for. What only programs of
    MSMQ and Service Broker say, who do not put, is taken away.
    """
    connection = connection_of(qm, request)
    asked = command.options & CONTEXT_OPTIONS
    if asked:
        _settle_asked(connection, command, handle, asked)
        is_identified = asked & (SET_IDENTITY | PASS_IDENTITY)
        note = putters.note_identified if is_identified else putters.note
        note(qm, connection.party.principal, command.messages)
        return
    context: MessageContext | None = None
    user, application = connection.party.principal.user, connection.party.application
    for message in command.messages:
        message.user, message.application = user, application
        message.msmq = message.broker = None
        if message.details is not None:
            context = context or of_party(connection.party)
            write_identity(message, context)
            write_origin(message, context)
            message.details.putter = ""
    putters.note(qm, connection.party.principal, command.messages)


def write_sender(qm: QueueManager, request: Request, message: MessageData) -> None:
    """Write who sends a message of MSMQ or Service Broker, whose programs say nothing of it."""
    party = connection_of(qm, request).party
    message.user, message.application = party.principal.user, party.application


def of_party(party: Party) -> MessageContext:
    """Return the context of what a connection puts, unless it asks for another."""
    return MessageContext(
        party.principal.user, application=party.application, appl_type=APPL_TYPE_DEFAULT
    )


def _settle_asked(
    connection: ConnectionState, command: Put, handle: QueueHandle | TopicHandle, asked: int
) -> None:
    if sum(bool(asked & one) for one in (SET_CONTEXT, PASS_CONTEXT, NO_CONTEXT)) > 1:
        text = "a put sets the context, passes it, or has none"
        raise Refusal(Reason.OPTIONS_ERROR, handle.name, text)
    for option, modes, reason in REQUIRED:
        if asked & option and not handle.modes & modes:
            raise Refusal(reason, handle.name)
    identity = origin = NONE if asked & NO_CONTEXT else of_party(connection.party)
    if asked & PASS_CONTEXT:
        saved = _saved_by(connection, command.context)
        identity = saved if asked & PASS_IDENTITY else identity
        origin = saved if asked & PASS_ORIGIN else origin
    for message in command.messages:
        message.msmq = message.broker = None
        if not asked & SET_IDENTITY:
            write_identity(message, identity)
        if not asked & SET_ORIGIN:
            write_origin(message, origin)
        if message.details is not None and not asked & (SET_IDENTITY | PASS_IDENTITY):
            message.details.putter = ""


def _saved_by(connection: ConnectionState, number: int) -> MessageContext:
    handle = connection.handles.get(number)
    if not isinstance(handle, QueueHandle) or not handle.modes & SAVE_CONTEXT:
        raise Refusal(Reason.CONTEXT_HANDLE_ERROR, f"handle {number}")
    if handle.saved is None:
        raise Refusal(Reason.CONTEXT_NOT_AVAILABLE, handle.name)
    return handle.saved
