"""MQGMO_CONVERT: a body in another byte order and another character set.

A body is a chain: headers of MQ, each of which says what the next part is, and at the end text, PCF
or data of the application. Each part is converted by the format, encoding and character set that
the part before it gives, the first by those of the MQMD. Where a part cannot be converted, it and
all behind it stay as they are, with a warning; what is said of each part is true in any case. This
module does not know the layout of a part.
"""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import Any

from adapter import mq_constants as mq
from adapter.character_sets import codec_of
from adapter.core.mq_layouts.blank_padded import unpadded
from adapter.core.mq_layouts.mqmd import ccsid_of
from adapter.mqi import built_in_formats as formats
from adapter.mqi.representation import ConversionError, Representation

CHARACTER_LENGTH_MAX = 4
"""Bytes, in any of the character sets that are converted."""


def convert(
    md: dict[str, Any], body: bytes, asked_encoding: int, asked_ccsid: int
) -> tuple[bytes, int]:
    """Return a body as a get asked for it, and 0 or a warning.

    md: describes the body, and afterwards what is returned. asked_ccsid: as of a put.
    """
    target = Representation(asked_encoding, ccsid_of(asked_ccsid))
    source = Representation(md["Encoding"], md["CodedCharSetId"])
    if not body or source == target:
        return body, 0
    try:
        first = formats.part(unpadded(md["Format"]), memoryview(body), source, target)
    except ConversionError as problem:
        return body, problem.reason
    md["Encoding"], md["CodedCharSetId"] = target.encoding, target.ccsid
    return _chain(body, first, target)


def convert_within(
    md: dict[str, Any], body: bytes, asked: tuple[int, int], room: int
) -> tuple[bytes, int]:
    """Return a body as a get asked for it, and 0 or a warning; as it is, with the warning 2120, if
    it has room only so. asked: encoding and character set.
    """
    said = {name: md[name] for name in ("Encoding", "CodedCharSetId")}
    converted, warning = convert(md, body, *asked)
    if len(body) <= room < len(converted):
        md.update(said)
        return body, mq.MQRC_CONVERTED_MSG_TOO_BIG
    return converted, warning


def whole_characters(md: dict[str, Any], body: bytes, room: int) -> bytes:
    """Return what has room of a body that was converted: of text, whole characters."""
    order = Representation(md["Encoding"], md["CodedCharSetId"]).order or "<"
    codec = codec_of(md["CodedCharSetId"], order)
    if unpadded(md["Format"]) != formats.TEXT or codec is None:
        return body[:room]
    for length in range(room, max(room - CHARACTER_LENGTH_MAX, 0), -1):
        with suppress(UnicodeError):
            body[:length].decode(codec)
            return body[:length]
    return b"" if room < CHARACTER_LENGTH_MAX else body[:room]


def _chain(body: bytes, part: formats.LayoutPart, target: Representation) -> tuple[bytes, int]:
    """Convert what follows the first part of a body; what is there already stays, with no warning.

    Data of no format behind a header are no fault: they stay, and the header describes them.
    """
    data = memoryview(body)
    out = bytearray(part.data)
    at, begin = part.length, 0
    warning = 0
    while part.follows is not None and at < len(data):
        follows = part.follows
        if not follows.format or follows.said == target:
            break
        try:
            part = formats.part(follows.format, data[at:], follows.said, target)
        except ConversionError as problem:
            warning = problem.reason
            break
        said = (target.encoding, target.ccsid)
        struct.pack_into(f"{target.order}2i", out, begin + follows.place, *said)
        begin = len(out)
        out += part.data
        at += part.length
    return bytes(out) + body[at:], warning
