"""What a row of a table of attributes says, and which values it takes.

A row is a field of a Struct: its Python name, type and default are the field's own; its MQSC
keyword, PCF number, bounds and meaning are the Attribute beside it.
"""

from __future__ import annotations

import typing
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Struct

from adapter.core.mq_layouts.blank_padded import length_of

NAME_LENGTH_MAX = 48  # MQ_Q_NAME_LENGTH
TOPIC_STRING_LENGTH_MAX = 10_240  # MQ_TOPIC_STR_LENGTH
OWN_NUMBERS = 1900
"""Of attributes that MQ does not have, the first: MQIA_LAST is 2000, MQ uses a few hundred."""
DEPTH_MAX = 999_999_999
DESCRIPTION_LENGTH_MAX = 64


class Attribute(Struct, frozen=True):
    """What one row says beside its field: MQSC keyword, PCF selector, bounds, meaning.

    words: what MQSC writes for each value of a bool (False first) or for each choice; the choices
    themselves, if there are none here. bare: the words stand alone (TRIGGER and NOTRIGGER), not
    in parentheses behind the keyword. numbers: what the MQI and PCF write for the same values;
    0, 1, ... if there are none here. in_bytes: length is of the text in UTF-8, because it stands in
    a field of MQ's. fixed: it is read-only. by_set: MQSET may
    change it through a handle. is_trigger_event: changing it may cause trigger messages. promise,
    of an attribute without effect: a value that does not hold is refused, not passed over.
    """

    keyword: str
    number: int
    meaning: str
    low: int | None = None
    high: int | None = None
    length: int | None = None
    in_bytes: bool = False
    words: tuple[str, ...] = ()
    bare: bool = False
    numbers: tuple[int, ...] = ()
    fixed: bool = False
    by_set: bool = False
    is_trigger_event: bool = False
    promise: bool = False


class AttributeRow(Struct, frozen=True):
    """One row of a table, as other rooms read it."""

    name: str
    type: Any
    default: Any
    attribute: Attribute
    choices: tuple[str, ...] = ()


Table = dict[str, AttributeRow]
"""By Python name, in the order of the fields."""


class Dated(Struct, kw_only=True):
    """When an object was defined and last altered, in ms; 0: by a version that did not note it.

    It is stored with the attributes, but is not an attribute: it has no row.
    """

    created_ms: int = 0
    altered_ms: int = 0


def rows_of(kind: type[Struct]) -> Table:
    """Read the table that a Struct of attributes is."""
    hints = typing.get_type_hints(kind, include_extras=True)
    rows = {}
    for field in msgspec.structs.fields(kind):
        if typing.get_origin(hints[field.name]) is not Annotated:
            continue
        given, attribute = typing.get_args(hints[field.name])
        literal = typing.get_origin(given) is Literal
        rows[field.name] = AttributeRow(
            name=field.name,
            type=str if literal else given,
            default=field.default,
            attribute=attribute,
            choices=typing.get_args(given) if literal else (),
        )
    return rows


def without_dates(attributes: Struct) -> dict[str, Any]:
    """Return attributes by name, without when they were given."""
    found = msgspec.structs.asdict(attributes)
    if isinstance(attributes, Dated):
        del found["created_ms"], found["altered_ms"]
    return found


def problem_with(table: Table, what: str, name: str, value: Any) -> str | None:
    """Say what is wrong with one attribute that is given, or None if it is fine.

    what: the kind of object, for the sentence: "a queue".
    """
    row = table.get(name)
    if row is None:
        return f"{what} has no attribute {name!r}"
    if row.attribute.fixed:
        return f"{name} is read-only"
    if type(value) is not row.type:
        return f"{name} takes {row.type.__name__}, not {value!r}"
    if row.choices and value not in row.choices:
        return f"{name} takes one of {', '.join(row.choices)}, not {value!r}"
    bound = row.attribute
    if bound.low is not None and bound.high is not None and not bound.low <= value <= bound.high:
        return f"{row.name} takes {bound.low} to {bound.high}, not {value}"
    return _excess(row, value)


def _excess(row: AttributeRow, value: Any) -> str | None:
    """Say that a text is too long, or None if it is not, or if it is no text."""
    bound = row.attribute
    if bound.length is None:
        return None
    length, unit = (length_of(value), "bytes") if bound.in_bytes else (len(value), "characters")
    if length <= bound.length:
        return None
    return f"{row.name} takes at most {bound.length} {unit}, not {length}"


def description(number: int) -> Attribute:
    """Say what a free text about an object is, under the PCF number that its kind has for it."""
    return Attribute("DESCR", number, "free text", length=DESCRIPTION_LENGTH_MAX)


def object_name(keyword: str, number: int, meaning: str, *, fixed: bool = False) -> Attribute:
    """Say what names another object: a text of the length that names of objects have."""
    return Attribute(keyword, number, meaning, length=NAME_LENGTH_MAX, fixed=fixed)


# Rows that several kinds of object have alike.
Description = Annotated[str, description(2013)]
DefaultPriority = Annotated[
    int, Attribute("DEFPRTY", 6, "priority of a put that names none", low=0, high=9)
]
DefaultPersistence = Annotated[
    bool, Attribute("DEFPSIST", 5, "persistence of a put that names none", words=("NO", "YES"))
]
ExpiryCap = Annotated[
    int,
    Attribute(
        "CAPEXPRY",
        276,
        "the longest expiry of what is put, tenths of a second; -1, 0: any",
        low=-1,
        high=999_999_999,
    ),
]
PropertyControl = Annotated[
    Literal["COMPAT", "NONE", "ALL", "FORCE", "V6COMPAT"],
    Attribute("PROPCTL", 190, "how properties reach programs of the MQI that do not say"),
]
