"""The formats that MQGMO_CONVERT knows: text, MQTM, PCF and headers.

The headers are MQDLH, MQMDE, MQRFH, MQRFH2 and MQXQH. Each format is one part of a body, taken with
its own representation and given in another one. Every length and count is checked before it is
used: data that are not what their format says are refused with MQRC_FORMAT_ERROR. This module does
not know which part of a body a part is.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial

from msgspec import Struct

from adapter import mq_constants as mq
from adapter.administration.pcf import structures as pcf
from adapter.character_sets import UTF_16
from adapter.core.mq_layouts.blank_padded import unpadded
from adapter.mqi.representation import Conversion, ConversionError, Representation


class Follower(Struct, frozen=True):
    """What a header says of the part behind it. place: of Encoding and CodedCharSetId, in bytes."""

    format: str
    said: Representation
    place: int


class LayoutPart(Struct, frozen=True):
    """A converted part. length: bytes that it had before; follows: only if it is a header."""

    data: bytes
    length: int
    follows: Follower | None = None


def part(name: str, data: memoryview, source: Representation, target: Representation) -> LayoutPart:
    """Convert the part of a body that data begin with. Raises ConversionError."""
    convert = FORMATS.get(name)
    if convert is None:
        raise ConversionError(mq.MQRC_FORMAT_ERROR)
    return convert(data, Conversion(source, target, integers=name != TEXT))


def _text(data: memoryview, conversion: Conversion) -> LayoutPart:
    return LayoutPart(conversion.text(bytes(data)), len(data))


class FormatLayout:
    """A structure of fixed size that begins with an identifier of 4 letters and a version.

    fields: their names and kinds behind these two: i, an integer; c48, text of 48 bytes; b24, as
    many bytes that are not text.
    """

    def __init__(self, ident: str, version: int, fields: str) -> None:
        self._begins = [ident, version]
        pairs = [one.split(":") for one in f"StrucId:c4 Version:i {fields}".split()]
        self._names = [name for name, _ in pairs]
        self._kinds = [kind for _, kind in pairs]
        self._form = "".join(k if k == "i" else f"{k[1:]}s" for k in self._kinds)
        self.size = struct.calcsize(f"<{self._form}")
        before = self._kinds[: self._names.index("Encoding")] if "Encoding" in self._names else []
        self._place = sum(4 if kind == "i" else int(kind[1:]) for kind in before)

    def read(self, data: memoryview, conversion: Conversion) -> list[int | bytes]:
        """Take apart; texts are converted already, integers are numbers. Raises ConversionError."""
        if len(data) < self.size:
            raise ConversionError(mq.MQRC_FORMAT_ERROR)
        if conversion.target.ccsid in UTF_16:  # its letters have no room in the fields
            raise ConversionError(mq.MQRC_TARGET_CCSID_ERROR)
        values = struct.unpack_from(conversion.source_order + self._form, data)
        if [conversion.read(values[0]), values[1]] != self._begins:
            raise ConversionError(mq.MQRC_FORMAT_ERROR)
        return [
            conversion.field(value) if kind[0] == "c" else value
            for kind, value in zip(self._kinds, values, strict=True)
        ]

    def write(self, values: list[int | bytes], conversion: Conversion) -> bytes:
        """Put together in the representation that is the target."""
        return struct.pack(conversion.target_order + self._form, *values)

    def place_of(self, name: str) -> int:
        """Return which of the values is that of a field."""
        return self._names.index(name)

    def follower(
        self, values: list[int | bytes], data: memoryview, conversion: Conversion
    ) -> Follower:
        """Return what a header says of the part behind it.

        A character set that the header leaves open becomes that of the header before conversion,
        in the values too: after it it cannot be told.
        """
        encoding, ccsid = self.place_of("Encoding"), self.place_of("CodedCharSetId")
        said_ccsid = int(values[ccsid])
        if said_ccsid <= 0:
            values[ccsid] = said_ccsid = conversion.source.ccsid
        raw = struct.unpack_from(conversion.source_order + self._form, data)
        format_ = conversion.read(raw[self.place_of("Format")])
        return Follower(
            unpadded(format_.encode()),
            Representation(int(values[encoding]), said_ccsid),
            self._place,
        )


MQDLH = FormatLayout(
    "DLH ",
    1,
    "Reason:i DestQName:c48 DestQMgrName:c48 Encoding:i CodedCharSetId:i Format:c8 PutApplType:i "
    "PutApplName:c28 PutDate:c8 PutTime:c8",
)
MQMDE = FormatLayout(
    "MDE ",
    2,
    "StrucLength:i Encoding:i CodedCharSetId:i Format:c8 Flags:i GroupId:b24 MsgSeqNumber:i "
    "Offset:i MsgFlags:i OriginalLength:i",
)
MQRFH = FormatLayout("RFH ", 1, "StrucLength:i Encoding:i CodedCharSetId:i Format:c8 Flags:i")
MQRFH2 = FormatLayout(
    "RFH ", 2, "StrucLength:i Encoding:i CodedCharSetId:i Format:c8 Flags:i NameValueCCSID:i"
)
MQTM = FormatLayout(
    "TM  ",
    1,
    "QName:c48 ProcessName:c48 TriggerData:c64 ApplType:i ApplId:c256 EnvData:c128 UserData:c128",
)
MQXQH = FormatLayout(
    "XQH ",
    1,
    "RemoteQName:c48 RemoteQMgrName:c48 MdStrucId:c4 MdVersion:i Report:i MsgType:i Expiry:i "
    "Feedback:i Encoding:i CodedCharSetId:i Format:c8 Priority:i Persistence:i MsgId:b24 "
    "CorrelId:b24 BackoutCount:i ReplyToQ:c48 ReplyToQMgr:c48 UserIdentifier:c12 "
    "AccountingToken:b32 ApplIdentityData:c32 PutApplType:i PutApplName:c28 PutDate:c8 PutTime:c8 "
    "ApplOriginData:c4",
)
STRUC_LENGTH = 2
"""Which of the values of a header is its length, where it has one."""


def _header(layout: FormatLayout, data: memoryview, conversion: Conversion) -> LayoutPart:
    values = layout.read(data, conversion)
    follower = layout.follower(values, data, conversion)
    return LayoutPart(layout.write(values, conversion), layout.size, follower)


def _md_extension(data: memoryview, conversion: Conversion) -> LayoutPart:
    values = MQMDE.read(data, conversion)
    if values[STRUC_LENGTH] != MQMDE.size:
        raise ConversionError(mq.MQRC_FORMAT_ERROR)
    follower = MQMDE.follower(values, data, conversion)
    return LayoutPart(MQMDE.write(values, conversion), MQMDE.size, follower)


def _trigger(data: memoryview, conversion: Conversion) -> LayoutPart:
    if len(data) != MQTM.size:
        raise ConversionError(mq.MQRC_FORMAT_ERROR)
    return LayoutPart(MQTM.write(MQTM.read(data, conversion), conversion), MQTM.size)


def _rules(data: memoryview, conversion: Conversion) -> LayoutPart:
    """MQRFH: its names and values are text of any length behind the fixed part."""
    values = MQRFH.read(data, conversion)
    length = _length_within(values, MQRFH, data)
    names = conversion.text(bytes(data[MQRFH.size : length]))
    values[STRUC_LENGTH] = MQRFH.size + len(names)
    follower = MQRFH.follower(values, data, conversion)
    return LayoutPart(MQRFH.write(values, conversion) + names, length, follower)


def _rules_2(data: memoryview, conversion: Conversion) -> LayoutPart:
    """MQRFH2: its folders keep their character set; UTF-16 changes its byte order."""
    values = MQRFH2.read(data, conversion)
    length = _length_within(values, MQRFH2, data)
    is_wide = values[MQRFH2.place_of("NameValueCCSID")] in UTF_16
    swaps = is_wide and conversion.source_order != conversion.target_order
    folders = bytearray()
    at = MQRFH2.size
    while at < length:
        if length - at < 4:
            raise ConversionError(mq.MQRC_FORMAT_ERROR)
        (size,) = struct.unpack_from(f"{conversion.source_order}i", data, at)
        at += 4
        if not 0 <= size <= length - at or (swaps and size % 2):
            raise ConversionError(mq.MQRC_FORMAT_ERROR)
        raw = bytes(data[at : at + size])
        folders += struct.pack(f"{conversion.target_order}i", size)
        folders += _swap(raw) if swaps else raw
        at += size
    follower = MQRFH2.follower(values, data, conversion)
    return LayoutPart(MQRFH2.write(values, conversion) + folders, length, follower)


def _swap(raw: bytes) -> bytes:
    """Return 16-bit units in the other byte order."""
    units = struct.unpack(f"<{len(raw) // 2}H", raw)
    return struct.pack(f">{len(units)}H", *units)


def _length_within(values: list[int | bytes], layout: FormatLayout, data: memoryview) -> int:
    length = int(values[STRUC_LENGTH])
    if not layout.size <= length <= len(data):
        raise ConversionError(mq.MQRC_FORMAT_ERROR)
    return length


def _pcf(data: memoryview, conversion: Conversion) -> LayoutPart:
    """Convert a message of PCF: a header, and structures that each name their length."""
    if len(data) < pcf.HEADER_LENGTH:
        raise ConversionError(mq.MQRC_FORMAT_ERROR)
    out = bytearray(_integers(data[: pcf.HEADER_LENGTH], conversion))
    if struct.unpack_from(f"{conversion.source_order}i", data, 4) != (pcf.HEADER_LENGTH,):
        raise ConversionError(mq.MQRC_FORMAT_ERROR)
    at = pcf.HEADER_LENGTH
    while at < len(data):
        if len(data) - at < 12:
            raise ConversionError(mq.MQRC_FORMAT_ERROR)
        kind, length = struct.unpack_from(f"{conversion.source_order}2i", data, at)
        if not 12 <= length <= len(data) - at or kind not in SHAPES:
            raise ConversionError(mq.MQRC_FORMAT_ERROR)
        out += _pcf_structure(kind, data[at : at + length], conversion)
        at += length
    return LayoutPart(bytes(out), len(data))


class Shape(Struct, frozen=True):
    """One type of structure. fixed: bytes of integers that it begins with; behind them elements.

    count, length, ccsid: which of the integers say how many elements there are, how long each is,
    and in which character set; -1: none does. element: bytes of one, where no integer says it.
    """

    fixed: int
    kind: str = ""
    count: int = -1
    length: int = -1
    ccsid: int = -1


SHAPES = {
    pcf.INTEGER: Shape(16),
    pcf.GROUP: Shape(16),
    pcf.INTEGER_FILTER: Shape(20),
    pcf.INTEGER_64: Shape(16, "q"),
    pcf.INTEGER_LIST: Shape(16, "i", count=3),
    pcf.INTEGER_64_LIST: Shape(16, "q", count=3),
    pcf.BYTES: Shape(16, "b", length=3),
    pcf.BYTES_FILTER: Shape(20, "b", length=4),
    pcf.STRING: Shape(20, "c", length=4, ccsid=3),
    pcf.STRING_FILTER: Shape(24, "c", length=5, ccsid=4),
    pcf.STRING_LIST: Shape(24, "c", count=4, length=5, ccsid=3),
}
WIDTHS = {"": 0, "i": 4, "q": 8}


def _pcf_structure(kind: int, data: memoryview, conversion: Conversion) -> bytes:
    """Convert a structure, without the members of a group: these are structures behind it."""
    shape = SHAPES[kind]
    if len(data) < shape.fixed:
        raise ConversionError(mq.MQRC_FORMAT_ERROR)
    fixed = list(struct.unpack_from(f"{conversion.source_order}{shape.fixed // 4}i", data))
    count = fixed[shape.count] if shape.count >= 0 else 1
    width = fixed[shape.length] if shape.length >= 0 else WIDTHS[shape.kind]
    room = len(data) - shape.fixed
    if count < 0 or width < 0 or count * width > room:
        raise ConversionError(mq.MQRC_FORMAT_ERROR)
    raw = bytes(data[shape.fixed : shape.fixed + count * width])
    elements = raw
    if shape.kind == "c":
        elements = _strings(raw, count, width, fixed, shape, conversion)
        elements += bytes(-len(elements) % 4)
        fixed[1] = shape.fixed + len(elements)
    else:
        if shape.kind in ("i", "q"):
            form = f"{count}{shape.kind}"
            values = struct.unpack(conversion.source_order + form, raw)
            elements = struct.pack(conversion.target_order + form, *values)
        elements += bytes(data[shape.fixed + len(raw) :])
    return struct.pack(f"{conversion.target_order}{len(fixed)}i", *fixed) + elements


def _strings(
    raw: bytes, count: int, width: int, fixed: list[int], shape: Shape, conversion: Conversion
) -> bytes:
    """Convert the strings of a structure, all as long as the longest; say so in its integers."""
    ccsid = fixed[shape.ccsid]
    parts = [
        conversion.text(raw[at : at + width], ccsid)
        for at in range(0, count * width, max(width, 1))
    ]
    longest = max(map(len, parts), default=0)
    if ccsid > 0:
        fixed[shape.ccsid] = conversion.target.ccsid
    fixed[shape.length] = longest
    return b"".join(part.ljust(longest, conversion.blank) for part in parts)


def _integers(data: memoryview, conversion: Conversion) -> bytes:
    count = len(data) // 4
    values = struct.unpack(f"{conversion.source_order}{count}i", data)
    return struct.pack(f"{conversion.target_order}{count}i", *values)


TEXT = "MQSTR"
FORMATS: dict[str, Callable[[memoryview, Conversion], LayoutPart]] = {
    TEXT: _text,
    "MQDEAD": partial(_header, MQDLH),
    "MQHMDE": _md_extension,
    "MQHRF": _rules,
    "MQHRF2": _rules_2,
    "MQTRIG": _trigger,
    "MQXMIT": partial(_header, MQXQH),
    "MQADMIN": _pcf,
    "MQEVENT": _pcf,
    "MQPCF": _pcf,
}
