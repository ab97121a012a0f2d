"""Values that an attribute takes, from the table: what every language must carry there and back."""

from collections.abc import Iterator
from typing import Any

from adapter.administration.values import NAMES, members
from adapter.core.attributes.table import AttributeRow

TEXT = "it's (x), Y*"
OF_TOPICS = {
    "TOPIC": ["orders", "a.b_C-1", "x" * 249],
    "QUEUE": ["A.b_C", "X" * 48],
    "WRITTEN": ["results", "c.b_C-1", "y" * 249],
    "BEGIN": ["EARLIEST", "LATEST", "2026-03-01T08:30:00Z"],
    "HEADERS": ["ALL", "NONE", "trace-*, colour", "x" * 4_096],
    "FIELDS": ["ALL", "NONE", "number, customer.tier", "x" * 4_096],
    "TOPICSTR": [""],
    "PRTYSEL": ["", "9: tier = 'it''s (x), Y*'; 1: \"a;b\" > 2", "1: a = '" + "x" * 4_087 + "'"],
}
"""Of feeds and exports: not every text can be one of these. A feed has no topic string beside its
queue."""
TOPIC_OF_EXPORT = 900_203
OWN_NUMBERS = range(900_100, 900_220)


def samples(row: AttributeRow) -> list[Any]:
    """Some values of a row, its bounds among them."""
    if row.attribute.number == TOPIC_OF_EXPORT:  # which no feed may read
        return list(OF_TOPICS["WRITTEN"])
    if row.attribute.number in OWN_NUMBERS and row.attribute.keyword in OF_TOPICS:
        return list(OF_TOPICS[row.attribute.keyword])
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


def needed(kind: str) -> dict[str, Any]:
    """Return what an object of a kind cannot be defined without, whatever else it has."""
    topics = {"feed": "orders", "export": "results"}
    found = {"topic": topics[kind], "queue": "Q"} if kind in topics else {}
    return found | {"value": "AVRO"} if kind == "feed" else found


def given_rows(table: dict[str, AttributeRow]) -> Iterator[AttributeRow]:
    """The rows that can be given."""
    return (row for row in table.values() if not row.attribute.fixed)
