"""Commands and attributes of IBM MQ that are read and checked, and have no effect here.

Scripts for IBM MQ define listeners and other channels beside the queues that they define. They
are not stopped by what does not exist here: it is accepted, and the answer says that it has no
effect. What would change messages, or let clients believe that they are protected, is refused. This
module does not know how MQSC and PCF write a command.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from adapter.core.attributes.table import Attribute, AttributeRow, Table, problem_with
from adapter.core.attributes.unsupported import choice, table, text, whole
from adapter.host.texts import NOT_SHOWN

YES = {"NO": 0, "YES": 1}
NAMES_MAX = 256
SECRETS = frozenset({"INITKEY", "KEYRPWD"})
"""Attributes whose values no answer and no log repeats."""
LISTS = frozenset({"GROUP", "PRINCIPAL", "AUTHADD", "AUTHRMV", "ADDRLIST", "USERLIST"})
"""Parameters that take several values, of commands that change something; every other one takes one
value, and so do all of those that ask.
"""
ONE_EACH: frozenset[str] = frozenset()
"""The lists of commands that ask."""

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
MOVER_KEYWORDS = frozenset(
    {
        *("BATCHINT", "BATCHLIM", "CLUSNL", "CLUSTER", "CLWLPRTY", "CLWLRANK", "CLWLWGHT"),
        *("CMDSCOPE", "CONVERT", "DEFCDISP", "LONGRTY", "LONGTMR", "MCANAME", "MCATYPE", "NETPRTY"),
        *("PASSWORD", "PROPCTL", "QSGDISP", "SHORTRTY", "SHORTTMR", "SPLPROT", "USERID", "XMITQ"),
        *("REPLACE", "NOREPLACE", "LIKE", "CHLTABLE", "IGNSTATE", "AUTHREC"),
    }
)  # fmt: skip
"""What their definitions may give, besides attributes that channels for clients have, too."""
MOVER = {
    "DEFINE": Accepted("channel", 8014, NO_MOVERS),
    "ALTER": Accepted("channel", 8016, NO_MOVERS),
    "DELETE": Accepted("channel", 8015, NO_MOVERS),
}
"""What becomes of their definitions."""
NONE_EXIST = {
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


def given_as(keyword: str, text: str) -> str:
    """Return an attribute as it was given, for people: passwords are left out."""
    return f"{keyword}({NOT_SHOWN if keyword in SECRETS else text})"
