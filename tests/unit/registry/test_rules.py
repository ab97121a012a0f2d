"""What the contract does not ask of everybody: imports, modes over all, bounds."""

from __future__ import annotations

from typing import Any

import pytest

from adapter.errors import SchemaError
from adapter.registry import codes, compatibility, rules
from adapter.registry.rules import RegistryDecision
from adapter.registry.state import GLOBAL, MODES, ChangeEntry, RegistryState
from tests.contract.schema_changes import DEFAULT, INT, record

A, AB = record(INT), record(INT, DEFAULT)


@pytest.fixture
def state() -> RegistryState:
    return RegistryState()


def do(state: RegistryState, decision: RegistryDecision[Any]) -> Any:
    """Make a decision's changes; its answer."""
    if decision.changes:
        state.apply(ChangeEntry(list(decision.changes), state.next_id))
    return decision.answer


def mode(state: RegistryState, wanted: str, subject: str = GLOBAL, *, force: bool = False) -> None:
    do(state, rules.set_mode(state, subject, wanted, force=force))


def refused(code: int, step: Any, *given: Any, **named: Any) -> None:
    with pytest.raises(SchemaError) as caught:
        step(*given, **named)
    assert caught.value.code == code


def test_an_import_keeps_its_numbers(state: RegistryState) -> None:
    mode(state, "IMPORT")
    assert do(state, rules.register(state, "s", AB, 7, 40)) == 40
    assert do(state, rules.register(state, "s", '"int"', 3, 12)) == 12
    assert [(one.version, one.id) for one in state.versions("s")] == [(3, 12), (7, 40)]
    mode(state, "READWRITE")
    assert do(state, rules.register(state, "t", A)) == 41
    assert do(state, rules.register(state, "u", AB)) == 40


def test_numbers_are_given_in_an_import_and_only_there(state: RegistryState) -> None:
    refused(codes.NOT_PERMITTED, rules.register, state, "s", A, 0, 5)
    mode(state, "IMPORT")
    refused(codes.NOT_PERMITTED, rules.register, state, "s", A)


def test_a_version_may_be_given_everywhere_if_it_is_the_next_one(state: RegistryState) -> None:
    for number in (2, 7):
        refused(codes.INVALID_SCHEMA, rules.register, state, "s", A, number)
    assert do(state, rules.register(state, "s", A, 1)) == 1
    refused(codes.INVALID_SCHEMA, rules.register, state, "s", AB, 1)
    assert do(state, rules.register(state, "s", AB, 2)) == 2
    assert do(state, rules.register(state, "s", A, 7)) == 1, "it is there"
    assert [one.version for one in state.versions("s")] == [1, 2]


@pytest.mark.parametrize("numbers", [(0, 7), (1, 7), (1, 0)])
def test_what_is_imported_again_is_there_once(
    state: RegistryState, numbers: tuple[int, int]
) -> None:
    mode(state, "IMPORT")
    for _ in range(3):
        assert do(state, rules.register(state, "s", A, *numbers)) == max(1, numbers[1])
    assert [one.version for one in state.versions("s")] == [1]
    assert do(state, rules.register(state, "s", A, 2, numbers[1])), "another version is asked for"
    assert [one.version for one in state.versions("s")] == [1, 2]


@pytest.mark.parametrize("wanted", MODES)
@pytest.mark.parametrize("subject", ["s", GLOBAL])
def test_what_is_there_is_registered_in_every_mode(
    state: RegistryState, wanted: str, subject: str
) -> None:
    """Programs register what they write with when they start."""
    do(state, rules.register(state, "s", A))
    do(state, rules.register(state, "s", AB))
    mode(state, wanted, subject, force=True)
    for schema, number in ((A, 1), (AB, 2)):
        assert rules.register(state, "s", schema) == RegistryDecision(number)
    do(state, rules.set_mode(state, subject, "READWRITE", force=True))
    do(state, rules.delete_version(state, "s", 1, permanent=False))
    mode(state, wanted, subject, force=True)
    if wanted != "READWRITE":
        refused(codes.NOT_PERMITTED, rules.register, state, "s", A)


