"""A trigger message: which program is to be started for which queue, in MQ's two layouts.

The queue manager puts the binary one (MQTM) on an initiation queue; a trigger monitor hands the one
of characters (MQTMC2) to the program that it starts. This module does not know when a trigger
message is made, nor who reads it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from adapter.core.mq_layouts.blank_padded import length_of, pad, unpadded

FORMAT = "MQTRIG"
"""MQFMT_TRIGGER: the format of the message whose body is an MQTM."""
APPL_TYPE_UNKNOWN = -1  # MQAT_UNKNOWN

QUEUE_LENGTH = PROCESS_LENGTH = QUEUE_MANAGER_LENGTH = 48
TRIGGER_DATA_LENGTH = 64
APPL_ID_LENGTH = 256
ENV_DATA_LENGTH = USER_DATA_LENGTH = 128
OF_PROCESS = {
    "appl_id": APPL_ID_LENGTH,
    "env_data": ENV_DATA_LENGTH,
    "user_data": USER_DATA_LENGTH,
}
"""The texts of a process definition, and how many bytes each may take."""

TM_LENGTH = 684
TMC2_LENGTH = 732
_TM_ID, _TM_VERSION = b"TM  ", 1
_TMC2_ID, _TMC2_VERSION = b"TMC ", b"   2"
_TM_FORMAT = "4si48s48s64si256s128s128s"
_TMC2 = struct.Struct("4s4s48s48s64s4s256s128s128s48s")


class TriggerFields(Struct, frozen=True, kw_only=True):
    """What a trigger message says. appl_type is an MQAT number; the manual's other names stand
    without their endings (QName, ProcessName, QMgrName). queue_manager is only in the MQTMC2.
    """

    queue: str
    process: str = ""
    trigger_data: str = ""
    appl_type: int = APPL_TYPE_UNKNOWN
    appl_id: str = ""
    env_data: str = ""
    user_data: str = ""
    queue_manager: str = ""


Reader = Callable[[bytes], TriggerFields]
"""Reads one of the layouts; ValueError says why it cannot."""


def too_long(message: TriggerFields) -> list[str]:
    """Return which texts of its process are cut when it is laid out."""
    return [name for name, most in OF_PROCESS.items() if length_of(getattr(message, name)) > most]


def to_tm(message: TriggerFields) -> bytes:
    """Lay a trigger message out as an MQTM, 684 bytes, numbers little-endian (MQENC 546)."""
    return struct.pack(
        "<" + _TM_FORMAT,
        _TM_ID,
        _TM_VERSION,
        pad(message.queue, QUEUE_LENGTH),
        pad(message.process, PROCESS_LENGTH),
        pad(message.trigger_data, TRIGGER_DATA_LENGTH),
        message.appl_type,
        pad(message.appl_id, APPL_ID_LENGTH),
        pad(message.env_data, ENV_DATA_LENGTH),
        pad(message.user_data, USER_DATA_LENGTH),
    )


def from_tm(data: bytes) -> TriggerFields:
    """Read an MQTM, in either byte order; ValueError says why it cannot be read."""
    if len(data) != TM_LENGTH:
        raise ValueError(f"an MQTM is {TM_LENGTH} bytes, not {len(data)}")
    order = "<" if data[4:8] == struct.pack("<i", _TM_VERSION) else ">"
    ident, version, *fields = struct.unpack(order + _TM_FORMAT, data)
    if ident != _TM_ID or version != _TM_VERSION:
        raise ValueError(
            f"an MQTM begins with {_TM_ID!r} and version {_TM_VERSION}, not with {data[:8]!r}"
        )
    return TriggerFields(appl_type=fields.pop(3), **_texts(fields))


def to_tmc2(message: TriggerFields) -> bytes:
    """Lay a trigger message out as an MQTMC2: 732 bytes, all of them characters.

    ApplType is its number in digits; blank if it has more than four of them.
    """
    number = str(message.appl_type)
    return _TMC2.pack(
        _TMC2_ID,
        _TMC2_VERSION,
        pad(message.queue, QUEUE_LENGTH),
        pad(message.process, PROCESS_LENGTH),
        pad(message.trigger_data, TRIGGER_DATA_LENGTH),
        pad(number if len(number) <= 4 else "", 4),
        pad(message.appl_id, APPL_ID_LENGTH),
        pad(message.env_data, ENV_DATA_LENGTH),
        pad(message.user_data, USER_DATA_LENGTH),
        pad(message.queue_manager, QUEUE_MANAGER_LENGTH),
    )


def from_tmc2(data: bytes) -> TriggerFields:
    """Read an MQTMC2, also one without blanks at its end; ValueError says why it cannot be read."""
    if len(data) > TMC2_LENGTH or data[:8] != _TMC2_ID + _TMC2_VERSION:
        raise ValueError(
            f"an MQTMC2 is {TMC2_LENGTH} characters that begin with "
            f"{(_TMC2_ID + _TMC2_VERSION)!r}, not {len(data)} that begin with {data[:8]!r}"
        )
    _, _, *fields = _TMC2.unpack(data.ljust(TMC2_LENGTH))
    number = unpadded(fields.pop(3)).strip()
    appl_type = int(number) if number.removeprefix("-").isdecimal() else APPL_TYPE_UNKNOWN
    return TriggerFields(appl_type=appl_type, **_texts(fields))


def _texts(fields: list[bytes]) -> dict[str, Any]:
    """Name the fields of text, in their order in both layouts; an MQTM lacks the last."""
    names = (
        "queue", "process", "trigger_data", "appl_id", "env_data", "user_data", "queue_manager",
    )  # fmt: skip
    return {name: unpadded(field) for name, field in zip(names, fields, strict=False)}
