"""MQRFH2: properties in front of a body, for programs that read them there.

Written for gets without a message handle. A header that a program itself puts in front of a body is
part of the body, and stays as it is for such gets; what its folder usr says are properties of the
message as well, for selectors, handles and the SDK.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Mapping
from contextlib import suppress
from html import escape
from math import isinf
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

from msgspec import Struct

from adapter import mq_constants as mq
from adapter.character_sets import CCSID_UTF_8, codec_of
from adapter.core.contract.message import PROPERTIES_MAX, MessageData, Property
from adapter.core.mq_layouts.blank_padded import pad
from adapter.mqi.property_names import NAME_LENGTH_MAX, OF_PUBLICATIONS
from adapter.mqi.representation import Representation

FIXED = struct.Struct("<4siiii8sii")
VERSION = 2
FORMAT = "MQHRF2"
HEADER = "4siiii8sii"
COMPATIBLE = ("usr.", "mcd.", "jms.", "mqext.")
"""Folders of properties. Without a folder a property lies in usr."""
BOOLEANS = {"1": True, "true": True, "0": False, "false": False}
NOT_IN_ELEMENTS = re.compile(r"^[^A-Za-z_]|[^A-Za-z0-9_\-]|_(?=x[0-9A-Fa-f]{4})")
"""What the name of an element may not have, or is to be told from what is escaped: also where the
underscore that would end it is only that of the next escape."""
ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4,6})_")
UNWRITTEN = re.compile(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that a reader of XML refuses or, as a carriage return, changes."""
PLANES = range(0x4_0000, 0x11_0000, 0x1_0000)
"""Where such characters may be while a folder is read: planes of which texts hardly have any."""
TEXT = re.compile(r">[^<>]+")
REFERENCE = re.compile(r"&#(?:0*([0-9]{1,7})|x0*([0-9A-Fa-f]{1,6}));")
BLANKS = " \t\r\n"
"""Between elements they say nothing."""
WHOLE = re.compile(r"[+-]?[0-9]{1,20}")
REAL = re.compile(
    r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?inf(?:inity)?|nan", re.IGNORECASE
)
HEX = re.compile(r"(?:[0-9A-Fa-f]{2})*")
BITS = {"i1": 8, "i2": 16, "int": 64, "i4": 32, "i8": 64}
"""Of each type of whole numbers."""
SURROGATES = range(0xD800, 0xE000)
NAMES_LENGTH_MAX = PROPERTIES_MAX * NAME_LENGTH_MAX
"""Of all properties of a header: names that begin alike are far longer than what says them."""
PROPERTY_FOLDER = re.compile(r"<(usr|mcd|jms|mq|mqext|mqps|mq_usr)[ />]")
"""The folders that IBM MQ takes for properties, whatever a program wrote them for."""


def are_compatible(properties: Mapping[str, Property]) -> bool:
    """Whether PROPCTL(COMPAT) has a header for properties: if one of them is a program's, in a
    folder that programs have always had. Else all are left out.
    """
    return any(
        name not in OF_PUBLICATIONS and ("." not in name or name.startswith(COMPATIBLE))
        for name in properties
    )


def with_properties(md: dict[str, Any], properties: Mapping[str, Property], body: bytes) -> bytes:
    """Return a body behind a header with its properties, and say so in the MQMD."""
    folders: dict[str, list[str]] = {}
    for name, value in properties.items():
        folder, _, rest = OF_PUBLICATIONS.get(name, name).rpartition(".")
        parts = [_as_element(part) for part in (folder or "usr").split(".")]
        folders.setdefault(".".join(parts), []).append(_element(_as_element(rest), value))
    data = b"".join([_folder(name, elements) for name, elements in folders.items()])
    head = FIXED.pack(
        b"RFH ",
        VERSION,
        FIXED.size + len(data),
        md["Encoding"],
        md["CodedCharSetId"],
        md["Format"],
        0,
        CCSID_UTF_8,
    )
    md["Format"], md["Encoding"] = pad(FORMAT, 8), mq.MQENC_NATIVE
    md["CodedCharSetId"] = CCSID_UTF_8
    return head + data + body


