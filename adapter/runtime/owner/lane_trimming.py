"""Deletes consumed messages from the queues' topics, beside all else that an owner does.

`retention` says which ones are due. This module does not know why, and a deletion that fails ends
nothing: retention lets it be tried again.
"""

from __future__ import annotations

import asyncio
from functools import partial

from adapter.host import watched
from adapter.runtime.owner.retention import Retention
from adapter.storage.topics.port import LaneKey, Trimmed, Trimmer


class LaneTrimming:
    """One deletion at a time, in another thread. For the owner's thread."""

    def __init__(self, trimmer: Trimmer | None, retention: Retention, broke: watched.Ended) -> None:
        """trimmer: None where nothing is ever due. broke: hears of what must not fail and did."""
        self._trimmer = trimmer
        self._retention = retention
        self._broke = broke
        self._trimming: asyncio.Future[Trimmed] | None = None

    def sweep(self, now_ms: int, parked: frozenset[str]) -> None:
        """Delete what is due, unless a deletion is under way."""
        if self._trimming is not None:
            return
        lanes = self._retention.due(now_ms, parked)
        if lanes:
            self._trim(lanes)

    def _trim(self, lanes: dict[LaneKey, int]) -> None:
        """Begin to delete, in another thread."""
        assert self._trimmer is not None, "nothing is ever due without one"
        work = partial(self._trimmer.trim, lanes)
        done = partial(self._trimmed, lanes)
        self._trimming = watched.in_thread("deleting consumed messages", work, done, self._broke)

    def _trimmed(self, lanes: dict[LaneKey, int], trimming: asyncio.Future[Trimmed]) -> None:
        self._trimming = None
        if trimming.cancelled():
            return
        failure = trimming.exception()
        if failure is None:
            self._retention.done(lanes, trimming.result())
        else:
            self._retention.done(lanes, Trimmed(undone=dict.fromkeys(lanes, repr(failure))))
