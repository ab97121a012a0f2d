"""Which schema a body names, and what is said of a body in no frame, or in another one."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter.errors import InvalidSchema, NotAvro
from adapter.registry import avro_schema, values
from adapter.registry.bounded_values import ValueReader
from adapter.registry.frame import FRAME, ID_MAX, MAGIC, parse, schema_id_of, written_frame
from adapter.registry.resolution import Resolution
from tests.support.examples import examples


@pytest.mark.parametrize("schema_id", [1, 7, ID_MAX])
def test_a_body_names_its_schema(schema_id: int) -> None:
    assert schema_id_of(FRAME.pack(MAGIC, schema_id)) == schema_id


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "empty"),
        (b"plain text", "begins with 706c61696e"),
        (b"\0\0\0", "standard frame"),
        (b"\x03\x00" + bytes(16), "AWS Glue"),
        (b"\x01" + bytes(16), "GUID"),
        (b"\0" + bytes(8), "names schema 0"),
        (b"\0\xff\xff\xff\xff", "names schema 4294967295"),
    ],
)
def test_a_body_in_no_frame_says_why(body: bytes, why: str) -> None:
    with pytest.raises(NotAvro, match=why):
        schema_id_of(body)


@pytest.mark.parametrize("text", ["", "{", "[]x", "17", '{"type": "record"}', '"nothing"'])
def test_what_is_no_schema_is_refused_by_its_name(text: str) -> None:
    with pytest.raises(InvalidSchema, match=r"^the schema of A is not a valid Avro schema: "):
        parse(text, "the schema of A")


@pytest.mark.parametrize("schema_id", [0, -1, ID_MAX + 1, 2**32])
def test_a_number_that_no_body_can_name_is_not_written(schema_id: int) -> None:
    with pytest.raises(NotAvro, match="that no body can name"):
        written_frame(schema_id)


@pytest.mark.parametrize("schema_id", [1, ID_MAX])
def test_what_is_written_is_read(schema_id: int) -> None:
    assert schema_id_of(written_frame(schema_id)) == schema_id


JSON = st.sampled_from((None, 0, 1, -1, 1.5, True, "", "x", "\u00ff", "NaN", "X", 2**40))
NUMBERS = st.sampled_from((0, 1, 2, 5, 9, -1, "4", 4.0, True, None, 2_000))
LOGICAL = st.sampled_from(
    (*("decimal",) * 6, "date", "uuid", "timestamp-millis", "time-micros", "duration", "own")
)
PROPERTIES = st.fixed_dictionaries(
    {},
    optional={
        "logicalType": LOGICAL,
        "precision": NUMBERS,
        "scale": NUMBERS,
        "connect.type": JSON,
        "doc": JSON,
    },
)
KINDS = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")


@st.composite
def types(draw: st.DrawFn) -> Any:
    """A type with properties that mean something, or nothing, or are not valid."""
    kind = draw(st.sampled_from((*KINDS, *KINDS, "enum", "fixed", "array", "map", "union")))
    number = draw(st.integers(0, 10**9))
    has = draw(PROPERTIES)
    if kind == "enum":
        default = draw(st.fixed_dictionaries({}, optional={"default": JSON}))
        return {"type": kind, "name": f"E{number}", "symbols": ["X", "Y"], **default, **has}
    if kind == "fixed":
        return {"type": kind, "name": f"F{number}", "size": draw(st.integers(0, 16)), **has}
    if kind in ("array", "map"):
        return {"type": kind, {"array": "items", "map": "values"}[kind]: draw(types()), **has}
    if kind == "union":
        return ["null", draw(types())]
    return {"type": kind, **has} if draw(st.booleans()) else kind


FIELDS = st.lists(
    st.builds(
        lambda kind, default: {"type": kind, **default},
        types(),
        st.fixed_dictionaries({}, optional={"default": JSON}),
    ),
    max_size=3,
)


@settings(max_examples=examples(500))
@given(FIELDS)
def test_what_a_registry_takes_all_readers_take(drawn: list[dict[str, Any]]) -> None:
    fields = [{"name": f"f{number}", **field} for number, field in enumerate(drawn)]
    text = json.dumps({"type": "record", "name": "R", "namespace": "a", "fields": fields})
    with suppress(InvalidSchema):
        kept = avro_schema.canonical(text)
        ValueReader(kept, "of a feed")
        values.parsed(1, kept, "of a program")
        Resolution(kept, kept)
        return
    with pytest.raises(InvalidSchema):
        avro_schema.canonical(text)


@pytest.mark.parametrize(
    "node",
    [
        {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 5},
        {"type": "bytes", "logicalType": "decimal", "precision": "4"},
        {"type": "fixed", "name": "F", "size": 1, "logicalType": "decimal", "precision": 4},
        {"type": "long", "logicalType": "decimal", "precision": 4, "scale": -1},
    ],
)
def test_a_decimal_that_is_not_valid_is_what_it_is_stored_as(node: dict[str, Any]) -> None:
    assert "logicalType" not in str(parse(json.dumps(node), "it"))
