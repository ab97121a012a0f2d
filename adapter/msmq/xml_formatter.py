"""XmlMessageFormatter: bodies as XmlSerializer of .NET writes them.

A body is one element that is named after its type: <string>, <int>, <ArrayOfString>, or the name of
a msgspec Struct, with an element for each of its fields. A document type declaration is refused, so
that no body can name entities to be expanded or files to be read. This module knows no queue.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterable, MutableSequence, Sequence
from datetime import datetime
from decimal import Decimal
from enum import Enum
from functools import reduce
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, NewType, Union, get_args, get_origin
from uuid import UUID
from xml.etree import ElementTree as ET
from xml.parsers import expat

import msgspec

from adapter.msmq import variants as vt
from adapter.msmq.errors import InvalidOperationError
from adapter.msmq.formatters import cannot_read, cannot_write
from adapter.msmq.xml_values import (
    DECIMAL,
    TYPE_OF,
    TYPES,
    WHITE,
    date_time_text,
    decimal_text,
    read_simple,
    read_true,
)

HEADING = b'<?xml version="1.0"?>\n'
XSI = "http://www.w3.org/2001/XMLSchema-instance"
NIL = f"{{{XSI}}}nil"
ET.register_namespace("xsi", XSI)
ARRAY_OF = "ArrayOf"
RETURN = b"&#13;"
"""A carriage return that a reader of XML leaves as it is."""
CDATA, CDATA_END = b"<![CDATA[", b"]]>"
ESCAPED = ((b"&", b"&amp;"), (b"<", b"&lt;"), (b"]", b"&#93;"), (b"\r", RETURN))
"""What stands for itself in a CDATA section only."""
MARKS = ((b"<!--", b"-->"), (CDATA, CDATA_END), (b"<?", b"?>"), (b"<", b">"))
"""How what is no text begins and ends."""
WIDE = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")
"""What a document begins with whose characters have more bytes than one."""
DEPTH_MAX = 100
"""Elements within elements: more than any value has, and far below the interpreter's limit."""
TEXT_BYTES = 64 * 1024
"""A text comes in pieces of this size, and not one for each line and each reference."""
NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
UNREADABLE = (
    ET.ParseError, expat.ExpatError, LookupError, ValueError, ArithmeticError, TypeError
)  # fmt: skip
"""What reading raises: of no document, an encoding that Python does not have, a value of another
type, a Struct that msgspec does not support.
"""


SEQUENCES = (list, tuple, Sequence, MutableSequence, Collection)
"""Types that a list is read as, where a field declares them."""
BodyTypes = Iterable[type[msgspec.Struct | Enum]]


class XmlMessageFormatter:
    """Values as XML. target_types: msgspec Structs and Enums that bodies are read as, by their
    names.

    Written and read: str, bool, int of up to 64 bits, float, Decimal of up to 29 digits, datetime,
    UUID, bytes, members of Enums by their names, lists of one of them, and msgspec Structs that
    consist of them. What could not be read again as it is written is refused: a Struct with a field
    of several types that a text does not tell apart, a value of another type than its field has.
    """

    def __init__(self, target_types: tuple[type[msgspec.Struct | Enum], ...] = ()) -> None:
        self.target_types = tuple(target_types)
        names = [kind.__name__ for kind in self.target_types]
        self._has_common_names = any(one in TYPES or one.startswith(ARRAY_OF) for one in names)
        """Whether a value of a basic type, too, may be read as one of the target types."""

    def write(self, value: Any) -> tuple[bytes, int]:
        """Return a body and its type."""
        writer = _Writer(self)
        element = writer.element(value)
        written = HEADING + ET.tostring(element, encoding="utf-8").replace(b"\r", RETURN)
        if writer.kinds or self._has_common_names:
            self._check(value, written, (*self.target_types, *writer.kinds))
        return written, vt.VT_EMPTY

    def read(self, body: bytes, body_type: int) -> Any:
        """Return the value of a body."""
        try:
            return _value(parse(body), self.target_types)
        except UNREADABLE as error:
            raise cannot_read(self, body_type, str(error)) from error

    def _check(self, value: Any, written: bytes, kinds: BodyTypes) -> None:
        """Refuse a value with Structs or Enums that is not read as it is: a body that no program
        can read stays on its queue.
        """
        try:
            found = _value(parse(written), kinds)
        except (*UNREADABLE, InvalidOperationError) as error:
            raise cannot_write(self, value, f"it could not be read again: {error}") from error
        if not _is_same(value, found):
            text = (
                f"it would be read as another value, {found!r:.200}: check the types of its fields"
            )
            raise cannot_write(self, value, text)


