"""Defaults as bytes: each type's, and a bound on what a short schema stands for."""

import json
from time import thread_time
from typing import Any

import pytest

from adapter.errors import InvalidSchema
from adapter.registry.default_bytes import BYTES_MAX, PARTS_MAX, DefaultBytes, named_types
from adapter.registry.frame import parse
from adapter.registry.resolution import Resolution
from adapter.registry.values import parsed
from adapter.storage.format import avro
from tests.support.avro_cases import ENUM, FIXED, record

UNFIT: list[tuple[Any, Any]] = [
    ("int", 2**31), ("int", True), ("int", 1.0), ("long", 2**63), ("float", 10**400),
    ("boolean", 0), ("string", 5), ("bytes", "\u0100"), ("null", 0), (FIXED, "abc"), (FIXED, None),
    (ENUM, "GREEN"), (["int", "null"], "x"), ({"type": "array", "items": "int"}, ["x"]),
    ({"type": "map", "values": "int"}, [1]), (record("R", a="int"), {}), ("float", "nan"),
]  # fmt: skip


def written(kind: Any, default: Any) -> bytes:
    schema = parse(json.dumps(kind), "it")
    return DefaultBytes(dict(named_types(schema))).of(schema, default)


def test_defaults_are_their_bytes() -> None:
    assert written("int", -(2**31)) == b"\xff\xff\xff\xff\x0f"
    assert written("double", "NaN")[-1:] == b"\x7f"
    assert written(["string", "null"], None) == b"\x02"
    assert written({"type": "map", "values": "int"}, {}) == b"\0"
    assert written(record("R", a="int", b=(FIXED, "ab")), {"a": 1}) == b"\x02ab"


@pytest.mark.parametrize(("kind", "default"), UNFIT)
def test_what_does_not_fit_is_refused(kind: Any, default: Any) -> None:
    with pytest.raises(ValueError, match=r"is no|is of no type|has no|encode"):
        written(kind, default)


def nested(levels: int) -> dict[str, Any]:
    """Each record has two fields of the one below, and their defaults leave all to it."""
    kind: Any = record("L0", x=("int", 1))
    for level in range(1, levels):
        kind = record(f"L{level}", a=(kind, {}), b=(f"L{level - 1}", {}))
    return kind if isinstance(kind, dict) else {}


def test_a_short_schema_stands_for_no_long_defaults() -> None:
    levels = PARTS_MAX.bit_length() + 1
    schema = json.dumps(record("Top", d=(nested(levels), {})))
    assert len(schema) < 3_000
    with pytest.raises(InvalidSchema, match="have more than 100,000 values"):
        parsed(1, schema, "it")
    with pytest.raises(InvalidSchema, match="have more than 100,000 values"):
        Resolution(json.dumps(record("Top")), schema)
    with pytest.raises(InvalidSchema, match="bytes"):
        written({"type": "array", "items": "string"}, ["x" * (BYTES_MAX // 2)] * 3)


def test_an_enum_of_many_symbols_costs_little() -> None:
    symbols = [f"s{number:x}" for number in range(20_000)]
    many = {"type": "enum", "name": "Many", "symbols": symbols}
    began_s = thread_time()
    data = written({"type": "array", "items": many}, symbols[-1:] * 50_000)
    assert thread_time() - began_s < 5.0  # a tenth of a second; searched one by one, half a minute
    assert data == avro.long(50_000) + avro.long(19_999) * 50_000 + b"\0"


def test_a_default_that_is_nested_too_deep() -> None:
    line = record("Line", next=["null", "Line"])
    default: Any = {"next": None}
    for _ in range(900):
        default = {"next": default}
    with pytest.raises(InvalidSchema, match="nested too deep"):
        parsed(1, json.dumps(record("Top", d=(line, default))), "it")