@pytest.mark.parametrize("by", ["subject", "versions", "latest"])
@pytest.mark.parametrize("permanent", [False, True])
def test_with_its_last_version_a_subject_loses_its_level_and_its_mode(
    state: RegistryState, by: str, permanent: bool
) -> None:
    for number, schema in enumerate((A, AB)):
        assert do(state, rules.register(state, "s", schema)) == number + 1
    do(state, rules.set_level(state, "s", "FULL"))
    mode(state, "READWRITE", "s")

    def delete(*, for_good: bool) -> None:
        if by == "subject":
            do(state, rules.delete_subject(state, "s", permanent=for_good))
        for number in (1, 2) if by != "subject" else ():
            assert state.levels.get("s") == (None if for_good else "FULL")
            wanted = "latest" if by == "latest" and not for_good else number
            do(state, rules.delete_version(state, "s", wanted, permanent=for_good))

    delete(for_good=False)
    assert (state.levels, state.modes) == ({}, {})
    if permanent:
        delete(for_good=True)
        assert (state.size(), state.levels, state.modes) == (0, {}, {})


@pytest.mark.parametrize("subject", [".", ".."])
def test_a_name_that_no_path_has_is_refused(state: RegistryState, subject: str) -> None:
    refused(codes.UNPROCESSABLE, rules.register, state, subject, A)
    refused(codes.UNPROCESSABLE, rules.set_level, state, subject, "FULL")


def test_schemas_that_are_too_large_to_be_compared_are_refused_with_a_code(
    state: RegistryState, monkeypatch: pytest.MonkeyPatch
) -> None:
    do(state, rules.register(state, "s", A))
    monkeypatch.setattr(compatibility, "STEPS_OF_ALL_MAX", 0)
    refused(codes.INVALID_SCHEMA, rules.register, state, "s", AB)
    for against in (None, "latest", 1):
        refused(codes.INVALID_SCHEMA, rules.comparison(state, "s", against).problems, AB)


def test_an_import_leaves_numbers_for_others(state: RegistryState) -> None:
    mode(state, "IMPORT")
    for version, number in ((1, 2**31 - 1), (1, 2**40), (2**31, 5), (-1, 5), (1, -5)):
        refused(codes.UNPROCESSABLE, rules.register, state, "s", A, version, number)
    assert (
        do(state, rules.register(state, "s", A, 2**31 - 1, rules.ID_GIVEN_MAX))
        == rules.ID_GIVEN_MAX
    )
    mode(state, "READWRITE")
    assert do(state, rules.register(state, "t", AB)) == rules.ID_GIVEN_MAX + 1
    refused(codes.STORE_FAILED, rules.register, state, "s", AB)


def test_levels_and_modes_are_those_of_subjects_and_are_bounded() -> None:
    state = RegistryState(schemas_max=2)
    for subject in ("x" * 513, "a\0b", "a\nb"):
        refused(codes.UNPROCESSABLE, rules.set_level, state, subject, "FULL")
        refused(codes.UNPROCESSABLE, rules.set_mode, state, subject, "IMPORT", force=True)
    for subject in ("a", "b", GLOBAL):
        do(state, rules.set_level(state, subject, "FULL"))
        mode(state, "READWRITE", subject)
    refused(codes.STORE_FAILED, rules.set_level, state, "c", "FULL")
    refused(codes.STORE_FAILED, rules.set_mode, state, "c", "IMPORT", force=True)
    assert do(state, rules.set_level(state, "a", "NONE")) == "NONE"
    do(state, rules.take_level(state, "b"))
    assert do(state, rules.set_level(state, "c", "NONE")) == "NONE"


def test_a_number_of_many_digits_is_no_version(state: RegistryState) -> None:
    refused(codes.INVALID_VERSION, rules.as_version, "9" * 5_000, "s")


