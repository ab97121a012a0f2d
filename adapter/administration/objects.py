"""What administration does to objects, over the SDK: the same for MQSC and for PCF.

It knows which call of the SDK is meant for which kind; what is allowed, the queue manager decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from adapter.administration.kinds import DEFINED, FoundObject, Kind
from adapter.administration.status import FINDERS, dates
from adapter.administration.values import Filter, check_pattern, fits
from adapter.client.connection import Connection
from adapter.core.attributes.objects import DEFAULT_OBJECTS, QUEUE_MANAGER, SUBSCRIPTION
from adapter.core.attributes.queue import MQ_DEFAULTS
from adapter.core.attributes.table import AttributeRow
from adapter.errors import ObjectNotFound

DESCRIPTION = "description"
"""Describes the default object, and no other."""
KEPT = {
    SUBSCRIPTION: frozenset(
        {
            "topic_object",
            "topic_string",
            "selector",
            "sub_level",
            "destination_class",
            "destination",
            "destination_queue_manager",
        }
    )
}
"""What an object is, by kind: it is not changed by leaving it out."""


def given_again(one: FoundObject) -> list[AttributeRow]:
    """Return the attributes of an object that was found whose values can be given to another one.

    The topic string of a subscription is the whole one, to which a topic object would add its own
    again; a managed queue is another one for each subscription.
    """
    rows = [row for row in one.kind.given.values() if not row.attribute.fixed]
    if one.kind.kind != SUBSCRIPTION:
        return rows
    is_managed = one.values["destination_class"] == "MANAGED"
    left_out = {"topic_object"} | ({"destination"} if is_managed else set())
    return [row for row in rows if row.name not in left_out]


def find(qm: Connection, kind: Kind, pattern: str) -> list[FoundObject]:
    """Return the objects of a kind whose name fits: a star may stand at its end."""
    if kind.kind in FINDERS:
        return FINDERS[kind.kind](qm, pattern)
    if kind.kind == "queue":
        return _queues(qm, pattern)
    if kind.kind == SUBSCRIPTION:  # their names have any characters
        every = qm.objects(kind.kind, "*", system=True)
        return [
            FoundObject(kind, one.name, one.attributes | _destination(qm, one.attributes))
            for one in every
            if fits(one.name, pattern)
        ]
    fixed = {"queue_type": kind.word} if kind.has_queue_name else {}
    if kind.kind == QUEUE_MANAGER:
        fixed = {"identifier": qm.name}
        pattern = qm.name
    found = qm.objects(kind.kind, check_pattern(pattern), system=True)
    return [
        FoundObject(
            kind, one.name, fixed | dates(one) | one.attributes | _counts(kind, one.attributes)
        )
        for one in found
    ]


def _counts(kind: Kind, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is counted of an object: how many names a namelist has."""
    if kind.kind != "namelist":
        return {}
    return {"name_count": len([one for one in attributes["names"].split(",") if one])}


