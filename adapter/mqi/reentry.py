"""Calls that come in the midst of another: from a garbage collection, in whatever thread it runs.

Packages close what a program forgot to close when its object is collected, and that may be while
this thread holds locks of the client layer, or serves a queue manager in this very process. Such a
call would wait for itself; it is put off until a call is over, or comes, that is free to wait. An
event loop of the program's own is no reason: there a close waits as all verbs do.

What a thread is inside is kept with the thread itself, and not by its identity: a thread of a
forked child may have that of a thread of the parent's, which is gone there in the midst of a call.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec import Struct

from adapter.connection.channel.link.in_process import serves_here


class PutOff(Struct, frozen=True):
    """A close of an object with its options (MQCO_*), or, without an object, a disconnection."""

    hconn: int
    hobj: int | None = None
    options: int = 0


class ThreadPosition(threading.local):
    """Where a thread is: inside a call, or in a function of the program that one calls."""

    is_inside = False
    is_in_function = False


class Reentry:
    """Which threads are inside a call, or in a function that one calls; and what was put off.

    catch_up: does what was put off, as far as it need not wait for another call. Threads that are
    inside call it when they are not any more.
    """

    def __init__(self, catch_up: Callable[[], None] = lambda: None) -> None:
        self.catch_up = catch_up
        self._here = ThreadPosition()
        self._put_off: deque[PutOff] = deque()

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Mark this thread for the time of a call."""
        here = self._here
        was_inside, here.is_inside = here.is_inside, True
        try:
            yield
        finally:
            here.is_inside = was_inside

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Mark this thread for the time of a function of the program, that a call calls."""
        here = self._here
        was_inside, was_in_function = here.is_inside, here.is_in_function
        here.is_inside, here.is_in_function = False, True
        try:
            yield
        finally:
            here.is_inside, here.is_in_function = was_inside, was_in_function

    @property
    def is_in_function(self) -> bool:
        """Whether this thread is in a function of the program that some connection calls."""
        return self._here.is_in_function

    def must_not_wait(self) -> bool:
        """Whether a call that comes now comes in the midst of something."""
        return self._here.is_inside or serves_here()

    def put_off(self, one: PutOff) -> None:
        """Keep something for later."""
        self._put_off.append(one)

    def take(self) -> Iterator[PutOff]:
        """Return what was put off."""
        while self._put_off:
            try:
                yield self._put_off.popleft()
            except IndexError:  # another thread has taken it
                return
