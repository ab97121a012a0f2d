"""Names of properties: which the MQI may set, and which of them a wildcard fits.

A property without a folder lies in the folder usr, as in MQ; its name is kept without it. Programs
of other faces name properties more freely: their names are found, and are not set here.
Reference: IBM MQ, "Property names", "Property name restrictions".
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from adapter import mq_constants as mq
from adapter.mqi.reasons import MqiFailure

NAME_LENGTH_MAX = 4_095
USER_FOLDER = "usr."
WILDCARD = "%"
KEYWORDS = frozenset(
    ["NULL", "TRUE", "FALSE", "NOT", "AND", "OR", "BETWEEN", "LIKE", "IN", "IS", "ESCAPE"]
)
"""Of selection strings, in any mixture of cases."""
OF_JMS = {
    "JMSCorrelationID": "jms.Cid",
    "JMSReplyTo": "jms.Rto",
    "JMSType": "mcd.Type",
    "JMSXGroupID": "jms.Gid",
    "JMSXGroupSeq": "jms.Seq",
}
"""What may be set of the names that begin with JMS, and another name of each."""
OF_PUBLICATIONS = {
    "MQTopicString": "mqps.Top",
    "MQSubUserData": "mqps.Sud",
    "MQIsRetained": "mqps.Ret",
}
"""What the queue manager says of a publication, and where in a header."""
SYNONYMS = OF_JMS | OF_PUBLICATIONS
SYNONYMS |= {other: name for name, other in SYNONYMS.items()}
"""Of each name the other one of the same property."""
RESERVED = ("Root.", "Body.")
PLANE_MAX = 0xFFFF
"""The Basic Multilingual Plane: no character beyond it."""
FIRST = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nl", "Sc", "Pc"})
LATER = FIRST | {"Nd", "Mn", "Mc", "Cf"}
"""Categories of the characters of Java's identifiers."""


def plain(name: str) -> str:
    """Take the folder off that a property lies in anyway. MqiFailure(2442, 2465)."""
    if not name:
        raise MqiFailure(mq.MQRC_PROPERTY_NAME_ERROR)
    if len(name) > NAME_LENGTH_MAX:
        raise MqiFailure(mq.MQRC_PROPERTY_NAME_TOO_BIG)
    return name.removeprefix(USER_FOLDER)


def single(name: str) -> str:
    """Return the plain name of one property. MqiFailure(2442, 2465), also for a wildcard."""
    short = plain(name)
    if WILDCARD in short:
        raise MqiFailure(mq.MQRC_PROPERTY_NAME_ERROR)
    return short


def known_as(name: str, known: Iterable[str]) -> str:
    """Return the name that a property has among those that are known: its own, or its synonym."""
    there = frozenset(known)
    other = SYNONYMS.get(name, name)
    return other if other in there and name not in there else name


def is_of_other_type(name: str, kind: int) -> bool:
    """Whether a property of JMS is set with another type than the header of JMS has."""
    if name not in OF_JMS:
        return False
    return kind != (mq.MQTYPE_INT32 if name == "JMSXGroupSeq" else mq.MQTYPE_STRING)


def to_set(name: str, known: Iterable[str]) -> str:
    """Return the plain name of a property that is to be set. MqiFailure(2442, 2465, 2498).

    known: the properties beside it; no name lies below another one.
    """
    short = plain(name)
    parts = short.split(".")
    is_identifier = all(parts) and all(
        unicodedata.category(letter) in (LATER if at else FIRST) and ord(letter) <= PLANE_MAX
        for at, letter in enumerate(short.replace(".", "_"))
    )
    is_reserved = (
        short.upper() in KEYWORDS
        or short.startswith(RESERVED)
        or (short.startswith("JMS") and short not in OF_JMS)
        or (len(parts) > 2 and parts[0].lower().startswith("mq") and parts[0] != "mq_usr")
    )
    if not is_identifier or is_reserved:
        raise MqiFailure(mq.MQRC_PROPERTY_NAME_ERROR)
    for one in known:
        if one.startswith(f"{short}.") or short.startswith(f"{one}."):
            raise MqiFailure(mq.MQRC_MIXED_CONTENT_NOT_ALLOWED)
    return short


def fitting(names: Iterable[str], wanted: str) -> list[str]:
    """Return the names that are meant: one, or all that fit with a % at the end."""
    short = plain(wanted)
    if WILDCARD not in short:
        return [name for name in names if short in (name, SYNONYMS.get(name))]
    start = short.removesuffix(WILDCARD)
    if WILDCARD in start:
        raise MqiFailure(mq.MQRC_PROPERTY_NAME_ERROR)
    in_usr = wanted.startswith(USER_FOLDER)
    return [
        name
        for name in names
        if any(one.startswith(start) for one in (name, SYNONYMS.get(name, name)))
        and not (in_usr and "." in name)
    ]
