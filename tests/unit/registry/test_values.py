"""Bodies in the standard frame: what is written is read, with which schema, and what is refused."""

import json
import struct
import time
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from adapter.errors import (
    InvalidSchema,
    InvalidType,
    NotAvro,
    RegistryNotAvailable,
    SchemaIncompatible,
    SchemaNotFound,
)
from adapter.registry import topic, values
from adapter.registry.bounded_values import VALUES_DECODED_MAX, ValueReader
from adapter.registry.frame import FRAME, schema_id_of, written_frame
from adapter.registry.topic import TopicRegistry
from adapter.registry.values import Values
from adapter.storage.format import avro


def schema(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "Order", "namespace": "shop", "fields": list(fields)}


ONE = schema({"name": "number", "type": "int"})
TWO = schema({"name": "number", "type": "int"}, {"name": "note", "type": "string", "default": "-"})
THREE = schema({"name": "note", "type": "string", "default": "?"})
OTHER = schema({"name": "price", "type": "int"})


class Counting(TopicRegistry):
    """Counts what is asked; `away`: answers no more."""

    asked = 0
    away = False

    def ask(self, *args: Any, **options: Any) -> Any:
        self.asked += 1
        if self.away:
            raise RegistryNotAvailable("away")
        return super().ask(*args, **options)


@pytest.fixture
def registry() -> Counting:
    from adapter.registry.log import MemorySchemaLog

    made = Counting(MemorySchemaLog())
    for one in (ONE, TWO, THREE):
        made.register("orders", json.dumps(one))
    return made


@pytest.fixture
def door(registry: Counting) -> Values:
    return Values(registry)


def test_a_body_is_a_zero_byte_the_id_and_avro(door: Values) -> None:
    body = door.encode({"number": 3}, ("orders", 1))
    assert body == b"\0" + struct.pack(">I", 1) + b"\x06"
    assert door.decode(body) == {"number": 3}


@pytest.mark.parametrize(
    "named", ["orders", ("orders", 3), 3, THREE, json.dumps(THREE, indent=1)], ids=str
)
def test_a_schema_is_named_in_every_way(door: Values, named: Any) -> None:
    assert schema_id_of(door.encode({"note": "n"}, named, "orders")) == 3


@pytest.mark.parametrize("kind", [str, Path])
def test_a_schema_is_named_by_its_file(door: Values, tmp_path: Path, kind: type) -> None:
    path = tmp_path / "order.avsc"
    path.write_text(json.dumps(TWO))
    body = door.encode({"number": 1, "note": "x"}, kind(path), "orders")
    assert schema_id_of(body) == 2
    assert door.decode(body, kind(path)) == {"number": 1, "note": "x"}


def test_one_reader_reads_what_all_versions_wrote(door: Values) -> None:
    bodies = [
        door.encode({"number": 1}, ("orders", 1)),
        door.encode({"number": 2, "note": "b"}, ("orders", 2)),
        door.encode({"note": "c"}, ("orders", 3)),
    ]
    assert [door.decode(body) for body in bodies] == [
        {"number": 1},
        {"number": 2, "note": "b"},
        {"note": "c"},
    ]
    assert [door.decode(body, 3) for body in bodies] == [
        {"note": "?"},
        {"note": "b"},
        {"note": "c"},
    ]
    assert door.decode(bodies[0], "orders") == {"note": "?"}
    assert door.decode(bodies[0], TWO) == {"number": 1, "note": "-"}


def test_a_reader_that_cannot_read_it_is_told_so(door: Values) -> None:
    body = door.encode({"number": 1}, ("orders", 1))
    with pytest.raises(SchemaIncompatible, match="schema 1 cannot be read"):
        door.decode(body, OTHER)


def test_a_schema_that_is_not_registered_is_registered_only_when_asked_to_be(
    door: Values, registry: Counting
) -> None:
    with pytest.raises(SchemaNotFound):
        door.encode({"price": 1}, OTHER, "prices")
    assert registry.subjects() == ["orders"]
    body = door.encode({"price": 1}, OTHER, "prices", register=True)
    assert schema_id_of(body) == registry.version("prices").schema_id == 4
    assert door.encode({"price": 1}, OTHER, "prices") == body


