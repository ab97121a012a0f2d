"""Which thread reads: one of those that wait for an answer, on behalf of all.

There is no reader thread: each answer would wake it only for it to wake the thread that waits, and
the second wake-up costs more than the whole rest of a request. Instead:

1. A thread that waits tries to take the lead. If it is free, it leads: it reads, and gives every
   answer that arrives to the request it belongs to, until its own is among them.
2. Otherwise it follows: it sleeps until the leader brings its answer, or hands it the lead.
3. A leader that has its answer gives the lead up and wakes one follower without an answer, which
   takes the lead as in 1. If another thread takes it first, the follower sleeps on: that thread
   leads now, and will hand over in its turn.

No thread waits for ever. Between the moment when a follower is woken and the moment when it takes
the lead it may die (KeyboardInterrupt) or get its answer; it hands over then, or it never led; and
a follower that was forgotten all the same looks up every follow_s. A thread that sends and finds
the link full reads too, if the lead is free: else the leader reads already.

A signal handler runs in the main thread, in the midst of whatever that does: also while it leads,
with bytes in hand that it has read and not yet given to their requests. A verb of the handler must
not read then, and no other thread will: see is_mine, by which the channel refuses it.

This module knows neither links nor answers' meanings.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Final, TypeVar

from adapter.connection.channel.forking import do_if_free, new_lock, release_if_mine, try_lock
from adapter.connection.channel.requests import Pending

ATTEMPT_S: Final = 0.05
"""With a deadline, the lead is tried for this long at a time: another thread may bring answers."""

ResultT = TypeVar("ResultT")


class Leadership:
    """The lead of one channel. led, followed: how often a thread waited as which."""

    def __init__(self, follow_s: float) -> None:
        self.led = self.followed = 0
        self.followers: dict[int, Pending] = {}
        """Requests whose threads sleep, by number, in the order in which they began to."""
        self._follow_s = follow_s
        self._lead = new_lock()

    @property
    def is_mine(self) -> bool:
        """Whether the calling thread leads."""
        owned: bool = self._lead._is_owned()  # type: ignore[attr-defined]  # as is_mine
        return owned

    def await_answer(self, request: Pending, read: Callable[[], None]) -> None:
        """Wait for the answer to a request; call read, which reads once, as often as it takes."""
        try:
            if not (try_lock(self._lead) or self._follow(request)):
                return
            self.led += 1
            while request.answer is None:
                read()
        except BaseException:
            release_if_mine(self._lead)
            self.hand_over()
            raise
        self._lead.release()
        if self.followers:
            self.hand_over()

    def await_until(
        self, requests: Sequence[Pending], deadline_s: float, read: Callable[[], None]
    ) -> None:
        """Wait for the answers to requests, at most until a time of time.monotonic()."""

        def read_once() -> None:
            if _unanswered(requests):
                read()

        while time.monotonic() < deadline_s and _unanswered(requests):
            do_if_free(self._lead, read_once, None, ATTEMPT_S)

    def read_if_free(self, read: Callable[[], bool]) -> bool:
        """Read once unless another thread leads; return what read() does, or False."""
        try:
            return do_if_free(self._lead, read, False)
        finally:
            self.hand_over()

    def do_alone(self, action: Callable[[], None], timeout_s: float) -> None:
        """Do something that no other thread may read during; not at all if one reads too long."""
        do_if_free(self._lead, action, None, timeout_s)

    def hand_over(self) -> None:
        """Wake one follower to take the lead."""
        if not self.followers:
            return
        for number in list(self.followers):
            follower = self.followers.get(number)
            if follower is not None and follower.answer is None and follower.wake is not None:
                follower.wake.put(None)
                return

    def _follow(self, request: Pending) -> bool:
        """Wait for the answer or for the lead; return whether it is the lead."""
        request.wake = wake = SimpleQueue[None]()
        self.followers[request.request] = request
        self.followed += 1
        try:
            while request.answer is None:
                if try_lock(self._lead):
                    return True
                try:
                    wake.get(timeout=self._follow_s)
                except Empty:
                    continue
            return False
        finally:
            self.followers.pop(request.request, None)


def _unanswered(requests: Sequence[Pending]) -> bool:
    return any(request.answer is None for request in requests)
