"""Which Python values a schema's values are: every one that Java reads and writes, and no other.

fastavro reads and writes; this module prepares a parsed schema for it, where fastavro's values are
others than those that were written, or where it takes what does not fit:

- times outside the range of Python's types are their numbers, as Avro stores them
- of a time no zone is dropped where the type has none; digits beyond its unit are cut
- in a union a logical type takes only its own class where a plain type takes the value
- decimals are exact, whatever precision the schema says
- a text that is no UUID is that text
- defaults of bytes, fixed, and of all logical types are the values that they stand for
- numbers that do not fit 32 bits, and whatever has another type, are refused

It does so by logical types of its own, which fastavro keeps beside Avro's. This module asks no
registry.
"""

from __future__ import annotations

import datetime
import decimal
import io
import math
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import fastavro
from fastavro.read import LOGICAL_READERS
from fastavro.validation import ValidationError
from fastavro.write import LOGICAL_WRITERS

from adapter.registry.bounded_values import (
    DECIMAL_BYTES_MAX,
    DEPTH_MAX,
    INT_MAX,
    VALUES_PER_BYTE,
)
from adapter.registry.default_bytes import (
    LONG_MAX,
    NAMED,
    DefaultBytes,
    kind_of,
    named_types,
)

OWN = "mqk."
"""Begins the names of the logical types that only this module writes into schemas."""
TIMES = (
    *("long-timestamp-millis", "long-timestamp-micros", "int-date", "int-time-millis"),
    *("long-local-timestamp-millis", "long-local-timestamp-micros", "long-time-micros"),
    "string-uuid",
)
"""Types that Python has a class for, which does not have all of their values."""
FIXED_UUID = "fixed-uuid"
UUID_BYTES = 16
DAY_S, MICROSECONDS = 86_400, 1_000_000
MOST = {"int": INT_MAX, "long": LONG_MAX}
DECIMALS = ("bytes-decimal", "fixed-decimal")
DECIMAL_DIGITS_MAX = len(str(1 << 8 * DECIMAL_BYTES_MAX))
UNFIT = (ValueError, TypeError, KeyError, AttributeError, OverflowError, IndexError)


def prepare(schema: Any) -> Any:
    """Return a schema that fastavro has parsed, as this module wants it; the schema is changed.

    A default that is no value of its field stays as it is: what has the field can be read. Raises
    InvalidSchema if defaults are too long.
    """
    for holder, key in _types(schema):
        holder[key] = _own(holder[key])
    schema = _own(schema)
    known = dict(named_types(schema))
    # All before any is replaced: a default may need those of the records within.
    for field, data in list(_defaults(schema, DefaultBytes(known))):
        with suppress(*UNFIT):
            field["default"] = _read(field["type"], data, known)
    # Else fastavro parses an array or a map again, whose defaults are no JSON any more.
    return schema | _marks(known) if isinstance(schema, dict) else schema


def _marks(known: Mapping[str, Any]) -> dict[str, Any]:
    """Return what fastavro writes into a schema that it has parsed."""
    return {"__fastavro_parsed": True, "__named_schemas": known}


def _read(kind: Any, data: bytes, known: Mapping[str, Any]) -> Any:
    """Return the Python value of bytes."""
    record = {"type": "record", "name": "default", "fields": [{"name": "it", "type": kind}]}
    schema = record | _marks(known)
    found: Any = fastavro.schemaless_reader(io.BytesIO(data), schema, None)
    return found["it"]


def is_unbounded(schema: Any) -> bool:
    """Whether a few bytes can stand for a value of any size or depth: a schema contains itself, an
    array has elements of no bytes, as null has, or a value has many more parts than bytes.
    """
    try:
        _least(schema, {})
    except (_Unbounded, RecursionError):
        return True
    return False


class _Unbounded(Exception):  # noqa: N818 -- it says what the schema is
    """What is_unbounded() looks for was found."""


PARTS_PER_BYTE, PARTS_BESIDE = VALUES_PER_BYTE, 100
"""So many parts a value may have for each of its bytes, and beside these; not in an array."""
_Least = tuple[int, int]
"""Of a value: how many bytes it has at least, and how many parts it then has."""


