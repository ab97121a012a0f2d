"""Every command has its traits, and they fit each other and the command's fields."""

from typing import get_args

import pytest

from adapter.connection.wire.frames import AskServer
from adapter.core.contract import commands as c
from adapter.core.contract.authority_commands import RefreshSecurity
from adapter.core.contract.message import MessageData
from adapter.core.contract.msmq import MsmqReceive
from adapter.core.contract.traits import (
    PLAIN,
    TRAITS,
    Content,
    Direction,
    Durable,
    OneWay,
    is_durable,
    is_one_way,
    is_part_of_unit,
    trait_of,
)

COMMANDS = get_args(c.Command)
ASKING = ("Ask", "Inquire", "Browse", "Locate", "ReadBatches", "AwaitEvent", "Explain")
CHANGING = (
    *("Define", "Alter", "Delete", "Purge", "Clear", "Create", "Drop", "SetA", "SetC", "Seek"),
    "Permit",
)


def test_every_command_has_a_row_and_nothing_else_has() -> None:
    assert set(TRAITS) == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_traits_fit_each_other_and_the_fields(command: type) -> None:
    trait = TRAITS[command]
    fields = set(command.__struct_fields__)  # type: ignore[attr-defined]
    assert not trait.is_question or (trait.durable is Durable.NEVER and not trait.audit)
    assert (trait.durable is Durable.OUTSIDE_UNITS) == (trait.moves is not Direction.NOWHERE)
    if trait.in_unit:
        assert "unit" in fields
    if trait.opens or trait.has_cursor:
        assert "handle" in fields
    assert trait.may_peek == ("peek" in fields)
    assert trait.has_target == ("target" in fields)
    assert trait.one_way is not OneWay.DEFERRED or fields >= {"unit", "options"}
    assert trait.is_frequent or (trait.moves is Direction.NOWHERE and trait.content is Content.NONE)
    assert not (trait.is_frequent and trait.audit)
    if trait.audit:
        words = {one: one for one in (*fields, *(["queue_of"] if "handle" in fields else []))}
        assert trait.audit.command.format_map(words)
        assert trait.audit.of.format_map(words)


def test_every_command_that_asks_is_a_question_and_no_other() -> None:
    asking = {one for one in COMMANDS if any(word in one.__name__ for word in ASKING)}
    assert asking == {one for one in COMMANDS if TRAITS[one].is_question}


def test_every_command_that_changes_objects_is_audited_and_no_others_but_two() -> None:
    changing = {one for one in COMMANDS if any(word in one.__name__ for word in CHANGING)}
    assert changing | {c.EndConnection, RefreshSecurity} == {
        one for one in COMMANDS if TRAITS[one].audit
    }


def test_the_unit_and_a_peek_decide_whether_a_verb_is_durable() -> None:
    assert is_durable(c.Get(1))
    assert not is_durable(c.Get(1, unit=b"u"))
    assert is_durable(MsmqReceive(1))
    assert not is_durable(MsmqReceive(1, unit=b"u"))
    assert not is_durable(MsmqReceive(1, peek=True))
    assert not is_part_of_unit(c.Get(1))
    assert is_part_of_unit(c.Get(1, unit=b"u"))
    assert not is_part_of_unit(c.Commit(b"u"))  # it outlives the unit


def test_a_deferred_put_in_a_unit_may_be_one_way() -> None:
    messages = [MessageData(b"")]
    assert is_one_way(c.Put(1, messages, b"u", c.DEFERRED))
    assert not is_one_way(c.Put(1, messages, b"u"))
    assert not is_one_way(c.Put(1, messages, b"", c.DEFERRED))
    assert is_one_way(c.Begin(b"u"))
    assert is_one_way(c.Touch(b"u"))
    assert not is_one_way(c.Commit(b"u"))
    assert not is_one_way(AskServer())


def test_what_core_does_not_know_is_plain() -> None:
    assert trait_of(AskServer()) is PLAIN
