"""An index over an id of messages that are not in memory: 8 bytes for each of them.

Theory. An entry is one 64-bit number: 16 bits of a hash of the id, 8 bits of the lane, 40 bits of
the seq. Which of 4,096 buckets it is in says 12 more bits of the hash. A bucket is a sorted array:
the entries of one id lie side by side, and a bisection finds them; adding one moves half a bucket.

It keeps hashes, so what it finds may be a message with another id: the caller loads it, compares,
and asks again. It is complete only after every paged-out message was read once: `progress` says up
to which seq of each lane that is true, and messages paged out later are added as they go. A message
that has been taken or loaded stays in its bucket, so neither a get nor a page costs a search here.
It is forgotten when its id is looked for, and the caller says that it is not paged out any more;
once there are STALE_MAX entries for each message that is, so is whatever else is in that bucket.
This module does not know which id it is about.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable
from typing import Final
from zlib import crc32

BUCKET_BITS: Final = 12
"""A million messages are 250 in a bucket: little to move when one is added among them."""
SEQ_BITS: Final = 40
LANE_BITS: Final = 8
LANES_MAX: Final = 1 << LANE_BITS
HASH_BITS: Final = 16
"""With those of the bucket 28: of a million messages, one in 268 shares its hash with another."""
PLACE_BITS: Final = SEQ_BITS + LANE_BITS
STALE_MAX: Final = 2
FEW: Final = 1 << BUCKET_BITS
"""So many entries may be there in any case."""
_BUCKET: Final = (1 << BUCKET_BITS) - 1
_SEQ: Final = (1 << SEQ_BITS) - 1
_LANE: Final = LANES_MAX - 1
_HASH: Final = (1 << HASH_BITS) - 1

Paged = tuple[int, int]
"""(lane, seq)."""


class PagedIndex:
    """Where the messages with an id may be. complete: all that is paged out is in it."""

    __slots__ = ("_buckets", "_count", "complete", "progress")

    def __init__(self) -> None:
        self._buckets = [array("Q") for _ in range(1 << BUCKET_BITS)]
        """By the low bits of the hash; in each, sorted: its other bits, the lane, the seq."""
        self._count = 0
        self.complete = False
        self.progress: dict[int, int] = {}
        """Up to which seq of each lane has been read, while it is being built."""

    def __len__(self) -> int:
        return self._count

    def add(self, value: bytes, lane: int, seq: int) -> None:
        """Add a message by its id; adding it again is harmless."""
        bucket, first = self._range(value)
        entry = first | lane << SEQ_BITS | seq
        at = bisect_left(bucket, entry)
        if at == len(bucket) or bucket[at] != entry:
            bucket.insert(at, entry)
            self._count += 1

    def find(
        self, value: bytes, is_paged: Callable[[int, int], bool], paged_count: int
    ) -> list[Paged]:
        """Return where messages with this id may be, in the order of delivery.

        paged_count: how many messages are paged out, with any id.
        """
        bucket, first = self._range(value)
        if self._count > STALE_MAX * paged_count + FEW:
            self._forget(bucket, 0, len(bucket), is_paged)
        begin, end = bisect_left(bucket, first), bisect_left(bucket, first + (1 << PLACE_BITS))
        found = self._forget(bucket, begin, end, is_paged)
        return sorted(map(_place, found), key=lambda paged: (-paged[0], paged[1]))

    def _forget(
        self, bucket: array[int], begin: int, end: int, is_paged: Callable[[int, int], bool]
    ) -> array[int]:
        """Forget what is no longer paged out of a part of a bucket; returns what is left of it."""
        entries = bucket[begin:end]
        left = array("Q", [entry for entry in entries if is_paged(*_place(entry))])
        if len(left) < len(entries):
            bucket[begin:end] = left
            self._count -= len(entries) - len(left)
        return left

    def _range(self, value: bytes) -> tuple[array[int], int]:
        """Return an id's bucket, and the least that an entry of it can be there."""
        key = crc32(value)
        return self._buckets[key & _BUCKET], (key >> BUCKET_BITS & _HASH) << PLACE_BITS


def _place(entry: int) -> Paged:
    return entry >> SEQ_BITS & _LANE, entry & _SEQ
