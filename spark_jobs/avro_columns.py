"""Many Avro values of one schema at once, as columns of Arrow.

Theory. The values lie one behind the other in one buffer, and for each of them there is the place
where its next field begins. A field is read of all values before the next field of any: a number
of up to ten bytes takes as many steps over all values as the longest one has bytes, text and bytes
are gathered by their places. So a field costs a few array operations for thousands of values, where
a reader of one value needs a dozen steps of the interpreter. What few values have, a map that is
not empty or a union that is not null, is read value by value.

Whatever is not as the schema says raises UnreadableError without saying which value it is: a reader
of single values finds out. This module knows Avro's encoding; it must not know what values mean.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import fastavro
import numpy as np
import pyarrow
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from adapter.storage.format.schemas import UnreadableError

Longs = NDArray[np.int64]
DIGIT_BITS, DIGIT, MORE = 7, 0x7F, 0x80
BYTES_A_NUMBER = 10
BITS_OF_A_NUMBER, LAST_DIGIT_MAX = 64, 1
PADDING = bytes(BYTES_A_NUMBER)
ASCII_END = 0x80
FAILURES = (EOFError, IndexError, ValueError, OverflowError, KeyError, TypeError)
"""What fastavro raises for damaged bytes."""
COLUMNS = {
    "boolean": pyarrow.bool_(),
    "int": pyarrow.int32(),
    "long": pyarrow.int64(),
    "string": pyarrow.string(),
    "bytes": pyarrow.binary(),
}
"""The types of Avro that are read of all values together, and what they are in Arrow."""


class AvroColumns:
    """Reads values of a record's schema, given as JSON text. names: the fields that are wanted."""

    def __init__(self, schema: str, names: Sequence[str]) -> None:
        record = json.loads(schema)
        named = {
            field["type"]["name"]: field["type"]
            for field in record["fields"]
            if isinstance(field["type"], dict) and field["type"]["type"] == "fixed"
        }
        self._fields = [
            (field["name"] if field["name"] in names else "", _kind(field["type"], named))
            for field in record["fields"]
        ]

    def read(self, values: Sequence[bytes], version: int) -> dict[str, Any]:
        """Return a column for each wanted field; of maps and unions lists, None if all are empty.

        version: the byte before each value. Raises UnreadableError.
        """
        places = _Places(values)
        if (places.one_byte() != version).any():
            raise UnreadableError("a value is of another version")
        found = {name: _read(kind, places, is_wanted=bool(name)) for name, kind in self._fields}
        if not np.array_equal(places.at, places.ends):
            raise UnreadableError("there are bytes behind the last field")
        found.pop("", None)
        return found


def _kind(avro: Any, named: dict[str, Any]) -> Any:
    """A field's type: a word of COLUMNS, the size of a fixed, or a schema of fastavro's."""
    if isinstance(avro, str):
        return avro if avro in COLUMNS else named[avro.rpartition(".")[2]]["size"]
    if isinstance(avro, dict) and avro["type"] == "fixed":
        return avro["size"]
    return fastavro.parse_schema(avro)


def _read(kind: Any, places: _Places, *, is_wanted: bool) -> Any:
    if isinstance(kind, int):
        return places.bytes_of(kind) if is_wanted else places.skip(kind)
    if not isinstance(kind, str):
        return places.rare(kind)
    if kind == "boolean":
        return places.one_byte() != 0  # as other readers of Avro have it
    if kind in ("int", "long"):
        return places.longs() if kind == "long" else places.ints()
    return places.texts(COLUMNS[kind], is_wanted=is_wanted)


