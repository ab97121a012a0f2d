"""Rows of tables of what is reported, and cannot be given: one function for each type of value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import NODEFAULT

from adapter.core.attributes.table import NAME_LENGTH_MAX, Attribute, AttributeRow, Table


def table(*rows: AttributeRow) -> Table:
    """Return the rows by their name in Python."""
    return {row.name: row for row in rows}


def whole(
    name: str, keyword: str, number: int, meaning: str, default: Any = NODEFAULT
) -> AttributeRow:
    """Make the row of a whole number. default: what is reported if the value is not known."""
    return AttributeRow(name, int, default, Attribute(keyword, number, meaning, fixed=True))


def flag(
    name: str, keyword: str, number: int, meaning: str, default: Any = NODEFAULT
) -> AttributeRow:
    """Make the row of YES or NO."""
    return AttributeRow(name, bool, default, Attribute(keyword, number, meaning, fixed=True))


def text(
    name: str,
    keyword: str,
    number: int,
    meaning: str,
    length: int | None = NAME_LENGTH_MAX,
    default: Any = NODEFAULT,
) -> AttributeRow:
    """Make the row of a text. length: what PCF pads it to; None: as long as it is."""
    attribute = Attribute(keyword, number, meaning, length=length, fixed=True)
    return AttributeRow(name, str, default, attribute)


def choice(
    name: str,
    keyword: str,
    number: int,
    meaning: str,
    numbers: Mapping[str, int],
    default: Any = NODEFAULT,
) -> AttributeRow:
    """Make the row of one of several words, which have these numbers in PCF."""
    attribute = Attribute(keyword, number, meaning, numbers=tuple(numbers.values()), fixed=True)
    return AttributeRow(name, str, default, attribute, tuple(numbers))


def always(
    name: str, keyword: str, number: int, meaning: str, word: str, in_pcf: int
) -> AttributeRow:
    """Make the row of what has one value here: the word, and its number in PCF."""
    return choice(name, keyword, number, meaning, {word: in_pcf}, word)
