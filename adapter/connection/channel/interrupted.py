"""Signal handlers that interrupt a call: what they may do, and what is put off until it goes on.

A handler runs in the main thread in the midst of whatever that does. If that is a call of this
channel, and it holds the lock or leads, then nothing that waits can be served: only the interrupted
call could bring the answer. A verb of the handler is refused; closing is done without a wait, or
put off until the interrupted call can do it, which is before it waits again. This module knows no
request.
"""

from __future__ import annotations

from _thread import RLock
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from adapter.connection.channel.forking import is_mine
from adapter.connection.channel.leading import Leadership
from adapter.errors import CallInProgress


class Interruptions:
    """Of the calls of one channel. lock: the channel's."""

    def __init__(self, lock: RLock, leadership: Leadership) -> None:
        self._lock = lock
        self._leadership = leadership
        self.later: deque[Callable[[], None]] = deque()
        """What is put off; catch_up() does it."""

    @property
    def has_locked(self) -> bool:
        """Whether the calling thread holds the lock."""
        return is_mine(self._lock)

    @property
    def is_inside(self) -> bool:
        """Whether the calling thread is in the midst of a call already."""
        owned: bool = self._lock._is_owned()  # type: ignore[attr-defined]  # as is_mine
        return owned or self._leadership.is_mine

    def refuse(self, lock: RLock | None = None) -> None:
        """Refuse a verb that would wait for the call which it interrupts. Raises CallInProgress.

        lock: another one that the verb is about to acquire.
        """
        if self.is_inside or (lock is not None and is_mine(lock)):
            raise CallInProgress(
                "a signal handler used the connection in the midst of a call of the same thread: "
                "use a connection of its own there, or have the handler close the queue or the "
                "connection, cancel a token or set a flag"
            )

    def put_off(self, action: Callable[[], None]) -> None:
        """Do something as soon as the interrupted call can."""
        self.later.append(action)

    def catch_up(self) -> None:
        """Do what was put off; each may be put off again."""
        for _ in range(len(self.later)):
            with suppress(IndexError):  # another thread does it
                self.later.popleft()()
