"""The form of a schema is the one that Java gives it, however the schema was written."""

import json
import random
from typing import Any

import pytest

from adapter.errors import InvalidSchema
from adapter.registry import avro_schema
from adapter.registry.java_form import KINDS, PRIMITIVES, java_form
from tests.support.java_schemas import forms_of_java

SAMPLES = 600
SEED = 20261129
SPACES = ("", "com.acme", "com", "x")
NAMES = ("R", "E", "F", "int2", "record", "S", "T", "U")

RECORD = {"type": "record", "name": "R", "namespace": "com.acme"}
ENUM = {"type": "enum", "name": "E", "symbols": ["x"]}


def record(*types: Any, **more: Any) -> dict[str, Any]:
    fields = [{"name": f"f{number}", "type": one} for number, one in enumerate(types)]
    return {**RECORD, "fields": fields, **more}


SPELLINGS: list[list[Any]] = [
    [record("int"), {**record("int"), "name": "com.acme.R", "namespace": "other"}],
    [record(ENUM, "E"), record({**ENUM, "name": "com.acme.E"}, "com.acme.E")],
    [record(ENUM, "E"), record({**ENUM, "namespace": "com.acme"}, {"type": "E", "p": 1})],
    [record("int", aliases=["Old"]), record("int", aliases=["com.acme.Old", "Old"])],
    [record("int"), record("int", aliases=[]), record("int", doc=None), record("int", size=3)],
    [record(ENUM, "E"), record(ENUM, {**ENUM, "doc": "again"})],
    [
        {**RECORD, "fields": [{"name": "f", "type": "int"}]},
        {**RECORD, "fields": [{"name": "f", "type": {"type": "int"}, "order": "ASCENDING"}]},
        {**RECORD, "fields": [{"name": "f", "type": "int", "aliases": [], "doc": 3}]},
    ],
    [{"type": "array", "items": "int"}, {"items": {"type": "int", "doc": "d"}, "type": "array"}],
]
OTHERS: list[tuple[Any, Any]] = [
    (record("int"), record("long")),
    (record("int"), record("int", doc="")),
    (record("int"), record("int", namespace="com.acme2")),
    (record("int"), record("int", aliases=["Old"])),
    (record({**ENUM, "namespace": ""}, "E"), record(ENUM, "E")),
    (
        {**RECORD, "fields": [{"name": "f", "type": "int", "order": "descending"}]},
        {**RECORD, "fields": [{"name": "f", "type": "int"}]},
    ),
    ({"type": "int", "logicalType": "date"}, "int"),
]


def identity(schema: Any) -> str:
    return avro_schema.identity(avro_schema.canonical(json.dumps(schema)))


@pytest.mark.parametrize("spellings", SPELLINGS, ids=range(len(SPELLINGS)))
def test_spellings_of_one_schema_are_one(spellings: list[Any]) -> None:
    assert len({identity(one) for one in spellings}) == 1


@pytest.mark.parametrize(("one", "other"), OTHERS, ids=range(len(OTHERS)))
def test_other_schemas_are_others(one: Any, other: Any) -> None:
    assert identity(one) != identity(other)


def test_a_type_that_is_defined_again_is_written_by_its_name() -> None:
    again = record(ENUM, {**ENUM, "doc": "again"})
    assert json.loads(avro_schema.canonical(json.dumps(again)))["fields"][1]["type"] == "E"
    with pytest.raises(InvalidSchema, match=r"com\.acme\.E is defined twice, and not alike"):
        avro_schema.canonical(json.dumps(record(ENUM, {**ENUM, "symbols": ["y"]})))


