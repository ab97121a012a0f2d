"""What is reported of channels, listeners, topics and subscriptions while the queue manager runs.

Each kind has its rows, like the tables of attributes, and a function that finds what there is over
the SDK. This module does not know how MQSC and PCF write it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from msgspec import Struct

from adapter import Connection
from adapter.administration.kinds import CHANNEL_NAME_LENGTH, DATE_LENGTH, TIME_LENGTH, Found, Kind
from adapter.administration.values import fits
from adapter.client.admin import Description
from adapter.core.attributes.objects import SUBSCRIPTION, TOPIC_STRING_LENGTH_MAX
from adapter.core.attributes.table import NAME_LENGTH_MAX, Attribute, rows_of
from adapter.core.contract.results import ObjectDescription, QueueDescription
from adapter.core.model.topics import has_wildcards, means

COMMAND_SERVER = "mqk command server"
"""What the queue manager's own connection is named."""
DEFAULT_CHANNEL = "SYSTEM.DEF.SVRCONN"
LISTENER_NAME = "SYSTEM.DEFAULT.LISTENER.TCP"


def date_of(time_ms: int) -> str:
    """Write the date of a time, in UTC; blank for 0."""
    return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%Y-%m-%d}" if time_ms else ""


def time_of(time_ms: int) -> str:
    """Write the time of day of a time, in UTC; blank for 0."""
    return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%H.%M.%S}" if time_ms else ""


def dates(description: Description | QueueDescription | ObjectDescription) -> dict[str, str]:
    """Return when an object was defined and last altered, as MQSC and PCF write it."""
    created_ms, altered_ms = description.created_ms, description.altered_ms
    return {
        "creation_date": date_of(created_ms),
        "creation_time": time_of(created_ms),
        "alteration_date": date_of(altered_ms),
        "alteration_time": time_of(altered_ms),
    }


class ChannelStatusRows(Struct, kw_only=True):
    """Reported of each client that is connected: the current instance of its channel."""

    channel_type: Annotated[
        Literal["SVRCONN"],
        Attribute("CHLTYPE", 1511, "a channel for clients", numbers=(7,), fixed=True),
    ] = "SVRCONN"
    address: Annotated[
        str, Attribute("CONNAME", 3506, "where it connects from", length=264, fixed=True)
    ]
    instance: Annotated[
        Literal["CURRENT"],
        Attribute("INSTANCE", 1523, "it is connected", numbers=(1011,), fixed=True),
    ] = "CURRENT"
    status: Annotated[
        Literal["RUNNING"], Attribute("STATUS", 1527, "it is usable", numbers=(3,), fixed=True)
    ] = "RUNNING"
    substate: Annotated[
        Literal["RECEIVE", "MQGET"],
        Attribute("SUBSTATE", 1609, "what it does", numbers=(300, 1600), fixed=True),
    ]
    stop_requested: Annotated[
        bool, Attribute("STOPREQ", 1543, "whether it is to stop", fixed=True)
    ] = False
    user: Annotated[str, Attribute("MCAUSER", 3527, "who it runs as", length=64, fixed=True)]
    application: Annotated[str, Attribute("RAPPLTAG", 3548, "the program", length=28, fixed=True)]
    remote_queue_manager: Annotated[
        str,
        Attribute("RQMNAME", 2017, "blank: it is a client", length=NAME_LENGTH_MAX, fixed=True),
    ] = ""
    start_date: Annotated[
        str, Attribute("CHSTADA", 3529, "since when, UTC", length=DATE_LENGTH, fixed=True)
    ]
    start_time: Annotated[
        str, Attribute("CHSTATI", 3528, "since when, UTC", length=TIME_LENGTH, fixed=True)
    ]
    conversations: Annotated[
        int, Attribute("CURSHCNV", 1617, "conversations on it", fixed=True)
    ] = 1
    monitoring: Annotated[
        Literal["OFF"], Attribute("MONCHL", 122, "online monitoring", numbers=(0,), fixed=True)
    ] = "OFF"


class ListenerRows(Struct, kw_only=True):
    """Reported of the one listener."""

    transport: Annotated[
        Literal["TCP"], Attribute("TRPTYPE", 1501, "how clients connect", numbers=(2,), fixed=True)
    ] = "TCP"
    port: Annotated[int, Attribute("PORT", 1522, "where it listens", fixed=True)]
    address: Annotated[str, Attribute("IPADDR", 3552, "where it listens", length=48, fixed=True)]
    control: Annotated[
        Literal["QMGR"],
        Attribute("CONTROL", 1601, "what starts it", numbers=(0,), fixed=True),
    ] = "QMGR"
    backlog: Annotated[int, Attribute("BACKLOG", 1602, "connections that wait", fixed=True)] = 0
    description: Annotated[str, Attribute("DESCR", 3555, "free text", length=64, fixed=True)] = (
        "the address in the configuration of the queue manager"
    )


