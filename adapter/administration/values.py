"""Values of attributes as MQSC writes them and as the MQI and PCF number them.

Everything comes from the table of attributes: a row says its words and its numbers. Comparing is
here too: a filter of MQSC (WHERE) and one of PCF are the same thing in other words.
"""

from __future__ import annotations

import operator as compare
import re
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from adapter.core.attributes.objects import APPLICATION_TYPES, COPY_PRIORITIES
from adapter.core.attributes.table import AttributeRow
from adapter.errors import InvalidName

Plain = int | str | list[str]
"""What the MQI and PCF know: a number, a text, or texts."""
WORDS_FOR_NUMBERS = {
    "APPLTYPE": APPLICATION_TYPES,
    "PUBPRTY": COPY_PRIORITIES,
    "DEFPRTY": {"ASPARENT": -2},
    "MARKINT": {"NOLIMIT": -1},
    "CAPEXPRY": {"NOLIMIT": -1},
    "EXPIRY": {"UNLIMITED": -1},
    "IMGINTVL": {"OFF": 0},
    "IMGLOGLN": {"OFF": 0},
    "KAINT": {"AUTO": -1},
    "MAXFSIZE": {"DEFAULT": -1},
    "MAXPROPL": {"NOLIMIT": -1},
}
"""Numbers that MQSC may write as words."""
NAMES = "NAMES"
"""The one attribute that is a list; the table has its members separated by commas."""


BLANKS = " \0"
"""What fills up a text of MQ's to its length: it is no part of the text. Other blanks are."""
DIGITS_MAX = 18
"""No number of MQ's is longer; the queue manager checks shorter ones."""


GENERIC = re.compile(r"[A-Za-z0-9._/%]*\*?")
"""A name, or a pattern as MQ has them: a star at its end."""


class NoSuchValueError(ValueError):
    """An attribute does not take this value; the text says what it takes."""


def members(row: AttributeRow) -> tuple[Any, ...]:
    """Return the values that the words and numbers of a row stand for, in their order."""
    return (False, True) if row.type is bool else row.choices


def words(row: AttributeRow) -> tuple[str, ...]:
    """Return what MQSC writes for each member."""
    return row.attribute.words or (("NO", "YES") if row.type is bool else row.choices)


def numbers(row: AttributeRow) -> tuple[int, ...]:
    """Return what the MQI writes for each member."""
    return row.attribute.numbers or tuple(range(len(members(row))))


def plain(row: AttributeRow, value: Any) -> Plain:
    """Return the value as the MQI and PCF know it."""
    if members(row):
        return numbers(row)[members(row).index(value)]
    if row.attribute.keyword == NAMES:
        return [one for one in str(value).split(",") if one]
    return value  # type: ignore[no-any-return]  # an int or a str


def from_plain(row: AttributeRow, given: Any) -> Any:
    """Return the value for what the MQI and PCF write; NoSuchValueError if it has no meaning."""
    if members(row):
        if given not in numbers(row):
            taken = ", ".join(map(str, numbers(row)))
            raise NoSuchValueError(f"{row.name} takes one of {taken}, not {given!r}")
        return members(row)[numbers(row).index(given)]
    if row.attribute.keyword == NAMES and isinstance(given, list):
        return ",".join(str(one).rstrip(BLANKS) for one in given)
    if row.type is str and isinstance(given, str):
        return given.rstrip(BLANKS)
    if type(given) is not row.type:
        raise NoSuchValueError(f"{row.name} takes {row.type.__name__}, not {given!r}")
    return given


def text(row: AttributeRow, value: Any) -> str:
    """Return the value as MQSC writes it between parentheses."""
    if members(row):
        return words(row)[members(row).index(value)]
    named = WORDS_FOR_NUMBERS.get(row.attribute.keyword, {})
    return next((word for word, number in named.items() if number == value), str(value))


def from_text(row: AttributeRow, given: str) -> Any:
    """Return the value for what MQSC writes; NoSuchValueError if it has no meaning."""
    word = given.strip().upper()
    if members(row):
        if word not in words(row):
            taken = ", ".join(words(row))
            raise NoSuchValueError(f"{row.attribute.keyword} takes one of {taken}, not {given}")
        return members(row)[words(row).index(word)]
    named = WORDS_FOR_NUMBERS.get(row.attribute.keyword, {})
    if word in named:
        return named[word]
    if row.type is int:
        digits = word.removeprefix("-")
        if not (digits.isascii() and digits.isdecimal() and len(digits) <= DIGITS_MAX):
            raise NoSuchValueError(f"{row.attribute.keyword} takes a whole number, not {word}")
        return int(word)
    return given.rstrip(BLANKS)


def fits(name: str, generic: str) -> bool:
    """Say whether a text fits a generic one: a star at its end stands for anything."""
    if generic.endswith("*"):
        return name.startswith(generic[:-1])
    return name == generic


LIKE, NOT_LIKE = 18, 21
CONTAINS, EXCLUDES, CONTAINS_GENERIC, EXCLUDES_GENERIC = 10, 13, 26, 29
COMPARISONS: dict[int, Callable[[Any, Any], bool]] = {
    1: compare.lt,
    2: compare.eq,
    3: compare.le,
    4: compare.gt,
    5: compare.ne,
    6: compare.ge,
    LIKE: fits,
    NOT_LIKE: lambda have, want: not fits(have, want),
}
"""MQCFOP_* for one value."""
MEMBERSHIPS: dict[int, Callable[[list[str], str], bool]] = {
    CONTAINS: lambda have, want: want in have,
    EXCLUDES: lambda have, want: want not in have,
    CONTAINS_GENERIC: lambda have, want: any(fits(one, want) for one in have),
    EXCLUDES_GENERIC: lambda have, want: not any(fits(one, want) for one in have),
}
"""MQCFOP_* for a list of values."""


class Filter(Struct, frozen=True):
    """A condition on one attribute. row: of which; operator: MQCFOP_*; want: as PCF writes it."""

    row: AttributeRow
    operator: int
    want: int | str

    def passes(self, have: Plain) -> bool:
        """Say whether a value of the attribute, as the MQI and PCF know it, meets it."""
        if isinstance(have, list):
            return MEMBERSHIPS[self.operator](have, str(self.want))
        return COMPARISONS[self.operator](have, self.want)


def filter_on(row: AttributeRow, operator: int, want: int | str) -> Filter:
    """Make a filter; NoSuchValueError if operator or value do not go with the attribute."""
    is_list = row.attribute.keyword == NAMES
    known: Any = MEMBERSHIPS if is_list else COMPARISONS
    is_text = is_list or (row.type is str and not members(row))
    if operator not in known or (operator in (LIKE, NOT_LIKE) and not is_text):
        raise NoSuchValueError(f"this comparison does not go with {row.attribute.keyword}")
    if isinstance(want, str) is not is_text:
        raise NoSuchValueError(f"{row.attribute.keyword} is not compared with {want!r}")
    return Filter(row, operator, want.rstrip(BLANKS) if isinstance(want, str) else want)


def check_pattern(pattern: str) -> str:
    """Return a pattern if MQ has such; InvalidName otherwise: those of core have more signs."""
    if not GENERIC.fullmatch(pattern) or not pattern:
        raise InvalidName(
            f"invalid name {pattern!r}: use letters, digits and . _ / %; a star at the end matches "
            "any characters",
            pattern,
        )
    return pattern
