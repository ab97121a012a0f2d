"""Defaults of every type: those that are values of it, and those that are not."""

import json
from typing import Any

import pytest

from adapter.errors import InvalidSchema
from adapter.registry import avro_schema

RECORD = {"type": "record", "name": "P", "fields": [{"name": "x", "type": "int"}]}
EASY = {"type": "record", "name": "P", "fields": [{"name": "x", "type": "int", "default": 1}]}
ENUM = {"type": "enum", "name": "E", "symbols": ["A"]}
FIXED = {"type": "fixed", "name": "F", "size": 2}
INTS, BY_NAME = {"type": "array", "items": "int"}, {"type": "map", "values": "int"}

FIT: list[tuple[Any, Any]] = [
    ("null", None), ("boolean", True), ("int", 2**31 - 1), ("long", -(2**63)), ("float", 1),
    ("double", 1.5), ("double", "NaN"), ("bytes", "\u00ff"), (FIXED, "ab"), ("string", "x"),
    (ENUM, "A"), (INTS, []), (INTS, [1]), (BY_NAME, {"a": 1}), (["null", "int"], None),
    (["null", "int"], 3), (RECORD, {"x": 1}), (EASY, {}),
]  # fmt: skip
UNFIT: list[tuple[Any, Any]] = [
    ("null", 0), ("boolean", 1), ("int", 2**31), ("int", True), ("int", 1.0), ("int", "x"),
    ("long", 2**63), ("float", "x"), ("double", None), ("bytes", "\u0100"), (FIXED, "abc"),
    ("string", 1), (ENUM, "B"), (INTS, [1, "x"]), (INTS, 1), (BY_NAME, {"a": "x"}),
    (["null", "int"], "x"), (RECORD, {}), (RECORD, {"x": "y"}), (RECORD, 1),
]  # fmt: skip


def schema(kind: Any, default: Any) -> str:
    fields = [{"name": "a", "type": kind, "default": default}]
    return json.dumps({"type": "record", "name": "R", "fields": fields})


@pytest.mark.parametrize(("kind", "default"), FIT, ids=str)
def test_a_default_that_is_a_value_is_taken(kind: Any, default: Any) -> None:
    avro_schema.canonical(schema(kind, default))


@pytest.mark.parametrize(("kind", "default"), UNFIT, ids=str)
def test_a_default_that_is_none_is_refused(kind: Any, default: Any) -> None:
    with pytest.raises(InvalidSchema, match=r"R\.a"):
        avro_schema.canonical(schema(kind, default))


@pytest.mark.parametrize("wrap", ["array", "map", "union", "record"])
def test_a_wrong_default_is_found_wherever_it_is(wrap: str) -> None:
    wrong = json.loads(schema("int", "x"))
    outside: Any = {
        "array": {"type": "array", "items": wrong},
        "map": {"type": "map", "values": wrong},
        "union": ["null", wrong],
        "record": {"type": "record", "name": "Q", "fields": [{"name": "q", "type": wrong}]},
    }[wrap]
    with pytest.raises(InvalidSchema, match=r"R\.a"):
        avro_schema.canonical(json.dumps(outside))


def test_a_schema_that_holds_itself_comes_to_an_end() -> None:
    fields = [{"name": "next", "type": ["null", "R"], "default": None}]
    avro_schema.canonical(json.dumps({"type": "record", "name": "R", "fields": fields}))


def levels(count: int) -> str:
    """Records of which each has a field of the next one inline, and one that names it again."""
    kind: Any = "int"
    for number in range(count):
        again = f"L{number - 1}" if number else "int"
        fields = [{"name": "a", "type": kind}, {"name": "b", "type": again}]
        kind = {"type": "record", "name": f"L{number}", "fields": fields}
    return json.dumps(kind)


def test_a_type_that_is_named_again_is_judged_once() -> None:
    """It took twice as long with each level: hours for these."""
    assert avro_schema.canonical(levels(60))


def nested(depth: int) -> str:
    """Two records that contain each other by unions, and a default that goes down in them."""
    other = {"type": "record", "name": "B", "fields": [{"name": "f", "type": ["int", "A", "B"]}]}
    default: Any = "x"
    for _ in range(depth):
        default = {"f": default}
    fields = [
        {"name": "f", "type": ["int", "A", other]},
        {"name": "g", "type": ["A", "B"], "default": default},
    ]
    return json.dumps({"type": "record", "name": "A", "fields": fields})


def test_a_default_is_judged_once_by_each_type() -> None:
    with pytest.raises(InvalidSchema, match=r"the default of A\.g is not"):
        avro_schema.canonical(nested(60))


SIZES = [{"type": "fixed", "name": f"F{n}", "size": 5_000} for n in range(1_000)]
ONES = [{"name": f"f{n}", "type": "int", "default": 1} for n in range(1_000)]
MANY = {"type": "array", "items": {"type": "record", "name": "P", "fields": ONES}}
LONG: dict[str, Any] = {
    "bytes of many sizes": (SIZES, "\u00ff" * 4_999 + "\u0100"),
    "records with defaults": (MANY, [{}] * 5_000),
}


@pytest.mark.parametrize("long", LONG)
def test_judging_defaults_ends(long: str) -> None:
    kind, default = LONG[long]
    with pytest.raises(InvalidSchema, match="use unions of fewer types, or shorter defaults"):
        avro_schema.canonical(schema(kind, default))
