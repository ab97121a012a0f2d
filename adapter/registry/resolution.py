"""Avro's schema resolution, as Java does it: a value's bytes are written again for another schema.

Theory. The writer's schema says what the bytes are, and the reader's what is made of them. Both are
walked through once, together, and each pair of types becomes a *step*: a function that takes the
value from the input and appends the reader's bytes. So a value never becomes one of Python, which
does not tell a long from a double, a text from a symbol, or one record of a union from another one
that has the same fields.

Of a union that the reader has, the branch is the first one of the same type and, if the type has a
name, of the same name; else the first record into which the writer's fits; else the first one that
a number or a text can be widened to. Names are those that the reader's aliases give. What does not
fit is an error of the value that meets it and not of the schemas: another branch of the writer's
union may fit. A field that the writer does not have gets its default, one that the reader does not
have is passed over.

Logical types are what they are stored as. This module asks no registry.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from adapter.errors import InvalidSchema, NotAvro, SchemaIncompatible
from adapter.registry import python_values
from adapter.registry.bounded_values import Input
from adapter.registry.frame import parse

Step = Callable[[Input, bytearray], None]
RECORDS = ("record", "error")
NAMED = (*RECORDS, "enum", "fixed")
WIDER: Mapping[str, tuple[str, ...]] = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}
"""What a value of a type is read as if the reader does not have the type."""
NUMBERS = {"float": struct.Struct("<f"), "double": struct.Struct("<d")}
PAIRS_MAX = 20_000
"""Pairs of types that two schemas may have: as many as a registry compares."""
INT_MAX, LONG_MAX = 2**31 - 1, 2**63 - 1


class Resolution:
    """Turns values of one schema into values of another one. For any thread."""

    def __init__(self, writer: str, reader: str) -> None:
        """Both as JSON. Raises InvalidSchema."""
        written, read = parse(writer, "the writer's schema"), parse(reader, "the reader's schema")
        self._is_bounded = python_values.is_unbounded(written)
        try:
            self._step = _Pairs(dict(_names(written)), dict(_names(read))).resolve(written, read)
        except RecursionError:
            raise InvalidSchema("a schema is nested too deep") from None

    def rewrite(self, data: bytes, at: int = 0) -> bytes:
        """Return a value of the writer's, which begins at this byte, as the reader's has it.

        Raises NotAvro for bytes that are no value of the writer's schema, SchemaIncompatible for a
        value that the reader's has no place for.
        """
        out = bytearray()
        self._step(Input(data, at, is_bounded=self._is_bounded), out)
        return bytes(out)


class _Unfit:
    """The step of a pair of types that do not fit."""

    def __init__(self, why: str) -> None:
        self._why = why

    def __call__(self, source: Input, out: bytearray) -> None:
        """Refuse the value. Nothing is read of source, or written to out."""
        del source, out
        raise SchemaIncompatible(self._why)


class _Pairs:
    """Makes the steps of a writer's types and a reader's, which are known by their names."""

    def __init__(self, written: Mapping[str, Any], read: Mapping[str, Any]) -> None:
        self._written = written
        self._read = read
        self._renamed, self._fields = _aliases(read)
        self._made: dict[tuple[str, str], Step] = {}
        self._unfit: set[tuple[str, str]] = set()
        """Pairs of records of which a field does not fit."""
        self._copies = self if written is read else _Pairs(written, written)
        self._pairs = 0

    def resolve(self, w: Any, r: Any) -> Step:
        """Return the step of two types. Raises InvalidSchema if there are too many of them."""
        self._pairs += 1
        if self._pairs > PAIRS_MAX:
            raise InvalidSchema(f"these schemas have more than {PAIRS_MAX:,} pairs of types")
        w, r = self._written.get(_key(w), w), self._read.get(_key(r), r)
        kind, wanted = _kind(w), _kind(r)
        if kind == "union":
            return _branch([self.resolve(one, r) for one in w])
        if wanted == "union":
            return self._into_union(w, r)
        if kind != wanted:
            return _promotion(kind, wanted)
        match kind:
            case "record":
                return self._record(w, r)
            case "enum":
                return self._enum(w, r)
            case "fixed":
                return self._bytes_of(w, r)
            case "array":
                return _blocks(self.resolve(w["items"], r["items"]), has_keys=False)
            case "map":
                return _blocks(self.resolve(w["values"], r["values"]), has_keys=True)
        return COPIES[kind]

    def _into_union(self, w: Any, r: list[Any]) -> Step:
        number = self._matching(w, r)
        if number is None:
            names = ", ".join(_name(one) for one in r)
            return _Unfit(f"a value of type {_name(w)} is no type of the union of {names}")
        inner, index = self.resolve(w, r[number]), _long_of(number)

        def step(source: Input, out: bytearray) -> None:
            out += index
            inner(source, out)

        return step

    def _matching(self, w: Any, r: list[Any]) -> int | None:
        """Say which type of a reader's union a writer's type is read as; None: as no one."""
        kind = _kind(w)
        like = None
        for number, one in enumerate(self._read.get(_key(one), one) for one in r):
            if _kind(one) != kind:
                continue
            if kind not in NAMED or self._name_of(w) == one["name"]:
                return number
            if kind == "record" and self._fits(w, one):
                is_alike = _short(w["name"]) == _short(one["name"])
                like = number if like is None or is_alike else like
        if like is not None:
            return like
        kinds = [_kind(self._read.get(_key(one), one)) for one in r]
        return next((n for n, one in enumerate(kinds) if one in WIDER.get(kind, ())), None)

    def _fits(self, w: Any, r: Any) -> bool:
        """Whether a record, and each of its fields, has a place in another one."""
        return not isinstance(self._record(w, r), _Unfit) and (w["name"], r["name"]) not in (
            self._unfit
        )

    def _name_of(self, w: Any) -> str:
        """Return the name that the reader knows a writer's type by."""
        name: str = w["name"]
        return self._renamed.get((_kind(w), name), name)

    def _record(self, w: Any, r: Any) -> Step:
        pair = w["name"], r["name"]
        if pair not in self._made:

            def later(source: Input, out: bytearray) -> None:
                self._made[pair](source, out)

            self._made[pair] = later  # where a field of the record is of its own type
            self._made[pair] = self._record_made(w, r, pair)
        return self._made[pair]

    def _record_made(self, w: Any, r: Any, pair: tuple[str, str]) -> Step:
        renamed = self._fields.get(r["name"], {}) if self._name_of(w) == r["name"] else {}
        written = [(renamed.get(one["name"], one["name"]), one["type"]) for one in w["fields"]]
        wanted = {one["name"]: number for number, one in enumerate(r["fields"])}
        has = {name for name, _ in written}
        blank: list[bytes] = [b""] * len(wanted)
        for number, field in enumerate(r["fields"]):
            if field["name"] in has:
                continue
            if "default" not in field:
                return _Unfit(f"field {field['name']} of {r['name']} has no default")
            try:
                blank[number] = _default(field["type"], field["default"], self._read)
            except ValueError as error:
                return _Unfit(f"the default of field {field['name']} of {r['name']}: {error}")
        fields: list[tuple[int, Step]] = []
        for name, kind in written:
            if name in wanted:
                step = self.resolve(kind, r["fields"][wanted[name]]["type"])
                fields.append((wanted[name], step))
                if isinstance(step, _Unfit):
                    self._unfit.add(pair)
            else:
                fields.append((-1, self._copies.resolve(kind, kind)))
        return _of_fields(fields, blank)

    def _enum(self, w: Any, r: Any) -> Step:
        if _short(self._name_of(w)) != _short(r["name"]):
            return _Unfit(f"enum {w['name']} is not {r['name']}")
        symbols: list[str] = r["symbols"]
        known = {symbol: _long_of(number) for number, symbol in enumerate(symbols)}
        fallback = known.get(r.get("default", ""))
        indexes = [known.get(symbol, fallback) for symbol in w["symbols"]]

        def step(source: Input, out: bytearray) -> None:
            number = _index(source, len(indexes), "symbol", "an enum")
            source.count()
            index = indexes[number]
            if index is None:
                raise SchemaIncompatible(f"enum {r['name']} has no symbol {w['symbols'][number]}")
            out += index

        return step

    def _bytes_of(self, w: Any, r: Any) -> Step:
        size = w["size"]
        if _short(self._name_of(w)) != _short(r["name"]) or size != r["size"]:
            return _Unfit(f"{w['name']} of {size} bytes is not {r['name']} of {r['size']}")

        def step(source: Input, out: bytearray) -> None:
            source.count()
            out += source.take(size)

        return step


