"""What a store knows of its messages beside their order: by their ids, and in views.

An index over an id, or a watch that keeps views, is made on first use and is then shown each
message that comes or goes. Both find messages that are not in memory, too: a watch and a paged
index read all of those once, page by page, and say by PageNeeded which page they need next.
Nothing is kept for an id or a condition that no request has asked for. This module does not know
what an id or a view is for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeVar, cast

from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.stored import Stored
from adapter.core.model.lane import Lane
from adapter.core.model.paged_index import PagedIndex
from adapter.core.model.places import Places
from adapter.core.model.views import Watch

AnyWatch = TypeVar("AnyWatch", bound=Watch)
WATCHES_MAX: Final = 64
"""Each message that comes or goes is shown to each of them. The one not used for longest goes."""


class Indexes:
    """The indexes and watches of one store. is_used: whether there is any."""

    __slots__ = ("_by_id", "_lanes", "_paged", "_store", "_watches", "is_used")

    def __init__(self, store: str, lanes: list[Lane]) -> None:
        self._store = store
        self._lanes = lanes
        self._by_id: dict[str, dict[bytes, Places]] = {}
        """Messages in memory, by the field of the id and the id."""
        self._paged: dict[str, PagedIndex] = {}
        """Messages that are not in memory, by the field of the id."""
        self._watches: dict[str, Watch] = {}
        """By name; the last ones used come last."""
        self.is_used = False

    @property
    def paged_count(self) -> int:
        """How many messages are not in memory."""
        return sum(lane.paged.total for lane in self._lanes)

    def with_id(self, field: str, value: bytes) -> Iterator[Stored]:
        """Iterate over the available messages with this id, in the order of delivery.

        Raises PageNeeded when the next of them may be one that is not in memory.
        """
        index = self._by_id.get(field)
        if index is None:
            index = self._by_id[field] = {}
            self.is_used = True
            for lane in reversed(self._lanes):
                for stored in lane.available:
                    _add(index, getattr(stored.message, field), stored)
        loaded = iter(index.get(value) or ())
        paged = self._paged_with(field, value)
        if not paged:
            yield from loaded
            return
        number, seq = paged[0]
        for stored in loaded:
            if stored.place > (-number, seq, 0):
                break
            yield stored
        raise PageNeeded(self._store, number, seq, 1)

    def _paged_with(self, field: str, value: bytes) -> list[tuple[int, int]]:
        index = self._paged.get(field)
        if index is None:
            is_any_paged = any(lane.paged for lane in self._lanes)
            if not is_any_paged:
                return []
            index = self._paged[field] = PagedIndex()
        if not index.complete and (following := self.unindexed(field)) is not None:
            raise PageNeeded(self._store, *following, 0, field)
        return index.find(value, lambda lane, seq: seq in self._lanes[lane].paged, self.paged_count)

    def watch(self, name: str, make: Callable[[], AnyWatch]) -> AnyWatch:
        """Return the watch of a name, made on first use.

        Raises PageNeeded until it has seen all of the available messages.
        """
        found = self._watches.pop(name, None)
        if found is None:
            found = make()
            found.begin(self._lanes)
            if len(self._watches) >= WATCHES_MAX:
                del self._watches[next(iter(self._watches))]
        self._watches[name] = found
        self.is_used = True
        following = found.next_unread()
        if following is not None:
            raise PageNeeded(self._store, *following, 0, name)
        return cast("AnyWatch", found)

    def unwatch(self, name: str) -> None:
        """Forget the watch of a name."""
        self._watches.pop(name, None)

    def unindexed(self, name: str) -> tuple[int, int] | None:
        """Say which paged-out message an index or a watch is to read next: (lane, seq), or None."""
        if name in self._watches:
            return self._watches[name].next_unread()
        if name not in self._paged:
            return None
        index = self._paged[name]
        for lane in self._lanes:
            seq = lane.paged.at_or_after(index.progress.get(lane.number, 0))
            if seq is not None:
                return lane.number, seq
        index.complete = True
        return None

    def read_page(self, name: str, lane: int, through: int, page: list[Stored]) -> None:
        """Take a page, all there is up to seq through, into an index or watch being built."""
        if name in self._watches:
            self._watches[name].read(self._lanes[lane], through, page)
        index = self._paged.get(name)
        if index is None:
            return
        for stored in page:
            seq = stored.place[1]
            if seq in self._lanes[lane].paged:
                index.add(getattr(stored.message, name), lane, seq)
        index.progress[lane] = through + 1

    def added(self, stored: Stored) -> None:
        """Note that a message is available now."""
        for field, index in self._by_id.items():
            _add(index, getattr(stored.message, field), stored)
        for watch in self._watches.values():
            watch.added(stored)

    def removed(self, stored: Stored) -> None:
        """Note that a message is not available any more."""
        self._remove(stored)
        for watch in self._watches.values():
            watch.removed(stored)

    def paged_out(self, stored: Stored) -> None:
        """Note that the content of an available message leaves memory."""
        self._remove(stored)
        lane, seq, _ = stored.place
        for field, paged in self._paged.items():
            paged.add(getattr(stored.message, field), -lane, seq)
        for watch in self._watches.values():
            watch.paged_out(stored)

    def paged_in(self, stored: Stored) -> None:
        """Note that the content of an available message is in memory again."""
        for field, index in self._by_id.items():
            _add(index, getattr(stored.message, field), stored)
        for watch in self._watches.values():
            watch.paged_in(stored)

    def passed_by(self, stored: Stored) -> None:
        """Note that a paged-out message, whose content is at hand, is about to be removed."""
        for watch in self._watches.values():
            watch.paged_in(stored)
            watch.removed(stored)

    def forget_watches(self) -> None:
        """Forget the watches: messages have gone without their content being looked at."""
        self._watches.clear()

    def forget_paged(self) -> None:
        """Forget what must have seen each paged-out message: some have come back unseen."""
        self._paged.clear()
        self._watches.clear()

    def _remove(self, stored: Stored) -> None:
        for field, index in self._by_id.items():
            value = getattr(stored.message, field)
            places = index[value]
            places.remove(stored)
            if not places:
                del index[value]


def _add(index: dict[bytes, Places], value: bytes, stored: Stored) -> None:
    places = index.get(value)
    if places is None:
        places = index[value] = Places()
    places.add(stored)
