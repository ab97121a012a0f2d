"""The kinds of objects, as MQSC words them and PCF numbers them, and their read-only attributes.

The attributes that can be given are core's one table. What is read-only (depths, types, who is
connected) is described here by rows of the same make, so that both languages show both alike.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal

from msgspec import Struct

from adapter.core.attributes.objects import KINDS, QUEUE_MANAGER, SUBSCRIPTION, WITH_QUEUE_NAMES
from adapter.core.attributes.table import NAME_LENGTH_MAX, Attribute, Row, Table, rows_of
from adapter.core.attributes.unsupported import UNSUPPORTED

CHANNEL_NAME_LENGTH = 20
DATE_LENGTH, TIME_LENGTH = 12, 8  # MQ_DATE_LENGTH, MQ_TIME_LENGTH
LAST_PUT = "of the last put, UTC; blank: none since the queue manager was started"
LAST_GET = "of the last get, UTC; blank: none since the queue manager was started"
TYPE_KEYWORDS = ("TYPE", "CHLTYPE", "AUTHTYPE")
"""What MQSC calls the type of an object, depending on its kind."""


class AlterationRows(Struct, kw_only=True):
    """Reported of an object: when it was last altered, in UTC; blank if that is not known."""

    alteration_date: Annotated[
        str,
        Attribute("ALTDATE", 2027, "when it was altered, UTC", length=DATE_LENGTH, fixed=True),
    ] = ""
    alteration_time: Annotated[
        str,
        Attribute("ALTTIME", 2028, "when it was altered, UTC", length=TIME_LENGTH, fixed=True),
    ] = ""


class QueueType(AlterationRows, kw_only=True):
    """Reported of whatever has a queue's name."""

    creation_date: Annotated[
        str,
        Attribute("CRDATE", 2004, "when it was defined, UTC", length=DATE_LENGTH, fixed=True),
    ] = ""
    creation_time: Annotated[
        str,
        Attribute("CRTIME", 2005, "when it was defined, UTC", length=TIME_LENGTH, fixed=True),
    ] = ""

    queue_type: Annotated[
        Literal["QLOCAL", "QMODEL", "QALIAS", "QREMOTE"],
        Attribute("TYPE", 20, "what kind of queue", numbers=(1, 2, 3, 6), fixed=True),
    ]


class QueueFigures(QueueType, kw_only=True):
    """Reported of a local queue besides."""

    current_depth: Annotated[
        int, Attribute("CURDEPTH", 3, "messages on it, uncommitted puts too", fixed=True)
    ] = 0
    open_input_count: Annotated[
        int, Attribute("IPPROCS", 17, "handles that have it open for input", fixed=True)
    ] = 0
    open_output_count: Annotated[
        int, Attribute("OPPROCS", 18, "handles that have it open for output", fixed=True)
    ] = 0


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
        str, Attribute("MEDIALOG", 3073, "blank: there is no such log", length=24, fixed=True)
    ] = ""


class WhoRows(Struct, kw_only=True):
    """Reported of whoever is connected."""

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
    ] = "SYSTEM.DEF.SVRCONN"
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


class QueueManagerRows(Struct, kw_only=True):
    """Reported of the queue manager."""

    identifier: Annotated[
        str,
        Attribute("QMID", 2032, "its name among all", length=NAME_LENGTH_MAX, fixed=True),
    ] = ""


class Kind(Struct, frozen=True, dict=True):
    """One kind of object. kind: core's name for it; name_*: how its own name is called.

    name_length: what PCF pads it to, 0 if it has no certain length. unsupported: attributes of IBM
    MQ without effect here.
    """

    kind: str
    word: str
    noun: str
    name_keyword: str
    name_number: int
    given: Table = {}
    reported: Table = {}
    name_length: int = NAME_LENGTH_MAX
    unsupported: Table = {}

    @property
    def rows(self) -> Table:
        """All that has a meaning here, by Python name."""
        return self.reported | self.given

    @cached_property
    def every_row(self) -> Table:
        """All that can be asked for: what has a meaning here, and what has none."""
        return self.rows | self.unsupported

    @property
    def always(self) -> list[Row]:
        """What is shown of it whatever is asked for: of which type it is."""
        return [row for row in self.every_row.values() if row.attribute.keyword in TYPE_KEYWORDS]

    @property
    def has_queue_name(self) -> bool:
        """Whether it shares the one namespace of queues."""
        return self.kind in WITH_QUEUE_NAMES

    def by_keyword(self, keyword: str) -> Row | None:
        """Return what MQSC calls so."""
        rows = self.every_row.values()
        return next((row for row in rows if row.attribute.keyword == keyword), None)

    def by_number(self, number: int) -> Row | None:
        """Return what PCF numbers so."""
        rows = self.every_row.values()
        return next((row for row in rows if row.attribute.number == number), None)

    def by_bare_word(self, word: str) -> tuple[Row, object] | None:
        """Return which attribute has which value where MQSC writes just this word."""
        for row in self.given.values():
            if row.attribute.bare and word in row.attribute.words:
                return row, (False, True)[row.attribute.words.index(word)]
        return None


