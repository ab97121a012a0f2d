"""Records of one lane as rows for Spark: thousands at once, each column of all of them together.

Nearly all records are whole messages whose descriptor has the newest version: those are read
column by column (avro_columns). A batch that holds any other record (a part of a long message, a
descriptor of an earlier release, a damaged or foreign one) is decoded record by record, by the
decoder that reads queues everywhere. Both make the same rows. This module must not know where
records come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pyarrow
from confluent_kafka import Message

from adapter.storage.format import descriptor
from adapter.storage.format.record_headers import headers_of
from adapter.storage.format.schemas import UnreadableError, schema_text
from adapter.storage.topics.decoder import NotAMessageError, RecordDecoder
from spark_jobs import rows
from spark_jobs.avro_columns import AvroColumns
from spark_jobs.errors import SparkJobError
from spark_jobs.rows import ARROW, ARROW_SCHEMA, PARTS, US_A_MS, FoundMessage

ROWS_MAX = 10_000
BYTES_MAX = 8 * 1024 * 1024
"""Of bodies in one batch of Arrow: a task holds one, and Spark another."""
TIMES = {"put_time": "put_time_ms", "expiry_time": "expires_at_ms", "deliver_at": "deliver_at_ms"}
TIME_MS_MAX = 2**63 // US_A_MS - 1
NAMED = {"unit_id": "unit"}
"""Columns that a field of the descriptor has by another name."""
WANTED = frozenset(TIMES.get(name) or NAMED.get(name) or name for name in ARROW_SCHEMA.names)
KINDS = {name: kind for name, _, kind in ARROW}


class LaneRows:
    """Makes rows of the records of one lane, given in order. For one thread."""

    def __init__(self, queue: str, topic: str, lane: int) -> None:
        self._constant = {"queue": queue, "topic": topic, "partition": lane}
        self._decoder = RecordDecoder()
        self._columns = AvroColumns(schema_text("descriptor"), sorted(WANTED))

    def batches(
        self, blocks: Iterable[Sequence[Message]], rows_max: int = ROWS_MAX
    ) -> Iterator[pyarrow.RecordBatch]:
        """Make batches of records that come some at a time; rows_max: at least so many rows each.

        Raises SparkJobError for a record that is not a message of a queue, or is damaged.
        """
        some: list[Message] = []
        size = 0
        for block in blocks:
            some += block
            size += sum(map(len, block))
            if len(some) >= min(rows_max, ROWS_MAX) or size >= BYTES_MAX:
                yield from self._pieces(some, size)
                some, size = [], 0
        yield from self._pieces(some, size)

    def _pieces(self, records: list[Message], size: int) -> Iterator[pyarrow.RecordBatch]:
        """Make batches that are not too large."""
        pieces = [records]
        if size > BYTES_MAX or len(records) > ROWS_MAX:
            before = accumulate(map(len, records), initial=0)
            number = [
                at // ROWS_MAX + bytes_before // BYTES_MAX
                for at, bytes_before in zip(range(len(records)), before, strict=False)
            ]
            cuts = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(records)]
            pieces = [records[start:end] for start, end in pairwise(cuts)]
        for piece in pieces:
            batch = self._at_once(piece)
            if batch is None:
                batch = self._one_by_one(piece)
            if batch is not None:
                yield batch

    def _at_once(self, records: list[Message]) -> pyarrow.RecordBatch | None:
        """Make rows of whole messages; None if there are other records."""
        try:
            pairs = [pair for (pair,) in [headers_of(record) or [] for record in records]]
            names, values = zip(*pairs, strict=True)
        except ValueError:  # no header, or several; or there is no record
            return None
        if set(names) != {descriptor.HEADER} or set(map(type, values)) != {bytes}:
            return None
        try:
            found = self._columns.read(values, descriptor.VERSION)
            found["body"] = [record.value() or b"" for record in records]
            found["offset"] = [record.offset() for record in records]
            arrays = [self._column(name, found, len(records)) for name in ARROW_SCHEMA.names]
        except UnreadableError:
            return None
        self._decoder.clear()
        return pyarrow.RecordBatch.from_arrays(arrays, schema=ARROW_SCHEMA)

    def _column(self, name: str, found: dict[str, Any], count: int) -> pyarrow.Array:
        kind = KINDS[name]
        if name in self._constant:
            return pyarrow.repeat(pyarrow.scalar(self._constant[name], kind), count)
        if name in TIMES:
            values = found[TIMES[name]]
            if values.max() > TIME_MS_MAX or values.min() < -TIME_MS_MAX:
                raise UnreadableError(f"{TIMES[name]} is no time")
            nothing = None if name == "put_time" else values == 0
            return pyarrow.array(values * US_A_MS, mask=nothing).cast(kind)
        if name in PARTS:
            return pyarrow.array(found[name] or [None] * count, kind)
        if name in ("properties", "property_types"):
            return self._map(name, kind, found["properties"], count)
        values = found[NAMED.get(name, name)]
        return values if isinstance(values, pyarrow.Array) else pyarrow.array(values, kind)

    def _map(
        self, name: str, kind: pyarrow.DataType, properties: list[Any] | None, count: int
    ) -> pyarrow.Array:
        """Make a column of what messages have as properties; None: no message has any."""
        if properties is None:
            offsets = pyarrow.repeat(pyarrow.scalar(0, pyarrow.int32()), count + 1)
            nothing = pyarrow.array([], pyarrow.string())
            return pyarrow.MapArray.from_arrays(offsets, nothing, nothing)
        texts = rows.as_texts if name == "properties" else rows.types_of
        return pyarrow.array([texts(one) for one in properties], kind)

    def _one_by_one(self, records: list[Message]) -> pyarrow.RecordBatch | None:
        found: list[FoundMessage] = []
        for record in records:
            try:
                message = self._decoder.take(record)
            except NotAMessageError as foreign:
                text = f"mqk: the record {where(record)} is not a message of a queue: {foreign}"
                raise SparkJobError(text) from None
            except UnreadableError as problem:
                text = f"mqk: the record {where(record)} is damaged: {problem}"
                raise SparkJobError(text) from None
            if message is not None:
                found.append((*message, record.offset() or 0))
        return rows.batch(self._constant, found) if found else None


def where(record: Message) -> str:
    """Say of which record a sentence is."""
    return f"{record.topic()}[{record.partition()}] at offset {record.offset()}"
