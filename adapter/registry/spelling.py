"""Names and sizes that Avro's specification forbids and Apache avro for Python does not look at.

Programs in other languages refuse a schema that has them, and its id is given by then. It works on
a schema as JSON has it, after the parser has found its shape to be right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
FULL_NAME = re.compile(rf"{NAME.pattern}(?:\.{NAME.pattern})*")
RECORDS = ("record", "error")
NAMED = (*RECORDS, "enum", "fixed")
PARTS = {"array": "items", "map": "values"}
SHOWN_MAX = 60
SIZE_MAX = 2**31 - 1
"""Of a fixed type: Java counts its bytes with an int."""


def wrong(node: Any) -> Iterator[str]:
    """Say of each name and each size that is not allowed where it stands."""
    if isinstance(node, list):
        for one in node:
            yield from wrong(one)
    if isinstance(node, str):
        yield from _name(node, FULL_NAME, "type")
    if not isinstance(node, dict):
        return
    kind = node.get("type")
    if not isinstance(kind, str):
        yield f"the type of {str(kind)[:SHOWN_MAX]} is written within another type: write it alone"
        return
    if kind in NAMED:
        yield from _wrong_in(node)
    else:
        yield from _name(kind, FULL_NAME, "type")
    yield from wrong(node.get(PARTS.get(kind, "")))


def _wrong_in(node: dict[str, Any]) -> Iterator[str]:
    """Look at a type that has a name, and at the fields of a record."""
    yield from _aliases(node, FULL_NAME, f"the type {node['name']}")
    if node["type"] == "fixed":
        size = node.get("size")
        if type(size) is not int or not 0 <= size <= SIZE_MAX:
            yield f"{size!r} is not the size of a fixed type"
    if node["type"] == "enum":
        symbols = node.get("symbols")
        if not isinstance(symbols, list):
            yield f"the symbols of the type {node['name']} are not an array"
            return
        for symbol in symbols:
            yield from _name(symbol, NAME, "symbol")
    for field in node.get("fields", ()) if node["type"] in RECORDS else ():
        yield from _name(field["name"], NAME, "field name")
        if not isinstance(field.get("order", ""), str):
            yield f"the order of the field {field['name']} is not a text"
        yield from _aliases(field, NAME, f"the field {field['name']}")
        yield from wrong(field["type"])


def _aliases(node: dict[str, Any], allowed: re.Pattern[str], whose: str) -> Iterator[str]:
    aliases = node.get("aliases", [])
    if not isinstance(aliases, list):
        yield f"the aliases of {whose} are not an array"
        return
    for alias in aliases:
        yield from _name(alias, allowed, "alias")


def _name(value: Any, allowed: re.Pattern[str], what: str) -> Iterator[str]:
    if not isinstance(value, str) or not allowed.fullmatch(value):
        yield f"{value!r} is not a valid {what}"


def records_only(node: Any) -> Any:
    """Write each type "error" as "record": the two differ in protocols only."""
    if isinstance(node, list):
        return [records_only(one) for one in node]
    if not isinstance(node, dict):
        return node
    kind = node.get("type")
    found = {key: value if key == "default" else records_only(value) for key, value in node.items()}
    return found | {"type": "record"} if kind == "error" and "fields" in node else found
