"""What a record of a queue's topic says of its message, as columns made in the JVM.

The header `mqmd` is a version byte and Avro; Spark's own decoder reads it, by the schema of the
version that wrote it, into just the fields that are wanted. This module knows encodings and Spark's
columns; it must not know where records come from.
"""

from __future__ import annotations

import json

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it
from pyspark.sql.avro.functions import from_avro

from adapter.storage.format import chunks, descriptor
from adapter.storage.format.schemas import schema_text

FIELDS = (
    *("message_id", "correlation_id", "group_id", "group_seq", "last_in_group", "priority"),
    *("expires_at_ms", "put_time_ms", "format", "message_type", "report", "feedback", "encoding"),
    *("ccsid", "reply_to", "reply_to_queue_manager", "user", "application", "properties", "seq"),
    *("unit", "unit_index", "unit_size", "queue_unit_index", "queue_unit_size", "deliver_at_ms"),
    *("msmq", "broker"),
)
"""Of a descriptor, in the schema's order; the others are not decoded."""
COLUMNS = (
    *("queue", "priority", "seq", "unit_id", "unit_index", "unit_size", "queue_unit_index"),
    *("queue_unit_size", "message_id", "correlation_id", "group_id", "group_seq", "put_time"),
    *("expiry_time", "format", "properties", "body", "topic", "partition", "offset"),
    *("property_types", "last_in_group", "message_type", "report", "feedback", "encoding", "ccsid"),
    *("reply_to", "reply_to_queue_manager", "user", "application", "deliver_at", "msmq", "broker"),
)
"""Of every message that this package reads, in this order."""
PROBLEM = "problem"
QUEUE_METADATA = "mqk.queue"
"""Of the column `queue`: the queue's name, for what is made of these columns later."""
MODE_METADATA = "mqk.read_mode"
"""Of the column `unit_id`: how the data source reads the queue, for what needs all of a unit."""
VALUE_TYPES = ("boolean", "long", "double", "string", "bytes")
"""Of properties: Spark reads a union as a struct with a field for each."""
NULL_TYPE = "null"

_HEADER = "get(headers, 0)"  # each of our records begins with it
_CHUNK = "get(headers, 1)"
_PLACE_DIGITS = 8  # two 32-bit numbers of a chunk's header, in hexadecimal digits each


def _wanted_schema() -> str:
    """The newest schema with just the fields that are wanted: Avro skips the others."""
    schema = json.loads(schema_text("descriptor"))
    schema["fields"] = [field for field in schema["fields"] if field["name"] in FIELDS]
    return json.dumps(schema)


def decode() -> Column:
    """The descriptor as a struct; null, or one of nulls, for a header that is not a descriptor."""
    avro = F.expr(f"substring({_HEADER}.value, 2)")
    options = {"mode": "PERMISSIVE", "avroSchema": _wanted_schema()}
    ours = F.expr(f"{_HEADER}.key = '{descriptor.HEADER}'")
    found = None
    for version in range(descriptor.VERSION, 0, -1):  # the newest is the usual one
        wrote = ours & F.expr(f"substring({_HEADER}.value, 1, 1) = x'{version:02x}'")
        name = "descriptor" if version == descriptor.VERSION else f"descriptor.{version}"
        column = from_avro(avro, schema_text(name), options)
        found = F.when(wrote, column) if found is None else found.when(wrote, column)
    assert found is not None, "there is a version"
    return found.alias("descriptor")


def problem() -> Column:
    """Why a record is not a message of a queue; null for a message. Needs the column descriptor."""
    header = f"{_HEADER}.key is null or {_HEADER}.key != '{descriptor.HEADER}'"
    version = f"conv(hex(substring({_HEADER}.value, 1, 1)), 16, 10)"
    newer = f"cast({version} as int) between {descriptor.VERSION + 1} and 31"
    none = f"not a message of a queue: it has no header {descriptor.HEADER}"
    return (
        F.when(F.expr("descriptor.seq is not null"), F.lit(None))
        .when(F.expr(header), F.lit(none))
        .when(F.expr(newer), F.lit("written by a later release of mqk: read it with that one"))
        .otherwise(F.lit(f"damaged: its header {descriptor.HEADER} cannot be read"))
        .cast("string")
        .alias(PROBLEM)
    )


def where() -> Column:
    """Say of which record a sentence is."""
    return F.concat(
        F.col("topic"),
        F.lit("["),
        F.col("partition").cast("string"),
        F.lit("] at offset "),
        F.col("offset").cast("string"),
    )


def refusing(records: DataFrame) -> Column:
    """Return the descriptor; a record that is no message ends the query, with a sentence on it."""
    kind = records.schema["descriptor"].dataType
    text = F.concat(F.lit("mqk: the record "), where(), F.lit(" is "), problem())
    checked = F.when(F.expr("descriptor.seq is null"), F.raise_error(text).cast(kind))
    return checked.otherwise(F.col("descriptor"))


def chunk_place() -> tuple[Column, Column]:
    """Which chunk of its message a record is, from 0, and of how many; nulls for a whole one."""
    header = f"if({_CHUNK}.key = '{chunks.HEADER}', hex({_CHUNK}.value), null)"
    index, count = (
        F.expr(f"cast(conv(substring({header}, {start}, {_PLACE_DIGITS}), 16, 10) as int)")
        for start in (1, 1 + _PLACE_DIGITS)
    )
    return index, count


def columns(queue: str, body: Column) -> list[Column]:
    """The columns of COLUMNS, of records whose descriptor is decoded."""
    own = {
        "unit_id": F.col("descriptor.unit"),
        "put_time": F.timestamp_millis(F.col("descriptor.put_time_ms")),
        "expiry_time": _time("expires_at_ms"),
        "deliver_at": _time("deliver_at_ms"),
        "properties": _properties(),
        "property_types": _property_types(),
        "body": body,
        "topic": F.col("topic"),
        "partition": F.col("partition"),
        "offset": F.col("offset"),
    }
    named = [own.get(name, F.col(f"descriptor.{name}")).alias(name) for name in COLUMNS]
    named[0] = F.lit(queue).alias("queue", metadata={QUEUE_METADATA: queue})
    return named


def _time(field: str) -> Column:
    """A time of the descriptor; null for 0."""
    return F.expr(f"timestamp_millis(nullif(descriptor.{field}, 0))")


def _properties() -> Column:
    """All values as text, bytes in hexadecimal digits, as the command line shows them."""
    parts = [
        f"hex(v.member{number})" if kind == "bytes" else f"cast(v.member{number} as string)"
        for number, kind in enumerate(VALUE_TYPES)
    ]
    return _of_properties(f"coalesce({', '.join(parts)})")


def _property_types() -> Column:
    """The type of each value: one of VALUE_TYPES, or NULL_TYPE."""
    cases = " ".join(
        f"when v.member{number} is not null then '{kind}'"
        for number, kind in enumerate(VALUE_TYPES)
    )
    which = f"case {cases} else '{NULL_TYPE}' end"
    return _of_properties(which)


def _of_properties(value: str) -> Column:
    """Return a column of a map, with this for each property v.

    Most messages have none: Spark has no code of its own for functions of maps, and calls them.
    """
    each = f"transform_values(descriptor.properties, (k, v) -> {value})"
    none = "when descriptor.properties is not null then cast(map() as map<string, string>)"
    return F.expr(f"case when cardinality(descriptor.properties) > 0 then {each} {none} end")
