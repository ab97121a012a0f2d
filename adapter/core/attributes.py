"""The attributes of objects: one table for the SDK, MQSC, PCF and DISPLAY alike.

A row is a field of QueueAttributes: its Python name, type and default are the field's own; its
MQSC keyword, PCF number, bounds and meaning are the Attribute beside it. Defaults are MQ's, but
for two that lose or refuse messages by surprise: messages are persistent, and max_depth is the
largest there is. This module does not know what an attribute causes: that is in core.rules.
"""

from __future__ import annotations

import typing
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Struct

DEPTH_MAX = 999_999_999
MESSAGE_LENGTH_MAX = 100 * 1024 * 1024
NAME_LENGTH_MAX = 48  # MQ_Q_NAME_LENGTH


class Attribute(Struct, frozen=True):
    """What one row says beside its field: MQSC keyword, PCF selector, bounds, meaning."""

    keyword: str
    number: int
    meaning: str
    low: int | None = None
    high: int | None = None
    length: int | None = None


class QueueAttributes(Struct, kw_only=True):
    """The attributes of a local queue that an application can define and alter."""

    description: Annotated[str, Attribute("DESCR", 2013, "free text", length=64)] = ""
    inhibit_put: Annotated[bool, Attribute("PUT", 10, "puts are refused")] = False
    inhibit_get: Annotated[bool, Attribute("GET", 9, "gets are refused")] = False
    def_priority: Annotated[
        int, Attribute("DEFPRTY", 6, "priority of a put that names none", low=0, high=9)
    ] = 0
    def_persistence: Annotated[
        bool, Attribute("DEFPSIST", 5, "persistence of a put that names none")
    ] = True
    max_depth: Annotated[
        int, Attribute("MAXDEPTH", 15, "messages the queue holds", low=0, high=DEPTH_MAX)
    ] = DEPTH_MAX
    max_message_length: Annotated[
        int, Attribute("MAXMSGL", 13, "bytes of a body", low=0, high=MESSAGE_LENGTH_MAX)
    ] = 4 * 1024 * 1024
    msg_delivery_sequence: Annotated[
        Literal["PRIORITY", "FIFO"], Attribute("MSGDLVSQ", 16, "order of delivery")
    ] = "PRIORITY"
    share: Annotated[bool, Attribute("SHARE", 23, "several may have it open for input")] = True
    def_input_open_option: Annotated[
        Literal["SHARED", "EXCLUSIVE"],
        Attribute("DEFSOPT", 4, "how input is opened if the program does not say"),
    ] = "SHARED"
    backout_threshold: Annotated[
        int,
        Attribute(
            "BOTHRESH",
            22,
            "backouts after which a message is set aside; 0: never",
            low=0,
            high=DEPTH_MAX,
        ),
    ] = 0
    backout_requeue_queue: Annotated[
        str, Attribute("BOQNAME", 2019, "where it is set aside to", length=NAME_LENGTH_MAX)
    ] = ""
    harden_get_backout: Annotated[
        bool,
        Attribute(
            "HARDENBO",
            8,
            "a get in a unit is counted, durably, before the message is handed out, so that even "
            "a crash of the queue manager counts",
        ),
    ] = False


class Row(Struct, frozen=True):
    """One row of the table, as other rooms read it."""

    name: str
    type: Any
    default: Any
    attribute: Attribute
    choices: tuple[str, ...] = ()


def _rows() -> dict[str, Row]:
    hints = typing.get_type_hints(QueueAttributes, include_extras=True)
    rows = {}
    for field in msgspec.structs.fields(QueueAttributes):
        kind, attribute = typing.get_args(hints[field.name])
        literal = typing.get_origin(kind) is Literal
        choices = typing.get_args(kind) if literal else ()
        rows[field.name] = Row(
            name=field.name,
            type=str if literal else kind,
            default=field.default,
            attribute=attribute,
            choices=choices,
        )
    return rows


QUEUE_ATTRIBUTES: dict[str, Row] = _rows()


def problem_with(name: str, value: object) -> str | None:
    """Say what is wrong with one attribute value, or None if it is fine."""
    row = QUEUE_ATTRIBUTES.get(name)
    if row is None:
        return f"a queue has no attribute {name!r}"
    if type(value) is not row.type:
        return f"{name} takes {row.type.__name__}, not {value!r}"
    if row.choices and value not in row.choices:
        return f"{name} takes one of {', '.join(row.choices)}, not {value!r}"
    return _out_of_bounds(row, value)


def _out_of_bounds(row: Row, value: Any) -> str | None:
    bound = row.attribute
    if bound.low is not None and bound.high is not None and not bound.low <= value <= bound.high:
        return f"{row.name} takes {bound.low} to {bound.high}, not {value}"
    if bound.length is not None and len(value) > bound.length:
        return f"{row.name} takes at most {bound.length} characters, not {len(value)}"
    return None
