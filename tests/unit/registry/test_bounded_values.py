"""Values that others wrote: read as fastavro reads them, and bounded whatever the bytes are."""

import io
import json
import struct
import time
import tracemalloc
from contextlib import suppress
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.errors import InvalidSchema, NotAvro
from adapter.registry.bounded_values import (
    DECIMAL_BYTES_MAX,
    DEPTH_MAX,
    SCHEMA_LENGTH_MAX,
    VALUES_LEAST,
    VALUES_MAX,
    ValueReader,
    json_of,
)
from adapter.registry.frame import FRAME

HEAD = FRAME.pack(0, 7)
TREE = {
    "type": "record",
    "name": "Tree",
    "fields": [{"name": "below", "type": {"type": "array", "items": "Tree"}}],
}
EVERYTHING: dict[str, Any] = {
    "type": "record",
    "name": "shop.Order",
    "fields": [
        {"name": "number", "type": "long"},
        {"name": "count", "type": "int"},
        {"name": "is_paid", "type": "boolean"},
        {"name": "weight", "type": "double"},
        {"name": "share", "type": "float"},
        {"name": "note", "type": ["null", "string"]},
        {"name": "raw", "type": "bytes"},
        {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 4}},
        {"name": "again", "type": "shop.Hash"},
        {"name": "tier", "type": {"type": "enum", "name": "Tier", "symbols": ["gold", "tin"]}},
        {"name": "tags", "type": {"type": "map", "values": "Tier"}},
        {"name": "lines", "type": {"type": "array", "items": ["null", "int", "string"]}},
        {"name": "before", "type": ["null", "shop.Order"]},
    ],
}
plain = st.fixed_dictionaries(
    {
        "number": st.integers(-(2**63), 2**63 - 1),
        "count": st.integers(-(2**31), 2**31 - 1),
        "is_paid": st.booleans(),
        "weight": st.floats(allow_nan=False),
        "share": st.floats(width=32, allow_nan=False),
        "note": st.none() | st.text(),
        "raw": st.binary(),
        "hash": st.binary(min_size=4, max_size=4),
        "again": st.binary(min_size=4, max_size=4),
        "tier": st.sampled_from(["gold", "tin"]),
        "tags": st.dictionaries(st.text(), st.sampled_from(["gold", "tin"]), max_size=5),
        "lines": st.lists(st.none() | st.integers(-9, 9) | st.text(), max_size=9),
        "before": st.none(),
    }
)


def frame(schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema, {}), value)
    return HEAD + out.getvalue()


def reader(schema: Any) -> ValueReader:
    return ValueReader(json.dumps(schema), "schema 7")


def refusal(schema: Any, data: bytes) -> str:
    with pytest.raises(NotAvro) as refused:
        reader(schema).read(HEAD + data)
    return refused.value.text


def varint(number: int) -> bytes:
    rest, out = number << 1 ^ number >> 63, bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


@given(plain, plain)
def test_values_are_what_was_written(value: dict[str, Any], before: dict[str, Any]) -> None:
    whole = value | {"before": before}
    assert reader(EVERYTHING).read(frame(EVERYTHING, whole)) == whole


@given(st.binary(max_size=200))
def test_whatever_the_bytes_are_they_are_read_or_refused(data: bytes) -> None:
    for schema in (EVERYTHING, TREE, {"type": "map", "values": "bytes"}):
        one = reader(schema)
        with suppress(NotAvro):
            json_of(one.read(HEAD + data))


