"""MQMDE: the fields that only version 2 of MQMD has, in front of a body.

A version-1 MQMD has no room for group, segment and flags: that of a program, and the one in a
transmission-queue header. This module does not know when an extension is written.
"""

from __future__ import annotations

import struct
from typing import Any

from adapter.core.contract.details import (
    IN_GROUP,
    LAST_IN_GROUP,
    LAST_SEGMENT,
    LENGTH_UNDEFINED,
    SEGMENT,
    Details,
)
from adapter.core.contract.message import NO_ID, MessageData
from adapter.core.mq_layouts.blank_padded import unpadded
from adapter.core.mq_layouts.whole_numbers import in_32_bits

FORMAT = "MQHMDE"
"""MQFMT_MD_EXTENSION: the format of a message whose body begins with this structure."""
LENGTH = 72
VERSION = 2
_ID = b"MDE "
_FIELDS = "4siiii8si24siiii"
IN_PARTS = IN_GROUP | LAST_IN_GROUP | SEGMENT | LAST_SEGMENT
DEFAULTS = {
    "GroupId": NO_ID,
    "MsgSeqNumber": 1,
    "Offset": 0,
    "MsgFlags": 0,
    "OriginalLength": LENGTH_UNDEFINED,
}
"""What these fields are if nothing is said."""


def fields_of(message: MessageData) -> dict[str, Any]:
    """Return the fields of a message that only version 2 of MQMD has, by MQ's names."""
    details = message.details or Details()
    return {
        "GroupId": message.group_id or NO_ID,
        "MsgSeqNumber": in_32_bits(message.group_seq),
        "Offset": in_32_bits(details.offset),
        "MsgFlags": flags_of(message),
        "OriginalLength": in_32_bits(details.original_length),
    }


def flags_of(message: MessageData) -> int:
    """Return MQMD.MsgFlags of a message; one of a program that knows no flags has a group too."""
    flags = message.details.flags if message.details is not None else 0
    if any(message.group_id) and not flags & IN_PARTS:
        flags |= IN_GROUP
    if message.last_in_group:
        flags |= LAST_IN_GROUP
    return in_32_bits(flags)


def take_off(message: MessageData) -> None:
    """Give a message the fields of the extension that its body begins with, in either byte order.

    ValueError says why there is no valid one.
    """
    body = message.body
    if len(body) < LENGTH or body[:4] != _ID:
        raise ValueError(f"an MQMDE is {LENGTH} bytes that begin with {_ID!r}, not {body[:4]!r}")
    order = "<" if body[4:8] == struct.pack("<i", VERSION) else ">"
    _, version, length, encoding, ccsid, format_, _, *rest = struct.unpack_from(
        order + _FIELDS, body
    )
    if version != VERSION or length != LENGTH:
        raise ValueError(f"an MQMDE of version {VERSION} is known, not {version}")
    group_id, group_seq, offset, flags, original_length = rest
    details = message.details = message.details or Details()
    details.flags, details.offset, details.original_length = flags, offset, original_length
    if flags & IN_PARTS:
        message.group_id = b"" if group_id == NO_ID else group_id
        message.group_seq = group_seq
        message.last_in_group = bool(flags & LAST_IN_GROUP)
    message.format, message.encoding = unpadded(format_), encoding
    if ccsid > 0:  # else that of the header (MQCCSI_INHERIT)
        message.ccsid = ccsid
    message.body = body[LENGTH:]
