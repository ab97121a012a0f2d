"""Names that Avro's specification forbids are refused before they have an id."""

import json
from typing import Any

import pytest

from adapter.errors import InvalidSchema
from adapter.registry import avro_schema, spelling, topic


def record(field: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": [{"type": "int"} | field], **more}


WRONG: list[tuple[dict[str, Any], str]] = [
    (record({"name": "order-id"}), "'order-id' is not a valid field name"),
    (record({"name": "1a"}), "'1a' is not a valid field name"),
    (record({"name": "a b"}), "'a b' is not a valid field name"),
    (record({"name": "ü"}), "'ü' is not a valid field name"),
    (record({"name": "a.b"}), "'a.b' is not a valid field name"),
    (record({"name": "a", "aliases": ["b-c"]}), "'b-c' is not a valid alias"),
    (record({"name": "a", "aliases": "b"}), "the aliases of the field a are not an array"),
    (record({"name": "a"}, aliases="x"), "the aliases of the type R are not an array"),
    (record({"name": "a"}, aliases=["x..y"]), "'x..y' is not a valid alias"),
    (record({"name": "a"}, aliases=[5]), "5 is not a valid alias"),
    ({"type": "enum", "name": "E", "symbols": ["a.b"]}, "'a.b' is not a valid symbol"),
    ({"type": "fixed", "name": "F", "size": True}, "True is not the size"),
    ({"type": "fixed", "name": "F", "size": 10**12}, "1000000000000 is not the size"),
]


@pytest.mark.parametrize(("schema", "words"), WRONG)
def test_what_other_languages_refuse_gets_no_id(schema: dict[str, Any], words: str) -> None:
    nested: tuple[Any, ...] = (
        schema,
        ["null", schema],
        {"type": "array", "items": schema},
        {"type": "map", "values": schema},
        {"type": "record", "name": "Outer", "fields": [{"name": "o", "type": schema}]},
    )
    for around in nested:
        registry = topic.in_memory()
        with pytest.raises(InvalidSchema, match=words):
            registry.register("s", json.dumps(around))
        assert registry.subjects() == []


@pytest.mark.parametrize(
    "schema",
    [
        record({"name": "_a1"}, aliases=["old.name.R", "Q"], namespace="x.y"),
        record({"name": "a", "aliases": ["b"], "default": 1, "doc": "order-id"}),
        {"type": "enum", "name": "E", "symbols": []},
        {"type": "fixed", "name": "F", "size": 0},
        {"type": "fixed", "name": "F", "size": spelling.SIZE_MAX},
        record({"name": "type", "type": {"type": "map", "values": "string"}}),
    ],
)
def test_what_the_specification_allows_is_taken(schema: dict[str, Any]) -> None:
    assert topic.in_memory().register("s", json.dumps(schema)) == 1


def test_errors_of_protocols_are_compared_as_records() -> None:
    registry = topic.in_memory()
    field = {"name": "a", "type": "int"}
    first = {"type": "error", "name": "E", "fields": [field]}
    second = first | {"fields": [field, {"name": "b", "type": "int", "default": 1}]}
    incompatible = first | {"fields": [{"name": "a", "type": "string"}]}
    assert registry.register("s", json.dumps(first)) == 1
    assert registry.register("s", json.dumps(second)) == 2
    assert registry.check("s", json.dumps(incompatible)) != []
    assert avro_schema.canonical(json.dumps(first)) == json.dumps(first, separators=(",", ":"))
