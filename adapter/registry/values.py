"""Message bodies that are Avro values, in the standard frame: a zero byte, the schema's id, Avro.

Confluent's serializers and all that are compatible write and read the same. Schemas are asked of a
registry once and kept. It knows neither queues nor messages.
"""

from __future__ import annotations

import copy
import io
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import fastavro
from msgspec import Struct

from adapter.errors import InvalidSchema, InvalidType, NotAvro, SchemaIncompatible
from adapter.registry import python_values
from adapter.registry.bounded_values import VALUES_DECODED_MAX, ValueReader, refuse_rest
from adapter.registry.frame import FRAME, parse, schema_id_of, written_frame
from adapter.registry.port import LATEST, NotKnownError, Registered, SchemaRegistry
from adapter.registry.resolution import Resolution

SCHEMAS_MAX = 1000
"""Parsed schemas that are kept; a program meets tens."""
LATEST_S = 60.0
"""How long a subject's latest version counts as such. Registering is rare, and what was the latest
a minute ago can still be read."""
SchemaName = int | str | tuple[str, int] | Path | Mapping[str, Any]
"""A schema by its id, its subject ("orders-value": the latest version; or with a version), its file
(a Path, or a text that ends with .avsc), or as itself (a mapping, or JSON text)."""

DAMAGED = (EOFError, IndexError, ValueError, OverflowError, KeyError, TypeError, StopIteration)


class Parsed(Struct):
    """A schema as fastavro works with it. schema_id: 0 if it was not asked of a registry. text: the
    schema as it was given.

    strict: judges the bytes of values, which fastavro does not: it takes a branch or a symbol of a
    negative number, a boolean of 2, numbers of more bits than they have. is_bounded: it also keeps
    values within bounds, as a few bytes can stand for one of any size or depth.
    """

    schema_id: int
    schema: Any
    text: str
    strict: ValueReader
    is_bounded: bool = False
    used_s: float = 0.0


class Values:
    """Writes and reads values. Its methods may be called from any thread."""

    def __init__(self, registry: SchemaRegistry, schemas_max: int = SCHEMAS_MAX) -> None:
        """schemas_max: so many schemas are kept in memory."""
        self._registry = registry
        self._may_ask = True
        self._schemas_max = schemas_max
        self._lock = threading.Lock()
        self._kept: OrderedDict[object, Parsed] = OrderedDict()
        self._counts = dict.fromkeys(("encoded", "decoded", "asked"), 0)

    @property
    def registry(self) -> SchemaRegistry:
        """The registry that is asked."""
        return self._registry

    def without_asking(self) -> Values:
        """Return what works with the same schemas, for a caller that must not wait.

        Where it had to ask for one, it raises NotKnownError.
        """
        same = copy.copy(self)
        same._may_ask = False
        return same

    def encode(
        self, value: Any, schema: SchemaName, subject: str = "", *, register: bool = False
    ) -> bytes:
        """Write a value with a schema that is registered.

        subject: where a schema from a file, or given as itself, is looked up. register: it is
        registered there if it is not yet. Raises NotAvro for a value that does not fit,
        SchemaNotFound, SchemaIncompatible, InvalidSchema, RegistryNotAvailable.
        """
        found = self._writer(schema, subject, register=register)
        out = io.BytesIO()
        out.write(written_frame(found.schema_id))
        try:
            if found.is_bounded:
                python_values.check_depth(value)
            python_values.check(value, found.schema)
            # Strict: a misspelt field must not be left out without a word.
            fastavro.schemaless_writer(out, found.schema, value, strict_allow_default=True)
            if found.is_bounded:
                found.strict.read(out.getvalue())  # what no reader would read is not written
        except (*python_values.UNFIT, NotAvro) as error:
            why = error.text if isinstance(error, NotAvro) else error
            raise NotAvro(
                f"a value does not fit schema {found.schema_id} of subject {subject or schema!r}: "
                f"{why}; nothing was put",
                subject,
            ) from error
        self._counts["encoded"] += 1
        return out.getvalue()

    def decode(self, body: bytes, schema: SchemaName | None = None, *, named: bool = False) -> Any:
        """Read a body: with the schema it was written with, or into another that can read it.

        schema: the reader's; what is new in it takes its defaults. named: a record of a union is
        (its full name, the record), where the union has several. Raises NotAvro,
        SchemaIncompatible, SchemaNotFound, InvalidSchema, RegistryNotAvailable.
        """
        written = self.by_id(schema_id_of(body))
        try:
            reader = None if schema is None else self._reader(schema)
            turned = None if reader is None else resolution(written.text, reader.text)
            if reader is None or turned is None:
                value = read(body, FRAME.size, written, named=named)
            else:
                data = turned.rewrite(body, FRAME.size)
                value = read(data, 0, reader, named=named, is_ours=True)
        except SchemaIncompatible as error:
            raise SchemaIncompatible(
                f"a body of schema {written.schema_id} cannot be read with {schema!r}: {error.text}"
            ) from error
        except (*DAMAGED, NotAvro) as error:
            why = error.text if isinstance(error, NotAvro) else repr(error)
            raise NotAvro(
                f"a body of {len(body)} bytes is not a value of schema {written.schema_id}, "
                f"which it names ({why}): read it as bytes"
            ) from error
        self._counts["decoded"] += 1
        return value

    def by_id(self, schema_id: int) -> Parsed:
        """Return a schema by its id. Raises SchemaNotFound, RegistryNotAvailable."""
        kept = self._known(schema_id)
        if kept is None:
            text = self._ask().schema(schema_id)
            kept = self._keep(schema_id, parsed(schema_id, text, f"schema {schema_id}"))
        return kept

    def statistics(self) -> dict[str, int]:
        """Counts since the object was made."""
        return {**self._counts, "kept": len(self._kept)}

    def _ask(self) -> SchemaRegistry:
        """Return the registry, which is asked now."""
        if not self._may_ask:
            raise NotKnownError
        self._counts["asked"] += 1
        return self._registry

    def _writer(self, schema: SchemaName, subject: str, *, register: bool) -> Parsed:
        text = text_of(schema)
        if text is None:
            return self._reader(schema)
        if not subject:
            raise InvalidType(
                "a schema that is not in the registry needs a subject to be looked up"
            )
        kept = self._known((subject, text))
        if kept is None:
            if register:
                schema_id = self._ask().register(subject, text)
            else:
                schema_id = self._ask().lookup(subject, text).schema_id
            kept = self._keep((subject, text), parsed(schema_id, text, subject))
        return kept

    def _reader(self, schema: SchemaName) -> Parsed:
        text = text_of(schema)
        if text is not None:
            kept = self._known(text)
            return kept or self._keep(text, parsed(0, text, "the schema given"))
        match schema:
            case int():
                return self.by_id(schema)
            case str():
                return self._latest(schema)
            case (str() as subject, int() as version):
                kept = self._known((subject, version))
                return kept or self._keep(
                    (subject, version), self._of(self._ask().version(subject, version))
                )
        raise InvalidType(
            f"a schema is named by its id, its subject, (subject, version), its file, or is given "
            f"as itself, not as {schema!r}"
        )

    def _latest(self, subject: str) -> Parsed:
        kept = self._known((subject, LATEST))
        if kept is None or time.monotonic() - kept.used_s > LATEST_S:
            kept = self._of(self._ask().version(subject))
            kept.used_s = time.monotonic()
            self._keep((subject, LATEST), kept)
        return kept

    def _of(self, found: Registered) -> Parsed:
        name = f"{found.subject} version {found.version}"
        return parsed(found.schema_id, found.schema, name)

    def _known(self, name: object) -> Parsed | None:
        with self._lock:
            kept = self._kept.get(name)
            if kept is not None:
                self._kept.move_to_end(name)
            return kept

    def _keep(self, name: object, found: Parsed) -> Parsed:
        with self._lock:
            self._kept[name] = found
            while len(self._kept) > self._schemas_max:
                self._kept.popitem(last=False)
        return found


