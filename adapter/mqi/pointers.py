"""What the pointers in a program's structures point to: memory of this process, read with ctypes.

A program keeps what it points to alive while it calls; nothing is kept here beyond the call.
"""

from __future__ import annotations

import ctypes
from typing import Any

from adapter import mq_constants as mq
from adapter.mqi.reasons import MqiFailure

TEXT_LENGTH_MAX = 10_240
"""Topic strings and property names have at most so much; selection strings too."""


def charv(fields: dict[str, Any], name: str, refused: int = mq.MQRC_OBJECT_STRING_ERROR) -> str:
    """Read the text of an MQCHARV; "" if it is empty. MqiFailure(refused) if it is invalid."""
    pointer, length = fields[name + "Ptr"], fields[name + "Length"]
    if not length:
        return ""
    if not pointer or fields[name + "Offset"] or length < mq.MQVS_NULL_TERMINATED:
        raise MqiFailure(refused)
    if length == mq.MQVS_NULL_TERMINATED:
        found = ctypes.string_at(pointer)
    else:
        if length > TEXT_LENGTH_MAX:
            raise MqiFailure(refused)
        found = ctypes.string_at(pointer, length)
    return found.rstrip(b"\0").decode("utf-8", "replace")


def text(pointer: int, length: int) -> str:
    """Read a text of a given length, as in MQCSP; "" if pointer or length is 0."""
    if not pointer or not 0 < length <= TEXT_LENGTH_MAX:
        return ""
    return ctypes.string_at(pointer, length).decode("utf-8", "replace")


def fill(fields: dict[str, Any], name: str, text: str) -> None:
    """Write a text into the buffer that an MQCHARV offers, as far as there is room.

    Its length is returned in any case, so that a program can offer enough the next time.
    """
    value = text.encode()
    pointer, room = fields[name + "Ptr"], fields[name + "BufSize"]
    if pointer and room > 0:
        given = value[:room]
        ctypes.memmove(pointer, given, len(given))
    fields[name + "Length"] = len(value)