def _least(schema: Any, known: dict[str, _Least | None]) -> _Least:
    """Return what a value of a type has at least. Raises _Unbounded.

    known: of the named types that were met; None while one is being walked through. Each type is
    walked through once, however often it is named.
    """
    if isinstance(schema, list):
        for one in schema:
            _least(one, known)
        return 1, 1
    if isinstance(schema, str):
        least = known.get(schema, (int(schema != "null"), 1))
        if least is None:
            raise _Unbounded
        return least
    kind = schema["type"]
    if kind in NAMED:
        return _least_of_named(schema, kind, known)
    if kind in ("array", "map"):
        size, parts = _least(schema["items" if kind == "array" else "values"], known)
        if parts > PARTS_PER_BYTE * (size + (kind == "map")):
            raise _Unbounded
        return 1, 1
    return _least(kind, known)


def _least_of_named(schema: Any, kind: str, known: dict[str, _Least | None]) -> _Least:
    known[schema["name"]] = None
    fields = [_least(field["type"], known) for field in schema.get("fields", ())]
    size = {"fixed": int(schema.get("size", 0)), "enum": 1}.get(kind, 0)
    size += sum(one for one, _ in fields)
    parts = 1 + sum(one for _, one in fields)
    if parts > PARTS_PER_BYTE * size + PARTS_BESIDE:
        raise _Unbounded
    known[schema["name"]] = size, parts
    return size, parts


def check_depth(value: Any) -> None:
    """Raise ValueError if a value is nested deeper than it could be read again."""
    level = [value]
    for _ in range(DEPTH_MAX + 1):
        inner: list[Any] = []
        for one in level:
            if isinstance(one, Mapping):
                inner += one.values()
            elif isinstance(one, (list, tuple)):
                inner += one
        if not inner:
            return
        level = inner
    raise ValueError(f"it contains itself, or is nested more than {DEPTH_MAX} times")


def check(value: Any, schema: Any) -> None:
    """Raise ValueError if a value does not fit a prepared schema, and say where."""
    try:
        fastavro.validate(value, schema)
    except ValidationError as error:
        first = error.errors[0]
        where = f" (field {first.field})" if first.field else ""
        wanted = first.schema if isinstance(first.schema, str) else _kind(first.schema)
        raise ValueError(f"{first.datum!r:.100} is no {wanted}{where}") from error


def _kind(schema: Any) -> str:
    """Say what a type is, for people."""
    if isinstance(schema, list):
        return " or ".join(_kind(one) for one in schema)
    if isinstance(schema, str):
        return schema
    logical = str(schema.get("logicalType", "")).removeprefix(OWN)
    return str(schema.get("name") or logical or schema["type"])


def _types(schema: Any) -> Iterator[tuple[Any, Any]]:
    """Walk through the places of a schema that hold a type: where they are, and their names."""
    if isinstance(schema, list):
        for number, one in enumerate(schema):
            yield schema, number
            yield from _types(one)
        return
    if not isinstance(schema, dict):
        return
    for key in ("items", "values", "type"):
        inner = schema.get(key)
        if isinstance(inner, (dict, list)) or (key != "type" and inner is not None):
            yield schema, key
            yield from _types(inner)
    for field in schema.get("fields", ()):
        yield field, "type"
        yield from _types(field["type"])


