"""The Avro schemas as the package ships them, and the one codec for all that we write.

Everything encoded starts with one byte of schema version. Version 1 is the schema in
schemas/NAME.avsc; later ones are kept beside it, so that what was written stays readable.
"""

from __future__ import annotations

import io
import json
from importlib import resources
from pathlib import Path
from typing import Any, cast

import fastavro

VERSION = 1
VERSIONS_END = 32
"""Bytes from here on are text: what begins with one was never written by any release."""
NAMES = ("descriptor", "entry", "event", "export", "progress", "transfer")


class UnreadableError(ValueError):
    """Bytes that mqk did not write, or that a newer release wrote."""


class LaterReleaseError(UnreadableError):
    """Bytes that a newer release wrote, which that one reads: they are not damaged."""


def schema_text(name: str) -> str:
    """Return the text of one schema, from the package or from the checkout beside it."""
    packaged = resources.files("adapter").joinpath("schemas", f"{name}.avsc")
    if packaged.is_file():
        return packaged.read_text()
    checkout = Path(__file__).parents[3] / "schemas" / f"{name}.avsc"
    return checkout.read_text()


def history(name: str) -> list[str]:
    """Return the texts of a schema's versions, from the first to the one that is written now."""
    older: list[str] = []
    while True:
        try:
            older.append(schema_text(f"{name}.{len(older) + VERSION}"))
        except FileNotFoundError:
            return [*older, schema_text(name)]


class Codec:
    """Writes and reads values of one schema, each behind its version byte.

    version: what is written, of schemas/NAME.avsc; older ones, NAME.1.avsc and so on, are read,
    from the oldest on.
    """

    def __init__(self, name: str, version: int = VERSION, oldest: int = VERSION) -> None:
        self.name = name
        self._version = version
        self._schema = fastavro.parse_schema(json.loads(schema_text(name)))
        self._older = {
            old: fastavro.parse_schema(json.loads(schema_text(f"{name}.{old}")))
            for old in range(oldest, version)
        }
        self._prefix = bytes((version,))

    def encode(self, value: dict[str, Any]) -> bytes:
        """Return the version byte and the Avro binary of a value."""
        out = io.BytesIO()
        out.write(self._prefix)
        fastavro.schemaless_writer(out, self._schema, value)
        return out.getvalue()

    def decode(self, data: bytes) -> dict[str, Any]:
        """Read what encode wrote; UnreadableError says what is wrong with other bytes."""
        written = self._written(data)
        reader = None if written is self._schema else self._schema
        try:
            source = io.BytesIO(data[1:])
            value = fastavro.schemaless_reader(source, written, reader, return_record_name=True)
        except (EOFError, IndexError, ValueError, OverflowError, KeyError) as error:
            raise UnreadableError(f"{self.name}: {len(data)} damaged bytes ({error})") from error
        return cast("dict[str, Any]", value)

    def _written(self, data: bytes) -> Any:
        """Return the schema that bytes were written by."""
        if data and data[0] == self._version:
            return self._schema
        if data and data[0] in self._older:
            return self._older[data[0]]
        found = data[0] if data else "nothing"
        text = f"{self.name}: schema version {found}, this release reads version {self._version}"
        if data and data[0] in range(self._version + 1, VERSIONS_END):
            raise LaterReleaseError(f"{text}: a later release wrote it; use that one")
        raise UnreadableError(text)
