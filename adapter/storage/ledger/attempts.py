"""The owner ids with which one ledger object has tried to take its ledger over. Pure.

An OWNER_CHANGED that was given up may land late: a broker may hold it until its replicas are back,
hours later and behind many further attempts. The owner in force is then one of ours, and it is not
to be taken for another. So ids are kept, far more than there are attempts while Kafka takes no
writes; and the one that was found in force last is never forgotten, however many fail behind it.
"""

from collections.abc import Iterator
from typing import Final

ATTEMPTS_KEPT: Final = 100_000
"""OwnerAttempts follow each other in 5 s at least: of six days, in 10 MB."""


class OwnerAttempts:
    """The owner ids of one ledger object, the oldest of too many left out."""

    def __init__(self, kept: int = ATTEMPTS_KEPT) -> None:
        self._kept = kept
        self._ids: dict[bytes, None] = {}

    def __contains__(self, owner: object) -> bool:
        return owner in self._ids

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._ids)

    def copy(self) -> "OwnerAttempts":
        """Return one that knows the same owner ids."""
        copied = OwnerAttempts(self._kept)
        copied._ids = dict(self._ids)
        return copied

    def add(self, owner: bytes) -> None:
        """Note an attempt that is about to be made, or one that was found in force: the newest."""
        self._ids.pop(owner, None)
        self._ids[owner] = None
        if len(self._ids) > self._kept:
            del self._ids[next(iter(self._ids))]
