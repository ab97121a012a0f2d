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

Logical types are what they are stored as, but for those whose numbers mean something else: a time
in other units, a decimal of another scale do not fit (meanings.py), where Java reads a wrong value.
This module asks no registry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from adapter.errors import InvalidSchema, SchemaIncompatible
from adapter.registry import meanings, python_values
from adapter.registry.bounded_values import ROOM_MAX, VALUES_DECODED_MAX, Input
from adapter.registry.default_bytes import (
    NAMED,
    NUMBERS,
    DefaultBytes,
    key_of,
    kind_of,
    name_of,
    named_types,
)
from adapter.registry.frame import parse
from adapter.storage.format import avro

Step = Callable[[Input, bytearray], None]
WIDER: Mapping[str, tuple[str, ...]] = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}
"""What a value of a type is read as if the reader does not have the type."""
PAIRS_MAX = 20_000
"""Pairs of types that two schemas may have: as many as a registry compares."""
NUMERIC = ("int", "long", "float")
FLOAT_BITS = 24
"""Of a number of 32 bits with a point: of what it says of a whole number."""


class Resolution:
    """Turns values of one schema into values of another one. For any thread."""

    def __init__(self, writer: str, reader: str) -> None:
        """Both as JSON. Raises InvalidSchema."""
        written, read = parse(writer, "the writer's schema"), parse(reader, "the reader's schema")
        self._values_max = VALUES_DECODED_MAX if python_values.is_unbounded(written) else None
        names = dict(named_types(written)), dict(named_types(read))
        try:
            self._step = _Pairs(*names).resolve(written, read)
        except RecursionError:
            raise InvalidSchema("a schema is nested too deep") from None

    def rewrite(self, data: bytes, at: int = 0) -> bytes:
        """Return a value of the writer's, which begins at this byte, as the reader's has it.

        Raises NotAvro for bytes that are no value of the writer's schema, SchemaIncompatible for a
        value that the reader's has no place for.
        """
        out = bytearray()
        # The defaults of the reader's are its own, and may be much longer than what was written.
        source = Input(data, at, values_max=self._values_max, room_least=ROOM_MAX)
        self._step(source, out)
        source.end()
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
        # A reader's aliases are names of the writer's; a type that is copied keeps its own names.
        self._renamed, self._fields = _aliases({} if written is read else read)
        self._defaults = DefaultBytes(read)
        self._made: dict[tuple[str, str], Step] = {}
        self._unfit: set[tuple[str, str]] = set()
        """Pairs of records of which a field does not fit."""
        self._alike: dict[tuple[int, int], bool] = {}
        self._assumed: dict[tuple[int, int], bool] = {}
        """Pairs that are alike if the outermost one, which is being compared, turns out to be."""
        self._copies = self if written is read else _Pairs(written, written)
        self._pairs = 0

    def resolve(self, w: Any, r: Any) -> Step:
        """Return the step of two types. Raises InvalidSchema if there are too many of them."""
        self._count()
        w, r = self._written.get(key_of(w), w), self._read.get(key_of(r), r)
        kind, wanted = kind_of(w), kind_of(r)
        if kind == "union":
            return self._from_union(w, r)
        if wanted == "union":
            return self._into_union(w, r)
        if why := meanings.differ(r, w):
            return _Unfit(why)
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

    def _count(self) -> None:
        self._pairs += 1
        if self._pairs > PAIRS_MAX:
            raise InvalidSchema(f"these schemas have more than {PAIRS_MAX:,} pairs of types")

    def _from_union(self, w: list[Any], r: Any) -> Step:
        if self._copies is not self and self._are_alike(w, r):
            return self._copies.resolve(w, w)
        names = [self._name_of(one) for one in self._types_of(w) if kind_of(one) in NAMED]
        if len(set(names)) < len(names):
            return _Unfit(f"by aliases of the reader's, two types of a union are {max(names)}")
        return _branch([self.resolve(one, r) for one in w])

    def _types_of(self, union: list[Any]) -> list[Any]:
        return [self._written.get(key_of(one), one) for one in union]

    def _are_alike(self, w: Any, r: Any) -> bool:
        """Whether types are the same but for namespaces, aliases and defaults: then a union is read
        type by type.
        """
        self._count()
        w, r = self._written.get(key_of(w), w), self._read.get(key_of(r), r)
        kind = kind_of(w)
        if kind != kind_of(r) or meanings.differ(r, w):
            return False
        if kind in NAMED and _short(self._name_of(w)) != _short(r["name"]):
            return False
        match kind:
            case "union":
                return self._once(w, r, self._unions_are_alike)
            case "array":
                return self._are_alike(w["items"], r["items"])
            case "map":
                return self._are_alike(w["values"], r["values"])
            case "fixed":
                return bool(w["size"] == r["size"])
            case "enum":
                return bool(w["symbols"] == r["symbols"])
            case "record":
                return self._once(w, r, self._records_are_alike)
        return True

    def _once(self, w: Any, r: Any, compare: Callable[[Any, Any], bool]) -> bool:
        """Compare two types, which are alike until a part of them says otherwise, and remember."""
        pair = id(w), id(r)
        known = self._alike.get(pair, self._assumed.get(pair))
        if known is not None:
            return known
        is_outermost = not self._assumed
        self._assumed[pair] = True
        found = compare(w, r)
        if not found:
            self._alike[pair] = False  # whatever was assumed
        if is_outermost:
            self._alike = (self._assumed | self._alike) if found else self._alike
            self._assumed = {}
        return found

    def _unions_are_alike(self, w: list[Any], r: list[Any]) -> bool:
        pairs = zip(w, r, strict=False)
        return len(w) == len(r) and all(self._are_alike(*one) for one in pairs)

    def _records_are_alike(self, w: Any, r: Any) -> bool:
        written = [(self._field_name(w, r, one["name"]), one["type"]) for one in w["fields"]]
        read = [(one["name"], one["type"]) for one in r["fields"]]
        return len(written) == len(read) and all(
            name == wanted and self._are_alike(kind, other)
            for (name, kind), (wanted, other) in zip(written, read, strict=True)
        )

    def _into_union(self, w: Any, r: list[Any]) -> Step:
        number = self._matching(w, r)
        if number is None:
            names = ", ".join(name_of(one) for one in r)
            return _Unfit(f"a value of type {name_of(w)} is no type of the union of {names}")
        inner, index = self.resolve(w, r[number]), avro.long(number)

        def step(source: Input, out: bytearray) -> None:
            out += index
            inner(source, out)

        return step

    def _matching(self, w: Any, r: list[Any]) -> int | None:
        """Say which type of a reader's union a writer's type is read as; None: as no one."""
        kind = kind_of(w)
        like = None
        for number, one in enumerate(self._read.get(key_of(one), one) for one in r):
            self._count()
            if kind_of(one) != kind:
                continue
            if kind not in NAMED or self._name_of(w) == one["name"]:
                return number
            if kind == "record" and self._fits(w, one):
                is_alike = _short(w["name"]) == _short(one["name"])
                like = number if like is None or is_alike else like
        if like is not None:
            return like
        kinds = [kind_of(self._read.get(key_of(one), one)) for one in r]
        return next((n for n, one in enumerate(kinds) if one in WIDER.get(kind, ())), None)

    def _fits(self, w: Any, r: Any) -> bool:
        """Whether a record, and each of its fields, has a place in another one."""
        return not isinstance(self._record(w, r), _Unfit) and (w["name"], r["name"]) not in (
            self._unfit
        )

    def _name_of(self, w: Any) -> str:
        """Return the name that the reader knows a writer's type by."""
        name: str = w["name"]
        return self._renamed.get((kind_of(w), name), name)

    def _field_name(self, w: Any, r: Any, name: str) -> str:
        """Return the name that a reader's record knows a writer's field by."""
        if self._name_of(w) != r["name"]:
            return name
        return self._fields.get(r["name"], {}).get(name, name)

    def _record(self, w: Any, r: Any) -> Step:
        pair = w["name"], r["name"]
        if pair not in self._made:

            def later(source: Input, out: bytearray) -> None:
                self._made[pair](source, out)

            self._made[pair] = later  # where a field of the record is of its own type
            self._made[pair] = self._record_made(w, r, pair)
        return self._made[pair]

    def _record_made(self, w: Any, r: Any, pair: tuple[str, str]) -> Step:
        written = [(self._field_name(w, r, one["name"]), one["type"]) for one in w["fields"]]
        wanted = {one["name"]: number for number, one in enumerate(r["fields"])}
        has = {name for name, _ in written}
        if len(has) < len(written):
            return _Unfit(f"by aliases of the reader's, two fields of {w['name']} have one name")
        blank: list[bytes] = [b""] * len(wanted)
        for number, field in enumerate(r["fields"]):
            if field["name"] in has:
                continue
            if "default" not in field:
                return _Unfit(f"field {field['name']} of {r['name']} has no default")
            try:
                blank[number] = self._defaults.of(field["type"], field["default"])
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
        known = {symbol: avro.long(number) for number, symbol in enumerate(symbols)}
        fallback = known.get(r.get("default", ""))
        indexes = [known.get(symbol, fallback) for symbol in w["symbols"]]

        def step(source: Input, out: bytearray) -> None:
            number = source.take_index(len(indexes), "symbol", "an enum")
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
        return _copy_of(size)


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
            types[kind_of(one), full] = name
        fields[name] = {
            alias: field["name"]
            for field in one.get("fields", ())
            for alias in field.get("aliases", ())
        }
    return types, fields


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _branch(steps: list[Step]) -> Step:
    def step(source: Input, out: bytearray) -> None:
        steps[source.take_index(len(steps), "branch", "a union")](source, out)

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
            out += avro.long(count)
            for _ in range(count):
                if has_keys:
                    _copy_text(source, out)
                item(source, out)
        out.append(0)
        source.depth -= 1

    return step