def _names(schema: Any) -> Iterator[tuple[str, Any]]:
    """Walk through the named types of a schema that was parsed: their full names, and they."""
    if isinstance(schema, list):
        for one in schema:
            yield from _names(one)
    if not isinstance(schema, dict):
        return
    if schema["type"] in NAMED:
        yield schema["name"], schema
    for one in (
        *(field["type"] for field in schema.get("fields", ())),
        *(schema[key] for key in ("items", "values", "type") if key in schema),
    ):
        yield from _names(one)


def _aliases(
    names: Mapping[str, Any],
) -> tuple[dict[tuple[str, str], str], dict[str, dict[str, str]]]:
    """Return by which names a reader also knows types, by kind and alias; and fields, by record."""
    types: dict[tuple[str, str], str] = {}
    fields: dict[str, dict[str, str]] = {}
    for name, one in names.items():
        space = name.rpartition(".")[0]
        for alias in one.get("aliases", ()):
            full = alias if "." in alias or not space else f"{space}.{alias}"
            types[_kind(one), full] = name
        fields[name] = {
            alias: field["name"]
            for field in one.get("fields", ())
            for alias in field.get("aliases", ())
        }
    return types, fields


def _key(schema: Any) -> str:
    """Return the name by which a type is referred to, or nothing if it is given itself."""
    return schema if isinstance(schema, str) else ""


