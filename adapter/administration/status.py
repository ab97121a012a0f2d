"""What is reported while the queue manager runs: found over the SDK, a function for each kind.

This module does not know how MQSC and PCF write it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from adapter import mq_constants as mq
from adapter.administration import senders, status_kinds
from adapter.administration.kinds import FoundObject, Kind
from adapter.administration.values import check_pattern, fits
from adapter.client.admin import Description
from adapter.client.connection import Connection
from adapter.core.attributes.objects import SUBSCRIPTION
from adapter.core.contract import commands as c
from adapter.core.contract import results
from adapter.core.contract.topic_strings import has_wildcards, means

COMMAND_SERVER, SENDER = "mqk command server", "mqk sender"
"""What the queue manager's own connections are named."""
SENDER_STATES = {
    "waiting": ("RUNNING", "MQGET"),
    "sending": ("RUNNING", "SEND"),
    "stopped": ("STOPPED", ""),
}
"""Status and substate by the state of a sender; all others are RETRYING."""
COUNTED_MAX = 2**31
"""Where counters of MQ begin anew: they have 32 bits."""
LISTENER_NAME = "SYSTEM.DEFAULT.LISTENER.TCP"


def date_of(time_ms: int) -> str:
    """Write the date of a time, in UTC; blank for 0."""
    return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%Y-%m-%d}" if time_ms else ""


def time_of(time_ms: int) -> str:
    """Write the time of day of a time, in UTC; blank for 0."""
    return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%H.%M.%S}" if time_ms else ""


def dates(
    description: Description | results.QueueDescription | results.ObjectDescription,
) -> dict[str, str]:
    """Return when an object was defined and last altered, as MQSC and PCF write it."""
    created_ms, altered_ms = description.created_ms, description.altered_ms
    return {
        "creation_date": date_of(created_ms),
        "creation_time": time_of(created_ms),
        "alteration_date": date_of(altered_ms),
        "alteration_time": time_of(altered_ms),
    }


def queues(qm: Connection, pattern: str) -> list[FoundObject]:
    """Return the status of local queues."""
    return [_status(one) for one in qm.queue_status(check_pattern(pattern), system=True)]


def _status(status: results.QueueStatus) -> FoundObject:
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
    return FoundObject(status_kinds.QUEUE_STATUS, status.name, values)


def queue_manager(qm: Connection, _pattern: str) -> list[FoundObject]:
    """Return the status of the queue manager."""
    connected = qm.connections()
    values = {
        "status": "RUNNING",
        "connections": len(connected),
        "command_server": _command_server_status(connected),
    }
    return [FoundObject(status_kinds.QMGR_STATUS, qm.name, values | start_times(qm))]


def _command_server_status(connected: list[results.ConnectionStatus]) -> str:
    served = any(one.is_own and one.application == COMMAND_SERVER for one in connected)
    return "RUNNING" if served else "STOPPED"


def queue_handles(qm: Connection, pattern: str) -> list[FoundObject]:
    """Return the open handles, by queue."""
    found = qm.connections()
    clients = {one.number: _client(one) for one in found}
    of_senders = {one.number for one in found if one.is_own and one.application == SENDER}
    open_handles = sorted(qm.open_handles(), key=lambda one: one.queue)
    pattern = check_pattern(pattern)
    return [
        FoundObject(
            status_kinds.QUEUE_HANDLES,
            one.queue,
            clients[one.connection]
            | _open_for(one)
            | ({"channel": senders.channel_of(one.queue)} if one.connection in of_senders else {}),
        )
        for one in open_handles
        if one.connection in clients and fits(one.queue, pattern)
    ]


def _open_for(handle: results.HandleStatus) -> dict[str, Any]:
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


def connections(qm: Connection, pattern: str) -> list[FoundObject]:
    """Return the connections; the name is the id that MQSC shows."""
    fixed = {
        "info_type": "CONN",
        "extended_id": extended_id(qm.name).hex().upper(),
        "unit_type": "QMGR",
    }
    found = [
        FoundObject(
            status_kinds.CONNECTION, connection_id(one.number), fixed | _client(one) | _units(one)
        )
        for one in qm.connections()
    ]
    return [one for one in found if fits(one.name, pattern)]


def _units(status: results.ConnectionStatus) -> dict[str, Any]:
    return {"unit_state": "ACTIVE" if status.units else "NONE"}


