"""Deferred puts, and one-way operations: what becomes of a refusal that nobody waits for.

A unit keeps the first refusal of its deferred puts. Its commit is answered with it, and backs the
unit out: so a unit takes effect with all of its puts, or not at all. This module does not know when
a put is refused, nor what reaches a client.
"""

from __future__ import annotations

from collections.abc import Callable

from adapter.core.contract.commands import DEFERRED, Begin, Put, Request
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.results import Refused
from adapter.core.model.lane import PageNeeded
from adapter.core.model.manager import QueueManager
from adapter.core.model.unit import UnitOfWork
from adapter.core.rules import pages, waiting
from adapter.core.rules.decision import Decision, connection_of, refused
from adapter.core.rules.unit import backout_records, unit_of

PutRule = Callable[[QueueManager, Request, Put], Decision]


def decide_put(qm: QueueManager, request: Request, command: Put, rule: PutRule) -> Decision:
    """Put as the rule says, unless an earlier deferred put of the unit was refused."""
    if not command.unit:
        raise Refusal(Reason.OPTIONS_ERROR, detail="a deferred put is part of a unit")
    unit = unit_of(qm, request, command.unit)
    if unit.refusal is not None:
        return Decision([], unit.refusal, qm.entry_n)
    decision = _decide_waiting(qm, request, command, rule)
    if isinstance(decision.result, Refused):
        unit.refusal = decision.result
    return decision


def _decide_waiting(qm: QueueManager, request: Request, command: Put, rule: PutRule) -> Decision:
    """Decide a put as one whose answer is waited for. It may come again, when a page has come."""
    command.options &= ~DEFERRED
    try:
        return rule(qm, request, command)
    except Refusal as refusal:
        return Decision([], refused(refusal), qm.entry_n)
    except PageNeeded as needed:
        damaged = pages.refuse_damaged(qm, needed)
        if damaged is None:
            raise
        return damaged
    finally:
        command.options |= DEFERRED


def back_out(qm: QueueManager, request: Request, unit: UnitOfWork, refusal: Refused) -> Decision:
    """Back out a unit that was to be committed, and refuse the commit."""
    replies = waiting.end_unit_waits(qm, connection_of(qm, request), unit.ident)
    records = backout_records(qm, unit, None, request.now_ms)
    return Decision(records, refusal, qm.entry_n, replies=replies)


def note_refused(qm: QueueManager, request: Request, refusal: Refused) -> None:
    """Remember why a one-way operation was refused: the verbs of the unit will say it."""
    command = request.command
    if isinstance(command, Begin):
        connection_of(qm, request).refused_begin = command.unit, refusal