@pytest.mark.parametrize(
    "value", [{}, {"number": "x"}, {"number": 1, "nubmer": 2}, None, 5, {"number": None}], ids=str
)
def test_a_value_that_does_not_fit_is_refused(door: Values, value: Any) -> None:
    with pytest.raises(NotAvro, match="does not fit schema 1"):
        door.encode(value, ("orders", 1), "orders")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"\0\0\0", "standard frame"),
        (b"\0\0\0\0\x01", "not a value of schema 1"),
        (b"\0\0\0\0\x02\x02\x20ab", "not a value of schema 2"),
        (b"\0\0\0\0\x02\x02\x02\xff", "not a value of schema 2"),
    ],
)
def test_a_body_that_is_no_value_says_why(door: Values, body: bytes, why: str) -> None:
    with pytest.raises(NotAvro, match=why):
        door.decode(body)


def test_an_id_that_nobody_knows_is_said(door: Values) -> None:
    with pytest.raises(SchemaNotFound, match="99"):
        door.decode(b"\0\0\0\0\x63\0")


@pytest.mark.parametrize("named", ["{", '{"type":"nothing"}', {"type": "record"}, "no.avsc"])
def test_what_is_no_schema_is_said(door: Values, named: Any) -> None:
    with pytest.raises(InvalidSchema):
        door.decode(door.encode({"number": 1}, 1), named)


@pytest.mark.parametrize("named", [3.5, None, ("orders",), (1, "orders")], ids=str)
def test_what_names_no_schema_is_said(door: Values, named: Any) -> None:
    with pytest.raises(InvalidType):
        door.encode({"number": 1}, named, "orders")


def test_a_schema_is_asked_for_once(door: Values, registry: Counting) -> None:
    body = door.encode({"note": "n"}, "orders")
    before = registry.asked
    registry.away = True
    for _ in range(100):
        door.encode({"note": "n"}, "orders")
    assert registry.asked == before
    with pytest.raises(RegistryNotAvailable):
        door.decode(body)
    registry.away = False
    door.decode(body)
    registry.away = True
    assert door.decode(body) == {"note": "n"}


