"""BinaryMessageFormatter: bodies as BinaryFormatter of .NET writes basic values (MS-NRBF).

BinaryFormatter can name any class of .NET to be made when a body is read, which is why .NET has
dropped it: an attacker chooses what is run. Here only values of basic types, texts, arrays of bytes
and arrays of texts are written and read, and every other record is refused. This module knows no
queue.
"""

from __future__ import annotations

import struct
from typing import Any

from adapter.msmq import variants as vt
from adapter.msmq.formatters import cannot_read, cannot_write

HEADER = struct.pack("<Biiii", 0, 1, -1, 1, 0)
"""SerializedStreamHeader: the root is object 1, version 1.0."""
SYSTEM_CLASS = 4  # SystemClassWithMembersAndTypes
OBJECT_STRING = 6
MEMBER_REFERENCE = 9
OBJECT_NULL = 10
MESSAGE_END = 11
NULLS_256 = 13  # ObjectNullMultiple256
NULLS = 14  # ObjectNullMultiple
ARRAY_PRIMITIVE = 15
ARRAY_STRING = 17
ROOT = struct.pack("<i", 1)
BYTE = 2
PRIMITIVES = {
    1: ("System.Boolean", "<?"), 2: ("System.Byte", "<B"), 6: ("System.Double", "<d"),
    7: ("System.Int16", "<h"), 8: ("System.Int32", "<i"), 9: ("System.Int64", "<q"),
    10: ("System.SByte", "<b"), 11: ("System.Single", "<f"), 14: ("System.UInt16", "<H"),
    15: ("System.UInt32", "<I"), 16: ("System.UInt64", "<Q"),
}  # fmt: skip
"""PrimitiveTypeEnumeration: class and layout by number."""
LENGTH_BYTES_MAX = 5
NULLS_MAX = 65_536
"""Items of an array whose body is shorter than that: a record of six bytes may stand for any number
of nulls.
"""
END = bytes((MESSAGE_END,))


class BinaryMessageFormatter:
    """Basic values in the format of .NET's BinaryFormatter, and nothing else of it.

    Written and read: str, bytes, bool, int of up to 64 bits, float, None and lists of str and None.
    """

    def write(self, value: Any) -> tuple[bytes, int]:
        """Return a body and its type."""
        try:
            return HEADER + self._record(value) + END, vt.BINARY
        except UnicodeEncodeError as error:
            raise cannot_write(self, value, str(error)) from error

    def _record(self, value: Any) -> bytes:
        if value is None:
            return bytes((OBJECT_NULL,))
        if isinstance(value, str):
            return _string(1, value)
        if isinstance(value, bytes | bytearray | memoryview):
            body = bytes(value)
            return struct.pack("<BiiB", ARRAY_PRIMITIVE, 1, len(body), BYTE) + body
        if isinstance(value, list | tuple) and all(isinstance(i, str | None) for i in value):
            items = b"".join(_item(number, item) for number, item in enumerate(value, 2))
            return struct.pack("<Bii", ARRAY_STRING, 1, len(value)) + items
        kind = _primitive(value)
        if kind is None:
            raise cannot_write(
                self, value, "a value of a basic type, bytes or a list of str and None"
            )
        name, layout = PRIMITIVES[kind]
        head = bytes((SYSTEM_CLASS,)) + ROOT + _text(name) + ROOT + _text("m_value")
        return head + bytes((0, kind)) + struct.pack(layout, value)

    def read(self, body: bytes, body_type: int) -> Any:
        """Return the value of a body."""
        if not body.startswith(HEADER[:1]):
            raise cannot_read(self, body_type, "it does not begin as a stream of BinaryFormatter")
        try:
            return _Reader(body, len(HEADER)).value()
        except (struct.error, LookupError, UnicodeDecodeError, ValueError) as error:
            raise cannot_read(self, body_type, str(error)) from error


