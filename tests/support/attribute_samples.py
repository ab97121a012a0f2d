"""Values that an attribute takes, from the table: what every language must carry there and back."""

from collections.abc import Iterator
from typing import Any

from adapter.administration.values import NAMES, members
from adapter.core.attributes.table import AttributeRow

TEXT = "it's (x), Y*"


def samples(row: AttributeRow) -> list[Any]:
    """Some values of a row, its bounds among them."""
    if members(row):
        return list(members(row))
    if row.type is int:
        low, high = row.attribute.low, row.attribute.high
        assert low is not None
        assert high is not None, row.name
        return [low, high]
    if row.attribute.keyword == NAMES:
        return ["", "A", "A,B.C"]
    longest = row.attribute.length
    assert longest is not None, row.name
    return ["", TEXT if longest != 48 else "A.b_C", "X" * longest]


def given_rows(table: dict[str, AttributeRow]) -> Iterator[AttributeRow]:
    """The rows that can be given."""
    return (row for row in table.values() if not row.attribute.fixed)
