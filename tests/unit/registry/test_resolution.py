"""Values of one schema become values of another one as Java resolves them: what a union keeps, what
is widened, what gets a default; and no bytes, however wrong, are read for other ones.

tests/spark/test_resolution.py asks Java itself about the same cases.
"""

import io
import json
import struct
from contextlib import suppress
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.errors import InvalidSchema, NotAvro, SchemaIncompatible
from adapter.registry.bounded_values import DEPTH_MAX
from adapter.registry.resolution import PAIRS_MAX, Resolution
from adapter.storage.format import avro
from tests.support.avro_cases import CASES, REFUSED, Case, record, written

LINE = record("Line", next=["null", "Line"])


def rewritten(writer: Any, reader: Any, data: bytes) -> bytes:
    return Resolution(json.dumps(writer), json.dumps(reader)).rewrite(data)


def value_of(schema: Any, data: bytes) -> Any:
    source = io.BytesIO(data)
    parsed = fastavro.parse_schema(schema, {})
    value = fastavro.schemaless_reader(source, parsed, None, return_named_type=True)
    assert not source.read()
    return value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_value_is_what_java_makes_of_it(case: Case) -> None:
    for value, expected in case.values:
        data = written(case.writer, value)
        assert value_of(case.reader, rewritten(case.writer, case.reader, data)) == expected


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_what_has_no_place_is_refused(case: Case) -> None:
    for value, why in case.values:
        with pytest.raises(SchemaIncompatible, match=why):
            rewritten(case.writer, case.reader, written(case.writer, value))


def test_only_the_value_that_meets_a_type_without_a_place_is_refused() -> None:
    at = Resolution(json.dumps(["int", "string"]), json.dumps("long"))
    assert at.rewrite(written(["int", "string"], 7)) == b"\x0e"
    with pytest.raises(SchemaIncompatible, match="string is no long"):
        at.rewrite(written(["int", "string"], "7"))


PRIMITIVES = {
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "string": st.text(),
    "bytes": st.binary(),
    "null": st.none(),
}


@st.composite
def schemas_and_values(draw: st.DrawFn) -> tuple[Any, Any]:
    """A type of some depth, and a value of it in fastavro's notation."""
    kind = draw(st.sampled_from([*PRIMITIVES, "array", "map", "record", "union", "enum", "fixed"]))
    number = draw(st.integers(0, 10**9))
    if kind in PRIMITIVES:
        return kind, draw(PRIMITIVES[kind])
    if kind == "enum":
        schema = {"type": "enum", "name": f"E{number}", "symbols": ["A", "B"]}
        return schema, draw(st.sampled_from("AB"))
    if kind == "fixed":
        return {"type": "fixed", "name": f"F{number}", "size": 3}, draw(
            st.binary(min_size=3, max_size=3)
        )
    inner, value = draw(schemas_and_values())
    if kind == "array":
        return {"type": "array", "items": inner}, [value] * draw(st.integers(0, 3))
    if kind == "map":
        return {"type": "map", "values": inner}, dict.fromkeys(draw(st.sets(st.text())), value)
    if kind == "record":
        other, more = draw(schemas_and_values())
        return record(f"R{number}", one=inner, two=other), {"one": value, "two": more}
    if inner == "null" or isinstance(inner, list):
        return inner, value
    return [inner, "null"], value


@given(schemas_and_values())
def test_values_of_the_same_schema_keep_their_bytes(drawn: tuple[Any, Any]) -> None:
    schema, value = drawn
    try:
        data = written(schema, value)
    except fastavro.schema.SchemaParseException:
        return  # two types of one name
    assert rewritten(schema, schema, data) == data


