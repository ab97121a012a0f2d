"""Forked children: what one inherits of its parent's connections is closed to it.

Theory. A fork copies a connection whole: its socket, its session and the numbers that the session
has given out. If both processes used it, a command of one would have the number of a command of the
other, and the queue manager would take the second for a repetition and answer it with the outcome
of the first; and each process would read answers to the other's requests. So Python calls
disown_all() in the child before anything else runs there. Each connection is then closed in the
child, with a reason that says so, and without a word to the queue manager: the descriptor is closed
and nothing is sent or shut down, because the parent goes on with the same socket.

The child has only the thread that forked. A lock that another thread held would stay locked for
ever: locks made by new_lock() are new in the child.

What is listed here is listed for the process, since a fork is one's of the process.
"""

from __future__ import annotations

import os
from _thread import RLock
from collections.abc import Callable
from typing import Final, Protocol, TypeVar
from weakref import WeakSet

ResultT = TypeVar("ResultT")


class Disowned(Protocol):
    """What a forked child must not use."""

    def disown(self) -> None:
        """Close it in the child. Sends nothing, waits for nothing and takes no lock."""


_LISTED: Final[WeakSet[Disowned]] = WeakSet()
_LOCKS: Final[WeakSet[RLock]] = WeakSet()


def disown_in_child(one: Disowned) -> None:
    """Have this disowned in every child that is forked while it exists."""
    _LISTED.add(one)


def new_lock() -> RLock:
    """Make a lock that no thread holds in a forked child."""
    lock = RLock()
    _LOCKS.add(lock)
    return lock


def is_mine(lock: RLock) -> bool:
    """Whether the calling thread holds a lock."""
    owned: bool = lock._is_owned()  # type: ignore[attr-defined]  # as threading.Condition asks it
    return owned


def try_lock(lock: RLock, timeout_s: float = 0.0) -> bool:
    """Acquire a lock within a time; False if not, or if the calling thread holds it already."""
    if lock._is_owned():  # type: ignore[attr-defined]  # as is_mine
        return False
    return lock.acquire(True, timeout_s) if timeout_s > 0 else lock.acquire(False)


def release_if_mine(lock: RLock) -> None:
    """Release a lock if the calling thread holds it, in one step: see do_if_free()."""
    try:
        lock.release()
    except RuntimeError:
        return  # it does not


def do_if_free(
    lock: RLock, action: Callable[[], ResultT], otherwise: ResultT, timeout_s: float = 0.0
) -> ResultT:
    """Do something with a lock; return its result, or otherwise if the lock is not free in time, or
    if the calling thread holds it already.

    A signal handler may raise between any two steps, also between the one that acquires and the one
    that would note it: whatever comes, the lock is released.
    """
    if is_mine(lock):
        return otherwise
    try:
        if not try_lock(lock, timeout_s):
            return otherwise
        done = action()
    except BaseException:
        release_if_mine(lock)
        raise
    lock.release()
    return done


def disown_all() -> None:
    """Disown everything that is listed; Python calls it in each forked child."""
    for lock in list(_LOCKS):
        if not is_mine(lock):
            lock._at_fork_reinit()  # type: ignore[attr-defined]  # as threading does with its own
    for one in list(_LISTED):
        one.disown()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=disown_all)
