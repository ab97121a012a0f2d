"""Messages in the order of their places: O(1) at both ends.

A sorted list with a moving head. Taking from the head and adding at the tail cost O(1); putting
back or removing in the middle costs a bisection and one memmove. It does not know what a place
means.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from operator import attrgetter
from typing import Final

from adapter.core.contract.message import Place
from adapter.core.contract.stored import Stored

_COMPACT_AT: Final = 512  # taken slots kept in front of the head before they are cut off

_place = attrgetter("place")


class Places:
    """Stored messages sorted by place."""

    __slots__ = ("_head", "_items")

    def __init__(self) -> None:
        self._items: list[Stored | None] = []
        self._head = 0

    def __len__(self) -> int:
        return len(self._items) - self._head

    def first(self) -> Stored | None:
        """Return the message that comes first, if any."""
        return self._items[self._head] if self._head < len(self._items) else None

    def head(self, count: int) -> list[Stored]:
        """Return the messages that come first, so many; none if there are fewer."""
        items, head = self._items, self._head
        if count > len(items) - head:
            return []
        return items[head : head + count]  # type: ignore[return-value]

    def add(self, stored: Stored) -> None:
        """Add a message at its place, wherever that is."""
        items, head = self._items, self._head
        if len(items) == head or items[-1].place < stored.place:  # type: ignore[union-attr]
            items.append(stored)
        elif head and stored.place < items[head].place:  # type: ignore[union-attr]
            self._head = head - 1
            items[head - 1] = stored
        else:
            items.insert(self._index(stored.place), stored)

    def add_all(self, come: list[Stored]) -> None:
        """Add messages, given in their order: one at least.

        A page comes between what is at the head and what follows: one move of what follows, which
        may be long, instead of one for each message.
        """
        items = self._items
        if len(items) == self._head or items[-1].place < come[0].place:  # type: ignore[union-attr]
            items += come
            return
        start, end = self._index(come[0].place), self._index(come[-1].place)
        between = items[start:end]
        items[start:end] = sorted([*between, *come], key=_place) if between else come

    def remove(self, stored: Stored) -> None:
        """Remove a message that is here; ValueError if it is not."""
        items, head = self._items, self._head
        if head < len(items) and items[head] is stored:
            items[head] = None
            self._head = head + 1
            self._cut_off()
            return
        index = self._index(stored.place)
        if index == len(items) or items[index] is not stored:
            raise ValueError(f"no message at {stored.place}")
        del items[index]

    def remove_first(self, gone: list[Stored]) -> bool:
        """Remove messages, given in their order: one at least. False, and nothing is done, if they
        are not the first ones.
        """
        items, head, end = self._items, self._head, self._head + len(gone)
        if end > len(items) or items[head] is not gone[0] or items[end - 1] is not gone[-1]:
            return False
        items[head:end] = [None] * len(gone)
        self._head = end
        self._cut_off()
        return True

    def has(self, place: Place) -> bool:
        """Whether there is a message at this place."""
        items, index = self._items, self._index(place)
        return index < len(items) and items[index].place == place  # type: ignore[union-attr]

    def discard(self, place: Place) -> bool:
        """Remove the message at this place, if there is one; whether there was."""
        if not self.has(place):
            return False
        found = self._items[self._index(place)]
        assert found is not None, "behind the head every slot is taken"
        self.remove(found)
        return True

    def after(self, place: Place) -> Iterator[Stored]:
        """Iterate over the messages strictly behind a place. Do not change me meanwhile."""
        items = self._items
        index = self._index(place)
        if index < len(items) and items[index].place == place:  # type: ignore[union-attr]
            index += 1
        for at in range(index, len(items)):
            yield items[at]  # type: ignore[misc]

    def before(self, place: Place) -> Iterator[Stored]:
        """Iterate backwards over the messages strictly before a place; as after."""
        items = self._items
        for at in range(self._index(place) - 1, self._head - 1, -1):
            yield items[at]  # type: ignore[misc]

    def behind(self, count: int, size: int) -> Iterator[Stored]:
        """Iterate over the messages behind the first ones: so many, or of so many bytes of bodies.

        Do not change me meanwhile.
        """
        items, start, left = self._items, self._head, size
        end = min(len(items), start + count)
        while start < end and left > 0:
            left -= items[start].length  # type: ignore[union-attr]
            start += 1
        for at in range(start, len(items)):
            yield items[at]  # type: ignore[misc]

    def remove_all(self, gone: list[Stored]) -> None:
        """Remove messages that are here, given in their order: one at least."""
        items = self._items
        start, end = self._index(gone[0].place), self._index(gone[-1].place) + 1
        if end - start == len(gone):
            del items[start:end]
            return
        places = {one.place for one in gone}
        items[start:end] = [
            one
            for one in items[start:end]
            if one.place not in places  # type: ignore[union-attr]
        ]

    def __iter__(self) -> Iterator[Stored]:
        items = self._items
        for at in range(self._head, len(items)):
            yield items[at]  # type: ignore[misc]

    def _cut_off(self) -> None:
        """Give up taken slots in front of the head, if there are many."""
        if self._head >= _COMPACT_AT and self._head * 2 >= len(self._items):
            del self._items[: self._head]
            self._head = 0

    def _index(self, place: Place) -> int:
        return bisect_left(self._items, place, lo=self._head, key=_place)
