"""The dead-letter header: why a message is on a dead-letter queue, and where it was to go.

MQDLH, the 172 bytes before the body. This module does not know who puts messages there.
"""

from __future__ import annotations

import struct
from typing import Any, Final

from msgspec import Struct, structs

from adapter.core.contract.details import APPL_TYPE_QMGR
from adapter.core.contract.message import MessageData
from adapter.core.mq_layouts.blank_padded import length_of, pad, unpadded

FORMAT = "MQDEAD"
"""MQFMT_DEAD_LETTER_HEADER: the format of a message whose body begins with this header."""
LENGTH = 172
ENCODING, CCSID = 546, 1208
"""Of a header, and so of the message that begins with one: little-endian numbers, UTF-8."""
_ID, _VERSION = b"DLH ", 1
_FIELDS = "4sii48s48sii8si28s8s8s"
TEXT_LENGTHS: Final[dict[str, int]] = {
    "destination": 48,
    "destination_queue_manager": 48,
    "format": 8,
    "application": 28,
    "put_date": 8,
    "put_time": 8,
}
"""Bytes of each text of a header, in UTF-8."""
NUMBERS: Final = ("reason", "encoding", "ccsid", "application_type")
"""Those of 32 bits."""


class DeadLetter(Struct, frozen=True, kw_only=True):
    """What an MQDLH says. reason: an MQRC or MQFB number; encoding, ccsid and format: of what
    follows the header. put_date is YYYYMMDD and put_time HHMMSSTH, both UTC: when it was put on the
    dead-letter queue, by the application named here.
    """

    reason: int = 0
    destination: str = ""
    destination_queue_manager: str = ""
    encoding: int = 546
    ccsid: int = 1208
    format: str = ""
    application_type: int = 0
    application: str = ""
    put_date: str = ""
    put_time: str = ""


def to_dlh(header: DeadLetter) -> bytes:
    """Lay a header out as an MQDLH, 172 bytes, numbers little-endian (MQENC 546)."""
    padded = {name: pad(getattr(header, name), size) for name, size in TEXT_LENGTHS.items()}
    return struct.pack(
        "<" + _FIELDS,
        _ID,
        _VERSION,
        header.reason,
        padded["destination"],
        padded["destination_queue_manager"],
        header.encoding,
        header.ccsid,
        padded["format"],
        header.application_type,
        padded["application"],
        padded["put_date"],
        padded["put_time"],
    )


def made_at(time_ms: int, **told: Any) -> DeadLetter:
    """Return the header of what is put on a dead-letter queue at a time (ms since the epoch).

    told: the other fields. A text that has no room is cut, as a header that is laid out has it.
    """
    put_date, put_time = stamps(time_ms)
    return fitting(DeadLetter(put_date=put_date, put_time=put_time, **told))


def fitting(header: DeadLetter) -> DeadLetter:
    """Return a header whose texts are cut to what there is room for."""
    texts = {name: getattr(header, name) for name in TEXT_LENGTHS}
    long = {name: text for name, text in texts.items() if length_of(text) > TEXT_LENGTHS[name]}
    if not long:
        return header
    return structs.replace(
        header, **{name: unpadded(pad(text, TEXT_LENGTHS[name])) for name, text in long.items()}
    )


def stamps(time_ms: int) -> tuple[str, str]:
    """Write a time as put_date and put_time.

    >>> stamps(951_782_400_120)
    ('20000229', '00000012')
    """
    seconds, left_ms = divmod(time_ms, 1000)
    days, second = divmod(seconds, 86_400)
    year, month, day = _date(days)
    hundredths = left_ms // 10
    time = f"{second // 3600:02}{second // 60 % 60:02}{second % 60:02}{hundredths:02}"
    return f"{year:04}{month:02}{day:02}", time


def _date(days: int) -> tuple[int, int, int]:
    """Return year, month and day of a day since 1970: of years that begin in March, and of 400
    years that repeat, as the calendar's rules for leap years do.
    """
    era, day = divmod(days + 719_468, 146_097)
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    is_next = month >= 10  # January and February
    return era * 400 + year + is_next, month - 9 if is_next else month + 3, day + 1


def as_dead_letter(
    message: MessageData,
    queue_manager: str,
    destination: str,
    code: int,
    now_ms: int,
    destination_queue_manager: str = "",
) -> MessageData:
    """Return what a queue manager puts on its dead-letter queue: the message behind a header.

    destination: where it was to go, of this queue manager unless another is named. code: the reason
    as IBM MQ numbers it.
    """
    put_date, put_time = stamps(now_ms)
    header = DeadLetter(
        reason=code,
        destination=destination,
        destination_queue_manager=destination_queue_manager or queue_manager,
        encoding=message.encoding,
        ccsid=message.ccsid,
        format=message.format,
        application_type=APPL_TYPE_QMGR,
        application=queue_manager,
        put_date=put_date,
        put_time=put_time,
    )
    body = to_dlh(header) + message.body
    return structs.replace(message, body=body, format=FORMAT, encoding=ENCODING, ccsid=CCSID)


def from_dlh(body: bytes) -> DeadLetter:
    """Read the header that a body begins with, in either order of bytes.

    ValueError says why it is missing or invalid.
    """
    if len(body) < LENGTH or body[:4] != _ID:
        raise ValueError(
            f"an MQDLH is {LENGTH} bytes that begin with {_ID!r}, not {len(body)} bytes that "
            f"begin with {body[:4]!r}"
        )
    order = "<" if body[4:8] == struct.pack("<i", _VERSION) else ">"
    _, version, *values = struct.unpack_from(order + _FIELDS, body)
    if version != _VERSION:
        raise ValueError(f"version {_VERSION} of the MQDLH is known, not {version}")
    names = DeadLetter.__struct_fields__
    told: dict[str, Any] = {
        name: value if isinstance(value, int) else unpadded(value)
        for name, value in zip(names, values, strict=True)
    }
    return DeadLetter(**told)


def split(format_: str, body: bytes) -> tuple[DeadLetter | None, bytes]:
    """Take the header off a body, if a message of this format has one; else None and all of it."""
    if format_.rstrip(" ") != FORMAT:
        return None, body
    try:
        return from_dlh(body), body[LENGTH:]
    except ValueError:
        return None, body
