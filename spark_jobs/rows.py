"""A message as a row, made in Python: the same columns that descriptors.columns makes in the JVM.

This module knows messages and rows; it must not know where either goes.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pyspark.sql.types import (
    BinaryType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from adapter.core.model.message import Message
from adapter.format.descriptor import Position

Row = tuple[Any, ...]

SCHEMA = StructType(
    [
        StructField("queue", StringType(), False),
        StructField("priority", LongType(), False),
        StructField("seq", LongType(), False),
        StructField("unit_id", BinaryType(), False),
        StructField("unit_index", LongType(), False),
        StructField("unit_size", LongType(), False),
        StructField("queue_unit_index", LongType(), False),
        StructField("queue_unit_size", LongType(), False),
        StructField("message_id", BinaryType(), False),
        StructField("correlation_id", BinaryType(), False),
        StructField("group_id", BinaryType(), False),
        StructField("group_seq", LongType(), False),
        StructField("put_time", TimestampType(), False),
        StructField("expiry_time", TimestampType(), True),
        StructField("format", StringType(), False),
        StructField("properties", MapType(StringType(), StringType(), True), False),
        StructField("body", BinaryType(), False),
        StructField("topic", StringType(), False),
        StructField("partition", IntegerType(), False),
        StructField("offset", LongType(), False),
    ]
)


def row_of(
    queue: str, message: Message, at: Position, topic: str, partition: int, offset: int
) -> Row:
    """Make the row of a message. offset: of its record on the topic, the last one if it has more."""
    return (
        queue,
        message.priority,
        at.seq,
        at.unit,
        at.unit_index,
        at.unit_size,
        at.queue_unit_index,
        at.queue_unit_size,
        message.message_id,
        message.correlation_id,
        message.group_id,
        message.group_seq,
        _time(message.put_time_ms),
        _time(message.expires_at_ms) if message.expires_at_ms else None,
        message.format,
        {name: _text(value) for name, value in (message.properties or {}).items()},
        message.body,
        topic,
        partition,
        offset,
    )


def _time(time_ms: int) -> datetime:
    return datetime.fromtimestamp(time_ms / 1000, UTC)


def _text(value: object) -> str | None:
    """Write a property's value as Spark does: truth in small letters, bytes as hexadecimal."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.hex().upper() if isinstance(value, bytes) else str(value)
