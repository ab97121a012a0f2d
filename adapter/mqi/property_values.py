"""Values of properties: the types that the MQI has for them, and what of one is another.

A value is converted only without a loss: a number to a type that holds all of it, a text that says
one in the MQI's own letters, and any value to a text. This module knows no handle and no name.
"""

from __future__ import annotations

import re
import struct
from math import isinf, isnan
from typing import Any

from adapter import mq_constants as mq
from adapter.core.contract.message import Property
from adapter.mqi.arguments import buffer
from adapter.mqi.reasons import MqiFailure

NUMBERS = {
    mq.MQTYPE_INT8: ("<b", 1),
    mq.MQTYPE_INT16: ("<h", 2),
    mq.MQTYPE_INT32: ("<i", 4),
    mq.MQTYPE_INT64: ("<q", 8),
    mq.MQTYPE_FLOAT32: ("<f", 4),
    mq.MQTYPE_FLOAT64: ("<d", 8),
}
"""Format and size of the types that are numbers. Formats of a native order check no bounds."""
WHOLE = frozenset({mq.MQTYPE_INT8, mq.MQTYPE_INT16, mq.MQTYPE_INT32, mq.MQTYPE_INT64})
FLOATING = frozenset({mq.MQTYPE_FLOAT32, mq.MQTYPE_FLOAT64})
WHOLE_TEXT = re.compile(r" *[+-]?[0-9]{1,20}")
REAL_TEXT = re.compile(
    r" *(?:[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?inf(?:inity)?|nan)",
    re.IGNORECASE,
)
"""Longer than any that this module writes for a number; more digits say nothing."""
TEXT_LENGTH_MAX = 1_000
BOOLEANS = {"TRUE": True, "1": True, "FALSE": False, "0": False}


def type_of(value: Property) -> int:
    """Return the type that the MQI has for a value: of whole numbers the smaller that fits."""
    if isinstance(value, bool):
        return mq.MQTYPE_BOOLEAN
    if isinstance(value, int):
        return mq.MQTYPE_INT32 if -(2**31) <= value < 2**31 else mq.MQTYPE_INT64
    if isinstance(value, float):
        return mq.MQTYPE_FLOAT64
    if isinstance(value, str):
        return mq.MQTYPE_STRING
    return mq.MQTYPE_NULL if value is None else mq.MQTYPE_BYTE_STRING


def holds(kind: int, value: Any) -> bool:
    """Whether a type of numbers has room for all of a value."""
    try:
        held = _narrow(kind, value)
    except (struct.error, OverflowError):
        return False
    return held == value or isnan(value)


def _narrow(kind: int, value: Any) -> int | float:
    """Return a number as a type keeps it. Raises struct.error, OverflowError."""
    form, _ = NUMBERS[kind]
    (narrow,) = struct.unpack(form, struct.pack(form, value))
    return float(narrow) if isinstance(narrow, float) else int(narrow)


def size_of(kind: int, value: Property) -> int:
    """Return the bytes that a value takes in the MQI."""
    if kind in NUMBERS:
        return NUMBERS[kind][1]
    if kind == mq.MQTYPE_BOOLEAN:
        return 4
    if isinstance(value, str):
        return len(value.encode())
    return len(value) if isinstance(value, bytes) else 0


def convert(value: Property, kind: int) -> Property:
    """Return a value as another type. MqiFailure(2470, 2472, 2473) if it cannot be one."""
    if kind == mq.MQTYPE_STRING:
        return _text(value)
    if kind not in NUMBERS and kind not in (mq.MQTYPE_BOOLEAN, mq.MQTYPE_BYTE_STRING):
        raise MqiFailure(mq.MQRC_PROPERTY_TYPE_ERROR)
    if isinstance(value, str) and kind != mq.MQTYPE_BYTE_STRING:
        return _read(value, kind)
    if kind == mq.MQTYPE_BOOLEAN and isinstance(value, int) and value in (0, 1):
        return bool(value)
    is_whole = isinstance(value, int) and kind in WHOLE  # a boolean is 0 or 1
    is_number = type(value) in (int, float) and kind in NUMBERS
    if not (is_whole or is_number) or not holds(kind, _as_number(kind, value)):
        raise MqiFailure(mq.MQRC_PROP_CONV_NOT_SUPPORTED)
    return _as_number(kind, value)


def _as_number(kind: int, value: Any) -> int | float:
    """Return a number as one of a kind of numbers, if that is the same number. MqiFailure(2470)."""
    try:
        found = int(value) if kind in WHOLE else float(value)
    except (OverflowError, ValueError) as error:  # what is not finite, or too large
        raise MqiFailure(mq.MQRC_PROP_CONV_NOT_SUPPORTED) from error
    if found != value and not isnan(value):
        raise MqiFailure(mq.MQRC_PROP_CONV_NOT_SUPPORTED)
    return found


def _read(text: str, kind: int) -> Property:
    """Read a text as a value of a type. MqiFailure(2472) if it does not say one, 2470 if it is too
    large.
    """
    if kind == mq.MQTYPE_BOOLEAN:
        found = BOOLEANS.get(text.upper())
        if found is None:
            raise MqiFailure(mq.MQRC_PROP_NUMBER_FORMAT_ERROR)
        return found
    form = WHOLE_TEXT if kind in WHOLE else REAL_TEXT
    if len(text) > TEXT_LENGTH_MAX or not form.fullmatch(text):
        raise MqiFailure(mq.MQRC_PROP_NUMBER_FORMAT_ERROR)
    number = int(text) if kind in WHOLE else float(text)
    try:
        narrow = _narrow(kind, number)
    except (struct.error, OverflowError) as error:
        raise MqiFailure(mq.MQRC_PROP_CONV_NOT_SUPPORTED) from error
    if isinf(narrow) and "inf" not in text.lower():
        raise MqiFailure(mq.MQRC_PROP_CONV_NOT_SUPPORTED)
    return narrow


def _text(value: Property) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, bytes):
        return value.hex().upper()
    return "" if value is None else str(value)


def check_value(kind: int, value: Any) -> Property:
    """Take a value of a type, as wide as that type is. MqiFailure(2472, 2473); TypeError for bytes
    that are none.
    """
    if kind == mq.MQTYPE_NULL:
        return None
    if kind == mq.MQTYPE_STRING:
        return str(value)
    if kind == mq.MQTYPE_BYTE_STRING:
        return buffer(value)
    if kind == mq.MQTYPE_BOOLEAN:
        return bool(value)
    if kind not in NUMBERS:
        raise MqiFailure(mq.MQRC_PROPERTY_TYPE_ERROR)
    try:
        return _narrow(kind, value)
    except (struct.error, OverflowError) as error:
        raise MqiFailure(mq.MQRC_PROP_NUMBER_FORMAT_ERROR) from error


def cut(value: str | bytes, length: int) -> str | bytes:
    """Return the bytes of a text, or bytes, up to a length: of a text, whole characters."""
    if isinstance(value, bytes):
        return value[:length]
    return value.encode()[:length].decode("utf-8", "ignore")