def _defaults(schema: Any, defaults: DefaultBytes) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Walk through the fields that have defaults: the field, and the bytes of its default."""
    for one in (schema, *(holder[key] for holder, key in _types(schema))):
        for field in one.get("fields", ()) if isinstance(one, dict) else ():
            if "default" in field:
                with suppress(*UNFIT):
                    yield field, defaults.of(field["type"], field["default"])


def _own(schema: Any) -> Any:
    """Return a type with the logical type of this module, where it has one."""
    if isinstance(schema, list):
        return _beside_plain(_with_whole_numbers([_own(one) for one in schema]))
    if schema in ("float", {"type": "float"}):
        return {"type": "float", "logicalType": f"{OWN}float"}
    if isinstance(schema, dict) and "logicalType" in schema:
        kind = f"{schema['type']}-{schema['logicalType']}"
        is_uuid = kind == FIXED_UUID and schema["size"] == UUID_BYTES
        if is_uuid or kind in (*TIMES, *DECIMALS):
            schema["logicalType"] = OWN + schema["logicalType"]
    return schema


def _with_whole_numbers(types: list[Any]) -> list[Any]:
    """Let a whole number be the int or the long of a union, and no float or double of it: a double
    may not have all of its digits.
    """
    whole = next((one for one in ("long", "int") if one in map(kind_of, types)), None)
    return [
        {"type": kind_of(one), "logicalType": f"{OWN}beside-{whole}"}
        if whole is not None and kind_of(one) in ("float", "double")
        else one
        for one in types
    ]


PLAIN_MOST, PLAIN_KINDS = f"{OWN}most", f"{OWN}plain"
"""Of a logical type of a union, what plain types beside it take: whole numbers up to so many, and
values of which classes.
"""
CLASSES = {"string": "str", "bytes": "bytes"}


def _beside_plain(types: list[Any]) -> list[Any]:
    """Let plain types of a union take what is theirs: a whole number, a text, bytes. A logical type
    would take them too, and say that they are a decimal, a date, a UUID.
    """
    plain = [kind for one in types if not _is_own(one) for kind in [kind_of(one)]]
    most = max((MOST[kind] for kind in plain if kind in MOST), default=0)
    classes = [CLASSES[kind] for kind in plain if kind in CLASSES]
    return [
        one | {PLAIN_MOST: most, PLAIN_KINDS: classes}
        if _is_own(one) and kind_of(one) not in NAMED and (most or classes)
        else one
        for one in types
    ]


def _is_own(schema: Any) -> bool:
    """Whether a type has a logical type of this module, which reads and writes objects."""
    logical = schema.get("logicalType", "") if isinstance(schema, dict) else ""
    return str(logical) in (f"{OWN}{one.partition('-')[2]}" for one in (*TIMES, *DECIMALS))


def _is_plain(value: Any, schema: Any) -> bool:
    """Whether a value of a union is one of a plain type beside a logical one."""
    if isinstance(value, int) and not isinstance(value, bool):
        most: int = schema.get(PLAIN_MOST, 0)
        return bool(most) and -most - 1 <= value <= most
    classes = schema.get(PLAIN_KINDS, ())
    is_data = isinstance(value, (bytes, bytearray))
    return (isinstance(value, str) and "str" in classes) or (is_data and "bytes" in classes)


def _but_plain(write: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def tried(value: Any, schema: Any) -> Any:
        return Unfit(value) if _is_plain(value, schema) else write(value, schema)

    return tried


def _zoneless(write: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Take no time with a zone, for a type that has none: 12:00+05:00 is not 12:00."""

    def tried(value: Any, schema: Any) -> Any:
        has_zone = isinstance(value, (datetime.time, datetime.datetime)) and value.tzinfo
        return Unfit(value) if has_zone else write(value, schema)

    return tried


