"""An index over an id of messages that are not in memory: 8 bytes for each of them.

Theory. An entry is one 64-bit number: 16 bits of a hash of the id, 8 bits of the lane, 40 bits of
the seq. Which of 4,096 buckets it is in says 12 more bits of the hash. A bucket is a sorted array:
the entries of one id lie side by side, and a bisection finds them; adding one moves half a bucket.

It keeps hashes, so what it finds may be a message with another id: the caller loads it, compares,
and asks again. It is complete only after every paged-out message was read once: `progress` says up
to which seq of each lane that is true, and messages paged out later are added as they go. A message
that has been taken or loaded stays in its bucket until the bucket is looked at, when the caller
says what is still paged out; so neither a get nor a page costs a search here.
This module does not know which id it is about.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable
from zlib import crc32

BUCKET_BITS = 12
"""A million messages are 250 in a bucket: little to move when one is added among them."""
SEQ_BITS = 40
LANE_BITS = 8
LANES_MAX = 1 << LANE_BITS
HASH_BITS = 16
"""With those of the bucket 28: of a million messages, one in 268 shares its hash with another."""
PLACE_BITS = SEQ_BITS + LANE_BITS
_BUCKET = (1 << BUCKET_BITS) - 1
_SEQ = (1 << SEQ_BITS) - 1
_LANE = LANES_MAX - 1
_HASH = (1 << HASH_BITS) - 1

Paged = tuple[int, int]
"""(lane, seq)."""


class PagedIndex:
    """Where the messages with an id may be. complete: all that is paged out is in it."""

    __slots__ = ("_buckets", "complete", "progress")

    def __init__(self) -> None:
        self._buckets = [array("Q") for _ in range(1 << BUCKET_BITS)]
        """By the low bits of the hash; in each, sorted: its other bits, the lane, the seq."""
        self.complete = False
        self.progress: dict[int, int] = {}
        """Up to which seq of each lane has been read, while it is being built."""

    def __len__(self) -> int:
        return sum(map(len, self._buckets))

    def add(self, value: bytes, lane: int, seq: int) -> None:
        """Add a message by its id; adding it again is harmless."""
        bucket, first = self._range(value)
        entry = first | lane << SEQ_BITS | seq
        at = bisect_left(bucket, entry)
        if at == len(bucket) or bucket[at] != entry:
            bucket.insert(at, entry)

    def find(self, value: bytes, is_paged: Callable[[int, int], bool]) -> list[Paged]:
        """Return where messages with this id may be, in the order of delivery."""
        bucket, first = self._range(value)
        begin, end = bisect_left(bucket, first), bisect_left(bucket, first + (1 << PLACE_BITS))
        places = [_place(entry) for entry in bucket[begin:end]]
        found = [place for place in places if is_paged(*place)]
        if len(found) < len(places):
            _sweep(bucket, is_paged)
        return sorted(found, key=lambda paged: (-paged[0], paged[1]))

    def _range(self, value: bytes) -> tuple[array[int], int]:
        """Return an id's bucket, and the least that an entry of it can be there."""
        key = crc32(value)
        return self._buckets[key & _BUCKET], (key >> BUCKET_BITS & _HASH) << PLACE_BITS


def _place(entry: int) -> Paged:
    return entry >> SEQ_BITS & _LANE, entry & _SEQ


def _sweep(bucket: array[int], is_paged: Callable[[int, int], bool]) -> None:
    """Forget what is no longer paged out."""
    bucket[:] = array("Q", [entry for entry in bucket if is_paged(*_place(entry))])
