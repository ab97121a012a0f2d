"""The kinds of what is reported while the queue manager runs: status of queues, connections, ...

Each has its rows, like the tables of attributes, so that MQSC and PCF show both alike. This module
does not know where the values come from.
"""

from __future__ import annotations

from adapter.administration.kinds import CHANNEL_NAME_LENGTH, DATE_LENGTH, TIME_LENGTH, Kind
from adapter.administration.reported import always, choice, flag, table, text, whole
from adapter.core.attributes.table import (
    NAME_LENGTH_MAX,
    TOPIC_STRING_LENGTH_MAX,
    AttributeRow,
    Table,
)

LAST_PUT = "of the last put, UTC; blank: none since the queue manager was started"
LAST_GET = "of the last get, UTC; blank: none since the queue manager was started"
RUNS = "always RUNNING: only a running queue manager replies"
CONNECTION_ID_LENGTH = 16
DEFAULT_CHANNEL = "SYSTEM.DEF.SVRCONN"

NO = {"NO": 0, "YES": 1}
ENABLED = {"DISABLED": 1, "ENABLED": 2}
INPUTS = {"NO": 0, "SHARED": 1, "EXCL": 2}
STARTED = {"STOPPED": 0, "RUNNING": 2}
CHANNEL_STATES = {"RUNNING": 3, "RETRYING": 5, "STOPPED": 6}
CHANNEL_SUBSTATES = {"": 0, "SEND": 200, "RECEIVE": 300, "MQGET": 1600}
ROLES = {"ALL": 0, "LOCAL": 1, "PARENT": 2, "CHILD": 3}


def _kind(
    kind: str, word: str, noun: str, name: tuple[str, int, int], *rows: AttributeRow | Table
) -> Kind:
    """name: its keyword in MQSC, its number in PCF, and what PCF pads it to."""
    reported: Table = {}
    for one in rows:
        reported |= {one.name: one} if isinstance(one, AttributeRow) else one
    keyword, number, length = name
    return Kind(kind, word, noun, keyword, number, reported=reported, name_length=length)


_QUEUE = ("QUEUE", 2016, NAME_LENGTH_MAX)
_QUEUE_MANAGER = ("QMNAME", 2015, NAME_LENGTH_MAX)
_CONNECTION = ("CONN", 7006, CONNECTION_ID_LENGTH)
_CHANNEL = ("CHANNEL", 3501, CHANNEL_NAME_LENGTH)
_LISTENER = ("LISTENER", 3554, NAME_LENGTH_MAX)

_CLIENT = table(
    text("application", "APPLTAG", 3058, "the program", 28, ""),
    choice(
        *("application_type", "APPLTYPE", 1, "a client, or the queue manager"),
        {"USER": 25, "SYSTEM": 7},
        "USER",
    ),
    text("user", "USERID", 3025, "who it runs as", 64, ""),
    text("channel", "CHANNEL", 3501, "how it came", CHANNEL_NAME_LENGTH, DEFAULT_CHANNEL),
    text("address", "CONNAME", 3506, "where it came from", 264, ""),
)
"""Reported of each client that is connected."""
_EXTENDED_ID = text("extended_id", "EXTCONN", 0, "first part of its id: which queue manager", None)

