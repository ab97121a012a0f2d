"""What becomes of a message that failed, in steps that a thread or a task waits for.

Theory. Such a rule asks several times, and what it asks next depends on the answers, and on
refusals. It is a generator, like verbs of administration (channel/steps.py), but its steps are
those of a unit: it yields an exchange or the unit's end, and is given the answer, or thrown the
error that the answer is. A thread that blocks carries it out here, a task that awaits in
adapter/aio/unit_steps.py. Only messages that fail go this way, so that what a generator costs does
not matter.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from enum import Enum
from typing import Any, TypeVar

from msgspec import Struct

from adapter.client.admin import Description, one_of, read_descriptions
from adapter.connection.channel.requests import Pending
from adapter.connection.channel.unit import AnyUnit, perform
from adapter.core.contract import commands as c
from adapter.core.contract.results import Descriptions
from adapter.errors import BackedOut, ConnectionBroken, Error, InDoubt

ResultT = TypeVar("ResultT")


class Exchange(Struct, eq=False):
    """Requests that are sent in one frame; the step's result is the answer of one of them.

    kind: of the answer. after: the open that goes before it. is_inside: they are part of the unit.
    """

    requests: list[Pending]
    request: Pending
    kind: type[Any]
    after: Pending | None = None
    is_inside: bool = True


class UnitEnd(Enum):
    """How a step ends the unit."""

    COMMIT = "commit"
    BACKOUT = "backout"


UnitSteps = Generator[Exchange | UnitEnd, Any, ResultT]
"""Steps about one unit, and what they lead to."""


def question(request: Pending, kind: type[Any]) -> Exchange:
    """Make the step that asks something outside the unit."""
    return Exchange([request], request, kind, is_inside=False)


def describe_queue(name: str) -> UnitSteps[Description]:
    """Ask for the attributes of a queue.

    Raises QueueNotFound, also for an alias, and NotAuthorized if the user may not see it.
    """
    found = yield question(Pending(c.Inquire(name, False)), Descriptions)
    return one_of(read_descriptions(found), name)


def commit_aside(putting: UnitSteps[object]) -> UnitSteps[Error | None]:
    """Put a message aside, as the steps say, and commit the unit that has got it.

    Leads to None; to BackedOut if the connection was lost, and the message comes again; or to why
    it was refused: the unit is backed out. Raises InDoubt, ConnectionBroken, and what failed in
    commits before this one.
    """
    try:
        yield from putting
        yield UnitEnd.COMMIT
    except (InDoubt, ConnectionBroken):
        raise
    except Error as problem:
        if problem.units_failed:
            raise
        if not isinstance(problem, BackedOut):
            yield UnitEnd.BACKOUT
        return problem
    return None


def carry_out(unit: AnyUnit, steps: UnitSteps[ResultT]) -> ResultT:
    """Do what the steps say about a unit, and wait for it; an error ends the unit too."""
    try:
        step = next(steps)
        while True:
            try:
                answer = _answer_to(step, unit)
            except Error as error:
                step = steps.throw(error)
            else:
                step = steps.send(answer)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    except Error:
        if unit.is_open:
            with suppress(Error):  # it is gone with the connection
                unit.backout()
        raise


def _answer_to(step: Exchange | UnitEnd, unit: AnyUnit) -> Any:
    if step is UnitEnd.COMMIT:
        return unit.commit()
    if step is UnitEnd.BACKOUT:
        return unit.backout()
    inside = unit if step.is_inside else None
    return perform(unit.channel, inside, step.requests, step.request, step.kind, step.after)