def test_a_name_means_a_type_in_its_namespace() -> None:
    inner = {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": "int"}]}
    schema = {
        "type": "record",
        "name": "Outer",
        "namespace": "a.b",
        "fields": [{"name": "one", "type": inner}, {"name": "two", "type": "Inner"}],
    }
    value = {"one": {"x": 1}, "two": {"x": 2}}
    assert reader(schema).read(frame(schema, value)) == value


def test_blocks_that_say_their_size_are_read() -> None:
    data = varint(-2) + varint(2) + varint(5) + varint(6) + varint(1) + varint(7) + varint(0)
    assert reader({"type": "array", "items": "int"}).read(HEAD + data) == [5, 6, 7]


@pytest.mark.parametrize(
    ("precision", "scale", "value", "found"),
    [
        (15, 2, "9999999999999.99", 9999999999999.99),
        (9, 2, "-0.05", -0.05),
        (9, 0, "-12", -12),
        (16, 2, "12.50", "12.50"),
        (40, 10, "-123456789012345678901234567890.0123456789", None),
        (30, 3, "0.001", "0.001"),
        (30, 30, "0.000000000000000000000000000001", None),
    ],
)
@pytest.mark.parametrize("kind", ["bytes", "fixed"])
def test_decimals(kind: str, precision: int, scale: int, value: str, found: object) -> None:
    schema: dict[str, Any] = {
        "type": kind, "logicalType": "decimal", "precision": precision, "scale": scale
    }  # fmt: skip
    if kind == "fixed":
        schema |= {"name": "D", "size": 20}
    read = reader(schema).read(frame(schema, Decimal(value)))
    assert read == (value if found is None else found)
    assert type(read) is type(value if found is None else found)


def test_a_decimal_beyond_its_precision_is_text() -> None:
    schema = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}
    data = (10**17).to_bytes(9, "big")
    assert reader(schema).read(HEAD + varint(9) + data) == "1000000000000000.00"
    assert reader(schema).read(HEAD + varint(0)) == 0.0
    long = bytes(DECIMAL_BYTES_MAX + 1)
    assert refusal(schema, varint(len(long)) + long) == "a decimal has 513 bytes, 512 at most"


@pytest.mark.parametrize("more", [{}, {"scale": 5}, {"precision": "4"}, {"precision": 4.5}])
def test_a_decimal_that_is_not_valid_is_bytes(more: dict[str, Any]) -> None:
    schema = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2} | more
    if not more:
        del schema["precision"]
    try:
        one = reader(schema)
    except InvalidSchema:
        return
    assert one.read(HEAD + varint(1) + b"\x05") == b"\x05"


def test_other_logical_types_are_what_they_are_stored_as() -> None:
    schema = {"type": "long", "logicalType": "timestamp-micros"}
    assert reader(schema).read(HEAD + varint(1_767_225_600_000_000)) == 1_767_225_600_000_000
    assert reader({"type": "int", "logicalType": "date"}).read(HEAD + varint(-1)) == -1
    text = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
    uuid = {"type": "string", "logicalType": "uuid"}
    assert reader(uuid).read(HEAD + varint(36) + text.encode()) == text


@pytest.mark.parametrize(
    ("schema", "data", "says"),
    [
        ("string", varint(10) + b"short", "10 bytes are due at byte 6, of 11"),
        ("string", varint(-1), "-1 bytes are due"),
        ("bytes", varint(2**62), f"{2**62} bytes are due"),
        ("string", varint(1) + b"\xff", "a text before byte 7 is not UTF-8"),
        ("long", b"", "no number of 64 bits is at byte 5, of 5"),
        ("long", b"\x80" * 9, "no number of 64 bits"),
        ("long", b"\xff" * 9 + b"\x02", "no number of 64 bits"),
        ("long", b"\x80" * 1_000_000 + b"\x01", "no number of 64 bits"),
        ("int", varint(2**31), "2147483648 is not a number of 32 bits"),
        ("double", b"1234", "8 bytes are due"),
        ("boolean", b"", "1 bytes are due"),
        ("boolean", b"\x02", "no boolean is at byte 5"),
        (["null", "int"], varint(2), "branch 2 is not among the 2 of a union"),
        (["null", "int"], varint(-1), "branch -1 is not"),
        ({"type": "enum", "name": "E", "symbols": ["a"]}, varint(1), "symbol 1 is not among the 1"),
        ("int", varint(1) + b"more", "4 bytes stand behind it"),
        (TREE, varint(1) * 100 + varint(0), f"it is nested more than {DEPTH_MAX} times"),
    ],
)
def test_what_is_no_value_is_refused(schema: Any, data: bytes, says: str) -> None:
    assert says in refusal(schema, data)


