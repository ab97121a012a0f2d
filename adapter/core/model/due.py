"""What becomes due when: heaps whose first elements are times (ms), and one time. Soft state.

Messages expire by the time of day, as their putters mean it. Waits and intervals end by a monotonic
clock (QueueManager.elapsed_ms), which no correction of the time of day reaches.

What is in them may be over when its time comes: the code that takes it out checks. This module
knows no rule.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Any, Final, Generic, TypeVar

from adapter.core.contract.message import Place
from adapter.core.model.waiters import Waiter

SWEEP_AT: Final = 1_024
"""Entries of a heap before it is looked through for what is over."""

NEVER_MS: Final = 1 << 60
"""Later than any time, and still a small integer of compiled code."""

EntryT = TypeVar("EntryT", bound=tuple[Any, ...])


class Heap(Generic[EntryT]):
    """Entries, the first of which is due first.

    When it has grown to twice of what was left the last time it forgets what is over, and what is
    noted twice, so that a long life costs no memory.
    """

    __slots__ = ("_sweep_at", "entries")

    def __init__(self) -> None:
        self.entries: list[EntryT] = []
        self._sweep_at = SWEEP_AT

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[EntryT]:
        return iter(self.entries)

    @property
    def first_ms(self) -> int:
        """When its first entry is due; IndexError if it is empty."""
        first_ms: int = self.entries[0][0]
        return first_ms

    def push(self, entry: EntryT, is_ahead: Callable[[EntryT], object]) -> None:
        """Add an entry; is_ahead: whether there is anything left of one to look at."""
        if len(self.entries) >= self._sweep_at:
            self.entries = list({one for one in self.entries if is_ahead(one)})
            heapq.heapify(self.entries)
            self._sweep_at = max(SWEEP_AT, 2 * len(self.entries))
        heapq.heappush(self.entries, entry)

    def due(self, now_ms: int) -> Iterator[EntryT]:
        """Take out what is due, one after the other."""
        while self.entries and self.entries[0][0] <= now_ms:
            yield heapq.heappop(self.entries)


class Due:
    """The heaps of one queue manager. Queues are named with their incarnation."""

    __slots__ = (
        "_by_day",
        "_by_interval",
        "_order",
        "activations",
        "claims",
        "conversations",
        "deadlines",
        "delays",
        "expiries",
        "mark_ends",
        "paged_ends",
        "releases",
        "retries",
        "sessions_ms",
        "statistics_ms",
    )

    def __init__(self) -> None:
        self.expiries: Heap[tuple[int, str, int, Place]] = Heap()
        """When messages in memory expire: time of day, queue, incarnation, place."""
        self.paged_ends: Heap[tuple[int, str, int, int]] = Heap()
        """When paged-out messages of a lane will have expired: time of day, queue, incarnation,
        lane."""
        self.deadlines: Heap[tuple[int, int, Waiter]] = Heap()
        """When waits end: elapsed_ms, a number of their order, the wait."""
        self.claims: Heap[tuple[int, str, int, str]] = Heap()
        """When consumers lose what they were given: elapsed_ms, queue, incarnation, consumer."""
        self.delays: Heap[tuple[int, str, int]] = Heap()
        """When delayed messages of a queue are due: time of day, queue, incarnation."""
        self.conversations: Heap[tuple[int, bytes]] = Heap()
        """When timers and lifetimes of conversations are over: time of day, handle."""
        self.releases: Heap[tuple[int, str]] = Heap()
        """When further held messages of Service Broker are delivered: elapsed_ms, their queue."""
        self.retries: Heap[tuple[int, str]] = Heap()
        """When it is tried again to deliver held messages: elapsed_ms, their queue."""
        self.activations: Heap[tuple[int, str]] = Heap()
        """When it is checked again whether queues need activation: elapsed_ms, queue."""
        self.mark_ends: Heap[tuple[int, str, int]] = Heap()
        """When the oldest marks of a queue's browsers are over: elapsed_ms, queue, incarnation."""
        self.statistics_ms: int | None = None
        """When queues' statistics are to be made, by elapsed_ms; None: when a client happens to
        look."""

        self.sessions_ms = 0
        """When expired sessions are looked for next, by elapsed_ms; no request waits for it."""
        self._order = 0
        self._by_day: tuple[Heap[Any], ...] = (
            *(self.expiries, self.paged_ends, self.delays, self.conversations),
        )
        self._by_interval: tuple[Heap[Any], ...] = (
            *(self.deadlines, self.claims, self.mark_ends, self.activations),
            *(self.releases, self.retries),
        )

    def add_deadline(self, elapsed_ms: int, waiter: Waiter) -> None:
        """Remember to end a wait."""
        self._order += 1
        self.deadlines.push((elapsed_ms, self._order, waiter), lambda one: not one[2].ended)

    def in_ms(self, now_ms: int, elapsed_ms: int) -> int | None:
        """Say in how many ms the next of all is due, or None."""
        interval_ms = _first_ms(self._by_interval)
        if self.statistics_ms is not None and self.statistics_ms < interval_ms:
            interval_ms = self.statistics_ms
        day_ms = _first_ms(self._by_day)
        if interval_ms == NEVER_MS and day_ms == NEVER_MS:
            return None
        return min(day_ms - now_ms, interval_ms - elapsed_ms)


def _first_ms(heaps: tuple[Heap[Any], ...]) -> int:
    """Say when the first entry of all heaps is due: NEVER_MS if all are empty."""
    first_ms = NEVER_MS
    for heap in heaps:
        entries = heap.entries
        if entries and heap.first_ms < first_ms:
            first_ms = heap.first_ms
    return first_ms
