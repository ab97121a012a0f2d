"""Reads Avro values that others wrote, however wrong or hostile they are, within bounds.

Theory. A few bytes of Avro may stand for a value of any size: an array of a billion nulls is six
bytes, a value of a recursive schema is as deep as its bytes say, and a name that the schema says
once is in every element. So a value is read with an account: each part of it costs one, a text its
length, a record the names of its fields, and no value may cost more than a small amount and a
multiple of its bytes. Depth is bounded too. So time and memory are in proportion to the bytes.

A schema is compiled once, to a function for each of its types. Logical types stay what they are
stored as, but for decimals: one of up to 15 digits is a number, one of more digits its text. This
module knows neither queues nor messages.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from adapter.errors import InvalidSchema, NotAvro
from adapter.registry.frame import FRAME, parse

SCHEMA_LENGTH_MAX = 512 * 1024
DEPTH_MAX = 64
VALUES_MAX = 100_000
VALUES_DECODED_MAX = 1_000_000
"""Of a value that a program decodes, in a process of its own."""
VALUES_LEAST = 1_000
VALUES_PER_BYTE = 8
"""As many as a value may have for each of its bytes, beyond those of a short one."""
ROOM_LEAST = 1024 * 1024
ROOM_PER_BYTE = 64
ROOM_MAX = 64 * 1024 * 1024
"""Of what a value takes: its texts, and the names of its fields, which are often longer than what
is in them. The maximum is beyond the value's own bytes.
"""
VARINT_BYTES_MAX = 10
LONG_BITS = 64
INT_MAX = 2**31 - 1
DECIMAL_BYTES_MAX = 512
"""Of a decimal: more than a thousand digits. What it takes to read one grows with its square."""
NUMBER_DIGITS_MAX = 15
"""As many decimal digits as every number of 64 bits with a point keeps."""

_FLOAT, _DOUBLE = struct.Struct("<f"), struct.Struct("<d")


class Input:
    """The bytes of one value, how far they are read, and what may still be spent."""

    __slots__ = ("at", "data", "depth", "room", "values")

    def __init__(
        self,
        data: bytes,
        at: int,
        *,
        values_max: int | None = VALUES_MAX,
        room_least: int = ROOM_LEAST,
    ) -> None:
        """values_max: of any number of bytes; None: values are not counted. room_least: of a few
        bytes.
        """
        self.data = data
        self.at = at
        size = len(data) - at
        self.values = (
            sys.maxsize
            if values_max is None
            else min(values_max, VALUES_LEAST + VALUES_PER_BYTE * size)
        )
        self.room = min(room_least + ROOM_PER_BYTE * size, ROOM_MAX + size)
        self.depth = 0

    def count(self, values: int = 1) -> None:
        """Pay for so many values."""
        self.values -= values
        if self.values < 0:
            raise NotAvro("it has more values than its bytes allow")

    def pay(self, size: int) -> None:
        """Pay for so many characters or bytes."""
        self.room -= size
        if self.room < 0:
            raise NotAvro("it is too long when it is decoded")

    def end(self) -> None:
        """Refuse what stands behind a value: without a frame, only its end shows that the bytes are
        of the schema.
        """
        refuse_rest(len(self.data) - self.at)

    def deeper(self) -> None:
        """Enter a record, an array or a map."""
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise NotAvro(f"it is nested more than {DEPTH_MAX} times")

    def take(self, size: int) -> bytes:
        """Take so many bytes."""
        start = self.at
        if size < 0 or size > len(self.data) - start:
            raise NotAvro(f"{size} bytes are due at byte {start}, of {len(self.data)}")
        self.at = start + size
        return self.data[start : self.at]

    def take_boolean(self) -> bytes:
        """Take the byte of true or of false; Java reads any other one as false, Python as true."""
        data = self.take(1)
        if data not in (b"\0", b"\1"):
            raise NotAvro(f"no boolean is at byte {self.at - 1}")
        return data

    def text_of(self, data: bytes) -> str:
        """Return the text of bytes that were just taken."""
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise NotAvro(f"a text before byte {self.at} is not UTF-8") from error

    def take_long(self) -> int:
        """Take a number of up to 64 bits."""
        data, at, end = self.data, self.at, len(self.data)
        value = shift = 0
        for number in range(at, min(end, at + VARINT_BYTES_MAX)):
            byte = data[number]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value >> LONG_BITS:
                    break
                self.at = number + 1
                return value >> 1 ^ -(value & 1)
            shift += 7
        raise NotAvro(f"no number of 64 bits is at byte {at}, of {end}")

    def take_int(self) -> int:
        """Take a number of up to 32 bits."""
        value = self.take_long()
        if not -INT_MAX - 1 <= value <= INT_MAX:
            raise NotAvro(f"{value} is not a number of 32 bits")
        return value

    def take_index(self, count: int, what: str, of: str) -> int:
        """Take which one of so many it is. what, of: for the error."""
        number = self.take_long()
        if not 0 <= number < count:
            raise NotAvro(f"{what} {number} is not among the {count} of {of}")
        return number


def refuse_rest(left: int) -> None:
    """Raise NotAvro if so many bytes stand behind a value, and are not 0."""
    if left:
        raise NotAvro(f"{left} bytes stand behind it")


Read = Callable[[Input], Any]


class ValueReader:
    """Reads values of one schema. For any thread."""

    def __init__(
        self, text: str, name: str, values_max: int = VALUES_MAX, *, is_bounded: bool = True
    ) -> None:
        """text: the schema, as JSON. name: of it, for errors. values_max: as many as a value may
        have, however long it is. is_bounded: else only the bytes are judged, of a schema of which
        few bytes never stand for much. Raises InvalidSchema.
        """
        self._values_max = values_max
        self._is_bounded = is_bounded
        if is_bounded and len(text) > SCHEMA_LENGTH_MAX:
            raise InvalidSchema(f"{name} has more than {SCHEMA_LENGTH_MAX} characters")
        try:
            self._read = _Compiler(reads_decimals=is_bounded).compile(parse(text, name))
        except RecursionError as error:
            raise InvalidSchema(f"{name} is nested too deep") from error
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidSchema(f"{name} is not a valid Avro schema: {error!r}") from error

    def read(self, data: bytes, at: int = FRAME.size) -> Any:
        """Return the value that begins at a byte, by default behind the id of its schema: of str,
        int, float, bool, bytes, None, dict and list.

        Raises NotAvro for bytes that are no value of the schema, or that say too much.
        """
        source = Input(data, at, values_max=self._values_max)
        if not self._is_bounded:
            source.values = source.room = sys.maxsize
            source.depth = -sys.maxsize
        value = self._read(source)
        source.end()
        return value


class _Compiler:
    """Makes functions of the types of one schema."""

    def __init__(self, *, reads_decimals: bool) -> None:
        """reads_decimals: else they are their bytes, as the text of one may be very long."""
        self._decimal = _decimal if reads_decimals else _as_bytes
        self._named: dict[str, Read] = {}

    def compile(self, node: Any) -> Read:
        if isinstance(node, list):
            return self._union(node)
        if isinstance(node, str):
            return PRIMITIVES.get(node) or self._by_name(node)
        kind = node["type"]
        if not isinstance(kind, str):
            return self.compile(kind)
        if kind in ("record", "error"):
            return self._record(node)
        if kind == "enum":
            return self._enum(node)
        if kind == "array":
            return _array(self.compile(node["items"]))
        if kind == "map":
            return _map(self.compile(node["values"]))
        if kind == "fixed":
            read = self._named[node["name"]] = self._decimal(node, _of_size(int(node["size"])))
            return read
        return self._decimal(node, self.compile(kind)) if kind == "bytes" else self.compile(kind)

    def _by_name(self, name: str) -> Read:
        """Return what reads a type that is known by now; it may be the one that is being made."""
        known = self._named

        def read(source: Input) -> Any:
            return known[name](source)

        if name not in known:
            raise ValueError(f"type {name} is not defined")
        return read

    def _record(self, node: Mapping[str, Any]) -> Read:
        fields: list[tuple[str, Read]] = []
        costs: list[int] = []

        def read(source: Input) -> dict[str, Any]:
            source.count()
            source.pay(costs[0])
            source.deeper()
            value = {name: field(source) for name, field in fields}
            source.depth -= 1
            return value

        self._named[node["name"]] = read
        fields += [(one["name"], self.compile(one["type"])) for one in node["fields"]]
        costs.append(sum(len(name) for name, _ in fields))
        return read

    def _enum(self, node: Mapping[str, Any]) -> Read:
        symbols: list[str] = node["symbols"]

        def read(source: Input) -> str:
            number = source.take_index(len(symbols), "symbol", "an enum")
            source.count()
            source.pay(len(symbols[number]))
            return symbols[number]

        self._named[node["name"]] = read
        return read

    def _union(self, node: list[Any]) -> Read:
        branches = [self.compile(one) for one in node]

        def read(source: Input) -> Any:
            return branches[source.take_index(len(branches), "branch", "a union")](source)

        return read


def _blocks(source: Input, take: Callable[[], None]) -> None:
    """Read the blocks of an array or a map, calling take() for each element, which pays for it."""
    source.count()
    source.deeper()
    while count := source.take_long():
        if count < 0:
            count = -count
            source.take_long()  # the block's bytes, which matter to those who skip it
        for _ in range(count):
            take()
    source.depth -= 1


def _array(item: Read) -> Read:
    def read(source: Input) -> list[Any]:
        found: list[Any] = []
        _blocks(source, lambda: found.append(item(source)))
        return found

    return read


def _map(value: Read) -> Read:
    def read(source: Input) -> dict[str, Any]:
        found: dict[str, Any] = {}

        def take() -> None:
            name = _string(source)
            found[name] = value(source)

        _blocks(source, take)
        return found

    return read


def _of_size(size: int) -> Read:
    def read(source: Input) -> bytes:
        source.count()
        source.pay(size)
        return source.take(size)

    return read


def _decimal(node: Mapping[str, Any], read: Read) -> Read:
    """Return what reads a decimal, if these bytes are one. One that is not valid means nothing."""
    precision, scale = node.get("precision"), node.get("scale", 0)
    is_decimal = node.get("logicalType") == "decimal"
    if not (is_decimal and isinstance(precision, int) and isinstance(scale, int)):
        return read
    if not 0 <= scale <= precision:
        return read

    def read_decimal(source: Input) -> int | float | str:
        data = read(source)
        if len(data) > DECIMAL_BYTES_MAX:
            raise NotAvro(f"a decimal has {len(data)} bytes, {DECIMAL_BYTES_MAX} at most")
        source.pay(scale)  # it has so many digits at least, whatever the schema says
        unscaled = int.from_bytes(data, "big", signed=True)
        text = f"{'-' if unscaled < 0 else ''}{_with_point(str(abs(unscaled)), scale)}"
        source.pay(len(text))
        if precision > NUMBER_DIGITS_MAX or len(str(abs(unscaled))) > NUMBER_DIGITS_MAX:
            return text
        return float(text) if scale else unscaled

    return read_decimal


def _as_bytes(_node: Mapping[str, Any], read: Read) -> Read:
    return read


def _with_point(digits: str, scale: int) -> str:
    if not scale:
        return digits
    digits = digits.rjust(scale + 1, "0")
    return f"{digits[:-scale]}.{digits[-scale:]}"


def _null(source: Input) -> None:
    source.count()


def _boolean(source: Input) -> bool:
    source.count()
    return source.take_boolean() != b"\0"


def _int(source: Input) -> int:
    value = source.take_int()
    source.count()
    return value


def _long(source: Input) -> int:
    source.count()
    return source.take_long()


def _float(source: Input) -> float:
    source.count()
    value: float = _FLOAT.unpack(source.take(4))[0]
    return value


def _double(source: Input) -> float:
    source.count()
    value: float = _DOUBLE.unpack(source.take(8))[0]
    return value


def _bytes(source: Input) -> bytes:
    source.count()
    data = source.take(source.take_long())
    source.pay(len(data))
    return data


def _string(source: Input) -> str:
    return source.text_of(_bytes(source))


PRIMITIVES: Mapping[str, Read] = {
    "null": _null,
    "boolean": _boolean,
    "int": _int,
    "long": _long,
    "float": _float,
    "double": _double,
    "bytes": _bytes,
    "string": _string,
}


def json_of(value: Any) -> bytes:
    """Write a value that was read as JSON. Byte strings are in base64; numbers that JSON does not
    have (NaN, infinity) are null.
    """
    return msgspec.json.encode(value)
