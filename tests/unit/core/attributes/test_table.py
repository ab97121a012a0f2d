"""The tables of attributes: every row is whole, and says what is wrong with a value."""

import pytest

from adapter.core.attributes.objects import KINDS, TYPES
from adapter.core.attributes.table import AttributeRow, Table, problem_with, without_dates
from tests.support.each import each

ROWS = [(kind, row) for kind, table in KINDS.items() for row in table.values()]
GIVEN = [(kind, row) for kind, row in ROWS if not row.attribute.fixed]


def name_of(value: object) -> str:
    return value.name if isinstance(value, AttributeRow) else str(value)


def problem(kind: str, name: str, value: object) -> str | None:
    return problem_with(KINDS[kind], f"a {kind}", name, value)


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_a_row_for_each_field(kind: str) -> None:
    assert tuple(KINDS[kind]) == tuple(without_dates(TYPES[kind]()))


@each(ROWS, name_of)
def test_a_row_is_whole(kind: str, row: AttributeRow) -> None:
    attribute = row.attribute
    assert attribute.keyword == attribute.keyword.upper()
    assert (attribute.number > 0) == bool(attribute.keyword), "no face has it without both"
    assert attribute.keyword or attribute.fixed
    assert attribute.meaning
    if not attribute.fixed:
        bounded = attribute.low is not None and attribute.high is not None
        assert bounded == (row.type is int)
        assert (attribute.length is not None) == (row.type is str and not row.choices)
    values = 2 if row.type is bool else len(row.choices)
    assert len(attribute.words) in ((2,) if row.type is bool else (0, values))
    assert len(attribute.numbers) in (0, values)
    assert not attribute.bare or row.type is bool


@pytest.mark.parametrize("table", KINDS.values(), ids=list(KINDS))
@pytest.mark.parametrize("what", ["keyword", "number"])
def test_rows_are_told_apart_by(table: Table, what: str) -> None:
    assert len({getattr(row.attribute, what) for row in table.values()}) == len(table)


@each(GIVEN, name_of)
def test_defaults_are_as_the_table_demands(kind: str, row: AttributeRow) -> None:
    assert problem(kind, row.name, row.default) is None
    assert getattr(TYPES[kind](), row.name) == row.default


@each(GIVEN, name_of)
def test_values_at_and_over_the_bounds(kind: str, row: AttributeRow) -> None:
    attribute, name = row.attribute, row.name
    if attribute.low is not None and attribute.high is not None:
        for good in (attribute.low, attribute.high):
            assert problem(kind, name, good) is None
        for bad in (attribute.low - 1, attribute.high + 1):
            assert f"{name} takes {attribute.low} to" in str(problem(kind, name, bad))
    if attribute.length is not None:
        assert problem(kind, name, "x" * attribute.length) is None
        assert "at most" in str(problem(kind, name, "x" * (attribute.length + 1)))
    if attribute.length is not None and attribute.in_bytes:
        assert problem(kind, name, "é" * (attribute.length // 2)) is None
        assert "bytes, not" in str(problem(kind, name, "é" * (attribute.length // 2 + 1)))
    for choice in row.choices:
        assert problem(kind, name, choice) is None
    if row.choices:
        assert "one of" in str(problem(kind, name, "OTHER"))


@each(ROWS, name_of)
def test_no_row_takes_other_types(kind: str, row: AttributeRow) -> None:
    others: tuple[object, ...] = (None, 1.5, b"x", [], {}, object)
    for value in others:
        assert row.name in str(problem(kind, row.name, value))


@each([(kind, row) for kind, row in ROWS if row.attribute.fixed], name_of)
def test_what_is_read_only_cannot_be_set(kind: str, row: AttributeRow) -> None:
    assert "is read-only" in str(problem(kind, row.name, row.default))


def test_a_number_is_no_truth_value_and_the_other_way_round() -> None:
    assert problem("queue", "inhibit_get", 1)
    assert problem("queue", "max_depth", True)


def test_an_attribute_that_is_not_there() -> None:
    assert "a queue has no attribute 'colour'" in str(problem("queue", "colour", 1))


@pytest.mark.parametrize("kind", KINDS)
def test_attributes_are_made_from_the_table_alone(kind: str) -> None:
    given = {row.name: row.default for row in KINDS[kind].values()}
    assert without_dates(TYPES[kind](**given)) == given