class ListenerStatusRows(ListenerRows, kw_only=True):
    """Reported of the one listener while it runs."""

    status: Annotated[
        Literal["RUNNING"],
        Attribute("STATUS", 1599, "it answers, so it runs", numbers=(2,), fixed=True),
    ] = "RUNNING"
    start_date: Annotated[
        str, Attribute("STARTDA", 3556, "since when, UTC", length=DATE_LENGTH, fixed=True)
    ]
    start_time: Annotated[
        str, Attribute("STARTTI", 3557, "since when, UTC", length=TIME_LENGTH, fixed=True)
    ]


class TopicStatusRows(Struct, kw_only=True):
    """Reported of a topic that a topic object or a subscription names, as its parents settle it."""

    topic_object: Annotated[
        str,
        Attribute("ADMIN", 2105, "the topic object of it", length=NAME_LENGTH_MAX, fixed=True),
    ]
    def_priority: Annotated[
        int, Attribute("DEFPRTY", 6, "priority of a publication that names none", fixed=True)
    ]
    def_persistence: Annotated[
        Literal["NO", "YES"],
        Attribute("DEFPSIST", 185, "persistence of a publication that names none", fixed=True),
    ]
    publish: Annotated[
        Literal["DISABLED", "ENABLED"],
        Attribute("PUB", 181, "whether publications are taken", numbers=(1, 2), fixed=True),
    ]
    subscribe: Annotated[
        Literal["DISABLED", "ENABLED"],
        Attribute("SUB", 182, "whether it may be subscribed to", numbers=(1, 2), fixed=True),
    ]
    durable: Annotated[
        Literal["YES", "NO"],
        Attribute("DURSUB", 175, "whether durably", numbers=(1, 2), fixed=True),
    ]
    subscriptions: Annotated[
        int, Attribute("SUBCOUNT", 204, "durable subscriptions to just this", fixed=True)
    ]


class SubscriptionStatusRows(Struct, kw_only=True):
    """Reported of a durable subscription."""

    ident: Annotated[str, Attribute("SUBID", 7016, "its id, in hex", fixed=True)]
    topic_string: Annotated[
        str,
        Attribute("TOPICSTR", 2094, "the topics", length=TOPIC_STRING_LENGTH_MAX, fixed=True),
    ]
    durable: Annotated[
        Literal["YES"],
        Attribute("DURABLE", 1274, "it stays without its program", numbers=(1,), fixed=True),
    ] = "YES"


class PublishSubscribeRows(Struct, kw_only=True):
    """Reported of publish and subscribe."""

    type: Annotated[
        Literal["ALL", "LOCAL", "PARENT", "CHILD"],
        Attribute("TYPE", 1314, "of this queue manager", numbers=(0, 1, 2, 3), fixed=True),
    ] = "LOCAL"
    status: Annotated[
        Literal["ACTIVE"], Attribute("STATUS", 1311, "it runs", numbers=(3,), fixed=True)
    ] = "ACTIVE"
    subscriptions: Annotated[int, Attribute("SUBCOUNT", 204, "durable subscriptions", fixed=True)]
    topics: Annotated[
        int,
        Attribute("TPCOUNT", 253, "topics that objects and subscriptions name", fixed=True),
    ]


class CommandServerRows(Struct, kw_only=True):
    """Reported of the command server."""

    status: Annotated[
        Literal["STOPPED", "RUNNING"],
        Attribute("STATUS", 1233, "begins with the first command", numbers=(0, 2), fixed=True),
    ]


def _kind(word: str, noun: str, keyword: str, number: int, rows: type[Struct], length: int) -> Kind:
    kind = f"{word.lower()} of mqi"
    return Kind(kind, word, noun, keyword, number, reported=rows_of(rows), name_length=length)


