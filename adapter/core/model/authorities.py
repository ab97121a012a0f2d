"""Authority records, and which of them count: hard state. Whether they are checked is a setting.

Of each entity, which is a user or a group, the most specific profile that means an object counts,
and no other: that it grants nothing is how a less specific one is taken back. A principal has what
its user and its groups have together. A profile is more specific than another where, from left to
right, it has a literal character before ?, before its end, before *, before **.

The format name of a queue of another computer is written in several ways: all of them mean it, in a
name as in a profile, and a profile is kept as it was written.

A name is looked up once: what came of it is kept until a record changes.
This module does not know what an authority is needed for.
"""

from __future__ import annotations

import re
from bisect import insort
from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from adapter.core.contract.authorities import (
    CLASS,
    CREATE,
    EVERYONE,
    QUEUE_MANAGER,
    SELF,
    AuthorityRecord,
)
from adapter.core.contract.format_names import fold, is_written_name
from adapter.core.contract.parties import Principal
from adapter.core.contract.wildcards import expression_of

KEPT_MAX = 10_000
"""Answers that are kept: names that programs make up must not fill the memory."""
LITERAL, ONE, END, SOME, ANY = range(5)
_MARK = re.compile(r"\*\*|\*|\?|[^*?]+")

Entity = tuple[str, bool]
"""A name, and whether it is a group's."""


class _Generic:
    """A profile with wildcards. rank: the smaller, the more specific."""

    __slots__ = ("_fits", "_fits_folded", "bits", "profile", "rank")

    def __init__(self, profile: str, bits: int) -> None:
        self.profile = profile
        self.rank = rank_of(profile)
        self._fits = pattern_of(profile)
        self._fits_folded = pattern_of(fold(profile)) if is_written_name(profile) else None
        self.bits = bits

    def means(self, name: str) -> bool:
        """Whether the profile means an object of this name."""
        if self._fits.fullmatch(name):
            return True
        return bool(self._fits_folded and self._fits_folded.fullmatch(fold(name)))


class _Profiles:
    """The records of one entity for objects of one type."""

    __slots__ = ("_spelled", "generic", "literal")

    def __init__(self) -> None:
        self.literal: dict[str, int] = {}
        self._spelled: dict[str, str] = {}
        """Format names among those, as they were written: by what all spellings have alike."""
        self.generic: list[_Generic] = []

    def set(self, profile: str, bits: int) -> None:
        if not is_generic(profile):
            self.literal[profile] = bits
            if is_written_name(profile):
                self._spelled[fold(profile)] = profile
            return
        self.remove(profile)
        insort(self.generic, _Generic(profile, bits), key=_rank)

    def remove(self, profile: str) -> None:
        self.literal.pop(profile, None)
        if is_written_name(profile):
            self._spelled = {fold(one): one for one in self.literal if is_written_name(one)}
        self.generic = [one for one in self.generic if one.profile != profile]

    def deciding(self, name: str) -> tuple[str, int] | None:
        """Return the profile that counts for an object, and its bits."""
        if name not in self.literal and self._spelled:
            name = self._spelled.get(fold(name), name)
        bits = self.literal.get(name)
        if bits is not None:
            return name, bits
        for one in self.generic:
            if one.means(name):
                return one.profile, one.bits
        return None


def _rank(one: _Generic) -> list[int]:
    return one.rank


