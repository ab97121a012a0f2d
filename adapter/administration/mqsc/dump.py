"""Writes the definitions of a queue manager as a script that recreates them: what dmpmqcfg does.

Messages are not definitions; authority and channel authentication records are, and come last.
This module does not know where the script goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adapter.administration import objects
from adapter.administration.kinds import DEFINED, FoundObject, Kind
from adapter.administration.mqsc.dump_security import authority_records, channel_records
from adapter.administration.mqsc.text import quote
from adapter.administration.mqsc.written import (
    Problem,
    command,
    comment,
    is_one_line,
    left_out,
    write_list,
)
from adapter.administration.values import BLANKS, NAMES, members, text
from adapter.client.connection import Connection
from adapter.core.attributes.objects import DEFAULT_OBJECTS, QUEUE_MANAGER
from adapter.core.attributes.queue import MQ_DEFAULTS
from adapter.core.attributes.system import DELAYED_QUEUE, OBJECTS, QUEUES
from adapter.core.attributes.table import AttributeRow

ORDER = (
    "AUTHINFO",
    "CHANNEL",
    "NAMELIST",
    "PROCESS",
    "QMODEL",
    "QLOCAL",
    "QREMOTE",
    "QALIAS",
    "TOPIC",
    "SUB",
    "FEED",
    "EXPORT",
    "QMGR",
)
"""Objects come before those that name them."""
FORBIDDING = {"subscribe": "DISABLED", "durable": "NO"}
"""With these a topic refuses subscriptions, so that they are set behind those that it has."""
SEPARATOR = "\\"
"""What only names of queues have that other faces define; MQ's have none."""
NOT_DISPLAYED = "who may not display them (dsp) does not see all"
HEADING = """\
* Definitions of queue manager {name}, {which}.
* To recreate them on another queue manager: mqk mqsc < THIS_FILE
"""


def definitions(qm: Connection, *, everything: bool = False) -> Iterator[str | Problem]:
    """Yield the lines of the script, and a Problem where something cannot be written.

    everything: all objects with all their attributes; else what differs from a queue manager on
    which nothing was defined.
    """
    which = "with all their attributes" if everything else "as far as they are not the defaults"
    yield from HEADING.format(name=qm.name, which=which).splitlines()
    dynamic = set()
    forbidding: list[FoundObject] = []
    for word in ORDER:
        kind = DEFINED[word]
        defaults = _defaults(qm, kind)
        if not qm.shows_all(kind.kind):
            yield from left_out(f"{kind.word}: {NOT_DISPLAYED}")
        for one in objects.find(qm, kind, "*"):
            if word == "QLOCAL" and one.values["definition_type"] != "PREDEFINED":
                yield comment(f"queue {one.name} is dynamic, and is not written")
                dynamic.add(one.name)
                continue
            if word == "QLOCAL" and SEPARATOR in one.name:
                yield comment(f"queue {one.name} is one of Service Broker, and is not written")
                continue
            if one.name == DELAYED_QUEUE:  # it cannot be altered
                continue
            # Its own name is left out, because another queue manager may read the definition.
            if one.values.get("destination_queue_manager") == qm.name:
                one.values["destination_queue_manager"] = ""
            if word == "TOPIC" and _forbidding(one):
                forbidding.append(one)
            yield from _definition(one, None if everything else _usual(one, defaults))
        if word == "SUB":
            for one in forbidding:
                yield from _alteration(one, _forbidding(one))
    yield from channel_records(qm)
    yield from authority_records(qm, dynamic)


def _defaults(qm: Connection, kind: Kind) -> list[dict[str, Any]]:
    """Return what a definition has that gives no attributes: on a new queue manager, and here."""
    new = {row.name: row.default for row in kind.given.values()}
    if kind.has_queue_name:
        new |= {name: value for name, value in MQ_DEFAULTS.items() if name in new}
    name = DEFAULT_OBJECTS.get(kind.kind, "")
    here = [one.values for one in objects.find(qm, kind, name)] if name else []
    return [new, *(dict(values) | {"description": ""} for values in here)]


def _usual(one: FoundObject, defaults: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the values that need not be written of an object."""
    made = _initial_values(one)
    if made is not None:
        return {row.name: row.default for row in one.kind.given.values()} | made
    new, *here = defaults
    return {
        name: value
        for name, value in new.items()
        if all(values.get(name) == value for values in here)
    }


def _definition(one: FoundObject, usual: dict[str, Any] | None) -> Iterator[str | Problem]:
    """Write one object. usual: values that are left out; None: all are written.

    What every queue manager has is altered: REPLACE would reset what is left out to the values of
    the default object, which are not its own.
    """
    rows = objects.given_again(one)
    if one.kind.word == "TOPIC":
        rows = [row for row in rows if one.values[row.name] != FORBIDDING.get(row.name)]
    if usual is not None:
        rows = [row for row in rows if row.name not in usual or usual[row.name] != one.value(row)]
    is_made = usual is not None and _initial_values(one) is not None
    if not rows and is_made:
        return
    if not is_one_line(one.name):
        yield from left_out(f"{one.kind.noun} {one.name} has a line break in its name")
        return
    always = [row for row in one.kind.always if row in one.kind.given.values() and row not in rows]
    parameters, problems = [], []
    for row in [*always, *rows]:
        written = parameter(row, one.value(row))
        problem = _problem_with(row, one.value(row), written)
        if not problem:
            parameters.append(written)
        else:
            problems.append(f"{row.attribute.keyword} of {one.kind.noun} {one.name} {problem}")
    named = f"{one.kind.word}({quote(one.name)})"
    if one.kind.kind == QUEUE_MANAGER:
        lines = ["ALTER QMGR", *parameters]
    elif is_made:
        lines = [f"ALTER {named}", *parameters]
    else:
        lines = [f"DEFINE {named}", *parameters, "REPLACE"]
    for problem in problems:
        yield from left_out(problem)
    if parameters or not is_made:
        yield from command(f"{one.kind.noun} {one.name}", lines)


def _forbidding(one: FoundObject) -> list[str]:
    """Write those values of a topic by which it refuses subscriptions."""
    rows = one.kind.given
    return [
        parameter(rows[name], value)
        for name, value in FORBIDDING.items()
        if one.values[name] == value
    ]


def _alteration(one: FoundObject, parameters: list[str]) -> Iterator[str | Problem]:
    named = f"{one.kind.word}({quote(one.name)})"
    yield from command(f"{one.kind.noun} {one.name}", [f"ALTER {named}", *parameters])


def _initial_values(one: FoundObject) -> dict[str, Any] | None:
    """Return what is given to the object when a queue manager is made; None: it is not made."""
    kind = one.kind.kind
    if kind == QUEUE_MANAGER:
        return {}
    return QUEUES.get(one.name) if kind == "queue" else OBJECTS.get((kind, one.name))


def _problem_with(row: AttributeRow, value: Any, written: str) -> str:
    """Say why a value would not be read again as it is; "" if it would."""
    if not is_one_line(written):
        return "has a line break"
    if row.type is str and not members(row) and value.endswith(tuple(BLANKS)):
        return "ends with a blank, which no command keeps"
    return ""


def parameter(row: AttributeRow, value: Any) -> str:
    """Write an attribute and its value so that they can be read again."""
    written = text(row, value)
    if row.attribute.bare:
        return written
    keyword = row.attribute.keyword
    if keyword == NAMES:
        return write_list(keyword, [one for one in written.split(",") if one] or [" "])
    if row.type is int or members(row):
        return f"{keyword}({written})"
    return f"{keyword}({quote(written or ' ')})"