class _Writer:
    """Makes the elements of one value."""

    def __init__(self, formatter: XmlMessageFormatter) -> None:
        self.kinds: dict[type[msgspec.Struct | Enum], None] = {}
        """Structs and Enums that it has written outside of fields, in their order."""
        self._formatter = formatter
        self._within: list[int] = []
        """The lists and Structs that the next value is in, by their identity."""

    def element(self, value: Any, name: str = "", *, in_field: bool = False) -> ET.Element:
        """Make the element of a value. name: of a field. in_field: its type is declared."""
        if not in_field and isinstance(value, msgspec.Struct | Enum):
            self.kinds[type(value)] = None
        if not isinstance(value, msgspec.Struct | list | tuple):
            return self._of_simple(value, name)
        if id(value) in self._within or len(self._within) >= DEPTH_MAX:
            text = f"a value that has no more than {DEPTH_MAX} others within each other, none twice"
            raise cannot_write(self._formatter, value, text)
        self._within.append(id(value))
        if isinstance(value, msgspec.Struct):
            element = self._of_struct(value, name)
        else:
            element = self._of_list(value, name, in_field=in_field)
        self._within.pop()
        return element

    def _of_struct(self, value: msgspec.Struct, name: str) -> ET.Element:
        element = ET.Element(name or type(value).__name__)
        for field in msgspec.structs.fields(value):
            item = getattr(value, field.name)
            if item is not None:
                element.append(self.element(item, field.encode_name, in_field=True))
            elif not field.required and field.default is not None:
                # left out, it would be read as its default
                element.append(ET.Element(field.encode_name, {NIL: "true"}))
        return element

    def _of_list(
        self, value: list[Any] | tuple[Any, ...], name: str, *, in_field: bool
    ) -> ET.Element:
        items = [self.element(item, in_field=in_field) for item in value]
        kind = _unified(items)
        if not kind:
            raise cannot_write(self._formatter, value, "a list whose items are of one type")
        element = ET.Element(name or _array_of(kind))
        element.extend(items)
        return element

    def _of_simple(self, value: Any, name: str) -> ET.Element:
        try:
            kind, text = self._simple(value)
        except ValueError as error:
            raise cannot_write(self._formatter, value, str(error)) from error
        if NOT_XML.search(text):
            raise cannot_write(self._formatter, value, "a text of characters that XML has")
        element = ET.Element(name or kind)
        element.text = text
        return element

    def _simple(self, value: Any) -> tuple[str, str]:
        if isinstance(value, Enum):
            if type(value).__members__.get(value.name) is not value:
                raise ValueError(f"{value} is no member with a name of its own")
            return type(value).__name__, value.name
        if isinstance(value, str):
            return "string", value
        if isinstance(value, bool):
            return "boolean", "true" if value else "false"
        if isinstance(value, int) and -(2**63) <= value < 2**63:
            return ("int" if -(2**31) <= value < 2**31 else "long"), str(value)
        if isinstance(value, float):
            return "double", repr(value).replace("inf", "INF").replace("nan", "NaN")
        if isinstance(value, Decimal):
            return "decimal", decimal_text(value)
        if isinstance(value, datetime):
            return "dateTime", date_time_text(value)
        if isinstance(value, UUID):
            return "guid", str(value)
        if isinstance(value, bytes | bytearray):
            return "base64Binary", base64.b64encode(value).decode()
        raise ValueError("a value of a basic type, a list of them, or a Struct")


def _is_same(one: Any, other: Any) -> bool:
    """Whether a value is what another one was read as: numbers by their value, bytes by their
    contents, lists by their items, and all else by type and value.
    """
    if isinstance(one, msgspec.Struct):
        names = type(one).__struct_fields__
        return type(one) is type(other) and all(
            _is_same(getattr(one, name), getattr(other, name)) for name in names
        )
    if isinstance(one, list | tuple):
        return (
            isinstance(other, list | tuple)
            and len(one) == len(other)
            and all(map(_is_same, one, other))
        )
    if isinstance(one, Enum | bool) or one is None:
        return one is other
    for kind in (int | float | Decimal, bytes | bytearray, str):
        if isinstance(one, kind):
            is_kind = isinstance(other, kind) and not isinstance(other, bool)
            return is_kind and bool(one == other or (one != one and other != other))
    return type(one) is type(other) and bool(one == other)


def _value(element: ET.Element, kinds: BodyTypes) -> Any:
    """Return the value of an element. kinds: what it may be, by their names."""
    name = _local(element)
    if _is_nil(element):
        return None
    for kind in kinds:
        if kind.__name__ != name:
            continue
        if issubclass(kind, Enum):
            return kind[_text(element).strip(WHITE)]
        if issubclass(kind, msgspec.Struct):
            return msgspec.convert(_parts(element, kind), kind, strict=False)
    if name.startswith(ARRAY_OF):
        return [_value(item, kinds) for item in element]
    if name not in TYPES:
        raise InvalidOperationError(
            f"the body is a <{name}>: give XmlMessageFormatter the Struct of that name as one "
            "of its target_types, or read body_bytes"
        )
    return read_simple(name, _text(element))


def _is_nil(element: ET.Element) -> bool:
    said = element.get(NIL)
    return said is not None and read_true(said)


def _text(element: ET.Element) -> str:
    """Return the text of an element that is one value."""
    if len(element):
        raise ValueError(f"<{_local(element)}> has elements within, and is one value")
    return element.text or ""


def _array_of(kind: str) -> str:
    return f"{ARRAY_OF}{kind[:1].upper()}{kind[1:]}"


