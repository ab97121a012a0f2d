"""XmlMessageFormatter: bodies as XmlSerializer of .NET writes them.

A body is one element that is named after its type: <string>, <int>, <ArrayOfString>, or the name of
a msgspec Struct, with an element for each of its fields. A document type declaration is refused, so
that no body can name entities to be expanded or files to be read. This module knows no queue.
"""

from __future__ import annotations

import base64
import re
from datetime import datetime
from decimal import Decimal
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin
from uuid import UUID
from xml.etree import ElementTree as ET
from xml.parsers import expat

import msgspec

from adapter.msmq import variants as vt
from adapter.msmq.errors import InvalidOperationError
from adapter.msmq.formatters import cannot_read, cannot_write

HEADING = b'<?xml version="1.0"?>\n'
XSI = "http://www.w3.org/2001/XMLSchema-instance"
NIL = f"{{{XSI}}}nil"
ET.register_namespace("xsi", XSI)
ARRAY_OF = "ArrayOf"
RETURN = b"&#13;"
"""A carriage return that a reader of XML leaves as it is."""
CDATA = b"<![CDATA["
MARKS = ((b"<!--", b"-->"), (CDATA, b"]]>"), (b"<?", b"?>"), (b"<", b">"))
"""How what is no text begins and ends."""
WIDE = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")
"""What a document begins with whose characters have more bytes than one."""
DEPTH_MAX = 100
"""Elements within elements: more than any value has, and far below the interpreter's limit."""
NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
READERS: dict[str, Any] = {
    "string": lambda text: text,
    "char": lambda text: chr(int(text)),
    "boolean": lambda text: {"true": True, "1": True, "false": False, "0": False}[text.strip()],
    "float": float,
    "double": float,
    "decimal": Decimal,
    "dateTime": datetime.fromisoformat,
    "guid": UUID,
    "base64Binary": lambda text: base64.b64decode(text, validate=True),
    **dict.fromkeys(
        ("byte", "unsignedByte", "short", "unsignedShort", "int", "unsignedInt", "long",
         "unsignedLong"),
        int,
    ),
}  # fmt: skip
"""Values by the name of their element."""
UNREADABLE = (
    ET.ParseError, expat.ExpatError, LookupError, ValueError, ArithmeticError, TypeError
)  # fmt: skip
"""What reading raises: of no document, an encoding that Python does not have, a value of another
type, a Struct that msgspec does not support.
"""


class XmlMessageFormatter:
    """Values as XML. target_types: msgspec Structs and Enums that bodies are read as, by their
    names.

    Written and read: str, bool, int of up to 64 bits, float, Decimal, datetime, UUID, bytes,
    members of Enums by their names, lists of one of them, and msgspec Structs that consist of them.
    """

    def __init__(self, target_types: tuple[type[msgspec.Struct | Enum], ...] = ()) -> None:
        self.target_types = tuple(target_types)

    def write(self, value: Any) -> tuple[bytes, int]:
        """Return a body and its type."""
        element = self._element(value)
        written = ET.tostring(element, encoding="utf-8")
        return HEADING + written.replace(b"\r", RETURN), vt.VT_EMPTY

    def read(self, body: bytes, body_type: int) -> Any:
        """Return the value of a body."""
        try:
            return self._value(parse(body))
        except UNREADABLE as error:
            raise cannot_read(self, body_type, str(error)) from error

    def _element(self, value: Any, name: str = "") -> ET.Element:
        if isinstance(value, msgspec.Struct):
            return self._of_struct(value, name)
        if isinstance(value, list | tuple):
            return self._of_list(value, name)
        kind, text = self._simple(value)
        if NOT_XML.search(text):
            raise cannot_write(self, value, "a text of characters that XML has")
        element = ET.Element(name or kind)
        element.text = text
        return element

    def _of_struct(self, value: msgspec.Struct, name: str) -> ET.Element:
        element = ET.Element(name or type(value).__name__)
        for field in msgspec.structs.fields(value):
            item = getattr(value, field.name)
            if item is not None:
                element.append(self._element(item, field.encode_name))
            elif not field.required and field.default is not None:
                # left out, it would be read as its default
                element.append(ET.Element(field.encode_name, {NIL: "true"}))
        return element

    def _of_list(self, value: list[Any] | tuple[Any, ...], name: str) -> ET.Element:
        items = [self._element(item) for item in value]
        kind = _unified(items)
        if not kind:
            raise cannot_write(self, value, "a list whose items are of one type")
        element = ET.Element(name or _array_of(kind))
        element.extend(items)
        return element

    def _simple(self, value: Any) -> tuple[str, str]:
        if isinstance(value, Enum):
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
            return "decimal", f"{value:f}"
        if isinstance(value, datetime):
            return "dateTime", value.isoformat()
        if isinstance(value, UUID):
            return "guid", str(value)
        if isinstance(value, bytes | bytearray):
            return "base64Binary", base64.b64encode(value).decode()
        raise cannot_write(self, value, "a value of a basic type, a list of them, or a Struct")

    def _value(self, element: ET.Element) -> Any:
        name = _local(element)
        for kind in self.target_types:
            if kind.__name__ != name:
                continue
            if issubclass(kind, Enum):
                return kind[element.text or ""]
            if issubclass(kind, msgspec.Struct):
                return msgspec.convert(_parts(element, kind), kind, strict=False)
        if name.startswith(ARRAY_OF):
            return [self._value(item) for item in element]
        if element.get(NIL) == "true":
            return None
        if name not in READERS:
            raise InvalidOperationError(
                f"the body is a <{name}>: give XmlMessageFormatter the Struct of that name as one "
                "of its target_types, or read body_bytes"
            )
        return READERS[name](element.text or "")


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
        pieces.append(mark.replace(b"\r", b"]]>" + RETURN + CDATA) if opening == CDATA else mark)
        is_within = is_within or opening == b"<"
        at = end
    return b"".join(pieces) + body[at:]


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


def _field(element: ET.Element, kind: Any) -> Any:
    """Return the value of one element: a text, or what it consists of."""
    if element.get(NIL) == "true":
        return None
    if _may_be_none(kind):
        others = [one for one in get_args(kind) if one is not NoneType]
        return _field(element, others[0] if len(others) == 1 else None)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind[element.text or ""].value
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _parts(element, kind)
    if (get_origin(kind) or kind) in (list, tuple):
        item, *_ = get_args(kind) or (str,)  # what is written has items of one type
        return [_field(one, item) for one in element]
    return element.text or ""


def _may_be_none(kind: Any) -> bool:
    """Whether a type is a union with None."""
    return get_origin(kind) in (Union, UnionType) and NoneType in get_args(kind)
