"""The kinds of what is reported while the queue manager runs: status of queues, connections, ...

Each has its rows, like the tables of attributes, so that MQSC and PCF show both alike. This module
does not know where the values come from.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from adapter.administration.kinds import CHANNEL_NAME_LENGTH, DATE_LENGTH, TIME_LENGTH, Kind
from adapter.core.attributes.objects import TOPIC_STRING_LENGTH_MAX
from adapter.core.attributes.table import NAME_LENGTH_MAX, Attribute, rows_of

LAST_PUT = "of the last put, UTC; blank: none since the queue manager was started"
LAST_GET = "of the last get, UTC; blank: none since the queue manager was started"
CONNECTION_ID_LENGTH = 16
DEFAULT_CHANNEL = "SYSTEM.DEF.SVRCONN"


class QueueStatusRows(Struct, kw_only=True):
    """Reported of a local queue by QSTATUS."""

    status_type: Annotated[
        Literal["QUEUE"], Attribute("TYPE", 1103, "of the queue", numbers=(1105,), fixed=True)
    ] = "QUEUE"
    current_depth: Annotated[int, Attribute("CURDEPTH", 3, "messages on it", fixed=True)]
    open_input_count: Annotated[
        int, Attribute("IPPROCS", 17, "handles that have it open for input", fixed=True)
    ]
    open_output_count: Annotated[
        int, Attribute("OPPROCS", 18, "handles that have it open for output", fixed=True)
    ]
    uncommitted: Annotated[
        int, Attribute("UNCOM", 1027, "puts and gets of units in flight", fixed=True)
    ]
    message_age_s: Annotated[
        int, Attribute("MSGAGE", 1227, "seconds since its oldest message was put", fixed=True)
    ]
    last_put_date: Annotated[
        str, Attribute("LPUTDATE", 3128, LAST_PUT, length=DATE_LENGTH, fixed=True)
    ]
    last_put_time: Annotated[
        str, Attribute("LPUTTIME", 3129, LAST_PUT, length=TIME_LENGTH, fixed=True)
    ]
    last_get_date: Annotated[
        str, Attribute("LGETDATE", 3130, LAST_GET, length=DATE_LENGTH, fixed=True)
    ]
    last_get_time: Annotated[
        str, Attribute("LGETTIME", 3131, LAST_GET, length=TIME_LENGTH, fixed=True)
    ]
    monitoring: Annotated[
        Literal["OFF"], Attribute("MONQ", 123, "online monitoring", numbers=(0,), fixed=True)
    ] = "OFF"
    media_log: Annotated[
        str,
        Attribute(
            "MEDIALOG", 3073, "blank: media recovery logs do not exist here", length=24, fixed=True
        ),
    ] = ""


class WhoRows(Struct, kw_only=True):
    """Reported of each client that is connected."""

    application: Annotated[
        str, Attribute("APPLTAG", 3058, "the program", length=28, fixed=True)
    ] = ""
    application_type: Annotated[
        Literal["USER", "SYSTEM"],
        Attribute("APPLTYPE", 1, "a client, or the queue manager", numbers=(25, 7), fixed=True),
    ] = "USER"
    user: Annotated[str, Attribute("USERID", 3025, "who it runs as", length=64, fixed=True)] = ""
    channel: Annotated[
        str, Attribute("CHANNEL", 3501, "how it came", length=CHANNEL_NAME_LENGTH, fixed=True)
    ] = DEFAULT_CHANNEL
    address: Annotated[
        str, Attribute("CONNAME", 3506, "where it came from", length=264, fixed=True)
    ] = ""


class QueueHandleRows(WhoRows, kw_only=True):
    """Reported by QSTATUS of a handle that has a local queue open."""

    status_type: Annotated[
        Literal["HANDLE"], Attribute("TYPE", 1103, "of a handle", numbers=(1104,), fixed=True)
    ] = "HANDLE"
    input: Annotated[
        Literal["NO", "SHARED", "EXCL"], Attribute("INPUT", 1098, "open for input", fixed=True)
    ]
    output: Annotated[bool, Attribute("OUTPUT", 1099, "open for output", fixed=True)]
    browse: Annotated[bool, Attribute("BROWSE", 1102, "open for browse", fixed=True)]
    inquire: Annotated[bool, Attribute("INQUIRE", 1101, "open for inquire", fixed=True)]
    set: Annotated[bool, Attribute("SET", 1100, "open for set", fixed=True)]
    state: Annotated[
        Literal["INACTIVE", "ACTIVE"], Attribute("HSTATE", 1028, "a get waits on it", fixed=True)
    ]


class QueueTotals(Struct, kw_only=True):
    """Reported of a local queue by RESET QSTATS."""

    high_depth: Annotated[int, Attribute("HIQDEPTH", 36, "highest depth since the last reset")]
    enqueued: Annotated[int, Attribute("MSGSIN", 37, "messages put since the last reset")]
    dequeued: Annotated[int, Attribute("MSGSOUT", 38, "messages got since the last reset")]
    reset_s_ago: Annotated[int, Attribute("RESETINT", 35, "seconds since the last reset")]


class ConnectionRows(WhoRows, kw_only=True):
    """Reported of a connection."""

    info_type: Annotated[
        Literal["CONN"],
        Attribute("TYPE", 1110, "of the connection", numbers=(1111,), fixed=True),
    ] = "CONN"
    extended_id: Annotated[
        str, Attribute("EXTCONN", 0, "first part of its id: which queue manager", fixed=True)
    ]
    unit_state: Annotated[
        Literal["NONE", "ACTIVE"],
        Attribute("UOWSTATE", 1128, "whether it has units in flight", fixed=True),
    ] = "NONE"
    unit_type: Annotated[Literal["QMGR"], Attribute("URTYPE", 1132, "whose units", fixed=True)] = (
        "QMGR"
    )


class ConnectionHandleRows(Struct, kw_only=True):
    """Reported by CONN of a queue that a connection has open."""

    info_type: Annotated[
        Literal["HANDLE"], Attribute("TYPE", 1110, "of a handle", numbers=(1112,), fixed=True)
    ] = "HANDLE"
    extended_id: Annotated[
        str, Attribute("EXTCONN", 0, "first part of its id: which queue manager", fixed=True)
    ]
    object_name: Annotated[
        str, Attribute("OBJNAME", 3046, "what is open", length=NAME_LENGTH_MAX, fixed=True)
    ]
    object_type: Annotated[
        Literal["QUEUE"], Attribute("OBJTYPE", 1016, "a queue", numbers=(1,), fixed=True)
    ] = "QUEUE"
    open_options: Annotated[int, Attribute("OPENOPTS", 1022, "MQOO_*, added up", fixed=True)]


class QueueManagerStatusRows(Struct, kw_only=True):
    """Reported of the queue manager by QMSTATUS."""

    status: Annotated[
        Literal["RUNNING"],
        Attribute("STATUS", 1149, "it answers, so it runs", numbers=(2,), fixed=True),
    ] = "RUNNING"
    connections: Annotated[
        int, Attribute("CONNS", 1230, "how many are connected, the asker too", fixed=True)
    ]
    command_server: Annotated[
        Literal["STOPPED", "RUNNING"],
        Attribute("CMDSERV", 1233, "begins with the first command", numbers=(0, 2), fixed=True),
    ]
    channel_initiator: Annotated[
        Literal["RUNNING"],
        Attribute("CHINIT", 1232, "clients can connect", numbers=(2,), fixed=True),
    ] = "RUNNING"
    start_date: Annotated[
        str, Attribute("STARTDA", 3175, "since when it runs, UTC", length=DATE_LENGTH, fixed=True)
    ]
    start_time: Annotated[
        str, Attribute("STARTTI", 3176, "since when it runs, UTC", length=TIME_LENGTH, fixed=True)
    ]


class ChannelStatusRows(Struct, kw_only=True):
    """Reported of a channel that is in use: of each client that is connected, and each sender."""

    channel_type: Annotated[
        Literal["SDR", "SVRCONN"],
        Attribute(
            "CHLTYPE",
            1511,
            "the sender of a transmission queue, or a channel for clients",
            numbers=(1, 7),
            fixed=True,
        ),
    ] = "SVRCONN"
    address: Annotated[
        str, Attribute("CONNAME", 3506, "where it connects from", length=264, fixed=True)
    ]
    instance: Annotated[
        Literal["CURRENT"],
        Attribute("INSTANCE", 1523, "it is connected", numbers=(1011,), fixed=True),
    ] = "CURRENT"
    status: Annotated[
        Literal["RUNNING", "RETRYING", "STOPPED"],
        Attribute(
            "STATUS", 1527, "whether it is usable, or can send", numbers=(3, 5, 6), fixed=True
        ),
    ] = "RUNNING"
    substate: Annotated[
        Literal["", "SEND", "RECEIVE", "MQGET"],
        Attribute("SUBSTATE", 1609, "what it does", numbers=(0, 200, 300, 1600), fixed=True),
    ]
    stop_requested: Annotated[
        bool, Attribute("STOPREQ", 1543, "whether it is to stop", fixed=True)
    ] = False
    user: Annotated[str, Attribute("MCAUSER", 3527, "who it runs as", length=64, fixed=True)]
    application: Annotated[str, Attribute("RAPPLTAG", 3548, "the program", length=28, fixed=True)]
    remote_queue_manager: Annotated[
        str,
        Attribute(
            "RQMNAME",
            2017,
            "where a sender sends; blank: it is a client",
            length=NAME_LENGTH_MAX,
            fixed=True,
        ),
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


class SenderStatusRows(ChannelStatusRows, kw_only=True):
    """Reported of the sender of a transmission queue too, which is a sender channel to MQ's tools.

    It is all that can be asked for of a channel: what clients have not is not shown of them.
    """

    transmission_queue: Annotated[
        str,
        Attribute("XMITQ", 3505, "what it sends from", length=NAME_LENGTH_MAX, fixed=True),
    ] = ""
    messages: Annotated[
        int, Attribute("MSGS", 1534, "messages sent since it was started", fixed=True)
    ] = 0
    waiting: Annotated[
        int,
        Attribute(
            "XQMSGS",
            1608,
            "messages that wait: on the queue, and in Kafka until the destination receives them",
            fixed=True,
        ),
    ] = 0
    batches: Annotated[
        int, Attribute("BATCHES", 1537, "units sent since it was started", fixed=True)
    ] = 0
    bytes: Annotated[
        int, Attribute("BYTSSENT", 1535, "bytes sent since it was started", fixed=True)
    ] = 0
    in_doubt: Annotated[
        bool, Attribute("INDOUBT", 1528, "whether messages are in doubt", fixed=True)
    ] = False


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


def _kind(
    kind: str,
    word: str,
    noun: str,
    name: tuple[str, int],
    rows: type[Struct],
    name_length: int = NAME_LENGTH_MAX,
) -> Kind:
    """name: its keyword in MQSC, and its number in PCF."""
    return Kind(kind, word, noun, *name, reported=rows_of(rows), name_length=name_length)


_QUEUE, _QUEUE_MANAGER, _CONNECTION = ("QUEUE", 2016), ("QMNAME", 2015), ("CONN", 7006)
_LISTENER = ("LISTENER", 3554)

QUEUE_STATUS = _kind("queue_status", "QSTATUS", "queue status", _QUEUE, QueueStatusRows)
QUEUE_HANDLES = _kind("queue_handles", "QSTATUS", "handle", _QUEUE, QueueHandleRows)
QUEUE_TOTALS = _kind("queue_totals", "QSTATS", "queue", _QUEUE, QueueTotals)
CONNECTION = _kind(
    "connection", "CONN", "connection", _CONNECTION, ConnectionRows, CONNECTION_ID_LENGTH
)
CONNECTION_HANDLES = _kind(
    "connection_handles", "CONN", "handle", _CONNECTION, ConnectionHandleRows, CONNECTION_ID_LENGTH
)
QMGR_STATUS = _kind(
    "qmgr_status", "QMSTATUS", "queue manager status", _QUEUE_MANAGER, QueueManagerStatusRows
)
CHANNEL_STATUS = _kind(
    "channel_status",
    "CHSTATUS",
    "channel status",
    ("CHANNEL", 3501),
    SenderStatusRows,
    CHANNEL_NAME_LENGTH,
)
CLIENT_STATUS = _kind(
    "client_status",
    "CHSTATUS",
    "channel status",
    ("CHANNEL", 3501),
    ChannelStatusRows,
    CHANNEL_NAME_LENGTH,
)
LISTENER = _kind("listener", "LISTENER", "listener", _LISTENER, ListenerRows)
LISTENER_STATUS = _kind(
    "listener_status", "LSSTATUS", "listener status", _LISTENER, ListenerStatusRows
)
TOPIC_STATUS = _kind(
    "topic_status", "TPSTATUS", "topic status", ("TPSTATUS", 2094), TopicStatusRows, 0
)
SUBSCRIPTION_STATUS = _kind(
    "subscription_status",
    "SBSTATUS",
    "subscription status",
    ("SUB", 3152),
    SubscriptionStatusRows,
    0,
)
PUBSUB_STATUS = _kind(
    "pubsub_status", "PUBSUB", "publish and subscribe status", _QUEUE_MANAGER, PublishSubscribeRows
)
COMMAND_SERVER_STATUS = _kind(
    "command_server_status", "CMDSERV", "command server status", _QUEUE_MANAGER, CommandServerRows
)
STATUS_KINDS = (
    QUEUE_STATUS,
    QMGR_STATUS,
    CONNECTION,
    CHANNEL_STATUS,
    LISTENER,
    LISTENER_STATUS,
    TOPIC_STATUS,
    SUBSCRIPTION_STATUS,
    PUBSUB_STATUS,
    COMMAND_SERVER_STATUS,
)
"""What DISPLAY shows by these words. Handles are shown by the word of what has them open."""
