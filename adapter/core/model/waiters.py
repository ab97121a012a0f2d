"""Who waits, and for which key: a queue, a group on a queue, a lock; served in order of arrival.

Theory. A request that cannot be answered yet stands in the line of one *key*, any object by which
those are found whom a change may serve: a get that waits for a message stands in the line of its
queue. A rule that changes something wakes the key; it does not know who waits, and waking a key
that no request waits for costs nothing. When the change has been applied, woken keys are taken out
in turn, and the line of each is looked through from its head; a waiter that cannot be served keeps
its place, and the next one is looked at. After each one that was served the line is looked through
again from its head, for what was served may have changed what the others can have.

Every waiter has an arrival number. A change that may serve several lines, as the end of a group
lock serves who waits for that group and who waits for any message of the queue, names all of their
keys: the lines are merged by arrival number, so that no line overtakes another one.

Soft state. This module does not know what a key stands for, nor when a wait ends.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator
from typing import Final

from adapter.core.contract.commands import Command, Request
from adapter.core.model.handles import QueueHandle


class Waiter:
    """One request that waits. deadline_ms: by elapsed_ms, 0: none; ended: answered, or gone.

    handle: of a get or a browse.

    arrival: given by Waiters; lower ones came before.
    """

    __slots__ = ("arrival", "command", "deadline_ms", "ended", "handle", "key", "names", "request")

    def __init__(
        self,
        key: Hashable,
        request: Request,
        command: Command,
        handle: QueueHandle | None,
        deadline_ms: int,
    ) -> None:
        self.key = key
        self.request = request
        self.command = command
        self.handle = handle
        self.deadline_ms = deadline_ms
        self.arrival = 0
        self.ended = False
        self.names: tuple[Hashable, ...] = ()
        """What else its answer may depend on, see Waiters.wake_naming(); set before it is added."""


_NOBODY: Final[dict[int, Waiter]] = {}


class Waiters:
    """All waiters of a queue manager, and the keys that have been woken."""

    __slots__ = ("_arrivals", "_lines", "_named", "_woken")

    def __init__(self) -> None:
        self._arrivals = 0
        self._lines: dict[Hashable, dict[int, Waiter]] = {}
        """By key, then by arrival number, ascending."""
        self._named: dict[Hashable, dict[int, Waiter]] = {}
        """By what they name, then by arrival number."""
        self._woken: dict[Hashable, None] = {}

    @property
    def arrivals(self) -> int:
        """The arrival number of the last waiter that came."""
        return self._arrivals

    def add(self, waiter: Waiter) -> None:
        """Put a waiter at the end of its key's line."""
        self._arrivals += 1
        waiter.arrival = self._arrivals
        self._lines.setdefault(waiter.key, {})[waiter.arrival] = waiter
        for name in waiter.names:
            self._named.setdefault(name, {})[waiter.arrival] = waiter

    def remove(self, waiter: Waiter) -> None:
        """Take a waiter out of its line. KeyError if it is not in it."""
        line = self._lines[waiter.key]
        del line[waiter.arrival]
        if not line:
            del self._lines[waiter.key]
            self._woken.pop(waiter.key, None)
        for name in waiter.names:
            named = self._named[name]
            del named[waiter.arrival]
            if not named:
                del self._named[name]

    def move(self, waiter: Waiter, key: Hashable) -> None:
        """Put a waiter at the end of another key's line: what it waits for has changed."""
        self.remove(waiter)
        waiter.key = key
        self.add(waiter)

    def wake_naming(self, name: Hashable) -> None:
        """Note that those who name something may be served now, whatever they wait for."""
        for waiter in self._named.get(name, _NOBODY).values():
            self._woken[waiter.key] = None

    def count(self, key: Hashable) -> int:
        """Say how many wait for a key."""
        return len(self._lines.get(key, ()))

    def waiting_for(self, *keys: Hashable) -> Iterator[Waiter]:
        """Iterate over those who wait for any of the keys, in order of arrival.

        The lines must not change meanwhile.
        """
        if len(keys) == 1:
            return iter(self._lines.get(keys[0], _NOBODY).values())
        lines = [self._lines[key] for key in keys if key in self._lines]
        return heapq.merge(*(line.values() for line in lines), key=lambda waiter: waiter.arrival)

    def wake(self, key: Hashable) -> None:
        """Note that those who wait for a key may be served now."""
        if key in self._lines:
            self._woken[key] = None

    def pop_woken(self) -> Hashable | None:
        """Take out the key that was woken last; None if no key was woken."""
        return self._woken.popitem()[0] if self._woken else None

    def woken(self) -> list[Hashable]:
        """Return the keys that have been woken and not been taken out."""
        return list(self._woken)
