"""Whether the defaults in a schema are values of their fields: Apache avro's parser takes any.

A reader meets a wrong default only when it reads a record without the field, which is too late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

INT_BITS, LONG_BITS = 32, 64
STEPS_MAX = 1_000_000
"""Of comparing defaults, or their parts and letters, with types: some tenths of a second."""


def wrong_defaults(schema: Any) -> Iterator[str]:
    """Name the fields of a parsed schema whose default is invalid for their type.

    Raises TooLongDefaultsError.
    """
    judge = Judge()
    left, seen = [schema], set()
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if one.type in ("record", "error"):
            for field in one.fields:
                if field.has_default and not judge.fits(field.type, field.default):
                    yield f"{one.fullname}.{field.name}"
                left.append(field.type)
        left += inner_types(one)


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


class TooLongDefaultsError(ValueError):
    """The defaults of a schema are judged no further."""


class Judge:
    """Says whether defaults are values of types, each of each once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], bool] = {}
        """By the type and the value, which live as long as the schema."""
        self._symbols: dict[int, frozenset[str]] = {}
        self._steps = 0

    def fits(self, schema: Any, value: Any) -> bool:
        """Whether a default, as JSON has it, is a value of a type. Raises TooLongDefaultsError."""
        pair = id(schema), id(value)
        found = self._known.get(pair)
        if found is None:
            self.count(1)
            found = self._known[pair] = CHECKS[schema.type](self, schema, value)
        return found

    def has_symbol(self, schema: Any, value: Any) -> bool:
        """Whether a value is a symbol of an enum."""
        found = self._symbols.get(id(schema))
        if found is None:
            found = self._symbols[id(schema)] = frozenset(schema.symbols)
        return isinstance(value, str) and value in found

    def count(self, steps: int) -> None:
        """Count what is compared. Raises TooLongDefaultsError."""
        self._steps += steps
        if self._steps > STEPS_MAX:
            raise TooLongDefaultsError(
                f"judging its defaults takes more than {STEPS_MAX:,} steps: use unions of fewer "
                "types, or shorter defaults"
            )


Check = Callable[[Judge, Any, Any], bool]


def _whole(bits: int) -> Check:
    most = 2 ** (bits - 1)
    return lambda _judge, _schema, value: type(value) is int and -most <= value < most


def _bytes(judge: Judge, _schema: Any, value: Any) -> bool:
    if not isinstance(value, str):
        return False
    judge.count(len(value))
    return all(ord(one) < 256 for one in value)


def _record(judge: Judge, schema: Any, value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    judge.count(len(schema.fields))
    return all(
        judge.fits(field.type, value[field.name]) if field.name in value else field.has_default
        for field in schema.fields
    )


def _number(_judge: Judge, _schema: Any, value: Any) -> bool:
    # Java writes what JSON has no number for as text.
    return type(value) in (int, float) or value in ("NaN", "Infinity", "-Infinity")


CHECKS: Mapping[str, Check] = {
    "null": lambda _judge, _schema, value: value is None,
    "boolean": lambda _judge, _schema, value: isinstance(value, bool),
    "int": _whole(INT_BITS),
    "long": _whole(LONG_BITS),
    "float": _number,
    "double": _number,
    "bytes": _bytes,
    "fixed": lambda judge, schema, value: (
        isinstance(value, str) and len(value) == schema.size and _bytes(judge, schema, value)
    ),
    "string": lambda _judge, _schema, value: isinstance(value, str),
    "enum": lambda judge, schema, value: judge.has_symbol(schema, value),
    "array": lambda judge, schema, value: (
        isinstance(value, list) and all(judge.fits(schema.items, one) for one in value)
    ),
    "map": lambda judge, schema, value: (
        isinstance(value, dict) and all(judge.fits(schema.values, one) for one in value.values())
    ),
    "union": lambda judge, schema, value: any(judge.fits(one, value) for one in schema.schemas),
    "record": _record,
    "error": _record,
}