CHANNEL_STATUS = _kind(
    "CHSTATUS", "channel status", "CHANNEL", 3501, ChannelStatusRows, CHANNEL_NAME_LENGTH
)
LISTENER = _kind("LISTENER", "listener", "LISTENER", 3554, ListenerRows, NAME_LENGTH_MAX)
LISTENER_STATUS = _kind(
    "LSSTATUS", "listener status", "LISTENER", 3554, ListenerStatusRows, NAME_LENGTH_MAX
)
TOPIC_STATUS = _kind("TPSTATUS", "topic status", "TPSTATUS", 2094, TopicStatusRows, 0)
SUBSCRIPTION_STATUS = _kind(
    "SBSTATUS", "subscription status", "SUB", 3152, SubscriptionStatusRows, 0
)
PUBSUB_STATUS = _kind(
    "PUBSUB", "publish and subscribe status", "QMNAME", 2015, PublishSubscribeRows, NAME_LENGTH_MAX
)
COMMAND_SERVER_STATUS = _kind(
    "CMDSERV", "command server status", "QMNAME", 2015, CommandServerRows, NAME_LENGTH_MAX
)


def channels(qm: Connection, pattern: str) -> list[Found]:
    """Return the clients that are connected, by the name of the channel."""
    found = [
        Found(
            CHANNEL_STATUS,
            one.channel or DEFAULT_CHANNEL,
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
        if one.application != COMMAND_SERVER
    ]
    return sorted((one for one in found if fits(one.name, pattern)), key=lambda one: one.name)


def listeners(qm: Connection, pattern: str, kind: Kind = LISTENER) -> list[Found]:
    """Return the one listener."""
    if not fits(LISTENER_NAME, pattern):
        return []
    host, _, port = str(qm.figures()["address"]).rpartition(":")
    return [Found(kind, LISTENER_NAME, {"address": host.strip("[]"), "port": int(port)})]


def listener_statuses(qm: Connection, pattern: str) -> list[Found]:
    """Return the one listener, which runs."""
    found = listeners(qm, pattern, LISTENER_STATUS)
    return [Found(LISTENER_STATUS, one.name, one.values | started(qm)) for one in found]


def started(qm: Connection) -> dict[str, Any]:
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


def topics(qm: Connection, pattern: str) -> list[Found]:
    """Return the topics that objects and durable subscriptions name; + and # stand for levels."""
    objects = {
        str(one.attributes["topic_string"]).strip("/"): one
        for one in qm.objects("topic", system=True)
        if one.attributes["topic_string"] or one.name == BASE
    }
    full = [str(one.attributes["topic_string"]) for one in qm.objects(SUBSCRIPTION)]
    named = {name for name in full if not has_wildcards(name)} | {one for one in objects if one}
    return [
        Found(TOPIC_STATUS, name, _topic(name, objects) | {"subscriptions": full.count(name)})
        for name in sorted(named)
        if means(pattern, name)
    ]


def _topic(name: str, objects: dict[str, ObjectDescription]) -> dict[str, Any]:
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


def subscriptions(qm: Connection, pattern: str) -> list[Found]:
    """Return the durable subscriptions."""
    return [
        Found(
            SUBSCRIPTION_STATUS,
            one.name,
            {field: one.attributes[field] for field in ("ident", "topic_string")},
        )
        for one in qm.objects(SUBSCRIPTION, "*", system=True)
        if fits(one.name, pattern)
    ]


def publish_subscribe(qm: Connection, pattern: str) -> list[Found]:
    """Return how publish and subscribe is doing."""
    if not fits(qm.name, pattern):
        return []
    values: dict[str, object] = {
        "type": "LOCAL",
        "subscriptions": len(qm.objects(SUBSCRIPTION, "*", system=True)),
        "topics": len(topics(qm, "#")),
    }
    return [Found(PUBSUB_STATUS, qm.name, values)]


def command_server(qm: Connection, pattern: str) -> list[Found]:
    """Return whether the command server runs."""
    served = any(one.application == COMMAND_SERVER for one in qm.connections())
    values: dict[str, object] = {"status": "RUNNING" if served else "STOPPED"}
    return [Found(COMMAND_SERVER_STATUS, qm.name, values)] if fits(qm.name, pattern) else []


FINDERS: dict[str, Callable[[Connection, str], list[Found]]] = {
    CHANNEL_STATUS.kind: channels,
    LISTENER.kind: listeners,
    LISTENER_STATUS.kind: listener_statuses,
    TOPIC_STATUS.kind: topics,
    SUBSCRIPTION_STATUS.kind: subscriptions,
    PUBSUB_STATUS.kind: publish_subscribe,
    COMMAND_SERVER_STATUS.kind: command_server,
}
"""How each kind is found: on a connection, by a pattern."""
STATUS_KINDS = (
    CHANNEL_STATUS,
    LISTENER,
    LISTENER_STATUS,
    TOPIC_STATUS,
    SUBSCRIPTION_STATUS,
    PUBSUB_STATUS,
    COMMAND_SERVER_STATUS,
)
