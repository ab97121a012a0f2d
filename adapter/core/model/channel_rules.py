"""Channel authentication records, and which of them counts: hard state.

Of the mapping rules that fit, the most specific one counts, as on IBM MQ: first by the channel's
name, then by what it knows the client by (a certificate before a user or queue manager, these
before an address alone), then by how much it says of that, then by the address. Of the rules that
block users the one with the most specific name of a channel counts. This module does not know what
follows from a rule.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from adapter.core.contract.channel_rules import ChannelRule
from adapter.core.contract.wildcards import expression_of
from adapter.core.model.authorities import rank_of

Names = tuple[tuple[str, str], ...]
"""Parts of the name in a certificate: CN, O, ... and the value of each."""
KINDS_OF_MAPS = {"SSLPEERMAP": 0, "USERMAP": 1, "QMGRMAP": 1, "ADDRESSMAP": 2}
ANY = "*"


class Caller:
    """Who comes by a channel. host: its address, without a port. peer, issuer: names in its
    certificate. queue_manager: whose messages come; "": it is a client.
    """

    __slots__ = ("channel", "host", "issuer", "peer", "queue_manager", "user")

    def __init__(
        self,
        channel: str,
        host: str = "",
        user: str = "",
        peer: Names = (),
        issuer: Names = (),
        queue_manager: str = "",
    ) -> None:
        self.channel = channel
        self.host = host
        self.user = user
        self.peer = peer
        self.issuer = issuer
        self.queue_manager = queue_manager


class ChannelRules:
    """All channel authentication records of a queue manager."""

    def __init__(self) -> None:
        self._rules: dict[tuple[str, ...], ChannelRule] = {}

    def __len__(self) -> int:
        return len(self._rules)

    def set(self, rule: ChannelRule) -> None:
        """Take a record, in the place of the one of the same key."""
        self._rules[rule.key] = rule

    def get(self, key: tuple[str, ...]) -> ChannelRule | None:
        """Return the record of a key."""
        return self._rules.get(key)

    def remove(self, key: tuple[str, ...]) -> None:
        """Forget a record."""
        self._rules.pop(key, None)

    def every(self) -> Iterator[ChannelRule]:
        """Return all records."""
        yield from self._rules.values()

    def blocking_address(self, host: str) -> ChannelRule | None:
        """Return the record that blocks an address."""
        for rule in self._rules.values():
            if rule.kind == "BLOCKADDR" and any(fits_host(one, host) for one in rule.addresses):
                return rule
        return None

    def mapping(self, caller: Caller) -> ChannelRule | None:
        """Return the mapping rule that counts."""
        fitting = [one for one in self._rules.values() if _maps(one, caller)]
        return min(fitting, key=_rank_of_map, default=None)

    def blocking_user(self, channel: str) -> ChannelRule | None:
        """Return the record that says which users are blocked from a channel."""
        of_channel = [
            one
            for one in self._rules.values()
            if one.kind == "BLOCKUSER" and fits(one.profile, channel)
        ]
        return min(of_channel, key=lambda one: rank_of(one.profile), default=None)


def fits(pattern: str, text: str) -> bool:
    """Whether a text is what a pattern means, in which * is any number of characters."""
    if ANY not in pattern:
        return pattern == text
    return bool(re.fullmatch(expression_of(pattern, one=""), text))


def fits_host(pattern: str, host: str) -> bool:
    """Whether an address is one that a pattern means.

    >>> [fits_host("10.1.2-7.*", one) for one in ("10.1.7.9", "10.1.8.9", "::1")]
    [True, False, False]
    >>> fits_host("fd00:*", "fd00::1")
    True
    """
    if pattern == ANY:
        return bool(host)
    known = _parts_of(host)
    by, wanted = _pattern_parts(pattern)
    if known is None or known[0] != by:
        return False
    numbers = known[1]
    if len(wanted) < len(numbers) and wanted[-1] == ANY:
        wanted += [ANY] * (len(numbers) - len(wanted))
    if len(wanted) != len(numbers):
        return False
    base = 16 if by == ":" else 10
    return all(_fits_part(one, number, base) for one, number in zip(wanted, numbers, strict=True))


def _pattern_parts(pattern: str) -> tuple[str, list[str]]:
    """Return what is between the parts of a pattern, and these; one of IPv6 that is an address is
    written out, and as one of IPv4 if it means that: as hosts are.
    """
    by = ":" if ":" in pattern else "."
    if by == ":" and ANY not in pattern and "-" not in pattern:
        by, numbers = _parts_of(pattern) or (by, [])
        return by, [f"{one:x}" if by == ":" else str(one) for one in numbers]
    return by, [one for one in pattern.split(by) if one]


def _parts_of(host: str) -> tuple[str, list[int]] | None:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    mapped = getattr(address, "ipv4_mapped", None)
    address = mapped or address
    if address.version == 6:
        return ":", [int(one, 16) for one in address.exploded.split(":")]
    return ".", [int(one) for one in str(address).split(".")]


def _fits_part(pattern: str, number: int, base: int) -> bool:
    if pattern == ANY:
        return True
    first, _, last = pattern.partition("-")
    try:
        return int(first, base) <= number <= int(last or first, base)
    except ValueError:
        return False


def names_of(text: str) -> Names:
    """Return the parts of a certificate's name as a rule writes them.

    >>> names_of("CN=till*, O=Shop")
    (('CN', 'till*'), ('O', 'Shop'))
    """
    pairs = (one.partition("=") for one in text.split(",") if one.strip())
    return tuple((name.strip().upper(), value.strip()) for name, _, value in pairs)


def fits_names(pattern: str, names: Names) -> bool:
    """Whether a name in a certificate has all parts that a pattern names.

    >>> fits_names("CN=till*, O=Shop", (("O", "Shop"), ("CN", "till 7")))
    True
    >>> fits_names("CN=till*", (("OU", "till 7"),))
    False
    """
    return all(
        any(known == name and fits(wanted, value) for known, value in names)
        for name, wanted in names_of(pattern)
    )


def _maps(rule: ChannelRule, caller: Caller) -> bool:
    if rule.kind not in KINDS_OF_MAPS or not fits(rule.profile, caller.channel):
        return False
    if (rule.kind == "QMGRMAP") != bool(caller.queue_manager):
        return False
    return (
        (not rule.address or fits_host(rule.address, caller.host))
        and (not rule.client_user or rule.client_user == caller.user)
        and (not rule.peer or (bool(caller.peer) and fits_names(rule.peer, caller.peer)))
        and (not rule.issuer or fits_names(rule.issuer, caller.issuer))
        and (not rule.queue_manager or fits(rule.queue_manager, caller.queue_manager))
    )


def _rank_of_map(rule: ChannelRule) -> tuple[object, ...]:
    """Return how specific a mapping rule is: the smaller, the more."""
    return (
        rank_of(rule.profile),
        KINDS_OF_MAPS[rule.kind],
        _rank_of_names(rule.peer),
        _rank_of_names(rule.issuer),
        rank_of(rule.queue_manager),
        _rank_of_host(rule.address),
    )


def _rank_of_names(pattern: str) -> tuple[int, list[list[int]]]:
    names = names_of(pattern)
    return -len(names), sorted(rank_of(value) for _, value in names)


def _rank_of_host(pattern: str) -> list[int]:
    by = ":" if ":" in pattern else "."
    ranks = [2 if one == ANY else 1 if "-" in one else 0 for one in pattern.split(by) if one]
    return [*ranks, 2] if pattern else [3]
