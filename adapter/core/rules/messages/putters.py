"""Putters: by whose authorities the queue manager puts what a message causes.

A report, and an acknowledgment or a dead letter of MSMQ, go to a queue that the message names, and
so does the reply to a command of PCF whose user may not connect. They reach it only if who put the
message may put there itself; who may only get from there gets them without the data of the message.
That is the user of the connection that put it, or by whose authorities it was put when it came from
another queue manager: the message keeps it where its context says otherwise. Who puts a message
with the context of another user, as a program that forwards it does, lends it no rights: both users
have to have them. It is asked when the report is made, and only where authorities are checked.

Groups that a proof brought along count as they were at the last connection of the user, as long as
the queue manager runs. This module does not know what becomes of what does not reach its queue.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from msgspec.structs import replace

from adapter.core.contract import authorities as a
from adapter.core.contract.details import (
    AND_CONTEXT,
    APPL_TYPE_DEFAULT,
    NO_USER,
    THE_QUEUE_MANAGER,
    Details,
    putters_of,
)
from adapter.core.contract.message import MessageData
from adapter.core.contract.parties import Principal, Proof
from adapter.core.model.manager import QueueManager
from adapter.core.model.report import (
    CONFIRM_ON_ARRIVAL,
    CONFIRM_ON_DELIVERY,
    EXCEPTION,
    EXPIRATION,
    REQUEST,
)
from adapter.core.rules.network import put_rights, routes
from adapter.core.rules.primitives.access import Asker

KINDS: Final = EXCEPTION | EXPIRATION | CONFIRM_ON_ARRIVAL | CONFIRM_ON_DELIVERY
"""What the queue manager reports; programs report other things to each other."""
COMMAND: Final = "MQADMIN"
"""The format of a command of PCF."""


class Reach(Enum):
    """How much of what is put for a putter reaches a queue."""

    NOTHING = "nothing"
    WITHOUT_DATA = "without data"
    WHOLE = "whole"


def note(qm: QueueManager, principal: Principal, messages: list[MessageData]) -> None:
    """Keep who puts messages, of those that cause something and say something else.

    principal: of the connection that puts them.
    """
    if not qm.authorities.are_checked:
        return
    putter = _mark_of(principal.user)
    for message in messages:
        if principal.is_privileged:
            _keep(message, THE_QUEUE_MANAGER)
        elif principal.user != message.user:
            _keep(message, putter)


def note_identified(qm: QueueManager, principal: Principal, messages: list[MessageData]) -> None:
    """The same of messages whose identity is set or passed: two users have to have rights then, who
    puts the message and who it says. With the message an operator forwards what was kept of it.
    """
    own = THE_QUEUE_MANAGER if principal.is_privileged else _mark_of(principal.user)
    for message in messages:
        kept = _forget(message)
        if not qm.authorities.are_checked:
            continue
        if principal.is_privileged and kept:
            _keep(message, kept)
        elif message.user and message.user == principal.user:
            note(qm, principal, [message])
        else:
            _keep(message, AND_CONTEXT + own)


def note_arrived(qm: QueueManager, message: MessageData, user: str | None) -> None:
    """Keep by whose authorities a message was put that came from elsewhere.

    user: whose; None: the queue manager's own. What the message says itself is not believed.
    """
    _forget(message)
    if not qm.authorities.are_checked:
        return
    if user != message.user:
        _keep(message, THE_QUEUE_MANAGER if user is None else _mark_of(user))


def _forget(message: MessageData) -> str:
    """Take from a message what it says of its putter, and return it."""
    details = message.details
    if details is None or not details.putter:
        return ""
    message.details = replace(details, putter="")
    return details.putter


def _mark_of(user: str) -> str:
    """Return how a message says that a user counts. No proof makes a control character a user."""
    return NO_USER if user[:1] in ("", THE_QUEUE_MANAGER, AND_CONTEXT) else user


def _keep(message: MessageData, putter: str) -> None:
    msmq = message.msmq
    causes = (
        message.report & KINDS
        or (msmq is not None and (msmq.acknowledge or msmq.dead_letter_queue))
        or (message.message_type == REQUEST and message.format.rstrip() == COMMAND)
    )
    if not causes:
        return
    details = message.details
    known = Details(appl_type=APPL_TYPE_DEFAULT) if details is None else details
    message.details = replace(known, putter=putter)


def asker_of_user(qm: QueueManager, user: str, what: str) -> Asker:
    """Return who is asked if the queue manager acts for a user. what: how the log calls it."""
    groups = qm.authorities.groups_last_seen(user)
    return Asker(qm, 0, Principal(user, Proof.CONTEXT, groups), what)


def reach(
    qm: QueueManager, message: MessageData, to: str, queue_manager: str = "", what: str = "Report"
) -> Reach:
    """Say how much of what a message causes reaches the queue that it names.

    what: how the log calls it, in which what is missing is noted.
    """
    found = Reach.WHOLE
    users = putters_of(message.user, message.details) if qm.authorities.are_checked else ()
    for user in users:
        asker = asker_of_user(qm, user, what)
        if not any(put_rights.missing(qm, asker, to, queue_manager)):
            continue
        if not asker.may(a.QUEUE, routes.checked_name(qm, to, queue_manager), a.GET):
            put_rights.lacks(qm, asker, to, queue_manager)
            return Reach.NOTHING
        found = Reach.WITHOUT_DATA
    return found
