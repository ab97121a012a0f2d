"""Pairs of Avro schemas, and what a reader has of a writer's values: as Java resolves them.

Values are in fastavro's notation: a value of a named type within a union is (its name, the value).
"""

import io
from typing import Any

import fastavro
from msgspec import Struct


class Case(Struct):
    """One pair. values: of the writer, each with the reader's, or with why there is none."""

    name: str
    writer: Any
    reader: Any
    values: list[tuple[Any, Any]]


def record(name: str, **fields: Any) -> dict[str, Any]:
    """Return a schema; a field that is a tuple has a default behind its type."""
    return {
        "type": "record",
        "name": name,
        "fields": [
            {"name": one, "type": kind[0], "default": kind[1]}
            if isinstance(kind, tuple)
            else {"name": one, "type": kind}
            for one, kind in fields.items()
        ],
    }


def aliased(schema: dict[str, Any], *aliases: str, **fields: str) -> dict[str, Any]:
    """Return a schema with aliases, of itself and of fields."""
    named = [
        {**one, "aliases": [fields[one["name"]]]} if one["name"] in fields else one
        for one in schema.get("fields", ())
    ]
    return {**schema, "aliases": list(aliases), **({"fields": named} if named else {})}


def written(schema: Any, value: Any) -> bytes:
    """Write a value."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema, {}), value)
    return out.getvalue()


A, B = record("A", x="int"), record("B", x="int")
ENUM = {"type": "enum", "name": "E", "symbols": ["RED", "BLUE"]}
FIXED = {"type": "fixed", "name": "F", "size": 2}
COLOURS = {"type": "enum", "name": "E", "symbols": ["NONE", "BLUE"], "default": "NONE"}

CASES = [
    Case(
        "records alike",
        [A, B],
        [A, B],
        [(("A", {"x": 1}), ("A", {"x": 1})), (("B", {"x": 2}), ("B", {"x": 2}))],
    ),
    Case("the order of a union", [A, B], [B, A], [(("A", {"x": 1}), ("A", {"x": 1}))]),
    Case(
        "a text or a symbol",
        ["string", ENUM],
        [ENUM, "string"],
        [("RED", "RED"), (("E", "RED"), ("E", "RED"))],
    ),
    Case(
        "bytes or fixed",
        ["bytes", FIXED],
        [FIXED, "bytes"],
        [(b"ab", b"ab"), (("F", b"ab"), ("F", b"ab"))],
    ),
    Case(
        "a long is no double",
        ["double", "long"],
        ["double", "long"],
        [(("long", 2**60 + 1), 2**60 + 1)],
    ),
    Case("an int is a long first", "int", ["double", "long", "string"], [(7, 7.0)]),
    Case("an int of its own", "int", ["long", "int"], [(7, 7)]),
    Case("a float is a double", "float", ["null", "double"], [(0.5, 0.5)]),
    Case("a union into one type", ["null", "int"], ["null", "long"], [(None, None), (3, 3)]),
    Case("a text is bytes", "string", "bytes", [("é", "é".encode())]),
    Case("bytes are a text", "bytes", ["null", "string"], [(b"ab", "ab")]),
    Case(
        "a record by what it has",
        record("Old", x="int"),
        ["null", record("New", x="long")],
        [({"x": 5}, ("New", {"x": 5}))],
    ),
    Case(
        "a record by its alias",
        A,
        ["null", record("C", x="int"), aliased(B, "A")],
        [({"x": 5}, ("B", {"x": 5}))],
    ),
    Case(
        "a field by its alias",
        record("R", old="int", z="string"),
        aliased(record("R", new="long"), new="old"),
        [({"old": 5, "z": "-"}, {"new": 5})],
    ),
    Case(
        "fields in another order",
        record("R", a="int", b="string"),
        record("R", b="string", a="long"),
        [({"a": 1, "b": "x"}, {"b": "x", "a": 1})],
    ),
    Case(
        "a symbol that is gone",
        record("R", e=ENUM),
        record("R", e=COLOURS),
        [({"e": "RED"}, {"e": "NONE"}), ({"e": "BLUE"}, {"e": "BLUE"})],
    ),
    Case(
        "defaults",
        record("R", a="int"),
        record(
            "R",
            a="int",
            b=("bytes", "\u00ff"),
            f=(FIXED, "\u0000\u0001"),
            d=("double", 1),
            n=(["null", "string"], None),
            s=(["string", "null"], "x"),
            e=(ENUM, "BLUE"),
            l=({"type": "array", "items": "int"}, [1, 2]),
            m=({"type": "map", "values": "string"}, {"k": "v"}),
            r=(record("I", p="int", q=("string", "z")), {"p": 4}),
            t=("boolean", True),
        ),
        [
            (
                {"a": 1},
                {
                    "a": 1,
                    "b": b"\xff",
                    "f": b"\0\1",
                    "d": 1.0,
                    "n": None,
                    "s": "x",
                    "e": "BLUE",
                    "l": [1, 2],
                    "m": {"k": "v"},
                    "r": {"p": 4, "q": "z"},
                    "t": True,
                },
            )
        ],
    ),
    Case(
        "within lists and maps",
        {"type": "array", "items": {"type": "map", "values": ["int", A]}},
        {"type": "array", "items": {"type": "map", "values": ["null", "double", A]}},
        [([{"k": 1, "l": ("A", {"x": 2})}, {}], [{"k": 1.0, "l": ("A", {"x": 2})}, {}]), ([], [])],
    ),
    Case(
        "a type that contains itself",
        record("Line", n="int", next=["null", "Line"]),
        record("Line", next=["null", "Line"], n="long"),
        [
            (
                {"n": 1, "next": ("Line", {"n": 2, "next": None})},
                {"next": ("Line", {"next": None, "n": 2}), "n": 1},
            )
        ],
    ),
    Case(
        "decimals are their bytes",
        record("R", d={"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}),
        record("R", d="bytes"),
        [({"d": b"\x04\xd2"}, {"d": b"\x04\xd2"})],
    ),
]

FAR, HERE = (
    {
        "type": "record",
        "name": f"{one}.R",
        "fields": [
            {
                "name": "u",
                "type": ["null", {**ENUM, "name": f"{one}.E"}, {**FIXED, "name": f"{one}.F"}],
            }
        ],
    }
    for one in "ab"
)
CASES += [
    Case(
        "types of a union in another namespace",
        FAR,
        HERE,
        [
            ({"u": ("a.E", "RED")}, {"u": ("b.E", "RED")}),
            ({"u": ("a.F", b"ab")}, {"u": ("b.F", b"ab")}),
            ({"u": None}, {"u": None}),
        ],
    ),
    Case("a long is rounded once", "long", "float", [(2**60 + 2**36 + 1, 1.1529216420458004e18)]),
    Case(
        "an array of doubles",
        {"type": "array", "items": "double"},
        {"type": "array", "items": ["double"]},
        [([1.1, 2.2], [1.1, 2.2])],
    ),
]

REFUSED = [
    Case("a text is no number", "string", "long", [("7", "string is no long")]),
    Case("a long is no int", "long", "int", [(7, "long is no int")]),
    Case(
        "nothing of a union",
        "string",
        ["null", "int"],
        [("x", "no type of the union of null, int")],
    ),
    Case(
        "no default",
        record("R", a="int"),
        record("R", b="int"),
        [({"a": 1}, "field b of R has no default")],
    ),
    Case(
        "a symbol that is gone",
        ENUM,
        {**COLOURS, "default": "NONE"} | {"symbols": ["NONE"], "name": "G"},
        [("RED", "enum E is not G")],
    ),
    Case("another fixed", FIXED, {**FIXED, "size": 3}, [(b"ab", "of 2 bytes is not F of 3")]),
    Case(
        "a symbol without a default",
        ENUM,
        {**ENUM, "symbols": ["BLUE"]},
        [("RED", "no symbol RED")],
    ),
]