@given(schemas_and_values())
def test_a_field_that_is_passed_over_and_one_that_is_new(drawn: tuple[Any, Any]) -> None:
    schema, value = drawn
    both = record("Top", kept="long", gone=schema, last="string")
    try:
        data = written(both, {"kept": 5, "gone": value, "last": "end"})
    except fastavro.schema.SchemaParseException:
        return
    new = {"name": "new", "type": ["null", "int"], "default": None}
    reader = {
        "type": "record",
        "name": "Top",
        "fields": [new, *record("", last="string", kept="double")["fields"]],
    }
    assert value_of(reader, rewritten(both, reader, data)) == {
        "new": None,
        "last": "end",
        "kept": 5.0,
    }


@given(schemas_and_values(), st.data())
def test_a_value_that_is_cut_off_is_no_value(drawn: tuple[Any, Any], data: st.DataObject) -> None:
    schema, value = drawn
    try:
        whole = written(schema, value)
    except fastavro.schema.SchemaParseException:
        return
    if whole:
        cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
        with pytest.raises(NotAvro):
            rewritten(schema, schema, cut)


@given(st.binary(max_size=40))
def test_any_bytes_are_a_value_or_are_refused(data: bytes) -> None:
    schema = record("R", one=["null", "string", LINE], two={"type": "map", "values": "int"})
    with suppress(NotAvro):
        rewritten(schema, record("R", two={"type": "map", "values": "double"}), data)


def test_a_few_bytes_do_not_stand_for_a_large_value() -> None:
    nulls = {"type": "array", "items": "null"}
    with pytest.raises(NotAvro, match="more values than its bytes allow"):
        rewritten(nulls, nulls, b"\x80\x94\xeb\xdc\x03\x00")
    with pytest.raises(NotAvro, match="nested more than"):
        rewritten(LINE, LINE, b"\x02" * (DEPTH_MAX + 1) + b"\x00")
    assert rewritten(LINE, LINE, b"\x02\x02\x00") == b"\x02\x02\x00"
    empty = {"type": "array", "items": record("E")}
    long = {"name": "s", "type": "string", "default": "x" * 100_000}
    reader = {"type": "array", "items": {"type": "record", "name": "E", "fields": [long]}}
    with pytest.raises(NotAvro, match="too long when it is decoded"):
        rewritten(empty, reader, b"\xd0\x0f\x00")


def test_defaults_may_be_longer_than_what_was_written() -> None:
    lines = {"type": "array", "items": record("Line", a="int")}
    reader = {"type": "array", "items": record("Line", a="int", s=("string", "x" * 30))}
    count = 40_000
    data = avro.long(count) + b"\x02" * count + b"\0"
    found = rewritten(lines, reader, data)
    assert found == avro.long(count) + (b"\x02" + avro.data(b"x" * 30)) * count + b"\0"


def test_bytes_behind_a_value_are_refused() -> None:
    with pytest.raises(NotAvro, match="4 bytes stand behind it"):
        rewritten("int", "long", b"\x02junk")


@pytest.mark.parametrize(
    ("writer", "reader", "data", "why"),
    [
        ("string", "string", b"\x02\xff", "not UTF-8"),
        ("bytes", "string", b"\x02\xff", "not UTF-8"),
        (
            {"type": "map", "values": "int"},
            {"type": "map", "values": "long"},
            b"\2\2\xff\0\0",
            "UTF",
        ),
        ("boolean", "boolean", b"\x02", "no boolean"),
    ],
)
def test_what_the_reader_could_not_read_is_not_written(
    writer: Any, reader: Any, data: bytes, why: str
) -> None:
    with pytest.raises(NotAvro, match=why):
        rewritten(writer, reader, data)
    assert rewritten("string", "bytes", b"\x02\xff") == b"\x02\xff"


def test_a_type_of_many_columns_is_compared_once() -> None:
    columns = record("T", **{f"c{number}": ["null", "string"] for number in range(100)})
    fields: dict[str, Any] = {f"x{number}": ["null", "T"] for number in range(300)}
    writer = record("W", first=["null", columns], **fields)
    assert rewritten(writer, {**writer, "doc": "another"}, bytes(301)) == bytes(301)