def connection_handles(qm: Connection, pattern: str) -> list[FoundObject]:
    """Return what connections have open."""
    prefix = extended_id(qm.name).hex().upper()
    found = [
        FoundObject(
            status_kinds.CONNECTION_HANDLES,
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
    return [one for one in found if fits(one.name, pattern)]


def _client(status: results.ConnectionStatus) -> dict[str, Any]:
    return {
        "application": status.application,
        "application_type": "SYSTEM" if status.is_own else "USER",
        "user": status.user,
        "channel": status.channel or status_kinds.DEFAULT_CHANNEL,
        "address": status.address,
    }


def extended_id(queue_manager: str) -> bytes:
    """Return the 16 bytes that ids of all connections of a queue manager begin with."""
    return f"MQK {queue_manager:12.12}".encode("ascii", "replace")


def connection_id(number: int) -> str:
    """Return the rest of a connection's id: 8 bytes, in hexadecimal."""
    return number.to_bytes(8, "big").hex().upper()


def reset_totals(qm: Connection, pattern: str) -> list[FoundObject]:
    """Return what was counted of queues since it was last reset, and reset it (RESET QSTATS)."""
    return [
        FoundObject(
            status_kinds.QUEUE_TOTALS,
            one.name,
            {
                "high_depth": one.high_depth,
                "enqueued": one.put_since_reset,
                "dequeued": one.got_since_reset,
                "reset_s_ago": int(one.reset_s_ago),
            },
        )
        for one in qm.queue_status(check_pattern(pattern), system=True, reset=True)
    ]


def channels(qm: Connection, pattern: str) -> list[FoundObject]:
    """Return senders, and the clients that are connected, by the name of the channel."""
    found = _senders(qm) + [
        FoundObject(
            status_kinds.CLIENT_STATUS,
            one.channel or status_kinds.DEFAULT_CHANNEL,
            {
                "address": one.address,
                "substate": "MQGET" if one.waiting_gets else "RECEIVE",
                "user": one.user,
                "application": one.application,
                "start_date": date_of(one.since_ms),
                "start_time": time_of(one.since_ms),
            },
        )
        for one in qm.connections()
        if not one.is_own
    ]
    return sorted((one for one in found if fits(one.name, pattern)), key=lambda one: one.name)


def _depth(qm: Connection, queue: str) -> int:
    return sum(one.current_depth for one in qm.queue_status(queue, system=True))


def _senders(qm: Connection) -> list[FoundObject]:
    """Return the senders of transmission queues; each is a channel named after its queue."""
    now_ms = int(time.time() * 1000)
    network = qm.figures().get("network") or {"senders": {}}
    inhibited = {one.name for one in senders.queues(qm) if one.attributes["inhibit_get"]}
    found = []
    for queue, one in network["senders"].items():
        status, substate = SENDER_STATES.get(one["state"], ("RETRYING", ""))
        if queue in inhibited:
            status, substate = "STOPPED", ""
        since_ms = now_ms - int(one["running_s"] * 1000)
        values = {
            "channel_type": "SDR",
            "address": "",
            "status": status,
            "substate": substate,
            "user": "",
            "application": "",
            "remote_queue_manager": one["destination"],
            "start_date": date_of(since_ms),
            "start_time": time_of(since_ms),
            "conversations": 0,
            "transmission_queue": queue,
            "messages": one["messages"] % COUNTED_MAX,
            "waiting": _depth(qm, queue) + one.get("not_received", 0),
            "batches": one["units"] % COUNTED_MAX,
            "bytes": one["bytes"] % COUNTED_MAX,
        }
        found.append(FoundObject(status_kinds.CHANNEL_STATUS, senders.channel_of(queue), values))
    return found


def listeners(
    qm: Connection, pattern: str, kind: Kind = status_kinds.LISTENER
) -> list[FoundObject]:
    """Return the one listener."""
    if not fits(LISTENER_NAME, pattern):
        return []
    host, _, port = str(qm.figures()["address"]).rpartition(":")
    return [FoundObject(kind, LISTENER_NAME, {"address": host.strip("[]"), "port": int(port)})]


def listener_statuses(qm: Connection, pattern: str) -> list[FoundObject]:
    """Return the one listener, which runs."""
    found = listeners(qm, pattern, status_kinds.LISTENER_STATUS)
    return [
        FoundObject(status_kinds.LISTENER_STATUS, one.name, one.values | start_times(qm))
        for one in found
    ]


def start_times(qm: Connection) -> dict[str, Any]:
    """Return since when the queue manager runs."""
    since_ms = int((time.time() - float(qm.figures()["uptime_s"])) * 1000)
    return {"start_date": date_of(since_ms), "start_time": time_of(since_ms)}


BASE = "SYSTEM.BASE.TOPIC"
USUAL = {
    "def_priority": 0,
    "def_persistence": "NO",
    "publish": "ENABLED",
    "subscribe": "ENABLED",
    "durable": "YES",
}
"""What holds where no topic object above says anything, by attribute."""


def topics(qm: Connection, pattern: str) -> list[FoundObject]:
    """Return the topics that objects and durable subscriptions name; + and # stand for levels."""
    objects = {
        str(one.attributes["topic_string"]): one
        for one in qm.objects("topic", system=True)
        if one.attributes["topic_string"] or one.name == BASE
    }
    full = [str(one.attributes["topic_string"]) for one in qm.objects(SUBSCRIPTION)]
    named = {name for name in full if not has_wildcards(name)} | {one for one in objects if one}
    return [
        FoundObject(
            status_kinds.TOPIC_STATUS,
            name,
            _topic(name, objects) | {"subscriptions": full.count(name)},
        )
        for name in sorted(named)
        if means(pattern, name)
    ]


def _topic(name: str, objects: dict[str, results.ObjectDescription]) -> dict[str, Any]:
    """Return what holds for a topic: as the nearest object above it says that says something."""
    levels = name.split("/")
    above = ["/".join(levels[:depth]) for depth in range(len(levels), 0, -1)] + [""]
    found = [objects[one].attributes for one in above if one in objects]
    settled: dict[str, Any] = {
        field: next((one[field] for one in found if one[field] not in ("ASPARENT", -2)), usual)
        for field, usual in USUAL.items()
    }
    own = objects.get(name)
    return settled | {"topic_object": own.name if own is not None else ""}


def subscriptions(qm: Connection, pattern: str) -> list[FoundObject]:
    """Return the durable subscriptions."""
    return [
        FoundObject(
            status_kinds.SUBSCRIPTION_STATUS,
            one.name,
            {field: one.attributes[field] for field in ("ident", "topic_string")},
        )
        for one in qm.objects(SUBSCRIPTION, "*", system=True)
        if fits(one.name, pattern)
    ]


def publish_subscribe(qm: Connection, pattern: str) -> list[FoundObject]:
    """Return how publish and subscribe is doing."""
    if not fits(qm.name, pattern):
        return []
    values: dict[str, object] = {
        "type": "LOCAL",
        "subscriptions": len(qm.objects(SUBSCRIPTION, "*", system=True)),
        "topics": len(topics(qm, "#")),
    }
    return [FoundObject(status_kinds.PUBSUB_STATUS, qm.name, values)]


def command_server(qm: Connection, pattern: str) -> list[FoundObject]:
    """Return whether the command server runs."""
    if not fits(qm.name, pattern):
        return []
    values: dict[str, object] = {"status": _command_server_status(qm.connections())}
    return [FoundObject(status_kinds.COMMAND_SERVER_STATUS, qm.name, values)]


FINDERS: dict[str, Callable[[Connection, str], list[FoundObject]]] = {
    status_kinds.QUEUE_STATUS.kind: queues,
    status_kinds.QUEUE_HANDLES.kind: queue_handles,
    status_kinds.QMGR_STATUS.kind: queue_manager,
    status_kinds.CONNECTION.kind: connections,
    status_kinds.CONNECTION_HANDLES.kind: connection_handles,
    status_kinds.CHANNEL_STATUS.kind: channels,
    status_kinds.LISTENER.kind: listeners,
    status_kinds.LISTENER_STATUS.kind: listener_statuses,
    status_kinds.TOPIC_STATUS.kind: topics,
    status_kinds.SUBSCRIPTION_STATUS.kind: subscriptions,
    status_kinds.PUBSUB_STATUS.kind: publish_subscribe,
    status_kinds.COMMAND_SERVER_STATUS.kind: command_server,
}
"""How each kind is found: on a connection, by a pattern."""
