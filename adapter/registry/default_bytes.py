"""Defaults of a schema that was parsed, as the bytes that stand for them; and its types by name.

JSON has a default; what reads or writes a value needs its bytes. A default of a record may leave
fields out that have defaults of their own, so that a short schema can stand for very long ones:
what all defaults of a schema take is bounded. This module asks no registry.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from adapter.errors import InvalidSchema
from adapter.registry.bounded_values import INT_MAX
from adapter.storage.format import avro

RECORDS = ("record", "error")
NAMED = (*RECORDS, "enum", "fixed")
NUMBERS = {"float": struct.Struct("<f"), "double": struct.Struct("<d")}
LONG_MAX = 2**63 - 1
PARTS_MAX = 100_000
"""Of all defaults of a schema: values, each with what it consists of."""
BYTES_MAX = 1024 * 1024
"""Of all of them."""


class DefaultBytes:
    """Writes defaults of one schema. names: its named types."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names
        self._numbers: dict[int, dict[str, int]] = {}
        """Of the symbols of each enum."""
        self._parts = PARTS_MAX
        self._bytes = BYTES_MAX

    def of(self, schema: Any, value: Any) -> bytes:
        """Write a default as its type says.

        Raises ValueError if it does not fit, InvalidSchema if the schema's are too long.
        """
        self._parts -= 1
        if self._parts < 0:
            raise InvalidSchema(f"the defaults of a schema have more than {PARTS_MAX:,} values")
        schema = self._names.get(key_of(schema), schema)
        match kind_of(schema), value:
            case "union", _:
                return self._of_union(schema, value)
            case "array", list():
                return _in_block(self.of(schema["items"], one) for one in value)
            case "map", dict():
                return _in_block(
                    self._paid(avro.data(key.encode())) + self.of(schema["values"], one)
                    for key, one in value.items()
                )
            case "record", dict():
                return b"".join([self._of_field(field, value) for field in schema["fields"]])
            case "enum", str() if value in (numbers := self._numbers_of(schema)):
                return self._paid(avro.long(numbers[value]))
            case "fixed", str() if len(value) == schema["size"]:
                return self._paid(value.encode("latin-1"))
            case kind, _:
                return self._paid(_plain(kind, value))

    def _numbers_of(self, enum: Any) -> dict[str, int]:
        found = self._numbers.get(id(enum))
        if found is None:
            symbols = enum["symbols"]
            found = self._numbers[id(enum)] = {one: at for at, one in enumerate(symbols)}
        return found

    def _paid(self, data: bytes) -> bytes:
        self._bytes -= len(data)
        if self._bytes < 0:
            raise InvalidSchema(f"the defaults of a schema have more than {BYTES_MAX:,} bytes")
        return data

    def _of_union(self, types: list[Any], value: Any) -> bytes:
        """Avro 1.12: a value of any type of the union; before, of the first one."""
        for number, one in enumerate(types):
            with suppress(ValueError):
                return avro.long(number) + self.of(one, value)
        raise ValueError(f"{value!r} is of no type of the union")

    def _of_field(self, field: Any, value: Mapping[str, Any]) -> bytes:
        name = field["name"]
        if name not in value and "default" not in field:
            raise ValueError(f"it has no {name}")
        return self.of(field["type"], value[name] if name in value else field["default"])


def _plain(kind: str, value: Any) -> bytes:
    """Write a default of a type that has no parts. Raises ValueError if it does not fit."""
    match kind, value:
        case "null", None:
            return b""
        case "boolean", bool():
            return bytes([value])
        case "string", str():
            return avro.data(value.encode())
        case "bytes", str():
            return avro.data(value.encode("latin-1"))
        case (_, bool()):
            pass
        case (("int" | "long"), int()):
            most = INT_MAX if kind == "int" else LONG_MAX
            if -most - 1 <= value <= most:
                return avro.long(value)
        case (("float" | "double"), (int() | float() | "NaN" | "Infinity" | "-Infinity")):
            with suppress(OverflowError):
                return NUMBERS[kind].pack(float(value))
    raise ValueError(f"{value!r} is no {kind}")


def named_types(schema: Any) -> Iterator[tuple[str, Any]]:
    """Walk through the named types of a schema that was parsed: their full names, and they."""
    if isinstance(schema, list):
        for one in schema:
            yield from named_types(one)
    if not isinstance(schema, dict):
        return
    if schema["type"] in NAMED:
        yield schema["name"], schema
    for one in (
        *(field["type"] for field in schema.get("fields", ())),
        *(schema[key] for key in ("items", "values", "type") if key in schema),
    ):
        yield from named_types(one)


def key_of(schema: Any) -> str:
    """Return the name by which a type is referred to, or nothing if it is given itself."""
    return schema if isinstance(schema, str) else ""


def kind_of(schema: Any) -> str:
    """Return what a type is: "union", or as Avro calls it."""
    if isinstance(schema, list):
        return "union"
    kind = schema if isinstance(schema, str) else schema["type"]
    if not isinstance(kind, str):
        return kind_of(kind)
    return "record" if kind in RECORDS else kind


def name_of(schema: Any) -> str:
    """Name a type for people."""
    return (
        str(schema.get("name") or kind_of(schema)) if isinstance(schema, dict) else kind_of(schema)
    )


def _in_block(items: Iterator[bytes]) -> bytes:
    parts = list(items)
    return b"".join([avro.long(len(parts)), *parts, *[avro.END] * bool(parts)])