def _kind(schema: Any) -> str:
    """Return what a type is: "union", or as Avro calls it."""
    if isinstance(schema, list):
        return "union"
    kind = schema if isinstance(schema, str) else schema["type"]
    if not isinstance(kind, str):
        return _kind(kind)
    return "record" if kind in RECORDS else kind


def _name(schema: Any) -> str:
    """Name a type for people."""
    return str(schema.get("name") or _kind(schema)) if isinstance(schema, dict) else _kind(schema)


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _long_of(number: int) -> bytes:
    """Write a number as Avro does."""
    rest = (number << 1) ^ (number >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _index(source: Input, count: int, what: str, of: str) -> int:
    number = source.take_long()
    if not 0 <= number < count:
        raise NotAvro(f"{what} {number} is not among the {count} of {of}")
    return number


def _branch(steps: list[Step]) -> Step:
    def step(source: Input, out: bytearray) -> None:
        steps[_index(source, len(steps), "branch", "a union")](source, out)

    return step


def _of_fields(fields: list[tuple[int, Step]], blank: list[bytes]) -> Step:
    """Return the step of a record. fields: of the writer, each with its place in the reader's, -1
    if it has none. blank: what stands at the places of the others.
    """
    size = sum(map(len, blank))

    def step(source: Input, out: bytearray) -> None:
        source.count()
        source.pay(size)
        source.deeper()
        parts: list[bytes | bytearray] = list(blank)
        for place, field in fields:
            part = bytearray()
            field(source, part)
            if place >= 0:
                parts[place] = part
        for one in parts:
            out += one
        source.depth -= 1

    return step


def _blocks(item: Step, *, has_keys: bool) -> Step:
    """Return the step of an array or a map."""

    def step(source: Input, out: bytearray) -> None:
        source.count()
        source.deeper()
        while count := source.take_long():
            if count < 0:
                count = -count
                source.take_long()  # the block's bytes, which matter to those who skip it
            out += _long_of(count)
            for _ in range(count):
                if has_keys:
                    _copy_bytes(source, out)
                item(source, out)
        out.append(0)
        source.depth -= 1

    return step


def _promotion(kind: str, wanted: str) -> Step:
    """Return the step of a type that is read as another one."""
    if wanted not in WIDER.get(kind, ()):
        return _Unfit(f"a value of type {kind} is no {wanted}")
    if kind not in ("int", "long", "float") or wanted == "long":
        return COPIES[kind]
    number = NUMBERS[wanted]

    def step(source: Input, out: bytearray) -> None:
        source.count()
        floats = NUMBERS["float"]
        value = floats.unpack(source.take(4))[0] if kind == "float" else source.take_long()
        out += number.pack(value)

    return step


def _copy_bytes(source: Input, out: bytearray) -> None:
    source.count()
    size = source.take_long()
    out += _long_of(size)
    out += source.take(size)


def _copy_number(source: Input, out: bytearray) -> None:
    source.count()
    out += _long_of(source.take_long())


def _copy_of(size: int) -> Step:
    def step(source: Input, out: bytearray) -> None:
        source.count()
        out += source.take(size)

    return step


COPIES: Mapping[str, Step] = {
    "null": _copy_of(0),
    "boolean": _copy_of(1),
    "int": _copy_number,
    "long": _copy_number,
    "float": _copy_of(4),
    "double": _copy_of(8),
    "bytes": _copy_bytes,
    "string": _copy_bytes,
}


def _default(schema: Any, value: Any, names: Mapping[str, Any]) -> bytes:
    """Write a default, which JSON has, as its type says. Raises ValueError if it does not fit."""
    schema = names.get(_key(schema), schema)
    match _kind(schema), value:
        case "union", _:
            return _default_of_union(schema, value, names)
        case "array", list():
            return _in_block(_default(schema["items"], one, names) for one in value)
        case "map", dict():
            return _in_block(
                _with_size(key.encode()) + _default(schema["values"], one, names)
                for key, one in value.items()
            )
        case "record", dict():
            return b"".join(_default_field(field, value, names) for field in schema["fields"])
        case "enum", str() if value in schema["symbols"]:
            return _long_of(schema["symbols"].index(value))
        case "fixed", str() if len(value) == schema["size"]:
            return value.encode("latin-1")
        case kind, _:
            return _plain_default(kind, value)


def _plain_default(kind: str, value: Any) -> bytes:
    """Write a default of a type that has no parts. Raises ValueError if it does not fit."""
    match kind, value:
        case "null", None:
            return b""
        case "boolean", bool():
            return bytes([value])
        case "string", str():
            return _with_size(value.encode())
        case "bytes", str():
            return _with_size(value.encode("latin-1"))
        case (_, bool()):
            pass
        case (("int" | "long"), int()):
            most = INT_MAX if kind == "int" else LONG_MAX
            if -most - 1 <= value <= most:
                return _long_of(value)
        case (("float" | "double"), (int() | float() | "NaN" | "Infinity" | "-Infinity")):
            with suppress(OverflowError):
                return NUMBERS[kind].pack(float(value))
    raise ValueError(f"{value!r} is no {kind}")


def _default_of_union(types: list[Any], value: Any, names: Mapping[str, Any]) -> bytes:
    for number, one in enumerate(types):
        try:
            return _long_of(number) + _default(one, value, names)
        except ValueError:
            continue
    raise ValueError(f"{value!r} is of no type of the union")


def _default_field(field: Any, value: Mapping[str, Any], names: Mapping[str, Any]) -> bytes:
    name = field["name"]
    if name not in value and "default" not in field:
        raise ValueError(f"it has no {name}")
    return _default(field["type"], value.get(name, field.get("default")), names)


def _with_size(data: bytes) -> bytes:
    return _long_of(len(data)) + data


def _in_block(items: Iterator[bytes]) -> bytes:
    parts = list(items)
    return b"".join([_long_of(len(parts)), *parts, *[b"\0"] * bool(parts)])
