"""An index over an id of messages that are not in memory: 8 bytes for each of them.

Theory. An entry is one 64-bit number: 16 bits of a hash of the id, 8 bits of the lane, 40 bits of
the seq. Which of 4,096 buckets it is in says 12 more bits of the hash. A bucket is a sorted array:
the entries of one id lie side by side, and a bisection finds them; adding one moves half a bucket.

It keeps hashes, so what it finds may be a message with another id: the caller loads it, compares,
and asks again. It is complete only after every paged-out message was read once: `progress` says up
to which seq of each lane that is true, and messages paged out later are added as they go. A message
that has been taken or loaded stays in its bucket, so neither a get nor a page costs a search here.
It is forgotten when its id is looked for and it comes before the first that is still paged out, as
the caller says; once there are STALE_MAX entries for each message that is, so is whatever else is
in that bucket. This module does not know which id it is about.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable
from typing import Final
from zlib import crc32

from adapter.core.contract.message import Place

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

START: Final[Place] = (-LANES_MAX, 0, 0)
"""Before every message."""

Paged = tuple[int, int]
"""(lane, seq)."""

Skips = Callable[[Place], bool]
"""Whether a search passes over the message at a place, so that it need not be in memory."""


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

    def first(
        self,
        value: bytes,
        is_paged: Callable[[int, int], bool],
        paged_count: int,
        after: Place = START,
        skips: Skips | None = None,
    ) -> Paged | None:
        """Return the first place, in the order of delivery, where a message with this id may be.

        paged_count: how many messages are paged out, with any id. after: a place that it is behind.
        skips: whether the message at a place is passed over.
        """
        bucket, low = self._range(value)
        if self._count > STALE_MAX * paged_count + FEW:
            self._forget(bucket, is_paged)
        begin, end = bisect_left(bucket, low), bisect_left(bucket, low + (1 << PLACE_BITS))
        while begin < end:
            lane = _place(bucket[end - 1])[0]
            of_lane = low | lane << SEQ_BITS
            first_seq = after[1] + 1 if -lane == after[0] else 0
            start = bisect_left(bucket, of_lane, begin, end)
            if -lane >= after[0]:
                at = bisect_left(bucket, of_lane + first_seq, start, end)
                seq = self._first_of(bucket, at, end, is_paged, skips)
                if seq is not None:
                    return lane, seq
            end = start
        return None

    def _first_of(
        self,
        bucket: array[int],
        begin: int,
        end: int,
        is_paged: Callable[[int, int], bool],
        skips: Skips | None,
    ) -> int | None:
        """Return the first seq of a part of a bucket, which is of one lane; forgets what is before
        it and no longer paged out.
        """
        at = begin
        while at < end and not is_paged(*_place(bucket[at])):
            at += 1
        del bucket[begin:at]
        self._count -= at - begin
        for index in range(begin, begin + end - at):
            lane, seq = _place(bucket[index])
            is_there = index == begin or is_paged(lane, seq)
            if is_there and (skips is None or not skips((-lane, seq, 0))):
                return seq
        return None

    def _forget(self, bucket: array[int], is_paged: Callable[[int, int], bool]) -> None:
        """Forget what is no longer paged out of a bucket."""
        left = array("Q", [entry for entry in bucket if is_paged(*_place(entry))])
        self._count -= len(bucket) - len(left)
        bucket[:] = left

    def _range(self, value: bytes) -> tuple[array[int], int]:
        """Return an id's bucket, and the least that an entry of it can be there."""
        key = crc32(value)
        return self._buckets[key & _BUCKET], (key >> BUCKET_BITS & _HASH) << PLACE_BITS


def _place(entry: int) -> Paged:
    return entry >> SEQ_BITS & _LANE, entry & _SEQ
