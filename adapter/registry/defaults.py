"""Whether the defaults in a schema are values of their fields: Apache avro's parser takes any.

A reader meets a wrong default only when it reads a record without the field, which is too late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

INT_BITS, LONG_BITS = 32, 64


def wrong_defaults(schema: Any, seen: frozenset[str] = frozenset()) -> Iterator[str]:
    """Name the fields of a parsed schema whose default is invalid for their type."""
    if schema.type in ("record", "error"):
        if schema.fullname in seen:
            return
        seen |= {schema.fullname}
        for field in schema.fields:
            if field.has_default and not fits(field.type, field.default):
                yield f"{schema.fullname}.{field.name}"
            yield from wrong_defaults(field.type, seen)
    for inner in inner_types(schema):
        yield from wrong_defaults(inner, seen)


def inner_types(schema: Any) -> list[Any]:
    """The types that a union, an array or a map is made of."""
    match schema.type:
        case "union":
            return list(schema.schemas)
        case "array":
            return [schema.items]
        case "map":
            return [schema.values]
    return []


def fits(schema: Any, value: Any) -> bool:
    """Whether a default, as JSON has it, is a value of a type."""
    return CHECKS[schema.type](schema, value)


def _whole(bits: int) -> Callable[[Any, Any], bool]:
    most = 2 ** (bits - 1)
    return lambda _schema, value: type(value) is int and -most <= value < most


def _bytes(_schema: Any, value: Any) -> bool:
    return isinstance(value, str) and all(ord(one) < 256 for one in value)


def _record(schema: Any, value: Any) -> bool:
    return isinstance(value, dict) and all(
        fits(field.type, value[field.name]) if field.name in value else field.has_default
        for field in schema.fields
    )


def _number(_schema: Any, value: Any) -> bool:
    # Java writes what JSON has no number for as text.
    return type(value) in (int, float) or value in ("NaN", "Infinity", "-Infinity")


CHECKS: Mapping[str, Callable[[Any, Any], bool]] = {
    "null": lambda _schema, value: value is None,
    "boolean": lambda _schema, value: isinstance(value, bool),
    "int": _whole(INT_BITS),
    "long": _whole(LONG_BITS),
    "float": _number,
    "double": _number,
    "bytes": _bytes,
    "fixed": lambda schema, value: _bytes(schema, value) and len(value) == schema.size,
    "string": lambda _schema, value: isinstance(value, str),
    "enum": lambda schema, value: value in schema.symbols,
    "array": lambda schema, value: (
        isinstance(value, list) and all(fits(schema.items, one) for one in value)
    ),
    "map": lambda schema, value: (
        isinstance(value, dict) and all(fits(schema.values, one) for one in value.values())
    ),
    "union": lambda schema, value: any(fits(one, value) for one in schema.schemas),
    "record": _record,
    "error": _record,
}