def _destination(qm: Connection, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Name the queue manager of a subscription's queue, this one too."""
    return {"destination_queue_manager": attributes["destination_queue_manager"] or qm.name}


def name_by_id(qm: Connection, pattern: str, ident: str) -> str | None:
    """Return the name of the subscription with this id, in hexadecimal, whose name fits."""
    for one in find(qm, DEFINED["SUB"], pattern):
        if str(one.values["ident"]).upper() == ident.upper():
            return one.name
    return None


def exists(qm: Connection, kind: Kind, name: str) -> bool:
    """Say whether an object has this name, in which a star stands for nothing else."""
    return any(one.name == name for one in find(qm, kind, name))


def find_queues(qm: Connection, words: Iterable[str], pattern: str) -> list[FoundObject]:
    """Return what has a queue's name and is of one of these kinds, by name."""
    found = [one for word in words for one in find(qm, DEFINED[word], pattern)]
    return sorted(found, key=lambda one: one.name)


def passing(found: Iterable[FoundObject], filters: Iterable[Filter]) -> list[FoundObject]:
    """Keep what has the attributes that filters are on, with values that pass."""
    conditions = list(filters)
    return [one for one in found if all(map(one.passes, conditions))]


def _queues(qm: Connection, pattern: str) -> list[FoundObject]:
    figures = {one.name: one for one in qm.queue_status(check_pattern(pattern), system=True)}
    kind = DEFINED["QLOCAL"]
    found = []
    for one in qm.queues(pattern, system=True):
        values: dict[str, Any] = {"queue_type": "QLOCAL"} | dates(one) | one.attributes
        status = figures.get(one.name)
        for name in ("current_depth", "open_input_count", "open_output_count"):
            values[name] = getattr(status, name) if status is not None else 0
        found.append(FoundObject(kind, one.name, values))
    return found


def define(
    qm: Connection, kind: Kind, name: str, attributes: dict[str, Any], replace: bool
) -> None:
    """Define an object, with what the default object of its kind has.

    replace: one that exists gets the attributes that are not given, too, as a new one does; what is
    on a queue stays, and so does what makes a subscription the one that it is.
    """
    known = _known(qm, kind, name) if replace else None
    if known is not None:
        attributes = _reset(kind, known, _defaults(qm, kind)) | attributes
    elif kind.has_queue_name:
        attributes = _of_default_object(qm, kind) | attributes
    if kind.kind == "queue":
        qm.define_queue(name, replace=replace, **attributes)
    else:
        qm.define_object(kind.kind, name, replace=replace, **attributes)


def _known(qm: Connection, kind: Kind, name: str) -> FoundObject | None:
    """Return the object of this name, if it exists."""
    if "*" in name:  # it is a pattern, and no name
        return None
    return next((one for one in find(qm, kind, name) if one.name == name), None)


def _reset(kind: Kind, known: FoundObject, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the defaults that an object does not have, of what can be changed of it."""
    kept = KEPT.get(kind.kind, frozenset())
    return {
        name: value
        for name, value in defaults.items()
        if name not in kept and known.values[name] != value
    }


def _defaults(qm: Connection, kind: Kind) -> dict[str, Any]:
    """Return every attribute of a new object that is defined with none."""
    rows = [row for row in kind.given.values() if not row.attribute.fixed]
    plain = {row.name: row.default for row in rows}
    default = DEFAULT_OBJECTS.get(kind.kind, "")
    found = _known(qm, kind, default) if default else None
    if found is not None:
        plain |= {row.name: found.values[row.name] for row in rows if row.name != DESCRIPTION}
    elif kind.has_queue_name:
        plain |= {name: value for name, value in MQ_DEFAULTS.items() if name in plain}
    return plain


def _of_default_object(qm: Connection, kind: Kind) -> dict[str, Any]:
    """Return what a definition has from the default object, and the SDK's has otherwise."""
    every = _defaults(qm, kind)
    return {name: every[name] for name in MQ_DEFAULTS if name in every}


def alter(qm: Connection, kind: Kind, name: str, attributes: dict[str, Any]) -> None:
    """Alter an object, or the queue manager."""
    if kind.kind == "queue":
        qm.alter_queue(name, **attributes)
    elif kind.kind == QUEUE_MANAGER:
        qm.alter_queue_manager(**attributes)
    else:
        qm.alter_object(kind.kind, name, **attributes)


def delete(qm: Connection, kind: Kind, name: str, purge: bool) -> None:
    """Delete an object; purge: with the messages on it."""
    if kind.kind == "queue":
        qm.delete_queue(name, purge=purge)
    else:
        qm.delete_object(kind.kind, name)


def clear(qm: Connection, name: str) -> int:
    """Discard the messages of a local queue that no unit holds; returns how many."""
    with qm.queue(name) as queue:
        return queue.purge()


def attributes_like(qm: Connection, kind: Kind, name: str) -> dict[str, Any]:
    """Return the attributes of an object that can be given to another one."""
    for one in find(qm, kind, name):
        if one.name == name:
            return {row.name: one.values[row.name] for row in given_again(one)}
    raise ObjectNotFound(
        f"{kind.noun} {name} does not exist, so that its attributes cannot be copied", name
    )


def end_connection(qm: Connection, ident: str) -> None:
    """End the connection of this id."""
    qm.end_connection(int(ident, 16))
