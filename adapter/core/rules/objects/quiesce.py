"""Quiescing: the queue manager takes no new work, and lets units in flight come to their end.

Gets and browses that ask for it (THROUGH_QUIESCE) are served until the connections end.

Soft state: a queue manager that starts again knows nothing of it. How long units are given is not
known here; the server ends the connections that are left.
"""

from __future__ import annotations

from adapter.core.contract.commands import THROUGH_QUIESCE, Browse, Get, Request
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Refused
from adapter.core.contract.traits import OUTSIDE_UNITS, trait_of
from adapter.core.model.connection import ConnectionState
from adapter.core.model.manager import QueueManager
from adapter.core.rules.primitives import waiting
from adapter.core.rules.primitives.decision import connection_of


def begin(qm: QueueManager) -> list[Reply]:
    """Quiesce: gets that wait end with the reason, also those of units in flight.

    Those that ask to be served until the end go on while their connection has a unit in flight. The
    end has come for any other: its connection is let go.
    """
    qm.quiescing = True
    refused = Refused(Reason.QUEUE_MANAGER_QUIESCING, qm.name)
    ended = Refused(Reason.QUEUE_MANAGER_STOPPING, qm.name)
    replies = []
    for connection in qm.connections.values():
        for waiter in list(connection.waiters.values()):
            if not getattr(waiter.command, "options", 0) & THROUGH_QUIESCE:
                replies.append(waiting.answer(qm, waiter, refused))
            elif not is_busy(connection):
                replies.append(waiting.answer(qm, waiter, ended))
    return replies


def check(qm: QueueManager, request: Request) -> None:
    """Refuse what is new (MQRC_Q_MGR_QUIESCING): whatever belongs to no unit in flight.

    Opening and closing, questions, and ending units or connections is what units need to end.
    """
    command = request.command
    if isinstance(command, (Get, Browse)) and command.options & THROUGH_QUIESCE:
        return
    trait = trait_of(command)
    new = trait.is_new_work
    if trait.durable is OUTSIDE_UNITS:  # verbs on conversations are always part of a unit
        new = command.unit not in connection_of(qm, request).units
    if new:
        raise Refusal(Reason.QUEUE_MANAGER_QUIESCING, qm.name)


def is_busy(connection: ConnectionState) -> bool:
    """Whether a connection has a unit in flight that holds anything."""
    return any(len(unit) for unit in connection.units.values())


def is_between_units(qm: QueueManager, connection: int) -> bool:
    """Whether no program has been shown anything of a unit that is in flight on a connection: it
    could end without a unit that its program knows of.
    """
    known = qm.connections.get(connection)
    units = known.units.values() if known is not None else ()
    return not any(len(unit) and not unit.ahead for unit in units)


def idle_connections(qm: QueueManager) -> list[int]:
    """Return the connections that have no unit in flight, or only such that hold nothing."""
    return [n for n, connection in qm.connections.items() if not is_busy(connection)]


def waits(qm: QueueManager, connection: int) -> bool:
    """Whether a connection waits for a message."""
    known = qm.connections.get(connection)
    return known is not None and bool(known.waiters)
