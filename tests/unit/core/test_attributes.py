"""The attribute table: every row is whole, and says what is wrong with a value."""

import msgspec
import pytest

from adapter.core.attributes import QUEUE_ATTRIBUTES, QueueAttributes, Row, problem_with

ROWS = list(QUEUE_ATTRIBUTES.values())


def name_of(row: Row) -> str:
    return row.name


def test_there_is_a_row_for_each_field() -> None:
    assert tuple(QUEUE_ATTRIBUTES) == QueueAttributes.__struct_fields__


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_a_row_is_whole(row: Row) -> None:
    attribute = row.attribute
    assert attribute.keyword == attribute.keyword.upper()
    assert attribute.number > 0
    assert attribute.meaning
    bounded = attribute.low is not None and attribute.high is not None
    assert bounded == (row.type is int)
    assert (attribute.length is not None) == (row.type is str and not row.choices)


@pytest.mark.parametrize("what", ["keyword", "number"])
def test_rows_are_told_apart_by(what: str) -> None:
    assert len({getattr(row.attribute, what) for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_defaults_are_as_the_table_demands(row: Row) -> None:
    assert problem_with(row.name, row.default) is None
    assert getattr(QueueAttributes(), row.name) == row.default


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_values_at_and_over_the_bounds(row: Row) -> None:
    attribute = row.attribute
    if attribute.low is not None and attribute.high is not None:
        for good in (attribute.low, attribute.high):
            assert problem_with(row.name, good) is None
        for bad in (attribute.low - 1, attribute.high + 1):
            assert f"{row.name} takes {attribute.low} to" in str(problem_with(row.name, bad))
    if attribute.length is not None:
        assert problem_with(row.name, "x" * attribute.length) is None
        assert "at most" in str(problem_with(row.name, "x" * (attribute.length + 1)))
    for choice in row.choices:
        assert problem_with(row.name, choice) is None
    if row.choices:
        assert "one of" in str(problem_with(row.name, "OTHER"))


@pytest.mark.parametrize("row", ROWS, ids=name_of)
@pytest.mark.parametrize("value", [None, 1.5, b"x", [], {}, object])
def test_no_row_takes_other_types(row: Row, value: object) -> None:
    assert row.name in str(problem_with(row.name, value))


def test_a_number_is_no_truth_value_and_the_other_way_round() -> None:
    assert problem_with("inhibit_get", 1)
    assert problem_with("max_depth", True)


def test_an_attribute_that_is_not_there() -> None:
    assert "no attribute" in str(problem_with("colour", 1))


def test_attributes_are_made_from_the_table_alone() -> None:
    given = {row.name: row.default for row in ROWS}
    assert msgspec.structs.asdict(QueueAttributes(**given)) == given
