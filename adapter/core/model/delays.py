"""Delayed delivery: what is put and is not to be got before its time.

Theory. A delayed message is no message of its queue yet: no verb gets, browses or counts it, and
its queue's topic does not have it, for readers of that topic read what is delivered, in the order
of delivery. Until then it is a message of one queue of the queue manager's own, DELAYED_QUEUE,
under the name of its destination: so it is stored, copied, paged out, restored, backed up and
trimmed as any other. When it is due, one record takes it from there and puts it to its destination,
behind what is there of its priority: order in a lane is the order in which messages become
available; of those that are due at the same time, the order in which they were put.

What memory holds of one that is paged out is 8 bytes: when it is due, where it lies, its priority.
They are kept by destination, so that a purge or a deletion knows its own, and in buckets of 65 s,
so that a time is 16 bits; a bucket whose time has come becomes a heap. Those that are due in days,
each of them perhaps alone in its minute, are in buckets of 18 hours first, and take 16 bytes. What
has gone meanwhile stays until it is due: the code that takes an entry out checks whether the
message is still there.

The lanes of DELAYED_QUEUE are classes of delays: a topic is trimmed up to its first message that is
still needed, and one that waits for a year must not keep those that waited for a minute.

This module knows no rule, and does not know who releases what is due.
"""

from __future__ import annotations

import heapq
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Final

from adapter.core.contract.message import MessageData, Place

DELAY_MAX_MS: Final = 100 * 999_999_999
"""As long as a message may live: 3 years."""
CLASSES_MS: Final = tuple(
    1_000 * seconds
    for seconds in (10, 60, 600, 3_600, 6 * 3_600, 86_400, 7 * 86_400, 30 * 86_400, 365 * 86_400)
)
"""Delays up to each are of its class; what is longer is of the last."""

_LANE_MAX: Final = 9
_PRIORITY_BITS, _SEQ_BITS, _LANE_BITS, _BUCKET_BITS, _FAR_BITS = 4, 40, 4, 16, 26
_TIME_AT: Final = _PRIORITY_BITS + _SEQ_BITS + _LANE_BITS
_SEQ: Final = (1 << _SEQ_BITS) - 1
_WHERE: Final = (1 << _TIME_AT) - 1
_LOW: Final = (1 << _TIME_AT + _BUCKET_BITS) - 1
_SWEEP_AT: Final = 1_024

Entry = tuple[int, Place, int]
"""When it is due (ms), its place on DELAYED_QUEUE, its priority. They sort as they are released."""


def class_of(message: MessageData) -> int:
    """Say in which lane of DELAYED_QUEUE a message waits."""
    return bisect_right(CLASSES_MS, message.deliver_at_ms - message.put_time_ms - 1)


def end_of(message: MessageData) -> int:
    """Say when a message that waits is to be looked at (ms): it is due, or expires before."""
    if message.expiry_ms <= 0:
        return message.deliver_at_ms
    return min(message.deliver_at_ms, message.put_time_ms + message.expiry_ms)