class _Places:
    """Values in one buffer, and where the next field of each begins."""

    def __init__(self, values: Sequence[bytes]) -> None:
        self._data = b"".join(values)
        # What is read too far behind the last value is there, and is found by the ends.
        self._buffer = np.frombuffer(self._data + PADDING, np.uint8)
        lengths = np.fromiter(map(len, values), np.int64, len(values))
        self.ends: Longs = np.cumsum(lengths)
        self.at: Longs = self.ends - lengths

    def _check(self) -> None:
        if (self.at > self.ends).any():
            raise UnreadableError("a value ends within a field")

    def skip(self, size: int) -> None:
        self.at = self.at + size
        self._check()

    def longs(self) -> Longs:
        at = self.at
        digits = self._buffer[at]
        at = at + 1
        value = (digits & DIGIT).astype(np.uint64)
        more = digits >= MORE
        shift = DIGIT_BITS
        while more.any():
            if shift >= DIGIT_BITS * BYTES_A_NUMBER:
                raise UnreadableError("a number has too many bytes")
            digits = np.where(more, self._buffer[np.minimum(at, len(self._data))], 0)
            if shift + DIGIT_BITS > BITS_OF_A_NUMBER and (digits > LAST_DIGIT_MAX).any():
                raise UnreadableError("a number has more than 64 bits")
            value |= (digits & DIGIT).astype(np.uint64) << np.uint64(shift)
            at += more
            more = digits >= MORE
            shift += DIGIT_BITS
        self.at = at
        self._check()
        one = np.uint64(1)
        return (value >> one).view(np.int64) ^ -(value & one).view(np.int64)

    def ints(self) -> NDArray[np.int32]:
        values = self.longs()
        narrow = values.astype(np.int32)
        if not np.array_equal(narrow, values):
            raise UnreadableError("a number is too large")
        return narrow

    def one_byte(self) -> NDArray[np.uint8]:
        found = self._buffer[self.at]
        self.skip(1)
        return found

    def bytes_of(self, size: int) -> pyarrow.Array:
        start = self.at
        self.skip(size)
        sizes = np.full(len(start), size, np.int64)
        return self._gather(pyarrow.binary(), start, sizes)

    def texts(self, kind: pyarrow.DataType, *, is_wanted: bool) -> pyarrow.Array | None:
        sizes = self.longs()
        if (sizes < 0).any():
            raise UnreadableError("a length is negative")
        start = self.at
        self.at = start + np.minimum(sizes, len(self._data))
        self._check()
        return self._gather(kind, start, sizes) if is_wanted else None

    def _gather(self, kind: pyarrow.DataType, start: Longs, sizes: Longs) -> pyarrow.Array:
        """Make a column of pieces of the buffer."""
        offsets = np.zeros(len(sizes) + 1, np.int32)
        np.cumsum(sizes, out=offsets[1:])
        size = int(sizes[0]) if len(sizes) else 0
        if (sizes == size).all():
            windows = sliding_window_view(self._buffer, size)[start] if size else start[:0]
            data = np.ascontiguousarray(windows, np.uint8).reshape(-1)
        else:
            data = self._buffer[np.repeat(start - offsets[:-1], sizes) + np.arange(offsets[-1])]
        buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(data)]
        found = pyarrow.Array.from_buffers(kind, len(sizes), buffers)
        if kind == pyarrow.string() and data.size and data.max() >= ASCII_END:
            try:
                found.validate(full=True)
            except pyarrow.ArrowInvalid as problem:
                raise UnreadableError(str(problem)) from problem
        return found

    def rare(self, schema: Any) -> list[Any] | None:
        """Read what is mostly one zero byte: an empty map, or the null of a union."""
        rows = np.flatnonzero(self._buffer[self.at])
        at = self.at
        self.at = at + 1
        self._check()
        if not len(rows):
            return None
        if isinstance(schema, list) and (self._buffer[at[rows]] & 1).any():
            raise UnreadableError("a branch of a union is negative")  # one from the end to fastavro
        found: list[Any] = [None] * len(at)
        for row in rows.tolist():
            start = int(at[row])
            source = io.BytesIO(self._data[start : int(self.ends[row])])
            try:
                found[row] = fastavro.schemaless_reader(source, schema, None)
            except FAILURES as problem:
                raise UnreadableError(str(problem)) from problem
            self.at[row] = start + source.tell()
        return found