def _unified(items: list[ET.Element]) -> str:
    """Give the items of a list one type, and return its name: long if one of whole numbers needs
    it; of lists, empty ones among them, that of their items. Empty: they have no type in common.
    """
    kinds = {item.tag for item in items} or {"string"}
    if len(kinds) == 1:
        return kinds.pop()
    kind = ""
    if kinds == {"int", "long"}:
        kind = "long"
    elif all(one.startswith(ARRAY_OF) for one in kinds):
        within = _unified([one for item in items for one in item])
        kind = within and _array_of(within)
    if kind:
        for item in items:
            item.tag = kind
    return kind


def parse(body: bytes) -> ET.Element:
    """Read a document. Raises ParseError or ExpatError, also for a document type declaration."""
    builder, depth = ET.TreeBuilder(), 0
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text, parser.buffer_size = True, TEXT_BYTES

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEPTH_MAX:
            raise ET.ParseError(f"more than {DEPTH_MAX} elements are within each other")
        builder.start(
            _full_name(tag), {_full_name(key): value for key, value in attributes.items()}
        )

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(_full_name(tag))

    def refuse(*_: object) -> None:
        raise ET.ParseError("it has a document type declaration, which no value has")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = refuse
    parser.Parse(_with_returns(body), True)
    return builder.close()


def _with_returns(body: bytes) -> bytes:
    """Return a document whose texts keep their carriage returns. XML has them read as line feeds;
    .NET writes them as they are, and its XmlTextReader reads them so.
    """
    if b"\r" not in body or body.startswith(WIDE):
        return body
    pieces: list[bytes] = []
    at, last, is_within = 0, body.rfind(b"</"), False
    while 0 <= (start := body.find(b"<", at)) <= last:
        opening, closing = next(marks for marks in MARKS if body.startswith(marks[0], start))
        end = body.find(closing, start + len(opening))
        if end < 0:
            return body  # the parser says why it is no document
        end += len(closing)
        text, mark = body[at:start], body[start:end]
        pieces.append(text.replace(b"\r", RETURN) if is_within else text)
        pieces.append(_as_text(mark) if opening == CDATA and b"\r" in mark else mark)
        is_within = is_within or opening == b"<"
        at = end
    return b"".join(pieces) + body[at:]


def _as_text(section: bytes) -> bytes:
    """Return a CDATA section as a text, in which a carriage return can be written."""
    text = section[len(CDATA) : -len(CDATA_END)]
    for char, reference in ESCAPED:
        text = text.replace(char, reference)
    return text


def _full_name(tag: str) -> str:
    return f"{{{tag}" if "}" in tag else tag


def _local(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _parts(element: ET.Element, kind: type[msgspec.Struct]) -> dict[str, Any] | list[Any]:
    """Return what msgspec makes a Struct of: its fields by their names, or in their order."""
    fields = msgspec.structs.fields(kind)
    types = {field.encode_name: field.type for field in fields}
    found: dict[str, Any] = {
        field.encode_name: None for field in fields if field.required and _may_be_none(field.type)
    }
    found |= {_local(item): _field(item, types.get(_local(item))) for item in element}
    config = kind.__struct_config__
    if not config.array_like:
        return found
    tag = [] if config.tag is None else [config.tag]
    return tag + [_value_of(field, found) for field in fields]


def _value_of(field: msgspec.structs.FieldInfo, found: dict[str, Any]) -> Any:
    if field.encode_name in found:
        return found[field.encode_name]
    if field.required:
        raise ValueError(f"it has no {field.encode_name}")
    if field.default is msgspec.NODEFAULT:
        return field.default_factory()
    return field.default


def _field(element: ET.Element, declared: Any) -> Any:
    """Return what msgspec makes the value of a field of: a value, a text or what it consists of."""
    kind = _plain(declared)
    if _is_nil(element):
        return None
    if kind is not Any and _may_be_none(kind):
        others = [one for one in get_args(kind) if one is not NoneType]
        return _field(element, reduce(or_, others))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind[_text(element).strip(WHITE)].value
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _parts(element, kind)
    if (get_origin(kind) or kind) in SEQUENCES:
        item, *_ = get_args(kind) or (str,)  # what is written has items of one type
        return [_field(one, item) for one in element]
    text = _text(element)
    if kind in TYPE_OF:
        return read_simple(TYPE_OF[kind], text)
    members = {_plain(one) for one in get_args(kind)}
    if Decimal in members and not {float, str} & members and not DECIMAL.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is no value of type decimal")
    return text


def _plain(kind: Any) -> Any:
    """Return a type without what says more about it: Annotated, NewType, other names."""
    while True:
        if get_origin(kind) is Annotated:
            kind = get_args(kind)[0]
        elif isinstance(kind, NewType):
            kind = kind.__supertype__
        elif type(kind).__name__ == "TypeAliasType":  # of Python 3.12
            kind = kind.__value__
        else:
            return kind


def _may_be_none(declared: Any) -> bool:
    """Whether a type is a union with None, or any."""
    kind = _plain(declared)
    if kind is Any:
        return True
    return get_origin(kind) in (Union, UnionType) and NoneType in get_args(kind)