class Delays:
    """The delayed messages of one destination. noted_ms: when it is checked next; 0: never."""

    __slots__ = (
        "_buckets",
        "_far",
        "_far_order",
        "_front",
        "_opened",
        "_order",
        "_size",
        "_soft",
        "_sweep_at",
        "noted_ms",
    )

    def __init__(self) -> None:
        self._far: dict[int, array[int]] = {}
        """Of days to come, unsorted: when, where, when, where, ..."""
        self._far_order: list[int] = []
        """A heap of the numbers of those buckets."""
        self._opened = -1
        """The last of them whose time has come."""
        self._buckets: dict[int, array[int]] = {}
        """Of later times, unsorted: the low bits of entries."""
        self._order: list[int] = []
        """A heap of the numbers of buckets."""
        self._front: list[int] = []
        """A heap of whole entries, whose bucket has come."""
        self._soft: list[Entry] = []
        """A heap of those that are not persistent: their messages are in memory, too."""
        self._size = 0
        self._sweep_at = _SWEEP_AT
        self.noted_ms = 0

    def __len__(self) -> int:
        return self._size + len(self._soft)

    def add(self, due_ms: int, place: Place, priority: int, waits: Callable[[Place], bool]) -> None:
        """Add a message. waits: whether there still is one at a place."""
        if place[2]:
            heapq.heappush(self._soft, (due_ms, place, priority))
            return
        if self._size >= self._sweep_at:
            self._sweep(waits)
        self._push(due_ms, place, priority)

    def _push(self, due_ms: int, place: Place, priority: int) -> None:
        self._size += 1
        where = ((_LANE_MAX + place[0]) << _SEQ_BITS | place[1]) << _PRIORITY_BITS | priority
        number = due_ms >> _FAR_BITS
        if number > self._opened:
            _bucket(self._far, self._far_order, number).extend((due_ms, where))
        else:
            self._push_near(due_ms << _TIME_AT | where)

    def _push_near(self, key: int) -> None:
        number = key >> _TIME_AT + _BUCKET_BITS
        _bucket(self._buckets, self._order, number).append(key & _LOW)

    def _sweep(self, waits: Callable[[Place], bool]) -> None:
        """Forget what has gone, so that a long life costs no memory."""
        left = [entry for entry in self.entries() if waits(entry[1])]
        self._far, self._far_order, self._opened = {}, [], -1
        self._buckets, self._order, self._front, self._size = {}, [], [], 0
        for due_ms, place, priority in left:
            if not place[2]:
                self._push(due_ms, place, priority)
        self._soft = [entry for entry in self._soft if waits(entry[1])]
        heapq.heapify(self._soft)
        self._sweep_at = max(_SWEEP_AT, 2 * self._size)

    def entries(self) -> Iterator[Entry]:
        """Iterate over all, in no order; some may have gone."""
        yield from map(_entry, self._front)
        for number, bucket in self._buckets.items():
            yield from (_entry(_whole(number, low)) for low in bucket)
        for bucket in self._far.values():
            pairs = zip(bucket[::2], bucket[1::2], strict=True)
            yield from (_entry(due_ms << _TIME_AT | where) for due_ms, where in pairs)
        yield from self._soft

    def first(self, now_ms: int) -> Entry | None:
        """Return what is due first, if anything is by now."""
        while self._far_order and self._far_order[0] <= now_ms >> _FAR_BITS:
            self._opened = heapq.heappop(self._far_order)
            bucket = self._far.pop(self._opened)
            for due_ms, where in zip(bucket[::2], bucket[1::2], strict=True):
                self._push_near(due_ms << _TIME_AT | where)
        while self._order and self._order[0] <= now_ms >> _BUCKET_BITS:
            number = heapq.heappop(self._order)
            for low in self._buckets.pop(number):
                heapq.heappush(self._front, _whole(number, low))
        found = [_entry(self._front[0])] if self._front else []
        found += self._soft[:1]
        first = min(found, default=None)
        return first if first is not None and first[0] <= now_ms else None

    def pop(self, entry: Entry) -> None:
        """Take out what first() has just returned."""
        if entry[1][2]:
            heapq.heappop(self._soft)
        else:
            heapq.heappop(self._front)
            self._size -= 1

    def next_ms(self) -> int | None:
        """Say when to look again: not later than the first is due. None if there is nothing."""
        times = [self._far_order[0] << _FAR_BITS] if self._far_order else []
        times += [self._order[0] << _BUCKET_BITS] if self._order else []
        times += [self._front[0] >> _TIME_AT] if self._front else []
        times += [self._soft[0][0]] if self._soft else []
        return min(times, default=None)


def _bucket(buckets: dict[int, array[int]], order: list[int], number: int) -> array[int]:
    """Return a bucket, made on first use."""
    found = buckets.get(number)
    if found is None:
        found = buckets[number] = array("Q")
        heapq.heappush(order, number)
    return found


def _whole(bucket: int, low: int) -> int:
    return bucket << _TIME_AT + _BUCKET_BITS | low


def _entry(key: int) -> Entry:
    lane = _LANE_MAX - (key >> _PRIORITY_BITS + _SEQ_BITS & (1 << _LANE_BITS) - 1)
    seq = key >> _PRIORITY_BITS & _SEQ
    return key >> _TIME_AT, (-lane, seq, 0), key & (1 << _PRIORITY_BITS) - 1
