"""Commands and attributes of IBM MQ that are read and checked, and have no effect here.

Scripts for IBM MQ set rights, channel rules and listeners beside the queues that they define. They
are not stopped by what does not exist here: it is accepted, and the answer says that it has no
effect. What would change messages, or let clients believe that they are protected, is refused. This
module does not know how MQSC and PCF write a command.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from adapter.core.attributes.table import Attribute, AttributeRow, Table, problem_with
from adapter.core.attributes.unsupported import choice, table, text, whole

YES = {"NO": 0, "YES": 1}
NAMES_MAX = 256
LISTS = frozenset(
    {"GROUP", "PRINCIPAL", "AUTHADD", "AUTHRMV", "AUTHLIST", "ADDRLIST", "USERLIST", "SSLPEER"}
)
"""Parameters that take several values."""

CHANNEL_RULE = table(
    choice(
        "TYPE",
        1352,
        "what the rule is about",
        {
            "BLOCKUSER": 1,
            "BLOCKADDR": 2,
            "SSLPEERMAP": 3,
            "ADDRESSMAP": 4,
            "USERMAP": 5,
            "QMGRMAP": 6,
        },
    ),
    choice("ACTION", 1086, "what to do", {"ADD": 5, "REPLACE": 6, "REMOVE": 7, "REMOVEALL": 8}),
    text("ADDRESS", 3506, "of clients", 264),
    text("ADDRLIST", 3566, "of clients", 264),
    choice(
        "CHCKCLNT",
        258,
        "whether clients must give a password",
        {"ASQMGR": 4, "REQUIRED": 3, "REQDADM": 2},
    ),
    text("CLNTUSER", 3567, "the user that clients name", 1024),
    text("CUSTOM", 2119, "settings without a parameter of their own", 128),
    text("DESCR", 2118, "free text", 64),
    choice("MATCH", 1637, "which rules", {"GENERIC": 0, "RUNCHECK": 1, "EXACT": 2, "ALL": 3}),
    text("MCAUSER", 3527, "whose rights the clients have", 1024),
    text("QMNAME", 2015, "the queue manager that connects"),
    text("SSLCERTI", 2130, "who signed the certificate", 1024),
    text("SSLPEER", 3545, "of the certificate", 1024),
    text("USERLIST", 3568, "users", 1024),
    choice("USERSRC", 1638, "where the user is from", {"MAP": 0, "NOACCESS": 1, "CHANNEL": 2}),
    choice("WARN", 1639, "only warn", YES),
)
NEEDED_BY_TYPE = {
    "BLOCKUSER": "USERLIST",
    "BLOCKADDR": "ADDRLIST",
    "SSLPEERMAP": "SSLPEER",
    "ADDRESSMAP": "ADDRESS",
    "USERMAP": "CLNTUSER",
    "QMGRMAP": "QMNAME",
}
"""What a channel authentication record of each type must name."""
LISTENER = table(
    choice(
        "TRPTYPE", 1501, "the transport", {"TCP": 2, "LU62": 1, "NETBIOS": 3, "SPX": 4, "UDP": 6}
    ),
    whole("BACKLOG", 1602, "connections that wait", 0),
    choice("CONTROL", 1601, "what starts it", {"MANUAL": 2, "QMGR": 0, "STARTONLY": 1}),
    text("DESCR", 3555, "free text", 64),
    text("IPADDR", 3552, "the address", 48),
    text("LIKE", 0, "a listener to copy"),
    whole("PORT", 1522, "the port", 1414, 65_535),
    AttributeRow("REPLACE", bool, False, Attribute("REPLACE", 1006, "change one that exists")),
    AttributeRow("NOREPLACE", bool, False, Attribute("NOREPLACE", 0, "change none that exists")),
)
IGNORE_STATE = table(choice("IGNSTATE", 1423, "whether it succeeds if it is done already", YES))
NO_RULES = "every channel name is accepted; CHCKCLNT decides which clients must give a password"
LISTENS = "the queue manager listens at the address in its configuration (setting listen)"


class Accepted(Struct, frozen=True):
    """A command that is checked and does nothing. number: AMQ; why: what holds instead.

    done: what the answer says that happened.
    """

    noun: str
    number: int
    why: str
    rows: Table = {}
    done: str = "accepted"


ACCEPTED = {
    ("SET", "CHLAUTH"): Accepted("channel authentication record", 8877, NO_RULES, CHANNEL_RULE),
    ("DEFINE", "LISTENER"): Accepted("listener", 8626, LISTENS, LISTENER),
    ("ALTER", "LISTENER"): Accepted("listener", 8624, LISTENS, LISTENER),
    ("DELETE", "LISTENER"): Accepted("listener", 8627, LISTENS, IGNORE_STATE),
    ("START", "LISTENER"): Accepted("start of listener", 8021, LISTENS, IGNORE_STATE),
    ("STOP", "LISTENER"): Accepted("stop of listener", 8706, LISTENS, IGNORE_STATE),
}
"""By verb and kind."""

UNAVAILABLE = {
    "SERVICE": "services are not supported: start the program with the system's own means",
    "COMMINFO": "multicast is not supported",
    "CLUSTER": "clusters are not supported",
    "CLUSQMGR": "clusters are not supported",
    "CHINIT": "channel initiators are not supported: clients connect to the listener",
}
"""Kinds of objects that do not exist here."""
NO_MOVERS = (
    "channels to other queue managers are not supported: what is put on a transmission queue is "
    "sent by itself"
)
NOT_STOPPED = (
    "a channel for clients cannot be stopped: end connections with STOP CONN; senders are the "
    "channels that DISPLAY CHANNEL shows with CHLTYPE(SDR)"
)
STOPPING = table(
    choice("MODE", 1008, "how", {"QUIESCE": 0, "FORCE": 1, "TERMINATE": 2}),
    choice("STATUS", 1527, "what it is then", {"STOPPED": 6}),
)
UNAVAILABLE_COMMANDS = {
    ("PURGE", "CHANNEL"): "a channel cannot be purged: end connections with STOP CONN",
    ("PING", "CHANNEL"): "a channel for clients cannot be pinged: use PING QMGR",
    ("RESET", "CHANNEL"): NO_MOVERS,
    ("RESOLVE", "CHANNEL"): NO_MOVERS,
    ("MOVE", "QLOCAL"): "messages cannot be moved to another queue by a command",
    ("RESUME", "QMGR"): "clusters are not supported",
    ("SUSPEND", "QMGR"): "clusters are not supported",
    ("REFRESH", "QMGR"): "the queue manager has no state to refresh",
    ("RESET", "QMGR"): "the queue manager has no state to reset",
    ("START", "QMGR"): "start a queue manager with `mqk qmgr start`",
    ("STOP", "QMGR"): "stop a queue manager with `mqk qmgr stop`",
    ("START", "CMDSERV"): "the command server starts by itself with the first command",
    ("STOP", "CMDSERV"): "inhibit gets of SYSTEM.ADMIN.COMMAND.QUEUE instead",
}
"""Commands that would promise what does not happen, with what to do instead."""
OF_MOVERS = frozenset({"SDR", "SVR", "RQSTR", "CLUSSDR", "CLUSRCVR"})
"""Types of channels between queue managers, which are read and have no effect."""
MOVER = {
    "DEFINE": Accepted("channel", 8014, NO_MOVERS),
    "ALTER": Accepted("channel", 8016, NO_MOVERS),
    "DELETE": Accepted("channel", 8015, NO_MOVERS),
}
"""What becomes of their definitions."""
NONE_EXIST = {
    ("DISPLAY", "CHLAUTH"): ("channel authentication record", NO_RULES),
    ("DISPLAY", "SVSTATUS"): ("service status", UNAVAILABLE["SERVICE"]),
}
"""Inquiries that find nothing, and what holds instead."""


UNSUPPORTED_VALUES = {
    "CHLTYPE": dict.fromkeys(
        ("SDR", "SVR", "RQSTR", "CLUSSDR", "CLUSRCVR", "AMQP", "MQTT"), NO_MOVERS
    )
    | dict.fromkeys(("AMQP", "MQTT"), "clients connect by SVRCONN channels only"),
    "AUTHTYPE": dict.fromkeys(
        ("CRLLDAP", "OCSP", "IDPWLDAP"), "users are in a file: only IDPWOS is supported"
    ),
    "TRPTYPE": dict.fromkeys(("LU62", "NETBIOS", "SPX"), "clients connect by TCP only"),
}
"""Values of IBM MQ for what does not exist here, with the reason, by keyword of the attribute."""


class UnsupportedError(Exception):
    """An attribute has a value that the queue manager would not act upon."""

    def __init__(self, text: str, keyword: str) -> None:
        super().__init__(text)
        self.text = text
        self.keyword = keyword


def problem(row: AttributeRow, value: Any) -> str | None:
    """Say what is wrong with the value of an attribute without effect; None if MQ takes it."""
    said = problem_with({row.name: row}, "an object", row.name, value)
    return said.replace(row.name, row.attribute.keyword) if said else None


def is_noted(row: AttributeRow, value: Any) -> bool:
    """Say whether it must be reported that a value has no effect; not if it holds anyway.

    Raises UnsupportedError if the value would promise something.
    """
    holds = row.default
    if isinstance(value, str) and value.strip().upper() == str(holds).upper():
        return False
    if value == holds:
        return False
    if row.attribute.promise:
        keyword = row.attribute.keyword
        raise UnsupportedError(
            f"{keyword} takes only the value {str(holds) or chr(39) + chr(39)} here: what it asks "
            "for is not supported; leave it out",
            keyword,
        )
    return True


def missing(kind: str, given: Mapping[str, Iterable[Any]]) -> str | None:
    """Say which parameter a command lacks; None if it has what it needs."""
    return _missing_of_rule(given) if kind == "CHLAUTH" else None


def _missing_of_rule(given: Mapping[str, Iterable[Any]]) -> str | None:
    if list(given.get("ACTION", ())) == ["REMOVEALL"]:
        return None
    if "TYPE" not in given:
        return "TYPE"
    (kind,) = given["TYPE"]
    needed = NEEDED_BY_TYPE[str(kind)]
    return needed if needed not in given else None
