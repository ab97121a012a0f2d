"""What becomes due when: heaps whose first elements are times (ms), and one time. Soft state.

What is in them may be over when its time comes: whoever takes it out looks. This module knows no
rule.
"""

from __future__ import annotations

from adapter.core.model.message import Place
from adapter.core.model.waiter import Waiter

SWEEP_AT = 1_024
"""Entries of a heap before it is looked through for what is over."""


class Due:
    """The heaps of one queue manager. Queues are named with their incarnation."""

    __slots__ = (
        "claims",
        "deadlines",
        "expiries",
        "mark_ends",
        "paged_ends",
        "statistics_ms",
        "sweep_claims_at",
    )

    def __init__(self) -> None:
        self.expiries: list[tuple[int, str, int, Place]] = []
        """When messages in memory expire: time, queue, incarnation, place."""
        self.paged_ends: list[tuple[int, str, int, int]] = []
        """When paged-out messages of a lane will have expired: time, queue, incarnation, lane."""
        self.deadlines: list[tuple[int, int, Waiter]] = []
        """When waits end: time, a number of their order, the wait."""
        self.claims: list[tuple[int, str, int, str]] = []
        """When consumers lose what they were given: time, queue, incarnation, consumer."""
        self.sweep_claims_at = SWEEP_AT
        self.mark_ends: list[tuple[int, str, int]] = []
        """When the oldest marks of a queue's browsers are over: time, queue, incarnation."""
        self.statistics_ms: int | None = None
        """When queues' statistics are to be made; None: when somebody happens to look."""

    def next_ms(self) -> int | None:
        """Say when the next of all is due, or None."""
        heaps = (self.expiries, self.paged_ends, self.deadlines, self.claims, self.mark_ends)
        firsts = [heap[0][0] for heap in heaps if heap]
        if self.statistics_ms is not None:
            firsts.append(self.statistics_ms)
        return min(firsts) if firsts else None