class Speller:
    """Makes schemas at random, each of them written in one of many ways."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._defined: list[tuple[str, str, Any]] = []

    def schema(self) -> Any:
        self._defined = []
        return self._type("", self._chance.randint(1, 4))

    def _type(self, space: str, depth: int) -> Any:
        makers = [self._primitive, self._reference]
        if depth:
            makers += [self._array, self._map, self._enum, self._fixed, self._record, self._record]
            makers += [self._union]
        return self._chance.choice(makers)(space, depth)

    def _primitive(self, _: str, __: int) -> Any:
        name = self._chance.choice(sorted(PRIMITIVES - {"null"}))
        ways = [name, {"type": name}, {"doc": "d", "type": name}, {"type": name, "unit": "m"}]
        return self._chance.choice(ways)

    def _reference(self, space: str, depth: int) -> Any:
        if not self._defined:
            return self._primitive(space, depth)
        own, name, node = self._chance.choice(self._defined)
        full = f"{own}.{name}" if own else name
        ways = [full, {"type": full}]
        if own == space and name not in KINDS:
            ways += [name, {"type": name, "p": 1}]
        if node is not None:
            ways += [{**node, "namespace": own, "doc": "again"}]
        return self._chance.choice(ways)

    def _array(self, space: str, depth: int) -> Any:
        return {"type": "array", "items": self._type(space, depth - 1), **self._more()}

    def _map(self, space: str, depth: int) -> Any:
        return {"type": "map", "values": self._type(space, depth - 1), **self._more()}

    def _union(self, space: str, depth: int) -> Any:
        return ["null", {"type": "array", "items": self._type(space, depth - 1)}]

    def _enum(self, space: str, _: int) -> Any:
        made = self._named(space, "enum", symbols=["a", "b"])
        return made | self._chance.choice([{}, {"default": "a"}])

    def _fixed(self, space: str, _: int) -> Any:
        return self._named(space, "fixed", size=self._chance.randint(1, 3))

    def _named(self, space: str, kind: str, **part: Any) -> Any:
        chance, taken = self._chance, {one[:2] for one in self._defined}
        own = chance.choice([space, space, *SPACES])
        free = [name for name in NAMES if (own, name) not in taken]
        if not free:
            return {"type": "string"}
        name = chance.choice(free)
        ways: list[dict[str, Any]] = [{"name": name, "namespace": own}]
        if own:
            ways.append({"name": f"{own}.{name}", "namespace": chance.choice(SPACES)})
        if own == space:
            ways.append({"name": name})
        made = chance.choice(ways) | {"type": kind, **part, **self._more()}
        aliases = [[], ["Old"], [f"{own}.Old" if own else "Old", "x.Old"]]
        if chance.random() < 0.3:
            made["aliases"] = chance.choice(aliases)
        self._defined.append((own, name, None if kind == "record" else dict(made, name=name)))
        return made

    def _record(self, space: str, depth: int) -> Any:
        made = self._named(space, "record", fields=[])
        if made["type"] == "record":
            own = self._defined[-1][0]
            made["fields"] = [self._field(f"f{n}", own, depth) for n in range(depth)]
        return made

    def _field(self, name: str, space: str, depth: int) -> Any:
        more: list[dict[str, Any]]
        more = [{}, {"order": "Descending"}, {"order": "ASCENDING"}, {"aliases": ["o", "o"]}]
        return {
            "name": name,
            "type": self._type(space, depth - 1),
            **self._chance.choice(more),
            **self._more(),
        }

    def _more(self) -> dict[str, Any]:
        ways: list[dict[str, Any]]
        ways = [{}, {}, {"doc": "d"}, {"doc": None}, {"unit": {"type": {"type": "int"}}}]
        return dict(self._chance.choice(ways))


def test_the_form_is_that_of_java() -> None:
    speller = Speller(random.Random(SEED))
    schemas = [speller.schema() for _ in range(SAMPLES)]
    texts = [json.dumps(one) for one in schemas]
    judged = [_canonical(text) for text in texts]
    forms = forms_of_java(texts)
    for text, schema, form, kept in zip(texts, schemas, forms, judged, strict=True):
        if form is not None:
            assert java_form(schema) == form, text
        assert kept is None or form is not None, f"Java refuses it: {text}"
    of_kept = [one for one in judged if one is not None]
    assert len(of_kept) > SAMPLES / 2
    assert [java_form(json.loads(one)) for one in of_kept] == forms_of_java(of_kept)


def _canonical(text: str) -> str | None:
    try:
        return avro_schema.canonical(text)
    except InvalidSchema:
        return None
