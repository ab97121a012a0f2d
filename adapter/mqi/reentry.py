"""Calls that come in the midst of another: from a garbage collection, in whatever thread it runs.

Packages close what a program forgot to close when its object is collected, and that may be while
this thread holds locks of the client layer, or serves a queue manager in this very process. Such a
call would wait for itself; it is put off until a call is over, or comes, that is free to wait. An
event loop of the program's own is no reason: there a close waits as all verbs do.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from adapter.connection.channel.link.in_process import serves_here


class PutOff(Struct, frozen=True):
    """A close of an object with its options (MQCO_*), or, without an object, a disconnection."""

    hconn: int
    hobj: int | None = None
    options: int = 0


class Reentry:
    """Which threads are inside a call, or in a function that one calls; and what was put off."""

    def __init__(self) -> None:
        self._inside: set[int] = set()
        self._in_functions: set[int] = set()
        self._put_off: deque[PutOff] = deque()

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Mark this thread for the time of a call."""
        ident = threading.get_ident()
        if ident in self._inside:
            yield
            return
        self._inside.add(ident)
        try:
            yield
        finally:
            self._inside.discard(ident)

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Mark this thread for the time of a function of the program, that a call calls."""
        ident = threading.get_ident()
        was_inside, was_in_function = ident in self._inside, ident in self._in_functions
        self._inside.discard(ident)
        self._in_functions.add(ident)
        try:
            yield
        finally:
            if was_inside:
                self._inside.add(ident)
            if not was_in_function:
                self._in_functions.discard(ident)

    @property
    def is_in_function(self) -> bool:
        """Whether this thread is in a function of the program that some connection calls."""
        return threading.get_ident() in self._in_functions

    def must_not_wait(self) -> bool:
        """Whether a call that comes now comes in the midst of something."""
        return threading.get_ident() in self._inside or serves_here()

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
