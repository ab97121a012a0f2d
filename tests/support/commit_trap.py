"""Stops what passes a proxy at the next commit, on its way there or on its way back.

It knows which commits were asked for and which were answered, and is what proves that a queue
manager was killed while commits were unanswered.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from mqk_demo.commits import CommitWatch
from mqk_demo.proxy import Mode, Proxy

WAIT_S = 30.0

Where = Literal["request", "reply"]


class Unanswered(Struct, frozen=True):
    """Units whose commit was asked for, and whose client has no answer.

    done: those of them that the queue manager has answered: they are committed.
    """

    units: frozenset[bytes]
    done: frozenset[bytes]


class CommitTrap(CommitWatch):
    """A tap for a Proxy, which is to be given to watch()."""

    def __init__(self) -> None:
        super().__init__()
        self._proxy: Proxy | None = None
        self._armed: Where | None = None
        self._caught: set[bytes] = set()

    def watch(self, proxy: Proxy) -> None:
        """This is the proxy whose tap it is."""
        self._proxy = proxy

    def catch(self, where: Where) -> set[bytes]:
        """Hold everything in one direction from the next commit on; return that commit's unit.

        The very bytes that carry the commit, or its answer, are held already.
        """
        with self._lock:
            self._armed = where
            self._caught = set()
            self._held = set()
            assert self._lock.wait_for(lambda: self._caught, WAIT_S), f"no {where} of a commit"
            return set(self._caught)

    def await_commits(self, count: int) -> None:
        """Wait until so many more commits have been answered."""
        with self._lock:
            wanted = self._answered + count
            done = self._lock.wait_for(lambda: self._answered >= wanted, WAIT_S)
            assert done, f"{self._answered} commits of {wanted} were answered in {WAIT_S} s"

    def freeze(self) -> Unanswered:
        """Let nothing more pass, and say which commits are unanswered now."""
        assert self._proxy is not None
        self._proxy.hold_requests()
        self._proxy.hold_replies()
        with self._lock:
            waiting = {unit for told in self._connections.values() for unit in told.asked.values()}
            return Unanswered(frozenset(waiting | self._held), frozenset(self._held))

    def _was_asked(self, unit: bytes) -> None:
        self._spring("request", unit)

    def _was_done(self, unit: bytes, holding: bool) -> None:
        self._spring("reply", unit)
        assert self._proxy is not None
        super()._was_done(unit, holding or self._proxy.replies.mode is Mode.HOLD)

    def _spring(self, where: Where, unit: bytes) -> None:
        assert self._proxy is not None
        if self._armed != where:
            return
        self._armed = None
        flow = self._proxy.requests if where == "request" else self._proxy.replies
        flow.mode = Mode.HOLD
        self._caught.add(unit)
        self._lock.notify_all()