QUEUE_STATUS = _kind(
    *("queue_status", "QSTATUS", "queue status", _QUEUE),
    always("status_type", "TYPE", 1103, "of the queue", "QUEUE", 1105),
    whole("current_depth", "CURDEPTH", 3, "messages on it"),
    whole("open_input_count", "IPPROCS", 17, "handles that have it open for input"),
    whole("open_output_count", "OPPROCS", 18, "handles that have it open for output"),
    whole("uncommitted", "UNCOM", 1027, "puts and gets of units in flight"),
    whole("message_age_s", "MSGAGE", 1227, "seconds since its oldest message was put"),
    text("last_put_date", "LPUTDATE", 3128, LAST_PUT, DATE_LENGTH),
    text("last_put_time", "LPUTTIME", 3129, LAST_PUT, TIME_LENGTH),
    text("last_get_date", "LGETDATE", 3130, LAST_GET, DATE_LENGTH),
    text("last_get_time", "LGETTIME", 3131, LAST_GET, TIME_LENGTH),
    always("monitoring", "MONQ", 123, "online monitoring", "OFF", 0),
    text("media_log", "MEDIALOG", 3073, "blank: media recovery logs do not exist here", 24, ""),
)
QUEUE_HANDLES = _kind(
    *("queue_handles", "QSTATUS", "handle", _QUEUE),
    _CLIENT,
    always("status_type", "TYPE", 1103, "of a handle", "HANDLE", 1104),
    choice("input", "INPUT", 1098, "open for input", INPUTS),
    flag("output", "OUTPUT", 1099, "open for output"),
    flag("browse", "BROWSE", 1102, "open for browse"),
    flag("inquire", "INQUIRE", 1101, "open for inquire"),
    flag("set", "SET", 1100, "open for set"),
    choice("state", "HSTATE", 1028, "a get waits on it", {"INACTIVE": 0, "ACTIVE": 1}),
)
QUEUE_TOTALS = _kind(
    *("queue_totals", "QSTATS", "queue", _QUEUE),
    whole("high_depth", "HIQDEPTH", 36, "highest depth since the last reset"),
    whole("enqueued", "MSGSIN", 37, "messages put since the last reset"),
    whole("dequeued", "MSGSOUT", 38, "messages got since the last reset"),
    whole("reset_s_ago", "RESETINT", 35, "seconds since the last reset"),
)
"""Reported of a local queue by RESET QSTATS."""
CONNECTION = _kind(
    *("connection", "CONN", "connection", _CONNECTION),
    _CLIENT,
    always("info_type", "TYPE", 1110, "of the connection", "CONN", 1111),
    _EXTENDED_ID,
    choice(
        *("unit_state", "UOWSTATE", 1128, "whether it has units in flight"),
        {"NONE": 0, "ACTIVE": 1},
        "NONE",
    ),
    always("unit_type", "URTYPE", 1132, "whose units", "QMGR", 0),
)
CONNECTION_HANDLES = _kind(
    *("connection_handles", "CONN", "handle", _CONNECTION),
    always("info_type", "TYPE", 1110, "of a handle", "HANDLE", 1112),
    _EXTENDED_ID,
    text("object_name", "OBJNAME", 3046, "what is open"),
    always("object_type", "OBJTYPE", 1016, "a queue", "QUEUE", 1),
    whole("open_options", "OPENOPTS", 1022, "MQOO_*, added up"),
)
QMGR_STATUS = _kind(
    *("qmgr_status", "QMSTATUS", "queue manager status", _QUEUE_MANAGER),
    always("status", "STATUS", 1149, RUNS, "RUNNING", 2),
    whole("connections", "CONNS", 1230, "how many are connected, the asker too"),
    choice("command_server", "CMDSERV", 1233, "begins with the first command", STARTED),
    always("channel_initiator", "CHINIT", 1232, "clients can connect", "RUNNING", 2),
    text("start_date", "STARTDA", 3175, "since when it runs, UTC", DATE_LENGTH),
    text("start_time", "STARTTI", 3176, "since when it runs, UTC", TIME_LENGTH),
)
CLIENT_STATUS = _kind(
    *("client_status", "CHSTATUS", "channel status", _CHANNEL),
    choice(
        *("channel_type", "CHLTYPE", 1511),
        "the sender of a transmission queue, or a channel for clients",
        {"SDR": 1, "SVRCONN": 7},
        "SVRCONN",
    ),
    text("address", "CONNAME", 3506, "where it connects from", 264),
    always("instance", "INSTANCE", 1523, "it is connected", "CURRENT", 1011),
    choice(
        *("status", "STATUS", 1527, "whether it is usable, or can send"), CHANNEL_STATES, "RUNNING"
    ),
    choice("substate", "SUBSTATE", 1609, "what it does", CHANNEL_SUBSTATES),
    flag("stop_requested", "STOPREQ", 1543, "whether it is to stop", False),
    text("user", "MCAUSER", 3527, "who it runs as", 64),
    text("application", "RAPPLTAG", 3548, "the program", 28),
    text(
        *("remote_queue_manager", "RQMNAME", 2017, "where a sender sends; blank: it is a client"),
        default="",
    ),
    text("start_date", "CHSTADA", 3529, "since when, UTC", DATE_LENGTH),
    text("start_time", "CHSTATI", 3528, "since when, UTC", TIME_LENGTH),
    whole("conversations", "CURSHCNV", 1617, "conversations on it", 1),
    always("monitoring", "MONCHL", 122, "online monitoring", "OFF", 0),
)
"""Reported of each client that is connected."""
CHANNEL_STATUS = _kind(
    *("channel_status", "CHSTATUS", "channel status", _CHANNEL),
    CLIENT_STATUS.reported,
    text("transmission_queue", "XMITQ", 3505, "what it sends from", default=""),
    whole("messages", "MSGS", 1534, "messages sent since it was started", 0),
    whole(
        *("waiting", "XQMSGS", 1608),
        "messages that wait: on the queue, and in Kafka until the destination receives them",
        0,
    ),
    whole("batches", "BATCHES", 1537, "units sent since it was started", 0),
    whole("bytes", "BYTSSENT", 1535, "bytes sent since it was started", 0),
    flag("in_doubt", "INDOUBT", 1528, "whether messages are in doubt", False),
)
"""Reported of the sender of a transmission queue, which is a sender channel to MQ's tools.

It is all that can be asked for of a channel: what clients have not is not shown of them.
"""
LISTENER = _kind(
    *("listener", "LISTENER", "listener", _LISTENER),
    always("transport", "TRPTYPE", 1501, "how clients connect", "TCP", 2),
    whole("port", "PORT", 1522, "where it listens"),
    text("address", "IPADDR", 3552, "where it listens"),
    always("control", "CONTROL", 1601, "what starts it", "QMGR", 0),
    whole("backlog", "BACKLOG", 1602, "connections that wait", 0),
    text(
        *("description", "DESCR", 3555, "free text", 64),
        "the address in the configuration of the queue manager",
    ),
)
LISTENER_STATUS = _kind(
    *("listener_status", "LSSTATUS", "listener status", _LISTENER),
    LISTENER.reported,
    always("status", "STATUS", 1599, RUNS, "RUNNING", 2),
    text("start_date", "STARTDA", 3556, "since when, UTC", DATE_LENGTH),
    text("start_time", "STARTTI", 3557, "since when, UTC", TIME_LENGTH),
)
TOPIC_STATUS = _kind(
    *("topic_status", "TPSTATUS", "topic status", ("TPSTATUS", 2094, 0)),
    text("topic_object", "ADMIN", 2105, "the topic object of it"),
    whole("def_priority", "DEFPRTY", 6, "priority of a publication that names none"),
    choice("def_persistence", "DEFPSIST", 185, "persistence of a publication that names none", NO),
    choice("publish", "PUB", 181, "whether it accepts publications", ENABLED),
    choice("subscribe", "SUB", 182, "whether it may be subscribed to", ENABLED),
    choice("durable", "DURSUB", 175, "whether durably", {"YES": 1, "NO": 2}),
    whole("subscriptions", "SUBCOUNT", 204, "durable subscriptions to just this"),
)
"""Reported of a topic that a topic object or a subscription names, as its parents settle it."""
SUBSCRIPTION_STATUS = _kind(
    *("subscription_status", "SBSTATUS", "subscription status", ("SUB", 3152, 0)),
    text("ident", "SUBID", 7016, "its id, in hex", None),
    text("topic_string", "TOPICSTR", 2094, "the topics", TOPIC_STRING_LENGTH_MAX),
    always("durable", "DURABLE", 1274, "it stays without its program", "YES", 1),
)
PUBSUB_STATUS = _kind(
    *("pubsub_status", "PUBSUB", "publish and subscribe status", _QUEUE_MANAGER),
    choice("type", "TYPE", 1314, "of this queue manager", ROLES, "LOCAL"),
    always("status", "STATUS", 1311, "it runs", "ACTIVE", 3),
    whole("subscriptions", "SUBCOUNT", 204, "durable subscriptions"),
    whole("topics", "TPCOUNT", 253, "topics that objects and subscriptions name"),
)
COMMAND_SERVER_STATUS = _kind(
    *("command_server_status", "CMDSERV", "command server status", _QUEUE_MANAGER),
    choice("status", "STATUS", 1233, "begins with the first command", STARTED),
)
STATUS_KINDS = (
    *(QUEUE_STATUS, QMGR_STATUS, CONNECTION, CHANNEL_STATUS, LISTENER, LISTENER_STATUS),
    *(TOPIC_STATUS, SUBSCRIPTION_STATUS, PUBSUB_STATUS, COMMAND_SERVER_STATUS),
)
"""What DISPLAY shows by these words. Handles are shown by the word of what has them open."""