def test_the_largest_numbers_are_read() -> None:
    for number in (2**63 - 1, -(2**63), 0, -1):
        assert reader("long").read(HEAD + varint(number)) == number
    assert reader("float").read(HEAD + struct.pack("<f", 1.5)) == 1.5
    assert json_of(reader("double").read(HEAD + struct.pack("<d", float("nan")))) == b"null"


NOTHING = {"type": "record", "name": "Nothing", "fields": []}
LONG = {"type": "record", "name": "Long", "fields": [{"name": "n" * 100_000, "type": "null"}]}
WIDE = {"type": "enum", "name": "Wide", "symbols": ["s" * 100_000]}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": "null"},
        {"type": "array", "items": NOTHING},
        {"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}},
        {"type": "array", "items": {"type": "array", "items": "null"}},
        {"type": "array", "items": LONG},
        {"type": "array", "items": WIDE},
        {"type": "map", "values": LONG},
    ],
)
@pytest.mark.parametrize("count", [2**62, VALUES_MAX, 20_000])
def test_a_few_bytes_are_never_a_large_value(schema: Any, count: int) -> None:
    one = reader(schema)
    size = 64 * 1024 if count == VALUES_MAX else 100
    tracemalloc.start()
    began_s = time.monotonic()
    try:
        with pytest.raises(NotAvro, match=r"more values|too long|bytes are due|no number"):
            one.read(HEAD + varint(count) + bytes(size))
        assert tracemalloc.get_traced_memory()[1] < 40 * 1024 * 1024
    finally:
        tracemalloc.stop()
    assert time.monotonic() - began_s < 30


@pytest.mark.parametrize(
    ("schema", "data", "says"),
    [
        ({"type": "array", "items": LONG}, varint(500) + varint(0), "too long"),
        ({"type": "array", "items": WIDE}, varint(99) + bytes(100), "too long"),
        ({"type": "map", "values": LONG}, varint(99) + bytes(100), "too long"),
        (
            {"type": "array", "items": {"type": "array", "items": "null"}},
            varint(100) + (varint(50) + varint(0)) * 100 + varint(0),
            "more values",
        ),
        (
            {"type": "array", "items": {"type": "fixed", "name": "F", "size": 100_000}},
            varint(1) + bytes(4_000),
            "too long|bytes are due",
        ),
    ],
)
def test_each_part_of_a_value_counts(schema: Any, data: bytes, says: str) -> None:
    with pytest.raises(NotAvro, match=says):
        reader(schema).read(HEAD + data)


def test_as_many_values_as_a_record_has_bytes_are_read() -> None:
    schema = {"type": "array", "items": "null"}
    count = VALUES_LEAST
    assert len(reader(schema).read(HEAD + varint(count) + varint(0))) == count
    schema = {"type": "array", "items": "int"}
    data = varint(VALUES_MAX - 1) + varint(1) * (VALUES_MAX - 1) + varint(0)
    assert len(reader(schema).read(HEAD + data)) == VALUES_MAX - 1


def test_records_of_ordinary_names_are_read() -> None:
    names = [f"billing_address_country_code_no_{number:02}" for number in range(20)]
    fields = [{"name": name, "type": ["null", "string"]} for name in names]
    schema = {"type": "array", "items": {"type": "record", "name": "R", "fields": fields}}
    data = varint(3_000) + bytes(20 * 3_000) + varint(0)
    assert reader(schema).read(HEAD + data) == [dict.fromkeys(names)] * 3_000


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "7",
        '"unknown"',
        '{"type": "array"}',
        '{"type": "fixed", "name": "F", "size": "x"}',
        "[" * 100_000,
        '{"type":"array","items":' * 3_000 + '"int"' + "}" * 3_000,
        '"' + "x" * SCHEMA_LENGTH_MAX + '"',
    ],
)
def test_what_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchema, match="schema 7"):
        ValueReader(text, "schema 7")


def test_json() -> None:
    value: dict[str, Any] = {
        "text": "é\n",
        "raw": b"\xff",
        "none": None,
        "list": [1, 2.5, True],
        "map": {"a": {}},
    }
    expected = value | {"raw": "/w=="}
    assert json.loads(json_of(value)) == expected
