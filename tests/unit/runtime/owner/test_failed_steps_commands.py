"""A command at which core fails twice is refused, whatever it changes of its own connection; and no
other one is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import msgspec
import pytest
from msgspec import inspect

from adapter.core import dispatch, inputs, tables
from adapter.core.contract import commands as c
from adapter.core.contract.parties import Party, Principal
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Refused
from adapter.core.model.manager import QueueManager
from adapter.runtime.owner.clock import ManualClock
from adapter.runtime.owner.core_steps import CoreSteps
from adapter.runtime.owner.failed_steps import UNNUMBERED_S, FailedStep, FailedSteps
from tests.support.each import each

SESSION = b"s" * 16
SESSIONS = (c.SessionOpen, c.SessionResume)


LEAST: dict[type[inspect.Type], Any] = {
    inspect.BytesType: SESSION,
    inspect.StrType: "Q",
    inspect.BoolType: False,
    inspect.IntType: 1,
    inspect.FloatType: 1.0,
    inspect.DictType: {},
}


def least(info: inspect.Type) -> Any:
    """Make a value of a type, of its required parts."""
    match info:
        case inspect.StructType():
            needed = (field for field in info.fields if field.required)
            return info.cls(**{field.name: least(field.type) for field in needed})
        case inspect.UnionType():
            return least(info.types[0])
        case inspect.EnumType():
            return next(iter(info.cls))
        case inspect.LiteralType():
            return info.values[0]
        case inspect.ListType():
            return [least(info.item_type)]
        case inspect.TupleType():
            return tuple(map(least, info.item_types))
    return LEAST[type(info)]


COMMANDS = [least(inspect.type_info(kind)) for kind in tables.DECIDE]


class Terms:
    """One owner's terms, each with a core that is new. seconds: since it started."""

    def __init__(self) -> None:
        self.told: list[FailedStep] = []
        self.seconds = 0.0
        self.failures = FailedSteps("QM1", self.told.append, now_s=lambda: self.seconds)

    def give(
        self, command: c.Command, *, number: int = 0, session: bool = False, user: str = "anna"
    ) -> list[Reply] | None:
        """Give a command to a new core; None: core has failed at it."""
        qm = QueueManager("QM1", bytes(16))
        steps = CoreSteps(qm, ManualClock(), self.failures)
        for connection in (1, 2):
            steps.take(inputs.Connected(connection), 1)
        steps.take(inputs.Introduced(2, Party(principal=Principal(user))), 1)
        steps.take(c.Request(1, 1, 0, c.SessionOpen(SESSION)), 1)
        if session:
            steps.take(c.Request(2, 2, 0, c.SessionResume(SESSION, [], 0)), 1)
        with failing(type(command)):
            effects = steps.take(c.Request(2, 3, number, command), 1)
        return None if effects is None else [one for one in effects.replies if one.request == 3]


@contextmanager
def failing(kind: type[c.Command]) -> Iterator[None]:
    """Let core fail behind all that commands of this kind do."""
    execute = dispatch._execute

    def broken(qm: Any, effects: Any, request: c.Request, now_ms: int) -> None:
        if request.request != 3:
            execute(qm, effects, request, now_ms)
            return
        with suppress(Exception):
            execute(qm, effects, request, now_ms)
        raise ZeroDivisionError(kind.__name__)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatch, "_execute", broken)
        yield


def is_refused(replies: list[Reply] | None) -> bool:
    """Whether core was not given it: some are refused for their number, or the lack of one, too."""
    return any(isinstance(one.result, Refused) for one in replies or [])


@each(itertools.product(range(len(COMMANDS)), ("first", "in a session", "numbered")))
def test_what_has_failed_twice_is_refused(place: int, how: str) -> None:
    command = COMMANDS[place]
    terms = Terms()
    number, session = int(how == "numbered"), how != "first"
    for _ in range(2):
        assert terms.give(command, number=number, session=session) is None, command
    for _ in range(2):
        assert is_refused(terms.give(command, number=number, session=session)), command
    assert len(terms.told) == 2
    assert not any(one.is_hopeless for one in terms.told)


def fail_twice(terms: Terms, command: c.Command, *, session: bool = False) -> None:
    for _ in range(2):
        assert terms.give(command, session=session) is None


@each(itertools.product(range(len(COMMANDS)), ("of another user", "another one")))
def test_without_a_session_no_other_command_is_refused(place: int, which: str) -> None:
    command = COMMANDS[place]
    fields = command.__struct_fields__
    texts = [name for name in fields if isinstance(getattr(command, name), str)]
    terms = Terms()
    fail_twice(terms, command)
    if which == "another one" and texts:
        terms.give(msgspec.structs.replace(command, **{texts[0]: "ANOTHER"}))
    elif which == "of another user" and not isinstance(command, SESSIONS):
        terms.give(command, user="berta")
    else:
        return
    assert len(terms.told) == 3, "core was given it"


def test_commands_without_a_number_are_tried_again_after_a_while() -> None:
    terms = Terms()
    for session in (False, True):
        command = c.Open(1, "Q", c.INPUT)
        fail_twice(terms, command, session=session)
        terms.seconds += UNNUMBERED_S - 1
        assert is_refused(terms.give(command, session=session))
        terms.seconds += 1
        fail_twice(terms, command, session=session)


def test_a_numbered_command_is_refused_for_good() -> None:
    terms = Terms()
    command = c.DefineQueue("Q")
    for _ in range(2):
        assert terms.give(command, number=1, session=True) is None
    terms.seconds += 100 * UNNUMBERED_S
    assert is_refused(terms.give(command, number=1, session=True))
    assert terms.give(command, number=2, session=True) is None, "another one"