class Authorities:
    """All authority records of a queue manager. are_checked: a setting, not in the ledger."""

    def __init__(self) -> None:
        self.are_checked = False
        self.count = 0
        self._of: dict[Entity, dict[str, _Profiles]] = {}
        self._named: dict[tuple[str, str], set[Entity]] = {}
        """By type and profile without wildcards: who has a record of it."""
        self._soft: dict[tuple[str, str, Entity], int | None] = {}
        """By type, profile and entity, the records that end with their temporary queue: what the
        record beneath, which the ledger has, grants; None if the ledger has no record.
        """
        self._kept: dict[tuple[str, tuple[str, ...], str, str], int] = {}
        self._groups: Mapping[str, tuple[str, ...]] = {}
        """Soft: by user, beside those of a principal."""
        self._last_seen: dict[str, tuple[str, ...]] = {}
        """Soft: by user, the groups that its proof brought along when it connected last."""

    def know_groups(self, by_user: Mapping[str, tuple[str, ...]]) -> None:
        """Know in which groups users are; in no others than these, from now on."""
        self._groups = by_user
        self._kept.clear()

    def see(self, principal: Principal) -> None:
        """Take notice of the groups of a user that connects."""
        self._last_seen.pop(principal.user, None)
        if principal.user and principal.groups:
            if len(self._last_seen) >= KEPT_MAX:
                del self._last_seen[next(iter(self._last_seen))]
            self._last_seen[principal.user] = principal.groups

    def groups_last_seen(self, user: str) -> tuple[str, ...]:
        """Return the groups that the proof of a user brought along when it connected last."""
        return self._last_seen.get(user, ())

    def entities_of(self, principal: Principal) -> list[Entity]:
        """Return whose records count for a principal: its user, its groups, and everyone."""
        users: list[Entity] = [(principal.user, False)] if principal.user else []
        known = self._groups.get(principal.user, ()) if principal.user else ()
        groups = (*principal.groups, *known)
        return [*users, *((group, True) for group in dict.fromkeys(groups)), (EVERYONE, True)]

    def set(self, record: AuthorityRecord, *, logged: bool = True) -> None:
        """Take a record, in the place of the one of the same profile and entity. logged: it is in
        the ledger; else it ends with the temporary queue, and what was before is again.
        """
        entity = record.entity, record.is_group
        key = record.object_type, record.profile, entity
        if logged:
            self._soft.pop(key, None)
        else:
            self._soft.setdefault(key, self.get(record.profile, record.object_type, *entity))
        profiles = self._of.setdefault(entity, {}).setdefault(record.object_type, _Profiles())
        if self.get(record.profile, record.object_type, *entity) is None:
            self.count += 1
        profiles.set(record.profile, record.bits)
        if not is_generic(record.profile):
            self._named.setdefault((record.object_type, record.profile), set()).add(entity)
        self._kept.clear()

    def get(self, profile: str, object_type: str, entity: str, is_group: bool) -> int | None:
        """Return the bits of a record; None if it does not exist."""
        profiles = self._of.get((entity, is_group), {}).get(object_type)
        if profiles is None:
            return None
        if not is_generic(profile):
            return profiles.literal.get(profile)
        return next((one.bits for one in profiles.generic if one.profile == profile), None)

    def remove(self, profile: str, object_type: str, entity: str, is_group: bool) -> None:
        """Forget a record; nothing, if it does not exist."""
        if self.get(profile, object_type, entity, is_group) is None:
            return
        self.count -= 1
        self._soft.pop((object_type, profile, (entity, is_group)), None)
        self._of[entity, is_group][object_type].remove(profile)
        named = self._named.get((object_type, profile))
        if named is not None:
            named.discard((entity, is_group))
            if not named:
                del self._named[object_type, profile]
        self._kept.clear()

    def entities_named(self, object_type: str, name: str) -> list[Entity]:
        """Return who has a record of one object by its name, in order."""
        return sorted(self._named.get((object_type, name), ()))

    def forget(self, object_type: str, name: str, *, logged: bool = True) -> None:
        """Forget what was granted on one object by its name: it is gone.

        logged: the ledger says so; else it was temporary, and what the ledger has of it stays.
        """
        for entity in list(self._named.get((object_type, name), ())):
            key = object_type, name, entity
            if logged or key in self._soft:
                beneath = None if logged else self._soft[key]
                self.remove(name, object_type, *entity)
                if beneath is not None:
                    self.set(AuthorityRecord(name, object_type, *entity, beneath))

    def every(self) -> Iterator[AuthorityRecord]:
        """Return all records, by entity."""
        for (entity, is_group), by_type in self._of.items():
            for object_type, profiles in by_type.items():
                for profile, bits in profiles.literal.items():
                    yield AuthorityRecord(profile, object_type, entity, is_group, bits)
                for one in profiles.generic:
                    yield AuthorityRecord(one.profile, object_type, entity, is_group, one.bits)

    def in_ledger(self) -> Iterator[AuthorityRecord]:
        """Return the records that outlive the process, by entity."""
        for one in self.every():
            key = one.object_type, one.profile, (one.entity, one.is_group)
            beneath = self._soft.get(key, one.bits)
            if beneath is not None:
                yield replace(one, bits=beneath)

    def deciding(
        self, principal: Principal, object_type: str, name: str
    ) -> Iterator[AuthorityRecord]:
        """Return the records that count: one at most of the user and of each group."""
        for entity, is_group in self.entities_of(principal):
            profiles = self._of.get((entity, is_group), {}).get(object_type)
            found = profiles.deciding(name) if profiles is not None else None
            if found is not None:
                profile, bits = found
                yield AuthorityRecord(profile, object_type, entity, is_group, bits)

    def bits(self, principal: Principal, object_type: str, name: str) -> int:
        """Return what a principal may do with an object."""
        key = principal.user, principal.groups, object_type, name
        kept = self._kept.get(key)
        if kept is not None:
            return kept
        bits = union(self.deciding(principal, object_type, name))
        if object_type != QUEUE_MANAGER:  # who may create objects of a type at all
            bits |= CREATE & self._of_class(principal, object_type)
        if len(self._kept) >= KEPT_MAX:
            self._kept.clear()
        self._kept[key] = bits
        return bits

    def _of_class(self, principal: Principal, object_type: str) -> int:
        bits = 0
        for entity in self.entities_of(principal):
            bits |= self.get(CLASS, object_type, *entity) or 0
        return bits


