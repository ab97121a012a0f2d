"""Units that are sent again as a whole, when the queue manager has let the connection go.

It says goodbye to a client between two of its units: with the answers to all that it has done. What
the client sent meanwhile was not done. So a unit of which nothing was answered, and of which every
request is still there, begins anew on the next connection; its program does not hear of the loss.
This module sends nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from adapter.channel.requests import FORGOTTEN, Pending, UnitOnWire
from adapter.core.contract.commands import Begin


def is_of(request: Pending, unit: UnitOnWire) -> bool:
    """Whether a request is part of a unit, and does not begin it."""
    command = request.command
    return getattr(command, "unit", None) == unit.ident and type(command) is not Begin


def begin_again(
    units: Mapping[bytes, UnitOnWire],
    pending: dict[int, Pending],
    number: Callable[[list[Pending]], list[Pending]],
) -> dict[bytes, UnitOnWire]:
    """Return the units of which nothing was done, if only what was answered was done.

    pending: all unanswered requests, in their order; what begins those units goes before them now.
    number: gives requests their numbers.
    """
    again = {}
    unanswered = list(pending.values())
    for unit in units.values():
        count = sum(1 for request in unanswered if is_of(request, unit))
        if not count or count < unit.asked or unit.has_one_way or unit.ahead:
            continue
        if unit.beginning is None or unit.beginning.request not in pending:
            (begin,) = number([Pending(Begin(unit.ident), FORGOTTEN)])
            unit.beginning = begin
            behind = dict(pending)
            pending.clear()
            pending |= {begin.request: begin, **behind}
        again[unit.ident] = unit
    return again
