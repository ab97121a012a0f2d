"""Values of basic types as texts of XML: what XML Schema allows, and what .NET's types take.

Python's own parsers take more, such as `1_0` for a number: a text is checked against the grammar of
its type first. This module knows no elements.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from msgspec import Struct

WHITE = " \t\r\n"
"""White space of XML."""
WHITE_SPACE = re.compile(f"[{WHITE}]+")
DECIMAL_DIGITS_MAX = 29
"""Digits of .NET's decimal, before and behind the point: no value chooses how long its text is."""
SURROGATES = range(0xD800, 0xE000)
WHOLE = re.compile(r"[+-]?[0-9]+")
DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)")
FLOAT = re.compile(rf"{DECIMAL.pattern}([eE][+-]?[0-9]+)?|[+-]?INF|NaN")
BOOLEAN = re.compile("true|false|1|0")
DATE_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})?"
)
_GUID = "-".join(rf"[0-9a-fA-F]{{{digits}}}" for digits in (8, 4, 4, 4, 12))
GUID = re.compile(rf"{_GUID}|\{{{_GUID}\}}")
WHOLE_LENGTH_MAX = 20 + 1_000
"""Characters of a whole number of 64 bits, with more zeros before it than any writer has."""


class SimpleType(Struct, frozen=True):
    """A type by its name in XML Schema. grammar: of a text without the white space around it; None:
    any text. read: returns the value of such a text. least, most: of whole numbers.
    """

    grammar: re.Pattern[str] | None
    read: Callable[[str], Any]
    least: int = 0
    most: int = 0


def read_simple(name: str, text: str) -> Any:
    """Return the value of a text. name: of its type, one of TYPES. Raises ValueError."""
    kind = TYPES[name]
    if kind.grammar is not None:
        text = text.strip(WHITE)
        if len(text) > WHOLE_LENGTH_MAX and kind.most:
            raise ValueError(f"a text of {len(text)} characters is no value of type {name}")
        if not kind.grammar.fullmatch(text):
            raise ValueError(f"{text[:40]!r} is no value of type {name}")
    value = kind.read(text)
    if kind.most and not kind.least <= value <= kind.most:
        raise ValueError(f"{text[:40]!r} is no value of type {name}: {kind.least} to {kind.most}")
    return value


def read_true(text: str) -> bool:
    """Return a boolean of XML Schema. Raises ValueError."""
    value: bool = read_simple("boolean", text)
    return value


def decimal_text(value: Decimal) -> str:
    """Return a decimal as XML Schema has it, without an exponent.

    Raises ValueError for more digits than .NET's decimal has, and for what is no number.
    """
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError(f"{value} is no number")
    before, behind = max(len(digits) + exponent, 1), max(-exponent, 0)
    if before + behind > DECIMAL_DIGITS_MAX:
        raise ValueError(f"it has more than the {DECIMAL_DIGITS_MAX} digits of .NET's decimal")
    return f"{value:f}"


def date_time_text(value: datetime) -> str:
    """Return a date with its time. Raises ValueError for a zone that is no whole minutes."""
    text = value.isoformat()
    if not DATE_TIME.fullmatch(text):
        raise ValueError(f"{text} is in a zone that XML Schema does not have")
    return text


def _char(text: str) -> str:
    code: int = read_simple("unsignedShort", text)
    if code in SURROGATES:
        raise ValueError(f"character {code} is half of one")
    return chr(code)


def _base64(text: str) -> bytes:
    """Lines may be broken anywhere."""
    try:
        return base64.b64decode(WHITE_SPACE.sub("", text), validate=True)
    except binascii.Error as error:
        raise ValueError(f"it is no base64: {error}") from error


def _whole(least: int, most: int) -> SimpleType:
    return SimpleType(WHOLE, int, least, most)


TYPES: dict[str, SimpleType] = {
    "string": SimpleType(None, str),
    "char": SimpleType(WHOLE, _char),
    "boolean": SimpleType(BOOLEAN, lambda text: text in ("true", "1")),
    "float": SimpleType(FLOAT, float),
    "double": SimpleType(FLOAT, float),
    "decimal": SimpleType(DECIMAL, Decimal),
    "dateTime": SimpleType(DATE_TIME, datetime.fromisoformat),
    "guid": SimpleType(GUID, UUID),
    "base64Binary": SimpleType(None, _base64),
    "byte": _whole(-(2**7), 2**7 - 1),
    "unsignedByte": _whole(0, 2**8 - 1),
    "short": _whole(-(2**15), 2**15 - 1),
    "unsignedShort": _whole(0, 2**16 - 1),
    "int": _whole(-(2**31), 2**31 - 1),
    "unsignedInt": _whole(0, 2**32 - 1),
    "long": _whole(-(2**63), 2**63 - 1),
    "unsignedLong": _whole(0, 2**64 - 1),
    "integer": _whole(-(2**63), 2**64 - 1),
}
"""By the name of the element that .NET writes; "integer" is any of the whole numbers."""
TYPE_OF: dict[Any, str] = {
    str: "string", bool: "boolean", int: "integer", float: "double", Decimal: "decimal",
    datetime: "dateTime", UUID: "guid", bytes: "base64Binary",
}  # fmt: skip
"""The type that a field of a Struct is read as, by its declared type."""
