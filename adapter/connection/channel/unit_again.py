"""Units that are sent again as a whole, when the queue manager has let the connection go.

It says goodbye to a client between two of its units: with the answers to all that it has done. What
the client sent meanwhile was not done. So a unit of which nothing was answered, and of which every
request is still there, begins anew on the next connection; its program does not hear of the loss.
This module sends nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping

from adapter.connection.channel.requests import FORGOTTEN, Pending, UnitOnWire
from adapter.core.contract.commands import Begin


def is_of(request: Pending, unit: UnitOnWire) -> bool:
    """Whether a request is part of a unit, and does not begin it."""
    command = request.command
    return getattr(command, "unit", None) == unit.ident and type(command) is not Begin


def begin_again(
    units: Mapping[bytes, UnitOnWire],
    pending: dict[int, Pending],
    number: Callable[[list[Pending]], list[Pending]],
    handles: Iterable[int],
    *,
    is_let_go: bool,
) -> dict[bytes, UnitOnWire]:
    """Return the units of which nothing was done.

    pending: all unanswered requests, in their order; what begins those units goes before them now.
    number: gives requests their numbers. handles: those that will be open without them.
    """
    again = {}
    unanswered, known = list(pending.values()), set(handles)
    known |= {request.handle.number for request in unanswered if request.handle is not None}
    for unit in units.values():
        if not is_let_go and not _is_unsent(unit, pending):
            continue
        count = sum(1 for request in unanswered if is_of(request, unit))
        if count < unit.asked or not (count or unit.one_way) or not unit.is_whole:
            continue
        if not all(one.handle is not None or _is_put_by(one, known) for _, one in unit.one_way):
            continue
        if unit.beginning is None or unit.beginning.request not in pending:
            (begin,) = number([Pending(Begin(unit.ident), FORGOTTEN)])
            unit.beginning = begin
            behind = dict(pending)
            pending.clear()
            pending |= {begin.request: begin, **behind}
        again[unit.ident] = unit
    return again


def _is_put_by(one: Pending, handles: set[int]) -> bool:
    return getattr(one.command, "handle", 0) in handles


def _is_unsent(unit: UnitOnWire, pending: Mapping[int, Pending]) -> bool:
    """Whether nothing of a unit has been sent: what begins it goes before all."""
    begin = unit.beginning
    return begin is not None and begin.request in pending and not begin.sent


def on_wire(
    units: Mapping[bytes, UnitOnWire], pending: Mapping[int, Pending]
) -> dict[bytes, UnitOnWire]:
    """Return the units that are open, and those whose commit is unanswered."""
    ending = [one.ends for one in pending.values() if one.ends is not None]
    return {unit.ident: unit for unit in (*units.values(), *ending)}


def in_order(
    pending: Iterable[Pending], units: Iterable[UnitOnWire]
) -> Iterator[tuple[Pending, bool]]:
    """Return what goes out again, where it was: unanswered requests, and what units asked without
    an answer; each with whether it is unanswered. What begins units goes before all.
    """
    kept = deque(sorted((one for unit in units for one in unit.one_way), key=_behind))
    for request in pending:
        if type(request.command) is not Begin:
            while kept and kept[0][0] < request.request:
                yield kept.popleft()[1], False
        yield request, True
    for _, one in kept:
        yield one, False


def _behind(kept: tuple[int, Pending]) -> int:
    return kept[0]