def test_the_latest_version_is_asked_for_again_after_a_while(
    door: Values, registry: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    door.encode({"note": "n"}, "orders")
    registry.set_level("NONE", "orders")
    registry.register("orders", json.dumps(OTHER))
    with pytest.raises(NotAvro):
        door.encode({"price": 1}, "orders")
    clock[0] += values.LATEST_S + 1
    assert schema_id_of(door.encode({"price": 1}, "orders")) == 4


def test_the_schemas_that_are_kept_are_bounded() -> None:
    registry = topic.in_memory()
    door = Values(registry, schemas_max=3)
    for number in range(10):
        fields = [{"name": f"f{number}", "type": "int", "default": 0}]
        body = door.encode(
            {}, {"type": "record", "name": "R", "fields": fields}, "s", register=True
        )
        assert door.decode(body) == {f"f{number}": 0}
    assert door.statistics()["kept"] == 3


TREE = {
    "type": "record",
    "name": "Tree",
    "fields": [{"name": "below", "type": ["null", "Tree"], "default": None}],
}


def test_a_body_that_would_be_too_deep_or_too_large_is_no_value(door: Values) -> None:
    head = door.encode({}, TREE, "trees", register=True)[: FRAME.size]
    assert door.decode(head + b"\x02\x00") == {"below": {"below": None}}
    with pytest.raises(NotAvro, match="nested more than 64 times"):
        door.decode(head + b"\x02" * 1_000_000 + b"\x00")
    nulls = {"type": "array", "items": "null"}
    head = door.encode([None], nulls, "nulls", register=True)[: FRAME.size]
    with pytest.raises(NotAvro, match="more values than its bytes allow"):
        door.decode(head + b"\x80\xda\xc4\x09\x00")


def test_bytes_behind_a_value_are_refused(door: Values) -> None:
    for value, kind in (({"number": 3}, ONE), ({}, TREE)):
        body = door.encode(value, kind, "any", register=True)
        with pytest.raises(NotAvro, match=r"4 bytes stand behind it\): read it as bytes"):
            door.decode(body + b"junk")
        door.registry.delete_subject("any")
    with pytest.raises(NotAvro, match="4 bytes stand behind it"):
        door.decode(door.encode({"number": 3}, ("orders", 1)) + b"junk", TWO)


KIDS: dict[str, Any] = {"type": "array", "items": "Kin"}
KIN = {
    "type": "record",
    "name": "Kin",
    "fields": [
        {"name": "v", "type": "int", "default": 1},
        {"name": "kids", "type": KIDS, "default": []},
        {"name": "d", "default": None, "type": ["null", {
            "type": "bytes", "logicalType": "decimal", "precision": 1_200
        }]},
        *({"name": f"billing_address_country_code_no_{number:02}", "type": ["null", "string"],
           "default": None} for number in range(20)),
    ],
}  # fmt: skip


def test_what_is_written_is_read_again(door: Values) -> None:
    small = {"type": "record", "name": "Kin", "fields": KIN["fields"][:2]}
    body = door.encode({"kids": [{}] * 40_000}, small, "small", register=True)
    assert len(door.decode(body)["kids"]) == 40_000
    body = door.encode({"kids": [{}] * 3_000}, KIN, "kin", register=True)
    assert len(door.decode(body)["kids"]) == 3_000
    long = Decimal(10) ** 1_150
    assert door.decode(door.encode({"d": long}, KIN, "kin"))["d"] == long


def test_what_no_reader_would_read_is_not_written(door: Values) -> None:
    nulls = {"type": "array", "items": "null"}
    with pytest.raises(NotAvro, match="more values than its bytes allow; nothing was put"):
        door.encode([None] * 2_000, nulls, "nulls", register=True)


def test_a_value_that_contains_itself_is_refused(door: Values) -> None:
    tree: dict[str, Any] = {}
    tree["below"] = tree
    with pytest.raises(NotAvro, match="contains itself, or is nested more than 64 times"):
        door.encode(tree, TREE, "trees", register=True)


def test_a_record_of_a_union_is_named(door: Values) -> None:
    kinds = [
        {"type": "record", "name": name, "fields": [{"name": "x", "type": "int"}]} for name in "AB"
    ]
    body = door.encode(("B", {"x": 2}), json.dumps(kinds), "kinds", register=True)
    assert door.decode(body) == {"x": 2}
    assert door.decode(body, named=True) == ("B", {"x": 2})


def test_a_whole_number_of_a_union_keeps_its_digits() -> None:
    registry = topic.in_memory()
    at = Values(registry)
    number = 2**53 + 1
    for name, schema in (
        ("a", ["null", "double", "long"]), ("b", ["float", "long"]), ("c", ["double", "int"]),
    ):  # fmt: skip
        registry.register(name, json.dumps(schema))
        found = at.decode(at.encode(number, name))
        assert found == (float(number) if name == "c" else number)
        assert at.decode(at.encode(7, name)) == 7
        assert isinstance(at.decode(at.encode(7, name)), int)
        assert at.decode(at.encode(0.5, name)) == 0.5
    registry.register("d", '["null", "long"]')
    body = at.encode(number, "d")
    assert at.decode(body, '["null", "double", "long"]') == number


def test_defaults_of_types_that_are_no_record_at_the_top() -> None:
    fixed = {"type": "fixed", "name": "F", "size": 1}
    fields = [
        {"name": "b", "type": "bytes", "default": "\u00ff"},
        {"name": "f", "type": fixed, "default": "\u00fe"},
        {"name": "g", "type": "F", "default": "\u00fd"},
    ]
    inner = {"type": "record", "name": "R", "fields": fields}
    defaults = {"b": b"\xff", "f": b"\xfe", "g": b"\xfd"}
    registry = topic.in_memory()
    at = Values(registry)
    for name, schema, value, wanted in (
        ("array", {"type": "array", "items": inner}, [{}], [defaults]),
        ("map", {"type": "map", "values": inner}, {"k": {}}, {"k": defaults}),
        ("union", ["null", inner], {}, defaults),
    ):
        registry.register(name, json.dumps(schema))
        assert at.decode(at.encode(value, name)) == wanted
        assert at.decode(at.encode(value, name), json.dumps(schema)) == wanted


def test_types_of_one_short_name_are_told_apart() -> None:
    enum = {"type": "enum", "name": "a.N", "symbols": ["X"]}
    other = {"type": "record", "name": "b.N", "fields": [{"name": "i", "type": "int"}]}
    registry = topic.in_memory()
    at = Values(registry)
    registry.register("s", json.dumps([enum, other]))
    for value in ("X", {"i": 5}):
        assert at.decode(at.encode(value, "s"), json.dumps([enum, other])) == value


BOTH = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
FOUR = {"type": "fixed", "name": "F", "size": 4}
HOSTILE: dict[str, tuple[Any, Any, bytes]] = {
    "branch": (
        ["null", "int", "string"],
        ["long", "null", "int", "string"],
        avro.long(-1) + b"\x04hi",
    ),
    "symbol": (BOTH, {**BOTH, "symbols": ["A", "B", "C"]}, avro.long(-1)),
    "int": ("int", "long", avro.long(2**40)),
    "boolean": ("boolean", ["boolean", "null"], b"\x02"),
    "70 bits": ("long", "double", b"\xff" * 9 + b"\x7f"),
    "11 bytes": ("long", "double", b"\x80" * 10 + b"\0"),
    "length": ("bytes", "string", avro.long(-1) + b"abc"),
    "not UTF-8": ("string", ["string", "null"], b"\x04\xff\xfe"),
    "cut": (FOUR, ["null", FOUR], b"ab"),
    "behind": ("int", "long", b"\x02\x02"),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("wrap", ["itself", "array", "field", "recursive"])
def test_no_reader_takes_what_is_no_value(wrap: str, name: str) -> None:
    """A program's, one with a schema of its own, and a feed's."""

    def wrapped(kind: Any) -> str:
        fields = [{"name": "it", "type": kind}]
        if wrap == "recursive":
            fields.append({"name": "next", "type": ["null", "R"]})
        shapes = {"itself": kind, "array": {"type": "array", "items": kind}}
        return json.dumps(shapes.get(wrap, {"type": "record", "name": "R", "fields": fields}))

    writer, reader, data = HOSTILE[name]
    schemas = topic.in_memory()
    number = schemas.register("s", wrapped(writer))
    ends = {"array": (b"\x02", b"\0"), "recursive": (b"", b"\0")}.get(wrap, (b"", b""))
    body = written_frame(number) + ends[0] + data + ends[1]
    door = Values(schemas)
    with pytest.raises(NotAvro):
        door.decode(body)
    with pytest.raises(NotAvro):
        door.decode(body, wrapped(reader))
    with pytest.raises(NotAvro):
        ValueReader(wrapped(writer), "of a feed").read(body)


@pytest.mark.parametrize("levels", [60, 100])
def test_a_schema_of_many_levels_is_read_all_the_same(levels: int) -> None:
    kind: Any = "int"
    value: Any = 7
    for level in range(levels):
        kind = {"type": "record", "name": f"R{level}", "fields": [{"name": "a", "type": kind}]}
        value = {"a": value}
    door = Values(topic.in_memory())
    assert door.decode(door.encode(value, kind, "s", register=True)) == value


def test_a_long_value_of_small_parts_is_read() -> None:
    kind = {"type": "array", "items": "int"}
    door = Values(topic.in_memory())
    value = [1] * (VALUES_DECODED_MAX + 1)
    assert door.decode(door.encode(value, kind, "s", register=True)) == value


@pytest.mark.parametrize("part", [{1}, object(), b"x"])
def test_a_schema_that_is_no_json_is_refused(part: Any) -> None:
    door = Values(topic.in_memory())
    with pytest.raises(InvalidSchema, match="cannot be written as JSON"):
        door.encode({"number": 1}, {**ONE, "more": part}, "s", register=True)
    itself: dict[str, Any] = dict(ONE)
    itself["more"] = itself
    with pytest.raises(InvalidSchema, match="cannot be written as JSON"):
        door.encode({"number": 1}, itself, "s", register=True)


def test_a_schema_is_any_mapping() -> None:
    door = Values(topic.in_memory())
    given = MappingProxyType({**ONE, "fields": [MappingProxyType(ONE["fields"][0])]})
    assert door.decode(door.encode({"number": 1}, given, "s", register=True)) == {"number": 1}