def _time_of_day(per_second: int) -> Callable[..., Any]:
    """Return what reads a time of a day, if it is of one: 24:00 and later, and times before 0:00,
    are their numbers. per_second: its unit.
    """

    def read(data: int, _writer: Any = None, _reader: Any = None) -> Any:
        if not 0 <= data < DAY_S * per_second:
            return data
        seconds, part = divmod(data, per_second)
        minutes, second = divmod(seconds, 60)
        hour, minute = divmod(minutes, 60)
        return datetime.time(hour, minute, second, part * (MICROSECONDS // per_second))

    return read


def _uuid_text(data: str, _writer: Any = None, _reader: Any = None) -> Any:
    """Read a UUID; a text that is one in another spelling stays that text."""
    try:
        found = uuid.UUID(data)
    except ValueError:
        return data
    return found if str(found) == data else data


def _or_as_stored(read: Callable[..., Any]) -> Callable[..., Any]:
    def tried(data: Any, writer: Any = None, reader: Any = None) -> Any:
        try:
            return read(data, writer, reader)
        except (ValueError, OverflowError):
            return data

    return tried


def _exact_decimal(data: bytes, writer: Any = None, _reader: Any = None) -> decimal.Decimal:
    if len(data) > DECIMAL_BYTES_MAX:
        raise ValueError(f"a decimal has {len(data)} bytes, {DECIMAL_BYTES_MAX} at most")
    unscaled = int.from_bytes(data, "big", signed=True)
    sign, digits, _ = decimal.Decimal(unscaled).as_tuple()
    return decimal.Decimal((sign, digits, -writer.get("scale", 0)))


def _digits(value: decimal.Decimal, schema: Any) -> int:
    """Return how many digits a number has with those that the scale says behind its point."""
    scale: int = schema.get("scale", 0)
    return value.adjusted() + 1 + scale


def _written_decimal(write: Callable[..., Any]) -> Callable[..., Any]:
    """Take whole numbers for a decimal too, and nothing that it cannot hold."""

    def tried(value: Any, schema: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            value = decimal.Decimal(value)
        if not isinstance(value, decimal.Decimal):
            return write(value, schema)
        if value.is_finite() and value and _digits(value, schema) > schema["precision"]:
            return Unfit(value)  # another type of a union may take it
        # Before it is written: the digits of 1E+999999999 alone would take minutes.
        if value.is_finite() and value.adjusted() + schema.get("scale", 0) < DECIMAL_DIGITS_MAX:
            data = write(value, schema)
            if len(data) <= DECIMAL_BYTES_MAX:
                return data
        raise ValueError(f"{value!r:.100} is no decimal of up to {DECIMAL_BYTES_MAX} bytes")

    return tried


class Unfit:
    """Stands for a value that does not fit: it is of no type."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __repr__(self) -> str:
        return repr(self._value)


FLOAT_MAX = 3.4028235677973362e38
"""From here on a number is rounded to an infinite one of 32 bits."""


def _float(value: Any, _schema: Any) -> Any:
    is_number = isinstance(value, (int, float))
    return Unfit(value) if is_number and FLOAT_MAX <= abs(value) < math.inf else value


def _date(value: Any, schema: Any) -> Any:
    """Take the days of a date. A time is no date: its hours would be lost."""
    if isinstance(value, datetime.datetime):
        return Unfit(value)
    try:
        return LOGICAL_WRITERS["int-date"](value, schema)
    except ValueError:  # of a text that is no date, and may be another type of a union
        return Unfit(value)


def _uuid_read(data: bytes, _writer: Any = None, _reader: Any = None) -> uuid.UUID:
    return uuid.UUID(bytes=data)


def _uuid_bytes(value: Any, _schema: Any) -> Any:
    return value.bytes if isinstance(value, uuid.UUID) else value


def _beside(most: int) -> Callable[[Any, Any], Any]:
    def tried(value: Any, schema: Any) -> Any:
        if isinstance(value, int) and -most - 1 <= value <= most:
            return Unfit(value)
        return _float(value, schema) if schema["type"] == "float" else value

    return tried


def _writer_of(kind: str, logical: str) -> Callable[[Any, Any], Any]:
    """Return what writes a logical type."""
    write = LOGICAL_WRITERS[kind]
    if kind in DECIMALS:
        return _written_decimal(write)
    if kind == "int-date":
        return _date
    return _zoneless(write) if logical.startswith(("time-", "local-")) else write


def _register() -> None:
    """Tell fastavro the logical types; their names are no other program's."""
    for kind in (*TIMES, *DECIMALS):
        stored, _, logical = kind.partition("-")
        own = f"{stored}-{OWN}{logical}"
        LOGICAL_READERS[own] = (
            _exact_decimal if kind in DECIMALS else _or_as_stored(LOGICAL_READERS[kind])
        )
        LOGICAL_WRITERS[own] = _but_plain(_writer_of(kind, logical))
    LOGICAL_READERS[f"int-{OWN}time-millis"] = _time_of_day(1_000)
    LOGICAL_READERS[f"long-{OWN}time-micros"] = _time_of_day(MICROSECONDS)
    LOGICAL_READERS[f"string-{OWN}uuid"] = _uuid_text
    LOGICAL_READERS[f"fixed-{OWN}uuid"] = _uuid_read
    LOGICAL_WRITERS[f"fixed-{OWN}uuid"] = _uuid_bytes
    LOGICAL_WRITERS[f"float-{OWN}float"] = _float
    for whole, most in MOST.items():
        for kind in ("float", "double"):
            LOGICAL_WRITERS[f"{kind}-{OWN}beside-{whole}"] = _beside(most)


_register()
