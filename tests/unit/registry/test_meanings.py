"""Values that have a logical type are read as others only if their numbers mean the same."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest

from adapter.errors import SchemaIncompatible
from adapter.registry import avro_schema, meanings
from adapter.registry.resolution import Resolution

TIMES: dict[str, dict[str, str]] = {
    logical: {"type": kind, "logicalType": logical} for kind, logical in meanings.UNITS
}


def decimal(scale: int, precision: int = 9) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


def are_read(writer: Any, reader: Any, data: bytes) -> bool:
    """Whether both judges say so: the one of schemas, and the one of values."""
    try:
        Resolution(json.dumps(writer), json.dumps(reader)).rewrite(data)
        found = True
    except SchemaIncompatible:
        found = False
    schemas = [avro_schema.parse(json.dumps(one)) for one in (reader, writer)]
    assert (avro_schema.unreadable(*schemas) == []) == found
    return found


@pytest.mark.parametrize("wrap", ["itself", "nullable", "array", "field"])
def test_times_of_another_unit_are_not_read_as_each_other(wrap: str) -> None:
    def wrapped(one: Any) -> Any:
        return {
            "itself": one,
            "nullable": ["null", one],
            "array": {"type": "array", "items": one},
            "field": {"type": "record", "name": "R", "fields": [{"name": "at", "type": one}]},
        }[wrap]

    data = {"itself": b"\x02", "nullable": b"\x02\x02", "array": b"\x02\x02\0", "field": b"\x02"}
    for writer, reader in permutations(TIMES.values(), 2):
        same_unit = meanings.meaning(writer) == meanings.meaning(reader)
        same_unit &= writer["type"] == reader["type"]
        assert are_read(wrapped(writer), wrapped(reader), data[wrap]) == same_unit
    for one in TIMES.values():
        assert are_read(wrapped(one), wrapped(one), data[wrap])
        assert are_read(wrapped(one["type"]), wrapped(one), data[wrap]), "it may be added"
        assert are_read(wrapped(one), wrapped(one["type"]), data[wrap]), "or taken away"


def test_a_decimal_keeps_its_scale_and_may_get_longer() -> None:
    for scale in (0, 1, 3):
        assert are_read(decimal(2), decimal(scale), b"\x02\x07") is False
    assert are_read(decimal(2), decimal(2, 12), b"\x02\x07")
    assert are_read(decimal(2), "bytes", b"\x02\x07")
    assert are_read(["null", decimal(2)], ["null", decimal(1)], b"\x02\x02\x07") is False


@pytest.mark.parametrize(
    ("node", "is_valid"),
    [
        (decimal(9), True),
        (decimal(10), False),
        (decimal(0, 0), False),
        (decimal(-1), False),
        (decimal(True), False),
        ({"type": "bytes", "logicalType": "decimal", "precision": "4"}, False),
        ({"type": "bytes", "logicalType": "decimal"}, False),
        ({"type": "string", "logicalType": "decimal", "precision": 4}, False),
        ({"type": "fixed", "size": 2, "logicalType": "decimal", "precision": 4}, True),
        ({"type": "fixed", "size": 2, "logicalType": "decimal", "precision": 5}, False),
        ({"type": "fixed", "size": 0, "logicalType": "decimal", "precision": 1}, False),
        ({"type": "fixed", "size": 10**9, "logicalType": "decimal", "precision": 10**9}, True),
    ],
)
def test_which_decimals_are_valid(node: dict[str, Any], is_valid: bool) -> None:
    assert meanings.is_decimal(node) == is_valid
    assert bool(meanings.meaning(node)) == is_valid


def test_what_says_nothing_of_its_numbers() -> None:
    for node in ({"type": "int"}, {"type": "long", "logicalType": "date"}, {"type": ["null"]}):
        assert meanings.meaning(node) == ""
    assert meanings.differ("int", TIMES["date"]) == ""
