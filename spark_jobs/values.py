"""Bodies that are Avro values, read by one schema whatever schema each of them was written with.

The id in front of a body names its writer's schema, which is asked of the registry once in each
Python process; the value is turned into the reader's schema there, and Spark's own decoder makes
columns of it. What cannot be read has a reason instead of a value; a registry that does not answer
ends the batch, which is done again later, so that nothing is taken for unreadable that is not.
"""

from __future__ import annotations

import io
from functools import lru_cache
from pathlib import Path
from typing import Any

import fastavro
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it
from pyspark.sql.avro.functions import from_avro

from adapter.errors import (
    Error,
    InvalidOption,
    InvalidSchema,
    NotAvro,
    SchemaIncompatible,
    SchemaNotFound,
)
from adapter.registry.frame import parse
from adapter.registry.rest import RestRegistry
from adapter.registry.values import Values
from spark_jobs.descriptors import QUEUE_METADATA
from spark_jobs.errors import SparkJobError

VALUE = "value"
REASON = "value_error"
UNREADABLE = (InvalidSchema, NotAvro, SchemaIncompatible, SchemaNotFound)
"""A body's own fault, which no retry would change."""
READERS_MAX = 16  # a job has one or two


def with_value(
    df: DataFrame, *, registry_url: str | None = None, schema: str | Path | None = None
) -> DataFrame:
    """Add the columns `value`, the body as a struct, and `value_error`, why that is null.

    schema: the reader's, as JSON text or a file; all bodies are read as it says, and it does not
    change while the query lives. None: the latest version of the queue's subject, as of now.
    registry_url: where the schemas are that bodies name. Without it a body is Avro with no frame,
    written with just this schema.
    Raises InvalidOption, InvalidSchema, SchemaNotFound, RegistryNotAvailable.
    """
    reader = reader_schema(df, registry_url, schema)
    body = F.col("body")
    avro, reason = (
        (body, F.lit(None))
        if registry_url is None
        else (F.col("_read.avro"), F.col("_read.reason"))
    )
    if registry_url is not None:
        df = df.withColumn("_read", _reading(registry_url, reader)(body))
    value = from_avro(avro, reader, {"mode": "PERMISSIVE"})
    df = df.withColumn("_value", value).withColumn(REASON, reason.cast("string"))
    if registry_url is None:
        fields = df.schema["_value"].dataType.fieldNames()  # type: ignore[attr-defined]
        empty = " and ".join(f"_value.`{name}` is null" for name in fields)
        damaged = "the body is not a value of the schema"
        df = df.withColumn(REASON, F.when(F.expr(empty), F.lit(damaged)))
    readable = F.when(F.col(REASON).isNull(), F.col("_value"))
    return df.withColumn(VALUE, readable).drop("_read", "_value")


def reader_schema(messages: DataFrame, registry_url: str | None, schema: str | Path | None) -> str:
    """The text of the schema that everything is read with."""
    if schema is None:
        if registry_url is None:
            raise InvalidOption("with_value() needs a schema, a registry_url, or both")
        return _latest(messages, registry_url)
    text = str(schema)
    if isinstance(schema, Path) or text.endswith(".avsc"):
        try:
            text = Path(schema).read_text()
        except OSError as problem:
            raise InvalidOption(f"schema {schema} cannot be read: {problem.strerror}") from problem
    parse(text, "the schema given")
    return text


def _latest(messages: DataFrame, registry_url: str) -> str:
    queue = (
        messages.schema["queue"].metadata.get(QUEUE_METADATA)
        if "queue" in messages.columns
        else None
    )
    if not queue:
        raise InvalidOption(
            "which queue these messages are of is not known any more: give with_value() a schema"
        )
    registry = RestRegistry(registry_url)
    try:
        return registry.version(f"{queue}-value").schema
    finally:
        registry.close()


def _reading(registry_url: str, reader: str):  # type: ignore[no-untyped-def]  # a UDF has no type
    """The function that makes Avro of the reader's schema of a body, or says why it cannot."""

    def read(body: bytes | None) -> tuple[bytes | None, str | None]:
        return reread(registry_url, reader, bytes(body or b""))

    return F.udf(read, "avro binary, reason string")  # type: ignore[call-overload, unused-ignore]


def reread(registry_url: str, reader: str, body: bytes) -> tuple[bytes | None, str | None]:
    """Read a body and write it with the reader's schema; or the reason why there is no value."""
    try:
        value = _values(registry_url).decode(body, reader)
    except UNREADABLE as problem:
        return None, problem.text
    except Error as problem:
        raise SparkJobError(f"mqk: {problem.text}") from None
    out = io.BytesIO()
    fastavro.schemaless_writer(out, _parse(reader), value)
    return out.getvalue(), None


@lru_cache(maxsize=READERS_MAX)
def _values(registry_url: str) -> Values:
    """The registry's client of this process: what it was told once is kept."""
    return Values(RestRegistry(registry_url))


@lru_cache(maxsize=READERS_MAX)
def _parse(schema: str) -> Any:
    return parse(schema, "the reader's schema")
