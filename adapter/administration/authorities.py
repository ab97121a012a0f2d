"""Authority records as MQSC and PCF give them: their parameters, and what is done with them.

Records of objects that do not exist here, such as services of IBM MQ, are kept like all others.
This module does not know how MQSC and PCF write a command.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from adapter.client.connection import Connection
from adapter.core.attributes.unsupported import choice, table, text
from adapter.core.contract.authorities import (
    APPLICABLE,
    PROFILE_LENGTH_MAX,
    QUEUE_MANAGER,
    AuthorityRecord,
    words_of,
)
from adapter.core.contract.authority_commands import Selection
from adapter.errors import NotAuthorized

_NUMBERED_FROM_0 = (
    *("NONE", "ALTUSR", "BROWSE", "CHG", "CLR", "CONNECT", "CRT", "DLT", "DSP"),
    *("GET", "INQ", "PUT"),
    *("PASSALL", "PASSID", "SET", "SETALL", "SETID", "CTRL", "CTRLX", "PUB", "SUB", "RESUME"),
    "SYSTEM",
)
AUTHORITIES: Final = {word: number for number, word in enumerate(_NUMBERED_FROM_0)} | {
    "ALL": -1,
    "ALLADM": -2,
    "ALLMQI": -3,
}
"""MQAUTH_* by MQSC's word."""
OBJECT_TYPES: Final = {
    "QUEUE": 1,
    "NAMELIST": 2,
    "PROCESS": 3,
    "QMGR": 5,
    "CHANNEL": 6,
    "AUTHINFO": 7,
    "TOPIC": 8,
    "COMMINFO": 9,
    "LISTENER": 11,
    "SERVICE": 12,
    "CLNTCONN": 1014,
    "RQMNAME": 1017,
    # MQ has none of these: the numbers are none of its own.
    "FEED": 900_101,
    "EXPORT": 900_102,
    "REGISTRY": 900_103,
}
PRINCIPAL, GROUP = 1, 2
"""MQZAET_*."""
RECORD = table(
    text("PROFILE", 3067, "which objects", PROFILE_LENGTH_MAX),
    choice("OBJTYPE", 1016, "their type", OBJECT_TYPES),
    text("GROUP", 3066, "whose rights", 1024),
    text("PRINCIPAL", 3065, "whose rights", 1024),
    choice("AUTHADD", 1116, "rights that are given", AUTHORITIES),
    choice("AUTHRMV", 1117, "rights that are taken", AUTHORITIES),
    text("SERVCOMP", 3069, "the service that keeps them"),
)
"""The parameters of SET and DELETE AUTHREC."""
SHOWN = table(
    text("PROFILE", 3067, "which objects", PROFILE_LENGTH_MAX),
    choice("OBJTYPE", 1016, "their type", OBJECT_TYPES | {"ALL": 1001}),
    text("GROUP", 0, "whose rights", 1024),
    text("PRINCIPAL", 0, "whose rights", 1024),
    choice("MATCH", 0, "which records", {"PROFILE": 0, "MEMBERSHIP": 1, "EXACT": 2}),
    text("SERVCOMP", 3069, "the service that keeps them"),
)
"""The parameters of DISPLAY AUTHREC that take a value."""
SHOWN_WORDS: Final = frozenset({"ALL", "AUTHLIST", "ENTITY", "ENTTYPE"})
"""Those that take none; they make no difference: all is shown."""
SECURITY = table(
    choice("TYPE", 1106, "of what", {"AUTHSERV": 1, "SSL": 2, "CLASSES": 3, "CONNAUTH": 4})
)
Given = Mapping[str, list[Any]]
"""Parameters by keyword, each with its values in words."""
MATCHES: Final[dict[str, Selection]] = {
    "PROFILE": "matching",
    "MEMBERSHIP": "members",
    "EXACT": "records",
}


def missing(verb: str, given: Given) -> str | None:
    """Say which parameter SET or DELETE AUTHREC lacks; None if it has what it needs."""
    if "OBJTYPE" not in given:
        return "OBJTYPE"
    if "PROFILE" not in given and list(given["OBJTYPE"]) != ["QMGR"]:
        return "PROFILE"
    if "GROUP" not in given and "PRINCIPAL" not in given:
        return "GROUP or PRINCIPAL"
    if verb == "SET" and "AUTHADD" not in given and "AUTHRMV" not in given:
        return "AUTHADD or AUTHRMV"
    return None


NOT_CHECKED: Final = (
    "authorities are not checked; every client that may connect may use and administer every "
    "object, until the queue manager is started with the setting authorities = yes"
)


def are_checked(qm: Connection) -> bool:
    """Whether records count; who may not ask is the proof that they do."""
    try:
        return qm.authorities(object_type=QUEUE_MANAGER).are_checked
    except NotAuthorized:
        return True


def change(qm: Connection, verb: str, given: Given) -> str:
    """Do SET or DELETE AUTHREC; return the profile. Raises the errors of the SDK."""
    object_type, profile = _of(given)
    names = {"users": _entities(given, "PRINCIPAL"), "groups": _entities(given, "GROUP")}
    if verb == "DELETE":
        qm.delete_authority(profile, object_type, **names)
        return profile
    add, remove = (_words(given, one) for one in ("AUTHADD", "AUTHRMV"))
    qm.set_authority(profile, object_type, **names, add=add, remove=remove)
    return profile


def _of(given: Given) -> tuple[str, str]:
    (object_type,) = given["OBJTYPE"]
    profile = str(given["PROFILE"][0]) if "PROFILE" in given else ""
    return str(object_type).lower(), profile.strip()


def _entities(given: Given, keyword: str) -> list[str]:
    """Return users or groups; those of Windows may have a domain behind @, as MQ writes them."""
    return [str(one).strip() for one in given.get(keyword, ()) if str(one).strip()]


def _words(given: Given, keyword: str) -> list[str]:
    return [str(one).lower() for one in given.get(keyword, ())]


def find(qm: Connection, given: Given) -> list[AuthorityRecord]:
    """Return what DISPLAY AUTHREC shows."""
    object_type, profile = _of({"OBJTYPE": ["ALL"]} | dict(given))
    match = MATCHES[str(given.get("MATCH", ["PROFILE"])[0])]
    found = qm.authorities(
        profile,
        "" if object_type == "all" else object_type,
        user=next(iter(_entities(given, "PRINCIPAL")), ""),
        group=next(iter(_entities(given, "GROUP")), ""),
        of=match,
    )
    return found.records


def words_shown(object_type: str, bits: int) -> list[str]:
    """Return the words of a record as MQ shows them; NONE of a record without authorities."""
    return [one.upper() for one in words_of(bits & APPLICABLE[object_type])] or ["NONE"]


def numbers_shown(object_type: str, bits: int) -> tuple[int, ...]:
    """Return MQAUTH_* of a record."""
    return tuple(AUTHORITIES[word] for word in words_shown(object_type, bits))
