"""Changes of schemas, and who reads whom: for our own judge and for everybody else's."""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct


class Change(Struct, frozen=True):
    """Two schemas, one behind the other. backward: the new one reads what the old one wrote."""

    old: str
    new: str
    backward: bool
    forward: bool


def record(*fields: dict[str, Any], name: str = "R") -> str:
    return json.dumps({"type": "record", "name": name, "namespace": "x", "fields": list(fields)})


def field(kind: Any, name: str = "a", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


def enum(*symbols: str, **more: Any) -> dict[str, Any]:
    return {"type": "enum", "name": "E", "symbols": list(symbols), **more}


INT, DEFAULT = field("int"), field("int", "b", default=0)
P = {"type": "record", "name": "P", "fields": [field("int", "p")]}
Q = {"type": "record", "name": "Q", "fields": [field("string", "q")]}


def fixed(size: int) -> str:
    return record(field({"type": "fixed", "name": "F", "size": size}))


def array(items: str) -> str:
    return record(field({"type": "array", "items": items}))


CHANGES = {
    "nothing": Change(record(INT), record(INT), True, True),
    "a field with a default more": Change(record(INT), record(INT, DEFAULT), True, True),
    "a field without one more": Change(record(INT), record(INT, field("int", "b")), False, True),
    "a field less": Change(record(INT, field("int", "b")), record(INT), True, False),
    "a wider type": Change(record(INT), record(field("long")), True, False),
    "another type": Change(record(INT), record(field("string")), False, False),
    "bytes and text": Change('"bytes"', '"string"', True, True),
    "a union more": Change(record(INT), record(field(["null", "int"])), True, False),
    "a branch more": Change(record(field([P])), record(field([P, Q])), True, False),
    "a symbol more": Change(record(field(enum("A"))), record(field(enum("A", "B"))), True, False),
    "a symbol more, a default before": Change(
        record(field(enum("A", default="A"))),
        record(field(enum("A", "B", default="A"))),
        True,
        True,
    ),
    "a renamed field": Change(record(INT), record(field("int", "b", aliases=["a"])), True, False),
    "another record": Change(record(INT), record(INT, name="Q"), False, False),
    "a wider item": Change(array("int"), array("long"), True, False),
    "a list of itself": Change(
        record(field(["null", "x.R"])), record(field(["null", "x.R"]), DEFAULT), True, True
    ),
    "another size": Change(fixed(4), fixed(5), False, False),
}

# Each goes together with the one before it in both directions; the last not with the first.
FAR = (record(INT), record(), record(field("string", default="")))