def _kind(kind: str, word: str, noun: str, name_keyword: str, name_number: int) -> Kind:
    reported: type[Struct] | None = QueueType if kind in WITH_QUEUE_NAMES else AlterationRows
    if kind == "queue":
        reported = QueueFigures
    if kind == QUEUE_MANAGER:
        reported = QueueManagerRows
    if kind == SUBSCRIPTION:
        reported = None
    length = {"channel": CHANNEL_NAME_LENGTH, SUBSCRIPTION: 0}.get(kind, NAME_LENGTH_MAX)
    rows = rows_of(reported) if reported is not None else {}
    unsupported = UNSUPPORTED[kind]
    return Kind(kind, word, noun, name_keyword, name_number, KINDS[kind], rows, length, unsupported)


DEFINED = {
    one.word: one
    for one in (
        _kind("queue", "QLOCAL", "queue", "QUEUE", 2016),
        _kind("alias", "QALIAS", "queue", "QUEUE", 2016),
        _kind("remote", "QREMOTE", "queue", "QUEUE", 2016),
        _kind("model", "QMODEL", "queue", "QUEUE", 2016),
        _kind("process", "PROCESS", "process", "PROCESS", 2012),
        _kind("namelist", "NAMELIST", "namelist", "NAMELIST", 2010),
        _kind("topic", "TOPIC", "topic", "TOPIC", 2092),
        _kind(SUBSCRIPTION, "SUB", "subscription", "SUB", 3152),
        _kind("channel", "CHANNEL", "channel", "CHANNEL", 3501),
        _kind("authinfo", "AUTHINFO", "authentication information", "AUTHINFO", 2045),
        _kind(QUEUE_MANAGER, "QMGR", "queue manager", "QMNAME", 2015),
    )
}
"""The kinds that can be defined and altered, by their word."""
QUEUE_WORDS = tuple(word for word, one in DEFINED.items() if one.has_queue_name)


def _told(kind: str, word: str, noun: str, number: int, rows: type[Struct]) -> Kind:
    length = 16 if word == "CONN" else NAME_LENGTH_MAX
    keyword = {"CONN": "CONN", "QMSTATUS": "QMNAME"}.get(word, "QUEUE")
    return Kind(kind, word, noun, keyword, number, reported=rows_of(rows), name_length=length)


QUEUE_STATUS = _told("queue_status", "QSTATUS", "queue status", 2016, QueueStatusRows)
QUEUE_HANDLES = _told("queue_handles", "QSTATUS", "handle", 2016, QueueHandleRows)
CONNECTION = _told("connection", "CONN", "connection", 7006, ConnectionRows)
CONNECTION_HANDLES = _told("connection_handles", "CONN", "handle", 7006, ConnectionHandleRows)
QMGR_STATUS = _told("qmgr_status", "QMSTATUS", "queue manager status", 2015, QueueManagerStatusRows)
TOTALS = _told("queue_totals", "QSTATS", "queue", 2016, QueueTotals)


class Found(Struct, frozen=True):
    """One object: its kind, its name, and the values of its attributes by Python name."""

    kind: Kind
    name: str
    values: dict[str, object]

    def value(self, row: Row) -> object:
        """Return the value of an attribute; of what has no effect here, the one that holds."""
        return self.values.get(row.name, row.default)

    def has(self, row: Row) -> bool:
        """Say whether this object has the attribute."""
        return row.name in self.kind.every_row
