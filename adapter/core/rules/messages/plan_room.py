"""Whether a plan of puts has room: in the unit that is to hold it, or in an entry of its own.

What a command says may be short, and what it causes long: copies, dead letters and acknowledgments
with the whole body. All of it is one entry of the ledger, which takes no more than so many bytes;
so the plan is asked, when all is planned and nothing is changed yet. This module does not know what
is put.
"""

from __future__ import annotations

from adapter.core.contract.commands import Request
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.weights import weight
from adapter.core.model.unit import UnitOfWork
from adapter.core.rules.messages.plan import Plan
from adapter.core.rules.messages.unit import unit_with_room


def check_room(
    plan: Plan, request: Request, unit: UnitOfWork | None, name: str, *, gets: int = 0
) -> None:
    """Refuse a plan whose puts have no room together.

    unit: that is to hold them, with so many gets beside them; None: they are a unit of their own.
    name: of what was asked for, for the refusal.
    """
    size = weight_of(plan)
    if unit is not None:
        count = len(plan.puts) + len(plan.reports) + gets
        unit_with_room(plan.qm, request, unit.ident, count, size)
    elif size > (most := plan.qm.limits.unit_bytes):
        text = f"{size} bytes with what it causes, of {most}"
        raise Refusal(Reason.MESSAGE_TOO_LONG, name, text)


def weight_of(plan: Plan) -> int:
    """Bound the bytes that the puts of a plan take in an entry; segments are not counted."""
    return sum(weight(message) for puts in (plan.puts, plan.reports) for _, message in puts)