def _folder(name: str, elements: list[str]) -> bytes:
    """Write a folder, its length before it, padded to a multiple of four bytes."""
    outer = "".join(f"<{part}>" for part in name.split("."))
    inner = "".join(f"</{part}>" for part in reversed(name.split(".")))
    text = f"{outer}{''.join(elements)}{inner}".encode()
    text = text.ljust(-(-len(text) // 4) * 4)
    return struct.pack("<i", len(text)) + text


def _element(name: str, value: Property) -> str:
    if value is None:
        return f'<{name} xsi:nil="true"></{name}>'
    if isinstance(value, bool):
        return f'<{name} dt="boolean">{int(value)}</{name}>'
    if isinstance(value, int):
        size = "i4" if -(2**31) <= value < 2**31 else "i8"
        return f'<{name} dt="{size}">{value}</{name}>'
    if isinstance(value, float):
        return f'<{name} dt="r8">{value!r}</{name}>'
    if isinstance(value, bytes):
        return f'<{name} dt="bin.hex">{value.hex()}</{name}>'
    text = UNWRITTEN.sub(lambda found: f"&#{ord(found[0])};", escape(value, quote=False))
    return f"<{name}>{text}</{name}>"


def _as_element(name: str) -> str:
    """Write part of a property's name as the name of an element: as SQL/XML does, _x0020_.

    Letters of other alphabets stay, where all of them are such as elements may have.
    """
    escaped = NOT_IN_ELEMENTS.sub(lambda found: f"_x{ord(found[0]):04X}_", name)
    if name.isascii():
        return escaped or "_x0000_"
    with suppress(ElementTree.ParseError, ValueError):
        element = ElementTree.fromstring(f"<{name}/>")  # noqa: S314
        if element.tag == name == _as_name(name):
            return name
    return escaped


def _as_name(tag: str) -> str:
    """Return what an element's name stands for; what stands for no character stays."""

    def letter(found: re.Match[str]) -> str:
        number = int(found[1], 16)
        is_letter = number <= sys.maxunicode and number not in SURROGATES
        return chr(number) if is_letter else found[0]

    return ESCAPED.sub(letter, tag)


class Folder(Struct):
    """A folder of a header: its bytes, its text, and the properties that it says if it is a folder
    usr; None of one that is another, or damaged.
    """

    raw: bytes
    text: str
    properties: dict[str, Property] | None


class Rfh2Header(Struct):
    """A header that a program wrote. rest: what is behind it."""

    order: str
    encoding: int
    ccsid: int
    format: bytes
    flags: int
    names_ccsid: int
    folders: list[Folder]
    rest: bytes


def properties_of(header: Rfh2Header | None) -> dict[str, Property]:
    """Return what the folders usr of a message's own header say; nothing without one."""
    found: dict[str, Property] = {}
    for folder in header.folders if header is not None else ():
        found |= folder.properties or {}
    return found


def has_damaged_properties(header: Rfh2Header | None) -> bool:
    """Whether a folder usr of a message's own header cannot be read."""
    folders = header.folders if header is not None else ()
    return any(_is_usr(one.text) and one.properties is None for one in folders)


def _read(text: str, room: int) -> dict[str, Property] | None:
    """Return the properties of a folder usr; None of one that is another, or damaged: all that it
    says has to be in them, as it is taken off a body, and a name has one value.

    room: characters that their names may have.
    """
    if not _is_usr(text) or "<!" in text or "<?" in text:  # entities could make much of little
        return None
    try:
        usr = _parse(text)
    except (expat.ExpatError, ValueError):
        return None
    found: dict[str, Property] = {}
    inner = [("", one) for one in reversed(usr)]
    beside = [usr.text]
    while inner:
        before, one = inner.pop()
        name = before + _as_name(one.tag)
        if ":" in one.tag or name in found:  # the names of properties have no prefix
            return None
        beside.append(one.tail)
        if len(one):
            before = f"{name}."
            beside.append(one.text)
            inner += [(before, child) for child in reversed(one)]
        else:
            found[name] = _value(one)
            room -= len(name)
        if len(name) > NAME_LENGTH_MAX or room < 0:
            return None
    return None if any((text or "").strip(BLANKS) for text in beside) else found


def _parse(text: str) -> ElementTree.Element:
    """Read a folder, of which each character stays as it is. ExpatError, ValueError."""
    referred = {_number(found) & ~0xFFFF for found in REFERENCE.finditer(text)}
    used = {ord(one) & ~0xFFFF for one in set(text)} | referred
    plane = next((one for one in PLANES if one not in used), 0)
    held = TEXT.sub(lambda found: _hold(found[0], plane), text) if plane else text
    folder = _elements(held)
    for element in folder.iter() if held != text else ():
        letters = map(ord, element.text or "")
        element.text = "".join(chr(n - plane if n & ~0xFFFF == plane else n) for n in letters)
    return folder


def _elements(text: str) -> ElementTree.Element:
    """Read XML whose names stay as they are written: a namespace, in the name of each element that
    is of it, could make much of little. Raises ExpatError.
    """
    builder, parser = ElementTree.TreeBuilder(), expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.Parse(text, True)
    return builder.close()


def _number(reference: re.Match[str]) -> int:
    return int(reference[1]) if reference[1] else int(reference[2], 16)


def _hold(text: str, plane: int) -> str:
    """Put characters that the parser does not take as they are into a plane."""

    def referred(found: re.Match[str]) -> str:
        number = _number(found)
        letter = chr(number) if number <= 0xFFFF and number not in SURROGATES else ""
        return letter if letter and UNWRITTEN.match(letter) else found[0]

    return UNWRITTEN.sub(lambda found: chr(plane + ord(found[0])), REFERENCE.sub(referred, text))


def without_properties(md: dict[str, Any], header: Rfh2Header, *, all_folders: bool) -> bytes:
    """Return what is behind a header, and before it the header if it has more than a folder usr.

    all_folders: without the other folders of properties too, such as those of JMS. A folder usr
    that cannot be read stays: what it says is nowhere else. The MQMD is told what the body begins
    with then.
    """
    kept = [one.raw for one in header.folders if not _is_gone(one, all_folders)]
    if not kept:
        md["Format"], md["Encoding"] = header.format, header.encoding
        if header.ccsid > 0:  # else that of the header, as MQCCSI_INHERIT says
            md["CodedCharSetId"] = header.ccsid
        return header.rest
    data = b"".join(struct.pack(f"{header.order}i", len(raw)) + raw for raw in kept)
    head = struct.pack(
        header.order + HEADER,
        b"RFH ",
        VERSION,
        FIXED.size + len(data),
        header.encoding,
        header.ccsid,
        header.format,
        header.flags,
        header.names_ccsid,
    )
    return head + data + header.rest


def header_of(message: MessageData) -> Rfh2Header | None:
    """Read the header that a body begins with; None if it begins with another, or a damaged one."""
    body = message.body
    if message.format.rstrip(" ") != FORMAT or len(body) < FIXED.size:
        return None
    order = Representation(message.encoding, message.ccsid).order or ">"
    fixed = struct.unpack_from(order + HEADER, body)
    ident, version, length, encoding, ccsid, behind, flags, names_ccsid = fixed
    codec = codec_of(names_ccsid or CCSID_UTF_8, order)
    fits = FIXED.size <= length <= len(body)
    if ident != b"RFH " or version != VERSION or not fits or codec is None:
        return None
    folders: list[Folder] = []
    known: set[str] = set()
    at, room = FIXED.size, NAMES_LENGTH_MAX
    while at < length:
        size = struct.unpack_from(f"{order}i", body, at)[0] if at + 4 <= length else -1
        at += 4
        if size < 0 or at + size > length:
            return None
        raw = body[at : at + size]
        text, is_whole = _decode(raw, codec)
        properties = _read(text, room) if is_whole else None
        if properties and not known.isdisjoint(properties):
            properties = None  # the value of the folder before would be lost
        known.update(properties or ())
        room -= sum(map(len, properties or ()))
        folders.append(Folder(raw, text, properties))
        at += size
    return Rfh2Header(order, encoding, ccsid, behind, flags, names_ccsid, folders, body[length:])


def _decode(raw: bytes, codec: str) -> tuple[str, bool]:
    """Return the text of a folder, and whether it says all that its bytes do."""
    try:
        return raw.decode(codec).strip("\0 "), True
    except UnicodeDecodeError:
        return raw.decode(codec, "replace").strip("\0 "), False


def _is_gone(folder: Folder, all_folders: bool) -> bool:
    """Whether a folder is taken off."""
    if _is_usr(folder.text):
        return folder.properties is not None
    return all_folders and bool(PROPERTY_FOLDER.match(folder.text))


def _is_usr(text: str) -> bool:
    return text.startswith(("<usr>", "<usr ", "<usr/"))


def _value(element: ElementTree.Element) -> Property:
    """Return the value of a property by its type; as text if it is not of that type."""
    text, kind = element.text or "", element.get("dt", "string")
    if element.get("xsi:nil") in ("true", "1") and not text.strip(BLANKS):
        return None
    said = text.strip(BLANKS)
    value: Property = None
    if kind == "boolean":
        value = BOOLEANS.get(said)
    elif kind in BITS:
        value = _whole(said, BITS[kind])
    elif kind in ("r4", "r8"):
        value = _real(said)
    elif kind == "bin.hex":
        value = bytes.fromhex(said) if HEX.fullmatch(said) else None
    return text if value is None else value


def _whole(text: str, bits: int) -> int | None:
    """Read a signed number of so many bits, as MQ writes it; None: it is another text."""
    if not WHOLE.fullmatch(text):
        return None
    number = int(text)
    return number if -(2 ** (bits - 1)) <= number < 2 ** (bits - 1) else None


def _real(text: str) -> float | None:
    """Read a number of 64 bits, as MQ writes it; None: it is another text, or larger."""
    if not REAL.fullmatch(text):
        return None
    number = float(text)
    is_too_large = isinf(number) and "inf" not in text.lower()
    return None if is_too_large else number
