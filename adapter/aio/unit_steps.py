"""What becomes of a message that failed, carried out by tasks; see client/unit_steps.py."""

from __future__ import annotations

import asyncio
from typing import Any

from adapter.aio.unit import TaskUnit, perform
from adapter.client.unit_steps import Exchange, ResultT, UnitEnd, UnitSteps
from adapter.errors import Error


async def carry_out(unit: TaskUnit, steps: UnitSteps[ResultT]) -> ResultT:
    """Do what the steps say about a unit, and wait for it; a cancellation backs the unit out."""
    try:
        step = next(steps)
        while True:
            try:
                answer = await _answer_to(step, unit)
            except Error as error:
                step = steps.throw(error)
            else:
                step = steps.send(answer)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    except asyncio.CancelledError:
        unit.give_up()
        raise


async def _answer_to(step: Exchange | UnitEnd, unit: TaskUnit) -> Any:
    if step is UnitEnd.COMMIT:
        return await unit.commit()
    if step is UnitEnd.BACKOUT:
        return await unit.backout()
    inside = unit if step.is_inside else None
    return await perform(unit.channel, inside, step.requests, step.request, step.kind, step.after)