def read(
    data: bytes, at: int, written: Parsed, *, named: bool = False, is_ours: bool = False
) -> Any:
    """Read a value that begins at a byte. named: see Values.decode(). is_ours: the bytes were
    written here, and may at most be too many.

    Raises NotAvro, or one of DAMAGED, for what is no value.
    """
    if written.is_bounded:
        written.strict.read(data, at)
    elif not is_ours:
        with suppress(RecursionError):  # as deep as the schema: whatever the bytes say
            written.strict.read(data, at)
    source = io.BytesIO(data)
    source.seek(at)
    value = fastavro.schemaless_reader(
        source,
        written.schema,
        None,
        return_record_name=named,
        return_record_name_override=named,
    )
    refuse_rest(len(data) - source.tell())
    return value


@lru_cache(maxsize=SCHEMAS_MAX)
def resolution(writer: str, reader: str) -> Resolution | None:
    """Return what turns values of a schema into another one's; None: they are the same. Raises
    InvalidSchema.
    """
    is_same = writer == reader or json.loads(writer) == json.loads(reader)
    return None if is_same else Resolution(writer, reader)


def text_of(schema: SchemaName) -> str | None:
    """Return the text of a schema that is given itself, or by its file; None for one by name."""
    if isinstance(schema, Mapping):
        try:
            return json.dumps(schema, default=_as_json)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidSchema(f"the schema given cannot be written as JSON: {error}") from error
    if isinstance(schema, str) and schema.lstrip()[:1] in ("{", "[", '"'):
        return schema
    if isinstance(schema, Path) or (isinstance(schema, str) and schema.endswith(".avsc")):
        try:
            return Path(schema).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidSchema(f"no schema can be read from {schema}: {error}") from error
    return None


def _as_json(part: Any) -> Any:
    """Return what json takes in the place of a part of a schema."""
    if isinstance(part, Mapping):
        return dict(part)
    raise TypeError(f"{type(part).__name__} has no form in JSON")


def parsed(schema_id: int, text: str, name: str) -> Parsed:
    """Parse a schema. name: of it, for errors. Raises InvalidSchema."""
    schema = parse(text, name)
    is_bounded = python_values.is_unbounded(schema)
    strict = ValueReader(text, name, VALUES_DECODED_MAX, is_bounded=is_bounded)
    try:
        prepared = python_values.prepare(schema)
        return Parsed(schema_id, prepared, text, strict, is_bounded)
    except (RecursionError, SystemError) as error:  # fastavro's is the second one
        raise InvalidSchema(f"{name} is nested too deep") from error
