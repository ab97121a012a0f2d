"""Putters: by whose authorities the queue manager puts what a message causes.

A report, and an acknowledgment or a dead letter of MSMQ, go to a queue that the message names, and
so does the reply to a command of PCF whose user may not connect. They reach it only if who put the
message may put there itself; who may only get from there gets them without the data of the message.
That is the user of the connection that put it, or by whose authorities it was put when it came from
another queue manager: the message keeps it where its context says otherwise. It is asked when the
report is made, and only where authorities are checked.

Groups that a proof brought along count as they were at the last connection of the user, as long as
the queue manager runs. This module does not know what becomes of what does not reach its queue.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from msgspec.structs import replace

from adapter.core.contract import authorities as a
from adapter.core.contract.details import (
    APPL_TYPE_DEFAULT,
    NO_USER,
    THE_QUEUE_MANAGER,
    Details,
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
from adapter.core.rules.network import routes
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


def note_arrived(qm: QueueManager, message: MessageData, user: str | None) -> None:
    """Keep by whose authorities a message was put that came from elsewhere.

    user: whose; None: the queue manager's own. What the message says itself is not believed.
    """
    details = message.details
    if details is not None and details.putter:
        message.details = replace(details, putter="")
    if not qm.authorities.are_checked:
        return
    if user != message.user:
        _keep(message, THE_QUEUE_MANAGER if user is None else _mark_of(user))


def _mark_of(user: str) -> str:
    """Return how a message says that a user counts. No proof makes a control character a user."""
    return NO_USER if user in ("", THE_QUEUE_MANAGER) else user


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


def asker_for(qm: QueueManager, message: MessageData, what: str) -> Asker | None:
    """Return who is asked for the right to put what a message causes; None: no right is needed.

    what: how the log calls it.
    """
    if not qm.authorities.are_checked:
        return None
    details = message.details
    putter = details.putter if details is not None else ""
    if putter == THE_QUEUE_MANAGER:
        return None
    user = putter or message.user
    return asker_of_user(qm, "" if putter == NO_USER else user, what)


def asker_of_user(qm: QueueManager, user: str, what: str) -> Asker:
    """Return who is asked if the queue manager acts for a user. what: how the log calls it."""
    groups = qm.authorities.groups_last_seen(user)
    return Asker(qm, 0, Principal(user, Proof.CONTEXT, groups), what)


def reach(qm: QueueManager, message: MessageData, to: str, queue_manager: str) -> Reach:
    """Say how much of a report about a message reaches the queue that it names.

    What is missing is noted for the log.
    """
    asker = asker_for(qm, message, "Report")
    if asker is None:
        return Reach.WHOLE
    return reach_of(asker, *routes.right_to_put(qm, to, queue_manager))


def reach_of(asker: Asker, name: str, bits: int = a.PUT) -> Reach:
    """Say how much of what is put for who asks reaches a queue. bits: all that a put needs."""
    missing = asker.missing(a.QUEUE, name, bits)
    if not missing:
        return Reach.WHOLE
    if asker.may(a.QUEUE, name, a.GET):
        return Reach.WITHOUT_DATA
    asker.refusal(a.QUEUE, name, missing)
    return Reach.NOTHING