def test_an_import_overwrites_nothing(state: RegistryState) -> None:
    mode(state, "IMPORT")
    do(state, rules.register(state, "s", A, 1, 5))
    refused(codes.NOT_PERMITTED, rules.register, state, "s", AB, 1, 6)
    refused(codes.NOT_PERMITTED, rules.register, state, "t", AB, 1, 5)
    assert do(state, rules.register(state, "s", A, 1, 5)) == 5
    assert len(state.versions("s")) == 1


def test_an_import_begins_where_nothing_is_unless_it_is_forced(state: RegistryState) -> None:
    do(state, rules.register(state, "s", A))
    refused(codes.NOT_PERMITTED, rules.set_mode, state, GLOBAL, "IMPORT", force=False)
    refused(codes.NOT_PERMITTED, rules.set_mode, state, "s", "IMPORT", force=False)
    mode(state, "IMPORT", "other")
    mode(state, "import", "s", force=True)
    assert state.mode("s") == "IMPORT"


@pytest.mark.parametrize("wanted", ["READONLY", "READONLY_OVERRIDE"])
def test_where_only_reading_is_allowed_nothing_is_changed(
    state: RegistryState, wanted: str
) -> None:
    do(state, rules.register(state, "s", A))
    do(state, rules.delete_version(state, "s", 1, permanent=False))
    do(state, rules.register(state, "s", AB))
    mode(state, wanted)
    for step in (
        lambda: rules.register(state, "s", A),
        lambda: rules.delete_version(state, "s", 2, permanent=False),
        lambda: rules.delete_subject(state, "s", permanent=False),
        lambda: rules.set_level(state, "s", "NONE"),
        lambda: rules.take_level(state, GLOBAL),
    ):
        refused(codes.NOT_PERMITTED, step)
    assert rules.version(state, "s", 2).schema
    mode(state, "READWRITE", "s")
    assert (state.mode("s") == "READWRITE") == (wanted == "READONLY")


def test_a_subjects_own_mode_and_level_go_with_it(state: RegistryState) -> None:
    do(state, rules.register(state, "s", A))
    do(state, rules.set_level(state, "s", "FULL"))
    mode(state, "READWRITE", "s")
    do(state, rules.delete_subject(state, "s", permanent=False))
    refused(codes.NO_LEVEL, rules.level, state, "s", default=False)
    refused(codes.NO_MODE, rules.mode, state, "s", default=False)
    refused(codes.NO_MODE, rules.take_mode, state, "s")
    refused(codes.NO_SUBJECT, rules.take_level, state, "s")


@pytest.mark.parametrize("name", ["", "x" * 600, "a\nb", "\0"])
def test_a_name_that_is_none_is_refused(state: RegistryState, name: str) -> None:
    refused(codes.UNPROCESSABLE, rules.register, state, name, A)


def test_the_texts_of_a_registry_are_bounded_together() -> None:
    state = RegistryState(bytes_max=2 * len(A))
    for name in ("s", "t", "u"):
        do(state, rules.register(state, name, A))  # one text, and one id
    assert 0 < state.bytes <= len(A)
    longer = '{"type":"enum","name":"E","symbols":["%s"]}' % ("A" * len(A))
    refused(codes.STORE_FAILED, rules.register, state, "v", longer)
    for name in ("s", "t", "u"):
        do(state, rules.delete_subject(state, name, permanent=False))
        do(state, rules.delete_subject(state, name, permanent=True))
    assert state.bytes == 0


@pytest.mark.parametrize("name", ["0", "-2", "x", "1.0", "", "2147483648", "²"])
def test_a_version_that_is_none_is_refused(state: RegistryState, name: str) -> None:
    refused(codes.INVALID_VERSION, rules.version, state, "s", name)


def test_a_registry_is_bounded() -> None:
    state = RegistryState(schemas_max=2)
    for name in ("s", "t"):
        do(state, rules.register(state, name, A))
    refused(codes.STORE_FAILED, rules.register, state, "u", A)
    assert do(state, rules.register(state, "s", A)) == 1
