"""Spans: adjacent messages of a lane by their numbers, as records and consumers' batches name them.

This module does not know who holds them.
"""

from __future__ import annotations

from msgspec import Struct


class Span(Struct, gc=False, frozen=True):
    """Adjacent messages of a lane, alike in what a queue must know of them: first to last seq.

    expires_by_ms: when all of them will have expired, as lane.bucket_of; 0: never.
    """

    lane: int
    first: int
    last: int
    priority: int
    expires_by_ms: int = 0

    @property
    def count(self) -> int:
        """How many messages it has."""
        return self.last - self.first + 1


class Count(Struct, gc=False, frozen=True):
    """The backout count of a message of a batch."""

    lane: int
    seq: int
    count: int