def _primitive(value: object) -> int | None:
    if isinstance(value, bool):
        return 1
    if isinstance(value, float):
        return 6
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return 8 if -(2**31) <= value < 2**31 else 9
    return None


def _item(number: int, value: str | None) -> bytes:
    return bytes((OBJECT_NULL,)) if value is None else _string(number, value)


def _string(number: int, value: str) -> bytes:
    return struct.pack("<Bi", OBJECT_STRING, number) + _text(value)


def _text(value: str) -> bytes:
    """LengthPrefixedString: the length in groups of seven bits, the lowest first."""
    body, prefix = value.encode(), bytearray()
    left = len(body)
    while left >= 0x80:
        prefix.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes((*prefix, left)) + body


class _Reader:
    """Reads one value. Raises struct.error, IndexError or ValueError for what is not a value."""

    def __init__(self, body: bytes, at: int) -> None:
        self._body = body
        self._at = at
        self._texts: dict[int, str] = {}
        """Those that were read, by their numbers: .NET writes the same object once."""

    def value(self) -> Any:
        kind = self._number("<B")
        if kind == OBJECT_NULL:
            return None
        number = self._number("<i")
        if kind == OBJECT_STRING:
            return self._text()
        if kind == ARRAY_PRIMITIVE:
            return self._bytes()
        if kind == ARRAY_STRING:
            return self._items(self._count(NULLS_MAX))
        if kind == SYSTEM_CLASS and number == 1:
            return self._primitive()
        raise ValueError(f"record {kind} is an object of a class, which is not read for safety")

    def _primitive(self) -> Any:
        name, count, member = self._text(), self._number("<i"), self._text()
        is_primitive, kind = self._number("<B") == 0, self._number("<B")
        if not is_primitive or count != 1 or member != "m_value" or kind not in PRIMITIVES:
            raise ValueError(f"class {name} is not read, for safety")
        expected, layout = PRIMITIVES[kind]
        if name != expected:
            raise ValueError(f"class {name} is not read, for safety")
        return self._number(layout)

    def _items(self, count: int) -> list[str | None]:
        items: list[str | None] = []
        while len(items) < count:
            kind = self._number("<B")
            if kind == OBJECT_STRING:
                number = self._number("<i")
                items.append(self._texts.setdefault(number, self._text()))
            elif kind == MEMBER_REFERENCE:
                items.append(self._texts[self._number("<i")])
            else:
                items += [None] * self._nulls(kind, count - len(items))
        return items

    def _nulls(self, kind: int, most: int) -> int:
        """Return for how many nulls a record stands."""
        if kind == OBJECT_NULL:
            return 1
        if kind not in (NULLS_256, NULLS):
            raise ValueError(f"record {kind} is not a text")
        count: int = self._number("<B" if kind == NULLS_256 else "<i")
        if not 0 < count <= most:
            raise ValueError(f"{count} nulls where there are {most} items more")
        return count

    def _bytes(self) -> bytes:
        length = self._count()
        kind = self._number("<B")
        if kind != BYTE:
            raise ValueError("an array of other values than bytes and texts")
        return self._take(length)

    def _count(self, least_bound: int = 0) -> int:
        count: int = self._number("<i")
        if not 0 <= count <= max(len(self._body), least_bound):
            raise ValueError(f"an array of {count} items")
        return count

    def _text(self) -> str:
        length = 0
        for at in range(LENGTH_BYTES_MAX):
            group = self._number("<B")
            length |= (group & 0x7F) << (7 * at)
            if group < 0x80:
                return self._take(length).decode()
        raise ValueError("a length of more than five bytes")

    def _take(self, length: int) -> bytes:
        taken = self._body[self._at : self._at + length]
        if len(taken) != length:
            raise ValueError("it ends too early")
        self._at += length
        return taken

    def _number(self, layout: str) -> Any:
        (number,) = struct.unpack_from(layout, self._body, self._at)
        self._at += struct.calcsize(layout)
        return number
