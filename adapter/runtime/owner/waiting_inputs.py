"""Inputs that wait to be given to core: what arrived from other queue managers, what feeds read.

They wait in a queue for each key, and are given from each in their order, the keys in turn. A key
whose next input core does not take now is tried again each second, and the others go on. While much
is not durable yet nothing is given. This module must not know what the inputs are, nor where they
come from.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from enum import Enum
from typing import Generic, TypeVar

from adapter.host import watched
from adapter.runtime.owner.term import OwnerTerm

RETRY_S = 1.0
"""Before an input without room is given again."""
ROOM_S = 0.01
UNDURABLE_BYTES_MAX = 16 * 1024 * 1024
"""A quarter of what clients may have there."""

KeyT = TypeVar("KeyT", bound=Hashable)
InputT = TypeVar("InputT")


class GiveOutcome(Enum):
    """What came of giving core an input. MORE: only a part of it took effect; it is given again."""

    DONE = "done"
    BLOCKED = "blocked"
    MORE = "more"


class WaitingInputs(Generic[KeyT, InputT]):
    """Inputs in queues by key. All methods are called on the event loop's thread."""

    def __init__(
        self,
        name: str,
        serving: Callable[[], OwnerTerm | None],
        give: Callable[[OwnerTerm, InputT], GiveOutcome],
        at_once: int,
        broke: watched.Ended,
    ) -> None:
        """name: what waits, for people. serving: the term that inputs are given to; while there is
        none they wait, for who added them to forget them. at_once: how many are given in one go;
        clients come between.
        """
        self._asyncio = asyncio.get_running_loop()
        self._name = name
        self._serving = serving
        self._give = give
        self._at_once = at_once
        self._broke = broke
        self._queues: dict[KeyT, deque[InputT]] = {}
        self._blocked: set[KeyT] = set()
        """What is tried again later."""
        self._is_scheduled = False

    def add(self, key: KeyT, one: InputT) -> None:
        """Give core an input soon, after those that wait under the same key."""
        self._queues.setdefault(key, deque()).append(one)
        self._schedule(0.0)

    def forget(self, is_unwanted: Callable[[KeyT], bool]) -> None:
        """Drop what waits under such keys."""
        for key in [key for key in self._queues if is_unwanted(key)]:
            del self._queues[key]
            self._blocked.discard(key)

    def clear(self) -> None:
        """Drop all that waits."""
        self._queues.clear()
        self._blocked.clear()

    def _schedule(self, after_s: float) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            call = watched.callback(self._name, self._give_some, self._broke)
            self._asyncio.call_later(after_s, call)

    def _give_some(self) -> None:
        self._is_scheduled = False
        term = self._serving()
        if term is None:
            return  # what waits is read again
        if term.undurable_bytes > UNDURABLE_BYTES_MAX:
            self._schedule(ROOM_S)
            return
        left = self._at_once
        for key, waiting in list(self._queues.items()):
            while waiting and left and key not in self._blocked:
                left -= 1
                outcome = self._give(term, waiting[0])
                if outcome is GiveOutcome.DONE:
                    waiting.popleft()
                elif outcome is GiveOutcome.BLOCKED:
                    self._block(key)
                if outcome is GiveOutcome.MORE or term.undurable_bytes > UNDURABLE_BYTES_MAX:
                    left = 0  # clients come between, and what was put becomes durable
            del self._queues[key]
            if waiting:
                self._queues[key] = waiting  # at the end: the other keys' inputs come next
            if not left:
                break
        if any(key not in self._blocked for key in self._queues):
            self._schedule(0.0)

    def _block(self, key: KeyT) -> None:
        self._blocked.add(key)
        retry = watched.callback(self._name, lambda: self._retry(key), self._broke)
        self._asyncio.call_later(RETRY_S, retry)

    def _retry(self, key: KeyT) -> None:
        self._blocked.discard(key)
        self._schedule(0.0)
