"""Channel authentication records as MQSC and PCF give them: parameters, and what is done with them.

This module does not know how MQSC and PCF write a command.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from adapter.administration.without_effect import YES
from adapter.client.connection import Connection
from adapter.core.attributes.unsupported import choice, table, text
from adapter.core.contract.channel_rules import NEEDED, ChannelRule
from adapter.errors import NotAuthorized

TYPES: Final = {
    "BLOCKUSER": 1,
    "BLOCKADDR": 2,
    "SSLPEERMAP": 3,
    "ADDRESSMAP": 4,
    "USERMAP": 5,
    "QMGRMAP": 6,
}
"""MQCAUT_*."""
SOURCES: Final = {"MAP": 0, "NOACCESS": 1, "CHANNEL": 2}
"""MQUSRC_*."""
CHECKS: Final = {"REQDADM": 2, "REQUIRED": 3, "ASQMGR": 4}
"""MQCHK_*."""
_OF_CLIENTS: Final = (
    text("ADDRESS", 3506, "of clients", 264),
    text("CLNTUSER", 3567, "the user that clients are", 1024),
    text("QMNAME", 2015, "the queue manager whose messages come"),
    text("SSLCERTI", 2130, "who signed the certificate", 1024),
    text("SSLPEER", 3545, "of the certificate", 1024),
)
RULE = table(
    choice("TYPE", 1352, "what the rule is about", TYPES),
    choice("ACTION", 1086, "what to do", {"ADD": 5, "REPLACE": 6, "REMOVE": 7, "REMOVEALL": 8}),
    text("ADDRLIST", 3566, "addresses that are blocked", 264),
    choice("CHCKCLNT", 258, "whether clients must give a password", CHECKS),
    text("CUSTOM", 2119, "settings without a parameter of their own", 0),
    text("DESCR", 2118, "free text", 64),
    text("MCAUSER", 3527, "as which user clients count", 64),
    text("USERLIST", 3568, "users that are blocked", 64),
    choice("USERSRC", 1638, "where the user is from", SOURCES),
    choice("WARN", 1639, "only warn", YES),
    *_OF_CLIENTS,
)
"""The parameters of SET CHLAUTH."""
SHOWN = table(
    choice("TYPE", 1352, "what the rules are about", TYPES | {"ALL": 0}),
    choice("MATCH", 1637, "which rules", {"GENERIC": 0, "RUNCHECK": 1, "EXACT": 2, "ALL": 3}),
    *_OF_CLIENTS,
)
"""The parameters of DISPLAY CHLAUTH that take a value."""
FIELDS: Final[dict[str, str]] = {
    "ADDRESS": "address",
    "CLNTUSER": "client_user",
    "SSLPEER": "peer",
    "SSLCERTI": "issuer",
    "QMNAME": "queue_manager",
    "MCAUSER": "mca_user",
    "DESCR": "description",
}
"""Parameters with one text, and what they are here."""
LISTED: Final[dict[str, str]] = {"USERLIST": "users", "ADDRLIST": "addresses"}
_KEYWORDS: Final = {name: keyword for keyword, name in (FIELDS | LISTED).items()}
RUNCHECK: Final = "RUNCHECK"
NOT_CHECKED: Final = (
    "channel authentication records do not count until ALTER QMGR CHLAUTH(ENABLED); every channel "
    "name is accepted"
)
Given = Mapping[str, list[Any]]
"""Parameters by keyword, each with its values in words."""


def missing(given: Given) -> str | None:
    """Say which parameter SET CHLAUTH lacks; None if it has what it needs."""
    if list(given.get("ACTION", ())) == ["REMOVEALL"]:
        return None
    if "TYPE" not in given:
        return "TYPE"
    needed = _KEYWORDS[NEEDED[str(given["TYPE"][0])]]
    return needed if needed not in given else None


def pointless(given: Given) -> str | None:
    """Say which parameter of DISPLAY CHLAUTH is of who comes, where that is not asked."""
    if _word(given, "MATCH", "GENERIC") == RUNCHECK:
        return None
    return next((word for word in given if word in FIELDS), None)


def change(qm: Connection, channel: str, given: Given) -> bool:
    """Do SET CHLAUTH; whether records count. Raises the errors of the SDK."""
    users, addresses = (
        [str(one).strip() for one in given.get(word, ()) if str(one).strip()] for word in LISTED
    )
    source = _word(given, "USERSRC", "MAP")
    qm.set_channel_rule(
        channel,
        _word(given, "TYPE", ""),
        _word(given, "ACTION", "ADD"),
        users=users,
        addresses=addresses,
        source=source,
        warn=_word(given, "WARN", "NO") == "YES",
        check_client=_word(given, "CHCKCLNT", "ASQMGR"),
        **_texts(given),
    )
    try:
        return qm.channel_rules(channel).checked == "ENABLED"
    except NotAuthorized:  # who may set them and not see them
        return True


def find(qm: Connection, channel: str, given: Given) -> list[ChannelRule]:
    """Return what DISPLAY CHLAUTH shows."""
    word = _word(given, "TYPE", "ALL")
    kind = "" if word == "ALL" else word
    match = _word(given, "MATCH", "GENERIC")
    if match == RUNCHECK:
        return qm.channel_rules(channel, kind, check=True, **_texts(given)).rules
    found = qm.channel_rules("" if channel == "*" and match != "EXACT" else channel, kind).rules
    return [one for one in found if match != "EXACT" or one.profile == channel]


def _word(given: Given, keyword: str, default: str) -> str:
    return str(given.get(keyword, [default])[0])


def _texts(given: Given) -> dict[str, str]:
    return {
        name: str(given[word][0]).strip()
        for word, name in FIELDS.items()
        if word in given and str(given[word][0]).strip()
    }
