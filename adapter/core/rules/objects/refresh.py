"""REFRESH SECURITY: what is open is looked at again, by the authorities that there are now.

An authority is asked for at the connect and the open, and not by verbs: what was revoked since goes
on as long as it is open. A refresh ends the connections and closes the handles that would be
refused now. What a closed handle has got and put stays in its unit. A wait under it is refused.
Channel authentication records are not asked again: they say whether a connection begins, as on MQ.
This module does not know which authority an open needs.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from adapter.core.contract import authorities as a
from adapter.core.contract import authority_commands as ac
from adapter.core.contract import commands as c
from adapter.core.contract.commands import Request
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import Record
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Refused
from adapter.core.model.connection import ConnectionState
from adapter.core.model.handles import QueueHandle, SubscriptionHandle
from adapter.core.model.manager import QueueManager
from adapter.core.rules.objects import checks, closing
from adapter.core.rules.primitives import waiting
from adapter.core.rules.primitives.access import Asker
from adapter.core.rules.primitives.decision import Decision, done
from adapter.core.rules.primitives.decision import refused as answer_of


def decide_refresh(qm: QueueManager, request: Request, command: ac.RefreshSecurity) -> Decision:
    """Close what would be refused now; the answer counts handles and connections."""
    records: list[Record] = []
    replies: list[Reply] = []
    closed: dict[int, Refused] = {}
    count = 0
    name = type(command).__name__
    connections = qm.connections.values() if qm.authorities.are_checked else ()
    for connection in sorted(connections, key=lambda one: one.number):
        asker = Asker(qm, connection.number, connection.party.principal, name)
        is_other = connection.number != request.connection
        if is_other and asker.lacks(a.QUEUE_MANAGER, qm.name, a.CONNECT):
            ended = closing.end_connection(qm, connection, request.now_ms)
            records += ended.records
            replies += ended.replies
            closed[connection.number] = Refused(Reason.AUTHORITY_MISSING, qm.name)
            count += 1
            continue
        for number, opening in list(connection.openings.items()):
            refusal = _refusal(qm, asker, connection.handles.get(number), opening)
            if refusal is not None:
                count += 1
                _answer_waits(qm, connection, number, refusal, replies)
                for one in (number, getattr(opening, "queue_handle", 0)):
                    records += closing.close(qm, connection, one, request.now_ms, replies)
    decision = done(qm, request, records, count, replies)
    decision.closed = closed
    return decision


def _refusal(qm: QueueManager, asker: Asker, handle: Any, opening: Any) -> Refusal | None:
    """Say why a handle would not be opened now; None if it would."""
    if isinstance(opening, c.Open) and isinstance(handle, QueueHandle) and handle.is_maker:
        opening = replace(opening, queue=handle.queue.name)  # who made it has a record of that
    try:
        if isinstance(handle, SubscriptionHandle):
            checks.check_subscribed(qm, asker, opening, handle.subscription)
        else:
            checks.check_command(qm, asker, opening)
    except Refusal as refusal:
        return refusal if refusal.reason is Reason.AUTHORITY_MISSING else None
    return None


def _answer_waits(
    qm: QueueManager,
    connection: ConnectionState,
    number: int,
    refusal: Refusal,
    replies: list[Reply],
) -> None:
    handle = connection.handles.get(number)
    waiters = [one for one in connection.waiters.values() if one.handle is handle]
    replies += [waiting.answer(qm, waiter, answer_of(refusal)) for waiter in waiters]
