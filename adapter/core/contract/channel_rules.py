"""Channel authentication records: who may connect by which channel, and as whom (CHLAUTH).

As on IBM MQ: mapping rules say as which user a client, or the messages of another queue manager,
count, or that they have no access; blocking rules refuse users and addresses. This module does not
know which rule counts.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Any, Final, Literal, get_args

from msgspec import Meta, Struct

from adapter.core.contract.authorities import ENTITY_LENGTH_MAX
from adapter.core.contract.bounds import ELEMENTS_MAX

Kind = Literal["BLOCKUSER", "BLOCKADDR", "SSLPEERMAP", "ADDRESSMAP", "USERMAP", "QMGRMAP"]
Source = Literal["MAP", "NOACCESS", "CHANNEL"]
Action = Literal["ADD", "REPLACE", "REMOVE", "REMOVEALL"]
Check = Literal["ASQMGR", "REQUIRED", "REQDADM"]
Texts = Annotated[list[str], Meta(max_length=ELEMENTS_MAX)]

ADMINISTRATORS: Final = "*MQADMIN"
"""In a list of blocked users: all who may change the queue manager."""
DEFAULT_CHANNEL: Final = "SYSTEM.DEF.SVRCONN"
"""The channel of clients that name none."""
LISTED_MAX: Final = 256
TEXT_MAX: Final = 1024
NEEDED: Final[dict[str, str]] = {
    "BLOCKUSER": "users",
    "BLOCKADDR": "addresses",
    "SSLPEERMAP": "peer",
    "ADDRESSMAP": "address",
    "USERMAP": "client_user",
    "QMGRMAP": "queue_manager",
}
"""By kind: the field that must be given."""
ALLOWED: Final[dict[str, frozenset[str]]] = {
    "BLOCKUSER": frozenset({"users"}),
    "BLOCKADDR": frozenset({"addresses"}),
    "SSLPEERMAP": frozenset({"peer", "issuer", "address", "mca_user"}),
    "ADDRESSMAP": frozenset({"address", "mca_user"}),
    "USERMAP": frozenset({"client_user", "address", "mca_user"}),
    "QMGRMAP": frozenset({"queue_manager", "mca_user"}),
}
"""By kind: the fields that may be given; an address of a queue manager is not known."""
ANY: Final = "*"
_MAPPED: Final = re.compile("(?:0{1,4}:){5}ffff:", re.IGNORECASE)
"""Begins a pattern of IPv6 that no address fits: of such hosts the one of IPv4 is compared."""
_PART: Final = re.compile(r"[0-9a-fA-F]{1,4}(?:-[0-9a-fA-F]{1,4})?")
_PRINTABLE: Final = re.compile(r"[^\x00-\x1f\x7f]*")


class ChannelRule(Struct, array_like=True):
    """One record. What is empty is any.

    profile: the name of a channel, or one with *. address: of the client, as 10.1.*, or 10.1.2-7.*.
    client_user: the user that the client is before this. peer, issuer: parts of the names in its
    certificate, as CN=till*,O=Shop. queue_manager: whose messages, with * at its end. source: MAP:
    it counts as mca_user; NOACCESS: it is refused; CHANNEL: nothing is changed. users, addresses:
    those that are blocked. warn: who would be refused is only noted. check_client: whether it must
    have given a password or a token: REQUIRED: each client; REQDADM: each that may change the queue
    manager; ASQMGR: as CONNAUTH says.
    """

    profile: str
    kind: str
    address: str = ""
    client_user: str = ""
    peer: str = ""
    issuer: str = ""
    queue_manager: str = ""
    source: str = "MAP"
    mca_user: str = ""
    users: list[str] = []
    addresses: list[str] = []
    warn: bool = False
    description: str = ""
    check_client: str = "ASQMGR"

    @property
    def key(self) -> tuple[str, ...]:
        """What no two records have together."""
        return (
            *(self.profile, self.kind, self.address, self.client_user, self.peer),
            *(self.issuer, self.queue_manager),
        )


class ChannelRuleSet(Struct):
    """A channel authentication record came to be, or is another one now; is_gone: or is gone."""

    rule: ChannelRule
    is_gone: bool = False
    logged: bool = True


class SetChannelRule(Struct, array_like=True, tag=56):
    """Set, change or delete a channel authentication record (SET CHLAUTH). Durable.

    action: ADD: of a list these are added to those that are there; a mapping must be new. REPLACE:
    whatever was there. REMOVE: of a list these are taken away, a mapping is deleted. REMOVEALL: all
    of this profile and kind are deleted; kind "": of every kind.
    """

    profile: str
    kind: str
    action: str = "ADD"
    address: str = ""
    client_user: str = ""
    peer: str = ""
    issuer: str = ""
    queue_manager: str = ""
    source: str = "MAP"
    mca_user: str = ""
    users: Texts = []
    addresses: Texts = []
    warn: bool = False
    description: str = ""
    check_client: str = "ASQMGR"


class InquireChannelRules(Struct, array_like=True, tag=57):
    """Ask for channel authentication records (DISPLAY CHLAUTH).

    profile: whose profile is this, or fits it, if it has *; "": all. is_check: profile is the name
    of a channel, and the answer is the records that would count for a client of this address, user
    and certificate, or for this queue manager (MATCH(RUNCHECK)).
    """

    profile: str = ""
    kind: str = ""
    is_check: bool = False
    address: str = ""
    client_user: str = ""
    peer: str = ""
    issuer: str = ""
    queue_manager: str = ""


def problem_with(rule: ChannelRule) -> str:
    """Say why a record is not valid; "" if it is."""
    if rule.kind not in ALLOWED:
        return f"{rule.kind!r} is no type of record: use {', '.join(ALLOWED)}"
    if not rule.profile or len(rule.profile) > 20:
        return "a channel's name has 1 to 20 characters; * is any number of them"
    if rule.kind == "BLOCKADDR" and rule.profile != "*":
        return "BLOCKADDR is of all channels: its profile is *"
    if not getattr(rule, NEEDED[rule.kind]):
        return f"{rule.kind} needs {NEEDED[rule.kind]}"
    named = {"address", "client_user", "peer", "issuer", "queue_manager", "mca_user"}
    given = {one for one in (*named, "users", "addresses") if getattr(rule, one)}
    other = sorted(given - ALLOWED[rule.kind])
    if other:
        return f"{rule.kind} has no {', '.join(other)}"
    return _problem_with_source(rule) or _problem_with_texts(rule)


def _problem_with_source(rule: ChannelRule) -> str:
    if rule.kind in ("BLOCKUSER", "BLOCKADDR"):
        if rule.source != "MAP" or rule.check_client != "ASQMGR":
            return f"{rule.kind} has no source of the user, and checks no password"
        return ""
    if rule.source not in get_args(Source):
        return f"{rule.source!r} is no source of the user: use {', '.join(get_args(Source))}"
    if (rule.source == "MAP") != bool(rule.mca_user):
        return "mca_user is given with source MAP, and only with it"
    if rule.warn and rule.source != "NOACCESS":
        return "warn is of what is refused"
    if rule.check_client not in get_args(Check):
        return f"{rule.check_client!r} is no check of clients: use {', '.join(get_args(Check))}"
    is_of_clients = rule.kind != "QMGRMAP" and rule.source != "NOACCESS"
    if rule.check_client != "ASQMGR" and not is_of_clients:
        return "check_client is of clients that have access"
    return ""


def _problem_with_texts(rule: ChannelRule) -> str:
    texts: list[Any] = [one for one in (*rule.key, rule.description) if one]
    if any(len(one) > TEXT_MAX or not _PRINTABLE.fullmatch(one) for one in texts):
        return f"a value has {TEXT_MAX} printable characters at most"
    users = [*rule.users, *([rule.mca_user] if rule.mca_user else [])]
    if any(not 0 < len(one) <= ENTITY_LENGTH_MAX or not one.isprintable() for one in users):
        return f"a user has 1 to {ENTITY_LENGTH_MAX} printable characters"
    if max(len(rule.users), len(rule.addresses)) > LISTED_MAX:
        return f"a list has {LISTED_MAX} at most"
    for address in (*rule.addresses, *([rule.address] if rule.address else [])):
        if not is_address_pattern(address):
            return f"{address!r} is no address, such as 10.1.2.3, 10.1.2-7.* or fd00:*"
    for name in (rule.peer, rule.issuer):
        if name and not all("=" in one for one in name.split(",")):
            return f"{name!r} is no part of a certificate's name, such as CN=till*,O=Shop"
    return ""


def is_address_pattern(text: str) -> bool:
    """Whether a text means addresses that there can be: a record that fits none protects nothing.

    It has four parts, or eight of IPv6, each *, a number, or a range; * at the end is all others.
    `::` is of whole addresses alone.
    Addresses of IPv4 that are written as such of IPv6 are compared as those of IPv4.

    >>> [is_address_pattern(one) for one in ("10.1.2-7.*", "fd00:*", "::1")]
    [True, True, True]
    >>> [is_address_pattern(one) for one in ("::ffff:10.1.2.3", "0:0:0:0:0:ffff:*")]
    [True, False]
    >>> [is_address_pattern(one) for one in ("10.1.2", "300.1.1.1", "10.9-7.*", "fd00::1-5")]
    [False, False, False, False]
    >>> [is_address_pattern(one) for one in ("2001:db8::5:*", "::1:*", "::*")]
    [False, False, False]
    """
    if ":" not in text:
        return _are_parts(text.split("."), 4, 255)
    if ANY not in text and "-" not in text:
        try:
            return ipaddress.ip_address(text).version == 6
        except ValueError:
            return False
    return not _MAPPED.match(text) and _are_parts(text.split(":"), 8, 0xFFFF)


def _are_parts(parts: list[str], count: int, most: int) -> bool:
    is_whole = len(parts) == count or (len(parts) < count and parts[-1:] == [ANY])
    return is_whole and all(one == ANY or _is_range(one, most) for one in parts)


def _is_range(part: str, most: int) -> bool:
    """Whether a part is a number up to the most, or a range of them."""
    if not _PART.fullmatch(part):
        return False
    base = 16 if most > 255 else 10
    first, _, last = part.partition("-")
    try:
        return int(first, base) <= int(last or first, base) <= most
    except ValueError:
        return False