def union(records: Iterable[AuthorityRecord]) -> int:
    """Return what records grant together."""
    bits = 0
    for record in records:
        bits |= record.bits
    return bits


def name_of(object_type: str, name: str) -> str:
    """Return the name by which an object is checked: of the queue manager it is always the same."""
    return SELF if object_type == QUEUE_MANAGER else name


def is_generic(profile: str) -> bool:
    """Whether a profile has wildcards."""
    return "*" in profile or "?" in profile


def means(profile: str, name: str) -> bool:
    """Whether a profile means an object of this name."""
    return _Generic(profile, 0).means(name)


def rank_of(profile: str) -> list[int]:
    """Return how specific a profile is, from left to right: the smaller, the more.

    >>> rank_of("AB.C*") < rank_of("AB.*") < rank_of("AB.**") < rank_of("A*")
    True
    """
    rank = []
    for mark in _MARK.findall(profile):
        rank += {"**": [ANY], "*": [SOME], "?": [ONE]}.get(mark, [LITERAL] * len(mark))
    return [*rank, END]


def pattern_of(profile: str) -> re.Pattern[str]:
    """Return what fits a profile: ? is one character, * any number of them within a qualifier, **
    any number of qualifiers.

    >>> [bool(pattern_of("A.**").fullmatch(name)) for name in ("A", "A.B", "A.B.C", "AB")]
    [True, True, True, False]
    """
    qualifiers = profile.split(".")
    if "**" not in qualifiers:
        return re.compile(r"\.".join(map(_qualifier, qualifiers)))
    at = qualifiers.index("**")
    before = "".join(_qualifier(one) + r"\." for one in qualifiers[:at])
    behind = "".join(r"\." + _qualifier(one) for one in qualifiers[at + 1 :])
    if not before and not behind:
        return re.compile(".*", re.DOTALL)
    if not behind:
        return re.compile(before.removesuffix(r"\.") + r"(?:\..*)?")
    if not before:
        return re.compile(r"(?:.*\.)?" + behind.removeprefix(r"\."))
    return re.compile(before.removesuffix(r"\.") + r"(?:\..*)?" + behind)


def _qualifier(text: str) -> str:
    return expression_of(text, "[^.]")
