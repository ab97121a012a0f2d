"""Deferred puts, and other one-way operations: what becomes of a refusal that no client waits for.

A unit keeps the first refusal of its deferred puts. Its commit is refused for it, and backs the
unit out: so a unit takes effect with all of its puts, or not at all. This module does not know when
a put is refused, nor what reaches a client.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from adapter.core.contract.commands import DEFERRED, Begin, Put, Request
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.results import Refused
from adapter.core.model.manager import QueueManager
from adapter.core.rules.messages.unit import unit_of
from adapter.core.rules.primitives.decision import Decision, connection_of

REFUSED_BEGINS_KEPT: Final = 1_000
"""Of one connection: its threads and tasks may each have sent one before they hear of the first."""

PutRule = Callable[[QueueManager, Request, Put], Decision]


def decide_put(qm: QueueManager, request: Request, command: Put, rule: PutRule) -> Decision:
    """Put as the rule says, unless an earlier deferred put of the unit was refused."""
    if request.request or not command.unit:
        text = "a deferred put is a one-way operation in a unit"
        raise Refusal(Reason.OPTIONS_ERROR, detail=text)
    unit = unit_of(qm, request, command.unit)
    if unit.refusal is not None:
        return Decision([], unit.refusal)
    command.options &= ~DEFERRED
    try:
        return rule(qm, request, command)
    finally:
        command.options |= DEFERRED  # it may be decided again, when a page has come


def note_refused(qm: QueueManager, request: Request, refusal: Refused) -> None:
    """Remember why a one-way operation was refused: later verbs of its unit are answered with it.

    If the unit is not there, the commit is refused anyway.
    """
    command, connection = request.command, connection_of(qm, request)
    if isinstance(command, Begin):
        refused = connection.refused_begins
        refused[command.unit] = refusal
        if len(refused) > REFUSED_BEGINS_KEPT:
            del refused[next(iter(refused))]
    elif isinstance(command, Put):
        unit = connection.units.get(command.unit)
        if unit is not None and unit.refusal is None:
            unit.refusal = refusal