def _promotion(kind: str, wanted: str) -> Step:
    """Return the step of a type that is read as another one."""
    if wanted not in WIDER.get(kind, ()):
        return _Unfit(f"a value of type {kind} is no {wanted}")
    if kind not in NUMERIC:
        return COPIES[wanted]  # bytes as text are UTF-8, and text as bytes is any
    if wanted == "long":
        return COPIES[kind]
    number = NUMBERS[wanted]

    def from_float(source: Input, out: bytearray) -> None:
        source.count()
        out += number.pack(NUMBERS["float"].unpack(source.take(4))[0])

    def from_whole(source: Input, out: bytearray) -> None:
        source.count()
        value = source.take_int() if kind == "int" else source.take_long()
        out += number.pack(_round(value) if wanted == "float" else value)

    return from_float if kind == "float" else from_whole


def _round(value: int) -> int:
    """Return the nearest number that has 24 bits, of two the even one: rounding to 64 bits before
    that would round twice.
    """
    size = abs(value)
    more = size.bit_length() - FLOAT_BITS
    if more <= 0:
        return value
    kept, rest, half = size >> more, size & ((1 << more) - 1), 1 << (more - 1)
    kept += rest > half or (rest == half and kept & 1)
    return (kept << more) * (1 if value > 0 else -1)


def _copy_bytes(source: Input, out: bytearray) -> None:
    source.count()
    out += avro.data(source.take(source.take_long()))


def _copy_text(source: Input, out: bytearray) -> None:
    source.count()
    data = source.take(source.take_long())
    source.text_of(data)
    out += avro.data(data)


def _copy_boolean(source: Input, out: bytearray) -> None:
    source.count()
    out += source.take_boolean()


def _copy_int(source: Input, out: bytearray) -> None:
    source.count()
    out += avro.long(source.take_int())


def _copy_number(source: Input, out: bytearray) -> None:
    source.count()
    out += avro.long(source.take_long())


def _copy_of(size: int) -> Step:
    def step(source: Input, out: bytearray) -> None:
        source.count()
        out += source.take(size)

    return step


COPIES: Mapping[str, Step] = {
    "null": _copy_of(0),
    "boolean": _copy_boolean,
    "int": _copy_int,
    "long": _copy_number,
    "float": _copy_of(4),
    "double": _copy_of(8),
    "bytes": _copy_bytes,
    "string": _copy_text,
}
