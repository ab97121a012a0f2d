"""Who may do what, by records that are looked through one by one: nothing is kept, nothing sorted.

It imports nothing of the product.
"""

from collections import Counter

WORDS = ("browse", "get", "put", "inq", "crt", "dlt", "dsp", "clr")
EVERYONE = "everyone"

Key = tuple[str, str, str, bool]
"""Type of object, profile, entity, and whether that is a group."""


def fits(profile: str, name: str) -> bool:
    """Whether a profile means a name: qualifier by qualifier, and letter by letter."""
    return _qualifiers_fit(profile.split("."), name.split("."))


def _qualifiers_fit(profile: list[str], name: list[str]) -> bool:
    if not profile:
        return not name
    if profile[0] == "**":
        return any(_qualifiers_fit(profile[1:], name[at:]) for at in range(len(name) + 1))
    return bool(name) and _letters_fit(profile[0], name[0]) and _qualifiers_fit(
        profile[1:], name[1:]
    )  # fmt: skip


def _letters_fit(profile: str, name: str) -> bool:
    if not profile:
        return not name
    if profile[0] == "*":
        return any(_letters_fit(profile[1:], name[at:]) for at in range(len(name) + 1))
    return bool(name) and profile[0] in ("?", name[0]) and _letters_fit(profile[1:], name[1:])


def is_more_specific(one: str, other: str) -> bool:
    """Whether one of two profiles that mean the same name is the more specific one."""
    at = 0
    while at < len(one) and at < len(other):
        mine, its = _weight(one, at), _weight(other, at)
        if mine != its:
            return mine < its
        at += 2 if one[at : at + 2] == "**" else 1
    rest = one[at:] or other[at:]
    goes_on = rest and rest[0] != "*"
    return bool(goes_on) == bool(one[at:])


def _weight(profile: str, at: int) -> int:
    if profile[at : at + 2] == "**":
        return 3
    return {"*": 2, "?": 1}.get(profile[at], 0)


class AuthoritiesModel:
    """The records that there must be, and what they allow."""

    def __init__(self) -> None:
        self.met = Counter[str]()
        self.records: dict[Key, set[str]] = {}
        self.soft: set[str] = set()
        """Temporary queues: what is granted on them goes with the process."""

    def grant(self, key: Key, add: set[str], remove: set[str]) -> None:
        """Change a record; there is one then."""
        self.records[key] = (self.records.get(key, set()) | add) - remove

    def forget(self, name: str) -> None:
        """A queue is gone, and what was granted on it by its name."""
        self.records = {
            key: words for key, words in self.records.items() if key[:2] != ("queue", name)
        }

    def crash(self) -> None:
        """Only what is hard is left."""
        for name in self.soft:
            self.forget(name)
        self.soft.clear()

    def has(self, user: str, groups: tuple[str, ...], object_type: str, name: str) -> set[str]:
        """Return what a user has on an object."""
        entities = [(user, False), *((group, True) for group in (*groups, EVERYONE))]
        words: set[str] = set()
        for entity, is_group in entities:
            best: str | None = None
            for kind, profile, whose, of_group in self.records:
                if (kind, whose, of_group) != (object_type, entity, is_group):
                    continue
                if profile != name and not fits(profile, name):
                    continue
                if (
                    best is None
                    or profile == name
                    or (best != name and is_more_specific(profile, best))
                ):
                    best = profile
            if best is not None:
                words |= self.records[object_type, best, entity, is_group]
        return words
