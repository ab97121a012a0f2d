"""Authorities: what a principal may do with an object, as bits, by the words of IBM MQ.

An authority record says which bits a user or a group has on the objects that a profile means, of
one type. This module does not know which command needs which bit.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

# MQZAO_*: what may be done by calls of the MQI.
CONNECT: Final = 0x1
BROWSE: Final = 0x2
GET: Final = 0x4
PUT: Final = 0x8
INQUIRE: Final = 0x10
SET: Final = 0x20
PASS_IDENTITY: Final = 0x40
PASS_ALL: Final = 0x80
SET_IDENTITY: Final = 0x100
SET_ALL: Final = 0x200
ALTERNATE_USER: Final = 0x400
PUBLISH: Final = 0x800
SUBSCRIBE: Final = 0x1000
RESUME: Final = 0x2000
# What may be done by commands.
CREATE: Final = 0x10000
DELETE: Final = 0x20000
DISPLAY: Final = 0x40000
CHANGE: Final = 0x80000
CLEAR: Final = 0x100000
CONTROL: Final = 0x200000
CONTROL_EXTENDED: Final = 0x400000
SYSTEM: Final = 0x2000000
"""MQZAO_SYSTEM: kept, and needed for nothing here."""

WORDS: Final[dict[str, int]] = {
    "altusr": ALTERNATE_USER,
    "browse": BROWSE,
    "chg": CHANGE,
    "clr": CLEAR,
    "connect": CONNECT,
    "crt": CREATE,
    "ctrl": CONTROL,
    "ctrlx": CONTROL_EXTENDED,
    "dlt": DELETE,
    "dsp": DISPLAY,
    "get": GET,
    "inq": INQUIRE,
    "passall": PASS_ALL,
    "passid": PASS_IDENTITY,
    "pub": PUBLISH,
    "put": PUT,
    "resume": RESUME,
    "set": SET,
    "setall": SET_ALL,
    "setid": SET_IDENTITY,
    "sub": SUBSCRIBE,
    "system": SYSTEM,
}
"""The bits by their words, in the order in which they are shown."""
ALL_MQI: Final = 0x3FFF
ALL_ADMINISTRATION: Final = 0xFE0000 | CREATE
ALL: Final = ALL_MQI | ALL_ADMINISTRATION
NONE: Final = 0
GROUPS_OF_WORDS: Final[dict[str, int]] = {
    "all": ALL,
    "alladm": ALL_ADMINISTRATION,
    "allmqi": ALL_MQI,
    "none": NONE,
}
"""Words for several bits: of each type of object those that it can have."""

QUEUE_MANAGER: Final = "qmgr"
QUEUE: Final = "queue"
TOPIC: Final = "topic"
SERVICE: Final = "service"
REGISTRY: Final = "registry"
"""Subjects of the queue manager's own schema registry; what is of all of them is of SELF."""
_OBJECT: Final = CREATE | DELETE | DISPLAY | CHANGE
_CONTEXTS: Final = PASS_IDENTITY | PASS_ALL | SET_IDENTITY | SET_ALL
_CONTROLS: Final = CONTROL | CONTROL_EXTENDED
APPLICABLE: Final[dict[str, int]] = {
    QUEUE: BROWSE | GET | PUT | INQUIRE | SET | _CONTEXTS | _OBJECT | CLEAR,
    QUEUE_MANAGER: CONNECT | INQUIRE | SET | SET_IDENTITY | SET_ALL | ALTERNATE_USER
    | _OBJECT | _CONTROLS | SYSTEM,
    "process": INQUIRE | SET | _OBJECT,
    "namelist": INQUIRE | _OBJECT,
    TOPIC: PUBLISH | SUBSCRIBE | RESUME | _CONTEXTS | _OBJECT | CLEAR | CONTROL,
    "channel": _OBJECT | _CONTROLS,
    "authinfo": INQUIRE | _OBJECT,
    "listener": _OBJECT | CONTROL,
    SERVICE: PUT | _OBJECT | CONTROL,
    "clntconn": _OBJECT,
    "comminfo": _OBJECT,
    "rqmname": PUT,
    "feed": _OBJECT | CONTROL,
    "export": _OBJECT | CONTROL,
    REGISTRY: DISPLAY | CHANGE,
}  # fmt: skip
"""Which bits objects of each type can have."""
TYPE_OF_KIND: Final[dict[str, str]] = {
    "queue": QUEUE,
    "alias": QUEUE,
    "remote": QUEUE,
    "model": QUEUE,
    "subscription": TOPIC,
    "queue_manager": QUEUE_MANAGER,
}
"""The type of objects of a kind, where it has another name."""

SELF: Final = "SELF"
"""The profile of the queue manager, and the name by which it is checked."""
CLASS: Final = "@CLASS"
"""The profile by which MQ says who may create objects of a type, whatever their names are."""
EVERYONE: Final = "everyone"
"""The group of all principals, also of those that have not proved who they are."""
ENTITY_LENGTH_MAX: Final = 64
PROFILE_LENGTH_MAX: Final = 512
"""Names of queues of MSMQ and of services are longer than those of MQ."""
_PRINTABLE: Final = re.compile(r"[^\x00-\x1f\x7f]*")


class AuthorityRecord(Struct, array_like=True):
    """What an entity may do with objects that a profile means. bits: 0 is a record too: none."""

    profile: str
    object_type: str
    entity: str
    is_group: bool
    bits: int


class Denial(Struct):
    """What a connection lacked: for the log; a client hears the reason and the name alone.

    user: whose authority was asked for, which may be an alternate one. missing: the bits.
    """

    connection: int
    user: str
    command: str
    object_type: str
    name: str
    missing: int


def words_of(bits: int) -> list[str]:
    """Return the words of bits, in order.

    >>> words_of(PUT | INQUIRE)
    ['inq', 'put']
    """
    return [word for word, bit in WORDS.items() if bits & bit]


def bits_of(object_type: str, words: list[str]) -> int:
    """Return the bits of words for a type of object. Raises ValueError that says what is wrong."""
    bits = 0
    for given in words:
        word = given.lower()
        if word in GROUPS_OF_WORDS:
            bits |= GROUPS_OF_WORDS[word] & APPLICABLE[object_type]
            continue
        bit = WORDS.get(word)
        if bit is None:
            known = ", ".join((*WORDS, *GROUPS_OF_WORDS))
            raise ValueError(f"unknown authority {given!r}: use {known}")
        bits |= bit
    return bits


def problem_with_bits(object_type: str, bits: int) -> str:
    """Say which bits objects of a type cannot have; "" if it can have all of them."""
    other = bits & ~APPLICABLE[object_type]
    if not other:
        return ""
    words = ", ".join(words_of(other)) or hex(other)
    can = ", ".join(words_of(APPLICABLE[object_type]))
    return f"objects of type {object_type} have no authority {words}; they have {can}"


def problem_with_profile(object_type: str, profile: str) -> str:
    """Say why a profile is not valid; "" if it is."""
    if not profile or len(profile) > PROFILE_LENGTH_MAX or not _PRINTABLE.fullmatch(profile):
        return f"a profile has 1 to {PROFILE_LENGTH_MAX} printable characters"
    if object_type == QUEUE_MANAGER and profile != SELF:
        return f"the profile of the queue manager is {SELF}"
    qualifiers = profile.split(".")
    if qualifiers.count("**") > 1 or any("**" in one for one in qualifiers if one != "**"):
        return f"** stands once in a profile, for whole qualifiers, not as in {profile!r}"
    return ""
