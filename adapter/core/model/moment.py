"""A moment by both clocks: one to show, one to measure from. This module reads neither."""

from __future__ import annotations

from msgspec import Struct


class Moment(Struct, frozen=True, gc=False):
    """time_ms: the time of day. elapsed_ms: what the queue manager's monotonic clock said then."""

    time_ms: int
    elapsed_ms: int
