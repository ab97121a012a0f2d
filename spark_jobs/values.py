"""Bodies that are Avro values, read by one schema whatever schema each of them was written with.

The id in front of a body names its writer's schema, which is asked of the registry once in each
Python process. A body of another schema than the reader's is written again as the reader's has it,
byte for byte (adapter.registry.resolution), and Spark's own decoder makes columns of it: no value
becomes one of Python on its way, where a long of a union and a double of it are alike. What cannot
be read has a reason instead of a value; a registry that does not answer ends the batch, which is
done again later, so that nothing is taken for unreadable that is not.

**Whether Spark's decoder refused.** In its mode PERMISSIVE a record of nulls is what it makes of
a value that it refuses. So the reader's schema is the field of a record around it, which has the
same bytes, and whose second field has a default that is not null: if that is null, it refused.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
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
from adapter.registry import values
from adapter.registry.frame import FRAME, parse, schema_id_of
from adapter.registry.resolution import Resolution
from adapter.registry.rest import RestRegistry
from adapter.registry.values import Parsed, Values
from spark_jobs.descriptors import QUEUE_METADATA
from spark_jobs.errors import SparkJobError, explain

VALUE = "value"
REASON = "value_error"
UNREADABLE = (InvalidSchema, NotAvro, SchemaIncompatible, SchemaNotFound)
"""A body's own fault, which no retry would change."""
READERS_MAX = 16  # a job has one or two
WRITERS_MAX = 1000
READ, AROUND = "read", "MqkValue"


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
    df = df.withColumn("_avro", _reading(registry_url, reader)(body))
    avro, reason = F.col("_avro.avro"), F.col("_avro.reason")
    written, wanted = _around(reader)
    options = {"mode": "PERMISSIVE", "avroSchema": wanted}
    try:
        df = df.withColumn("_value", from_avro(avro, written, options))
        df = df.withColumn(REASON, F.coalesce(reason, _refusal()))
        return df.withColumn(VALUE, F.col(f"_value.{VALUE}")).drop("_avro", "_value")
    except (PySparkException, Py4JJavaError) as problem:
        raise InvalidSchema(f"Spark has no type for this schema: {explain(problem)}") from problem


def _around(reader: str) -> tuple[str, str]:
    """Return a schema as the field of a record, and this with a field that has a default."""
    # Without a namespace of its own, so that names within keep theirs.
    written = [{"name": VALUE, "type": json.loads(reader)}]
    wanted = [{"name": VALUE, "type": _with_exact_doubles(json.loads(reader))}]
    wanted.append({"name": READ, "type": "boolean", "default": True})
    first, second = (
        json.dumps({"type": "record", "name": AROUND, "fields": fields})
        for fields in (written, wanted)
    )
    return first, second


def _with_exact_doubles(schema: Any) -> Any:
    """Let doubles of an array be of a union with that one type, which means the same.

    Spark 4.0 comes with Avro 1.12.0, whose arrays of doubles keep 32 bits of each (AVRO 1.12.1 is
    right: PrimitivesArrays.DoubleArray). It makes such arrays of no union.
    """
    if isinstance(schema, list):
        return [_with_exact_doubles(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "array" and schema.get("items") in ("double", {"type": "double"}):
        return {**schema, "items": ["double"]}
    return {
        key: value if key in ("default", "aliases") else _with_exact_doubles(value)
        for key, value in schema.items()
    }


def _refusal() -> Column:
    """The reason if Spark's decoder has not read a value, else null."""
    text = "Spark refuses the value: its type in Spark cannot hold it (from_avro, mode FAILFAST)"
    return F.when(F.col(f"_value.{READ}").isNull(), F.lit(text))


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


def _reading(registry_url: str | None, reader: str):  # type: ignore[no-untyped-def]  # of a UDF
    """The function that makes Avro of the reader's schema of a body, or says why it cannot."""

    def read(body: bytes | None) -> tuple[bytes | None, str | None]:
        data = bytes(body or b"")
        return check(reader, data) if registry_url is None else reread(registry_url, reader, data)

    return F.udf(read, "avro binary, reason string")  # type: ignore[call-overload, unused-ignore]


def check(reader: str, body: bytes) -> tuple[bytes | None, str | None]:
    """Return a body that is a value; or why it cannot be read.

    Java makes room for as many bytes as a length says before it reads them: a body of five bytes
    would end an executor, again and again.
    """
    try:
        values.read(body, 0, _parsed(reader))
    except (*values.DAMAGED, NotAvro):
        return None, "the body is not a value of the schema"
    return body, None


def reread(registry_url: str, reader: str, body: bytes) -> tuple[bytes | None, str | None]:
    """Return a body's value as the reader's schema has it; or why it has no such value."""
    try:
        schema_id = schema_id_of(body)
        resolution = _resolution(registry_url, reader, schema_id)
        if isinstance(resolution, str):
            return None, resolution
        if resolution is not None:
            return resolution.rewrite(body, FRAME.size), None
        _values(registry_url).decode(body)  # or it is no value
        return body[FRAME.size :], None
    except SchemaIncompatible as problem:
        return None, f"the body cannot be read with the reader's schema: {problem.text}"
    except UNREADABLE as problem:
        return None, problem.text
    except Error as problem:
        raise SparkJobError(f"mqk: {problem.text}") from None


@lru_cache(maxsize=READERS_MAX)
def _parsed(reader: str) -> Parsed:
    return values.parsed(0, reader, "the reader's schema")


@lru_cache(maxsize=READERS_MAX)
def _values(registry_url: str) -> Values:
    """The registry's client of this process: what it was told once is kept."""
    return Values(RestRegistry(registry_url))


@lru_cache(maxsize=WRITERS_MAX)
def _resolution(registry_url: str, reader: str, schema_id: int) -> Resolution | str | None:
    """What turns values of a schema into the reader's, or why nothing does; None: they are the
    reader's.
    """
    try:
        return values.resolution(_values(registry_url).by_id(schema_id).text, reader)
    except InvalidSchema as problem:
        return f"schema {schema_id} cannot be read: {problem.text}"
