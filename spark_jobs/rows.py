"""Messages as rows for Spark, a batch of Arrow at a time, for what is read in Python.

The columns are those of descriptors.COLUMNS, typed as Spark's own decoder types them. This module
must not know where records come from.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from operator import attrgetter
from typing import Any

import pyarrow
from msgspec import Struct
from msgspec.structs import asdict

from adapter.core.contract.message import MessageData, Property
from adapter.storage.format.descriptor import UnitPosition
from adapter.storage.format.schemas import schema_text
from spark_jobs.property_types import TYPE_NAMES

FoundMessage = tuple[MessageData, UnitPosition, int]
"""A message, its place in its unit and lane, and the offset of its (last) record."""
TEXT, BINARY, TIME = pyarrow.string(), pyarrow.binary(), pyarrow.timestamp("us", tz="UTC")
INT, LONG = pyarrow.int32(), pyarrow.int64()
US_A_MS = 1000
PLAIN_LEAST, PLAIN_MOST = 1e-3, 1e7
"""Java writes numbers from the one to before the other without an exponent."""
AVRO: dict[str, tuple[str, pyarrow.DataType]] = {
    "boolean": ("boolean", pyarrow.bool_()),
    "int": ("int", INT),
    "long": ("bigint", LONG),
    "string": ("string", TEXT),
    "bytes": ("binary", BINARY),
}
"""The types of Avro that parts of a descriptor have."""
PARTS = ("msmq", "broker")
"""What only messages of one face have."""


def _part(name: str) -> tuple[str, str, pyarrow.DataType]:
    """A column of a part of the descriptor: a struct of the fields of its schema."""
    fields = json.loads(schema_text("descriptor"))["fields"]
    (_, record) = next(field["type"] for field in fields if field["name"] == name)
    kinds = {field["name"]: AVRO[field["type"]] for field in record["fields"]}
    words = ",".join(f"{field}:{word}" for field, (word, _) in kinds.items())
    struct = pyarrow.struct([(field, kind) for field, (_, kind) in kinds.items()])
    return name, f"struct<{words}>", struct


ARROW: tuple[tuple[str, str, pyarrow.DataType], ...] = (
    ("queue", "string", TEXT),
    ("priority", "int", INT),
    ("seq", "bigint", LONG),
    ("unit_id", "binary", BINARY),
    ("unit_index", "int", INT),
    ("unit_size", "int", INT),
    ("queue_unit_index", "int", INT),
    ("queue_unit_size", "int", INT),
    ("message_id", "binary", BINARY),
    ("correlation_id", "binary", BINARY),
    ("group_id", "binary", BINARY),
    ("group_seq", "int", INT),
    ("put_time", "timestamp", TIME),
    ("expiry_time", "timestamp", TIME),
    ("format", "string", TEXT),
    ("properties", "map<string,string>", pyarrow.map_(TEXT, TEXT)),
    ("body", "binary", BINARY),
    ("topic", "string", TEXT),
    ("partition", "int", INT),
    ("offset", "bigint", LONG),
    ("property_types", "map<string,string>", pyarrow.map_(TEXT, TEXT)),
    ("last_in_group", "boolean", pyarrow.bool_()),
    ("message_type", "int", INT),
    ("report", "int", INT),
    ("feedback", "int", INT),
    ("encoding", "int", INT),
    ("ccsid", "int", INT),
    ("reply_to", "string", TEXT),
    ("reply_to_queue_manager", "string", TEXT),
    ("user", "string", TEXT),
    ("application", "string", TEXT),
    ("deliver_at", "timestamp", TIME),
    *map(_part, PARTS),
)
ARROW_SCHEMA = pyarrow.schema([(name, kind) for name, _, kind in ARROW])
SAID = (
    *("priority", "message_id", "correlation_id", "group_id", "group_seq", "last_in_group"),
    *("format", "message_type", "report", "feedback", "encoding", "ccsid", "reply_to"),
    *("reply_to_queue_manager", "user", "application", "body"),
)
"""Columns that a message has as they are."""
OF_MESSAGE = attrgetter(*SAID)
OF_PLACE = attrgetter(
    *("seq", "unit", "unit_index", "unit_size", "queue_unit_index", "queue_unit_size")
)


def batch(constant: dict[str, Any], found: list[FoundMessage]) -> pyarrow.RecordBatch:
    """Make rows of messages of one lane; constant: the columns that are alike in all of them."""
    columns = _columns(constant, found)
    arrays = [pyarrow.array(columns[name], kind) for name, _, kind in ARROW]
    return pyarrow.RecordBatch.from_arrays(arrays, schema=ARROW_SCHEMA)


def _columns(constant: dict[str, Any], found: list[FoundMessage]) -> dict[str, Any]:
    said = zip(*(OF_MESSAGE(message) for message, _, _ in found), strict=True)
    at = zip(*(OF_PLACE(place) for _, place, _ in found), strict=True)
    columns: dict[str, Any] = dict(zip(SAID, said, strict=True))
    places = ("seq", "unit_id", "unit_index", "unit_size", "queue_unit_index")
    columns |= dict(zip((*places, "queue_unit_size"), at, strict=True))
    columns |= {name: [value] * len(found) for name, value in constant.items()}
    columns["put_time"] = [message.put_time_ms * US_A_MS for message, _, _ in found]
    columns["expiry_time"] = [message.expires_at_ms * US_A_MS or None for message, _, _ in found]
    columns["deliver_at"] = [message.deliver_at_ms * US_A_MS or None for message, _, _ in found]
    for name in PARTS:
        columns[name] = [_fields(getattr(message, name)) for message, _, _ in found]
    columns["properties"] = [as_texts(message.properties) for message, _, _ in found]
    columns["property_types"] = [types_of(message.properties) for message, _, _ in found]
    columns["offset"] = [offset for _, _, offset in found]
    return columns


def _fields(part: Struct | None) -> dict[str, Any] | None:
    return None if part is None else asdict(part)


def as_texts(properties: dict[str, Property] | None) -> list[tuple[str, str | None]]:
    """Values as Spark writes them as text: true, and bytes in hexadecimal digits."""
    return [(name, as_text(value)) for name, value in (properties or {}).items()]


def types_of(properties: dict[str, Property] | None) -> list[tuple[str, str]]:
    """The types of values, as Spark's decoder names them."""
    return [(name, TYPE_NAMES[type(value)]) for name, value in (properties or {}).items()]


def as_text(value: Property) -> str | None:
    """One value."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _as_java_writes(value)
    return value.hex().upper() if isinstance(value, bytes) else str(value)


def _as_java_writes(value: float) -> str:
    """Write a number as Double.toString does, which Spark's cast calls: 1.0E16, 1.0E-4, NaN."""
    size = abs(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if not value or PLAIN_LEAST <= size < PLAIN_MOST:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    first, *more = map(str, digits)
    return f"{'-' * sign}{first}.{''.join(more) or '0'}E{exponent + len(more)}"
