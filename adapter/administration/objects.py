"""What administration does to objects, over the SDK: the same for MQSC and for PCF.

It knows which call of the SDK is meant for which kind; what is allowed, the queue manager decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from adapter import Connection
from adapter import mq_constants as mq
from adapter.administration.kinds import (
    CONNECTION,
    CONNECTION_HANDLES,
    DEFINED,
    QMGR_STATUS,
    QUEUE_HANDLES,
    QUEUE_STATUS,
    TOTALS,
    Found,
    Kind,
)
from adapter.administration.status import (
    COMMAND_SERVER,
    DEFAULT_CHANNEL,
    FINDERS,
    date_of,
    dates,
    started,
    time_of,
)
from adapter.administration.values import Filter, fits
from adapter.core.attributes.objects import DEFAULT_OBJECTS, QUEUE_MANAGER, SUBSCRIPTION
from adapter.core.attributes.queue import MQ_DEFAULTS
from adapter.core.contract import commands as c
from adapter.core.contract.results import ConnectionStatus, HandleStatus, QueueStatus
from adapter.errors import InvalidName, ObjectExists, ObjectNotFound, QueueExists

GENERIC = re.compile(r"[A-Za-z0-9._/%]*\*?")


def find(qm: Connection, kind: Kind, pattern: str) -> list[Found]:
    """Return the objects of a kind whose name fits: a star may stand at its end."""
    if kind.kind in FINDERS:
        return FINDERS[kind.kind](qm, pattern)
    if kind.kind == "queue":
        return _queues(qm, pattern)
    if kind.kind == QUEUE_STATUS.kind:
        return [_status(one) for one in qm.queue_status(_checked(pattern), system=True)]
    if kind.kind == QUEUE_HANDLES.kind:
        return [one for one in _queue_handles(qm) if fits(one.name, _checked(pattern))]
    if kind.kind == QMGR_STATUS.kind:
        return [_queue_manager_status(qm)]
    if kind.kind == CONNECTION.kind:
        return [one for one in connections(qm) if fits(one.name, pattern)]
    if kind.kind == CONNECTION_HANDLES.kind:
        return [one for one in connection_handles(qm) if fits(one.name, pattern)]
    if kind.kind == SUBSCRIPTION:  # their names have any characters
        every = qm.objects(kind.kind, "*", system=True)
        here: dict[str, Any] = {"DESTQMGR": qm.name}
        return [
            Found(kind, one.name, here | one.attributes) for one in every if fits(one.name, pattern)
        ]
    fixed = {"queue_type": kind.word} if kind.has_queue_name else {}
    if kind.kind == QUEUE_MANAGER:
        fixed = {"identifier": qm.name}
        pattern = qm.name
    found = qm.objects(kind.kind, _checked(pattern), system=True)
    return [Found(kind, one.name, fixed | dates(one) | one.attributes) for one in found]


def name_by_id(qm: Connection, pattern: str, ident: str) -> str | None:
    """Return the name of the subscription with this id, in hexadecimal, whose name fits."""
    for one in find(qm, DEFINED["SUB"], pattern):
        if str(one.values["ident"]).upper() == ident.upper():
            return one.name
    return None


def reset_totals(qm: Connection, pattern: str) -> list[Found]:
    """Return what was counted of queues since it was last reset, and reset it (RESET QSTATS)."""
    return [
        Found(
            TOTALS,
            one.name,
            {
                "high_depth": one.high_depth,
                "enqueued": one.put_since_reset,
                "dequeued": one.got_since_reset,
                "reset_s_ago": int(one.reset_s_ago),
            },
        )
        for one in qm.queue_status(_checked(pattern), system=True, reset=True)
    ]


def find_queues(qm: Connection, words: Iterable[str], pattern: str) -> list[Found]:
    """Return what has a queue's name and is of one of these kinds, by name."""
    found = [one for word in words for one in find(qm, DEFINED[word], pattern)]
    return sorted(found, key=lambda one: one.name)


def passing(found: Iterable[Found], filters: Iterable[Filter]) -> list[Found]:
    """Keep what has the attributes that filters are on, with values that pass."""
    conditions = list(filters)
    return [
        one
        for one in found
        if all(
            one.has(wanted.row) and wanted.passes(one.value(wanted.row)) for wanted in conditions
        )
    ]


def _checked(pattern: str) -> str:
    """The queue manager's patterns know more signs than MQ's generic names."""
    if not GENERIC.fullmatch(pattern) or not pattern:
        raise InvalidName(
            f"{pattern!r} is no name: it has letters, digits and . _ / %, and a star at its end "
            "stands for anything",
            pattern,
        )
    return pattern


def _queues(qm: Connection, pattern: str) -> list[Found]:
    figures = {one.name: one for one in qm.queue_status(_checked(pattern), system=True)}
    kind = DEFINED["QLOCAL"]
    found = []
    for one in qm.queues(pattern, system=True):
        values: dict[str, Any] = {"queue_type": "QLOCAL"} | dates(one) | one.attributes
        status = figures.get(one.name)
        for name in ("current_depth", "open_input_count", "open_output_count"):
            values[name] = getattr(status, name) if status is not None else 0
        found.append(Found(kind, one.name, values))
    return found


def _status(status: QueueStatus) -> Found:
    values = {
        "status_type": "QUEUE",
        "current_depth": status.current_depth,
        "open_input_count": status.open_input_count,
        "open_output_count": status.open_output_count,
        "uncommitted": status.uncommitted,
        "message_age_s": int(status.oldest_message_age_s),
        "last_put_date": date_of(status.last_put_ms),
        "last_put_time": time_of(status.last_put_ms),
        "last_get_date": date_of(status.last_got_ms),
        "last_get_time": time_of(status.last_got_ms),
    }
    return Found(QUEUE_STATUS, status.name, values)


