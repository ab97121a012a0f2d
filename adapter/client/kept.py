"""Objects that are made when first needed and kept for the next time: the last ones that were used.

This module does not know what is kept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from adapter.connection.channel.forking import new_lock

T = TypeVar("T")


class LastUsed(Generic[T]):
    """The objects that were used last, by name. Any thread may call it."""

    def __init__(self, most: int) -> None:
        """most: so many are kept. One that is not kept any more is let go of, and not ended."""
        self._most = most
        self._kept: OrderedDict[str, T] = OrderedDict()
        self._lock = new_lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, name: str, make: Callable[[], T]) -> T:
        """Return the object of this name; make it if it is not kept."""
        with self._lock:
            found = self._kept.get(name)
            if found is None:
                self._kept[name] = found = make()
                if len(self._kept) > self._most:
                    self._kept.popitem(last=False)
            else:
                self._kept.move_to_end(name)
            return found
