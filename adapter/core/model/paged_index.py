"""An index over an id of messages that are not in memory: 12 bytes for each of them.

It keeps hashes, so what it finds may be another message; whoever loads it will see. What has gone
stays in it until its bucket is looked at; the caller says what is still there. It does not know
which id it is about.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable

BUCKETS = 4096
"""A million messages are 250 in a bucket, looked through at the speed of C."""
SEQ_BITS = 56
_SEQ = (1 << SEQ_BITS) - 1

_PRIME = 4_294_967_291

Paged = tuple[int, int]
"""(lane, seq)."""


class PagedIndex:
    """Where the messages with an id may be. complete: all that is paged out is in it."""

    __slots__ = ("_hashes", "_places", "complete", "progress")

    def __init__(self) -> None:
        self._hashes = [array("I") for _ in range(BUCKETS)]
        self._places = [array("Q") for _ in range(BUCKETS)]
        self.complete = False
        self.progress: dict[int, int] = {}
        """Up to which seq of each lane has been read, while it is being built."""

    def __len__(self) -> int:
        return sum(map(len, self._places))

    def add(self, value: bytes, lane: int, seq: int) -> None:
        """Add a message by its id; adding it again is harmless."""
        key = _hash(value)
        bucket = key % BUCKETS
        self._hashes[bucket].append(key)
        self._places[bucket].append(lane << SEQ_BITS | seq)

    def find(self, value: bytes, is_paged: Callable[[int, int], bool]) -> list[Paged]:
        """Return where messages with this id may be, in the order of delivery."""
        key = _hash(value)
        bucket = key % BUCKETS
        hashes, places = self._hashes[bucket], self._places[bucket]
        found: set[Paged] = set()
        stale = at = 0
        while True:
            try:
                at = hashes.index(key, at)
            except ValueError:
                break
            lane, seq = places[at] >> SEQ_BITS, places[at] & _SEQ
            if is_paged(lane, seq):
                found.add((lane, seq))
            else:
                stale += 1
            at += 1
        if stale:
            self._sweep(bucket, is_paged)
        return sorted(found, key=lambda paged: (-paged[0], paged[1]))

    def _sweep(self, bucket: int, is_paged: Callable[[int, int], bool]) -> None:
        """Forget what is no longer paged out, and what is there twice."""
        hashes, places = self._hashes[bucket], self._places[bucket]
        kept = {
            place: key
            for key, place in zip(hashes, places, strict=True)
            if is_paged(place >> SEQ_BITS, place & _SEQ)
        }
        self._hashes[bucket] = array("I", kept.values())
        self._places[bucket] = array("Q", kept)


def _hash(value: bytes) -> int:
    """Hash an id to 32 bits; the same in every process, and for ids that differ only a little."""
    return int.from_bytes(value, "big") % _PRIME