def _queue_manager_status(qm: Connection) -> Found:
    everybody = qm.connections()
    served = any(one.application == COMMAND_SERVER for one in everybody)
    values = {
        "status": "RUNNING",
        "connections": len(everybody),
        "command_server": "RUNNING" if served else "STOPPED",
    }
    return Found(QMGR_STATUS, qm.name, values | started(qm))


def _queue_handles(qm: Connection) -> list[Found]:
    """Return what is open, by queue."""
    who = {one.number: _who(one) for one in qm.connections()}
    open_handles = sorted(qm.open_handles(), key=lambda one: one.queue)
    return [
        Found(QUEUE_HANDLES, one.queue, who[one.connection] | _open_for(one))
        for one in open_handles
        if one.connection in who
    ]


def _open_for(handle: HandleStatus) -> dict[str, Any]:
    modes = handle.modes
    shared = "SHARED" if modes & c.INPUT else "NO"
    return {
        "status_type": "HANDLE",
        "input": "EXCL" if modes & c.EXCLUSIVE else shared,
        "output": bool(modes & c.OUTPUT),
        "browse": bool(modes & c.BROWSE),
        "inquire": bool(modes & c.INQUIRE),
        "set": bool(modes & c.SET),
        "state": "ACTIVE" if handle.waiting_gets else "INACTIVE",
    }


OPEN_OPTIONS = {
    c.OUTPUT: mq.MQOO_OUTPUT,
    c.BROWSE: mq.MQOO_BROWSE,
    c.INQUIRE: mq.MQOO_INQUIRE,
    c.SET: mq.MQOO_SET,
}


def open_options(modes: int) -> int:
    """Return MQOO_* for modes of core."""
    options = sum(option for mode, option in OPEN_OPTIONS.items() if modes & mode)
    if modes & c.EXCLUSIVE:
        return options + mq.MQOO_INPUT_EXCLUSIVE
    return options + (mq.MQOO_INPUT_SHARED if modes & c.INPUT else 0)


def connections(qm: Connection) -> list[Found]:
    """Return who is connected; the name is the id that MQSC shows."""
    fixed = {
        "info_type": "CONN",
        "extended_id": extended_id(qm.name).hex().upper(),
        "unit_type": "QMGR",
    }
    return [
        Found(CONNECTION, connection_id(one.number), fixed | _who(one) | _units(one))
        for one in qm.connections()
    ]


def _units(status: ConnectionStatus) -> dict[str, Any]:
    return {"unit_state": "ACTIVE" if status.units else "NONE"}


def connection_handles(qm: Connection) -> list[Found]:
    """Return what connections have open."""
    prefix = extended_id(qm.name).hex().upper()
    return [
        Found(
            CONNECTION_HANDLES,
            connection_id(one.connection),
            {
                "info_type": "HANDLE",
                "extended_id": prefix,
                "object_name": one.queue,
                "object_type": "QUEUE",
                "open_options": open_options(one.modes),
            },
        )
        for one in qm.open_handles()
    ]


def _who(status: ConnectionStatus) -> dict[str, Any]:
    return {
        "application": status.application,
        "application_type": "SYSTEM" if status.application == COMMAND_SERVER else "USER",
        "user": status.user,
        "channel": status.channel or DEFAULT_CHANNEL,
        "address": status.address,
    }


def extended_id(queue_manager: str) -> bytes:
    """Return the 16 bytes that ids of all connections of a queue manager begin with."""
    return f"MQK {queue_manager:12.12}".encode("ascii", "replace")


def connection_id(number: int) -> str:
    """Return the rest of a connection's id: 8 bytes, in hexadecimal."""
    return number.to_bytes(8, "big").hex().upper()


def define(
    qm: Connection, kind: Kind, name: str, attributes: dict[str, Any], replace: bool
) -> None:
    """Define an object, with what the default object of its kind has; replace: see alter()."""
    if not kind.has_queue_name:
        _define(qm, kind, name, attributes, replace)
        return
    try:
        _define(qm, kind, name, _of_default_object(qm, kind) | attributes, replace=False)
    except (QueueExists, ObjectExists):
        if not replace:
            raise
        _define(qm, kind, name, attributes, replace=True)


def _of_default_object(qm: Connection, kind: Kind) -> dict[str, Any]:
    """Return what a definition has from the default object, and the SDK's has otherwise."""
    default = DEFAULT_OBJECTS[kind.kind]
    found = [one for one in find(qm, kind, default) if one.name == default]
    values = found[0].values if found else MQ_DEFAULTS
    return {name: values[name] for name in MQ_DEFAULTS if name in kind.given}


def _define(
    qm: Connection, kind: Kind, name: str, attributes: dict[str, Any], replace: bool
) -> None:
    if kind.kind == "queue":
        qm.define_queue(name, replace=replace, **attributes)
    else:
        qm.define_object(kind.kind, name, replace=replace, **attributes)


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
            given = (row for row in kind.given.values() if not row.attribute.fixed)
            return {row.name: one.values[row.name] for row in given}
    raise ObjectNotFound(f"there is no {kind.noun} {name} to take attributes from", name)


def end_connection(qm: Connection, ident: str) -> None:
    """End the connection of this id."""
    qm.end_connection(int(ident, 16))
