"""Marks: which messages of a queue have been browsed, by one handle or for a set that cooperates.

Soft state. A mark is of a place, and no place is given twice: one of a message that has gone means
nothing. This module does not know when a mark ends.
"""

from __future__ import annotations

from typing import Final

from adapter.core.contract.message import Place

MARKS_MAX: Final = 10_000
"""Of a queue: a browse for what is not marked passes over those that are. The oldest go first."""


class Marks:
    """The marks of one queue. wake_ms: when they are checked next; 0: never."""

    __slots__ = ("_co_op", "_own", "wake_ms")

    def __init__(self) -> None:
        self._co_op: dict[Place, int] = {}
        """When they were marked; the oldest first."""
        self._own: dict[object, dict[Place, None]] = {}
        """By handle, the oldest first."""
        self.wake_ms = 0

    def __len__(self) -> int:
        return len(self._co_op) + sum(map(len, self._own.values()))

    def mark(self, place: Place, handle: object, now_ms: int | None) -> None:
        """Mark a message: for the set at a time, or for a handle alone without a time."""
        if now_ms is None:
            self._own.setdefault(handle, {})[place] = None
        else:
            self._co_op.pop(place, None)
            self._co_op[place] = now_ms
        while len(self) > MARKS_MAX:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        if self._co_op:
            del self._co_op[next(iter(self._co_op))]
            return
        longest = max(self._own.values(), key=len)
        del longest[next(iter(longest))]

    def is_marked(self, place: Place, handle: object, *, cooperates: bool) -> bool:
        """Whether a handle is not to be shown a message again."""
        own = self._own.get(handle)
        return (cooperates and place in self._co_op) or (own is not None and place in own)

    def unmark(self, place: Place, handle: object | None) -> None:
        """Take a mark away: of a handle, or the set's if handle is None."""
        if handle is None:
            self._co_op.pop(place, None)
        elif handle in self._own:
            self._own[handle].pop(place, None)

    def forget(self, place: Place) -> None:
        """Take all marks of a message away."""
        self._co_op.pop(place, None)
        for own in self._own.values():
            own.pop(place, None)

    def forget_handle(self, handle: object) -> None:
        """Take all marks of a handle away."""
        self._own.pop(handle, None)

    def forget_set(self) -> None:
        """Take all marks of the set away."""
        self._co_op.clear()

    def oldest_ms(self) -> int | None:
        """Say when the oldest mark of the set was made; None if it has no marks."""
        return next(iter(self._co_op.values()), None)

    def expire(self, before_ms: int) -> bool:
        """Take away the set's marks that were made at this time or before; whether there were."""
        over = False
        while self._co_op:
            place, marked_ms = next(iter(self._co_op.items()))
            if marked_ms > before_ms:
                break
            del self._co_op[place]
            over = True
        return over