def test_types_that_differ_within_a_type_that_differs_are_told_apart() -> None:
    # What was found out about B while A was compared, which is in it, counts only if A is alike.
    b = record("B", a=["null", "A"])
    writer = record("Top", one=["null", record("A", b=["null", b], x="int")], two=["null", "B"])
    reader = json.loads(json.dumps(writer).replace('"x", "type": "int"', '"x", "type": "long"'))
    for data in (b"\x02\x00\x06\x00", b"\x00\x02\x02\x00\x06", b"\x02\x02\x00\x06\x02\x00"):
        assert rewritten(writer, reader, data) == data
    wrong = json.loads(json.dumps(writer).replace('"x", "type": "int"', '"x", "type": "string"'))
    with pytest.raises(SchemaIncompatible):
        rewritten(writer, wrong, b"\x00\x02\x02\x00\x06")


def test_what_is_passed_over_keeps_its_own_names() -> None:
    fields = [{"name": "a", "type": "int", "aliases": ["b"]}, {"name": "b", "type": "int"}]
    kinds = [
        {"type": "enum", "name": "E", "symbols": ["x"], "aliases": ["F"]},
        {"type": "enum", "name": "F", "symbols": ["y"]},
    ]
    for gone in ({"type": "record", "name": "R", "fields": fields}, ["int", *kinds]):
        data = b"\x02\x04\x00" if isinstance(gone, list) else b"\x02\x04\x06"
        assert rewritten(record("Top", k="int", gone=gone), record("Top", k="int"), data) == b"\x02"


def test_records_of_no_bytes_stand_for_no_large_value() -> None:
    kind: Any = record("L0")
    for level in range(1, 30):
        kind = record(f"L{level}", a=kind, b=f"L{level - 1}")
    with pytest.raises(NotAvro, match="more values than its bytes allow"):
        rewritten(kind, kind, b"")


def test_an_int_has_32_bits() -> None:
    for data in (b"\x80\x80\x80\x80\x10", b"\x80\x80\x80\x80\x80\x80\x80\x10"):
        for reader in ("int", "long", "float"):
            with pytest.raises(NotAvro, match="is not a number of 32 bits"):
                rewritten("int", reader, data)


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_long_becomes_the_nearest_float(value: int) -> None:
    (found,) = struct.unpack("<f", rewritten("long", "float", written("long", value)))
    bits = struct.unpack("<i", struct.pack("<f", abs(found)))[0]
    around = [struct.unpack("<f", struct.pack("<i", max(0, bits + by)))[0] for by in (-1, 1)]
    assert all(
        abs(int(found) - value) <= abs(int(one) * (-1 if value < 0 else 1) - value)
        for one in around
    )


def test_unions_of_many_types_are_refused_soon() -> None:
    many = [{"type": "enum", "name": f"E{number}", "symbols": ["A"]} for number in range(2_000)]
    others = [{**one, "name": f"F{one['name']}"} for one in many]
    with pytest.raises(InvalidSchema, match="pairs of types"):
        rewritten(many, others, b"\0")


def test_schemas_of_too_many_pairs_are_refused() -> None:
    many = [record(f"R{number}", **{f"f{number}": "int"}) for number in range(200)]
    others = [record(f"S{number}", **{f"g{number}": "int"}) for number in range(200)]
    assert len(many) * len(others) > PAIRS_MAX
    assert rewritten(many[0], [*others, many[0]], b"\x02") == b"\x90\x03\x02"
    with pytest.raises(InvalidSchema, match="pairs of types"):
        Resolution(
            json.dumps([record(one["name"], v="int") for one in many]),
            json.dumps([record(one["name"], v="long") for one in others]),
        )
    deep: Any = "int"
    for _ in range(5_000):
        deep = {"type": "array", "items": deep}
    with pytest.raises((InvalidSchema, RecursionError)):
        Resolution(json.dumps(deep), json.dumps(deep))
