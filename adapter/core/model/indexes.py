"""What a store knows of its messages beside their order: by their ids, and in views.

An index over an id, or a watch that keeps views, is made on first use and is then shown each
message that comes or goes. Both find messages that are not in memory, too: a watch and a paged
index read all of those once, page by page, and say by PageNeeded which page they need next.
Nothing is kept for an id or a condition that no request has asked for, nor for one that was asked
for long ago. This module does not know what an id or a view is for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, TypeVar, cast

from adapter.core.contract.message import Place
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.stored import Stored
from adapter.core.model.lane import Lane
from adapter.core.model.paged_index import START, PagedIndex, Skips
from adapter.core.model.places import Places
from adapter.core.model.views import AT_ONCE_COST, SLICE_COST, Selected, Watch

AnyWatch = TypeVar("AnyWatch", bound=Watch)
KeyOf = Callable[[Stored], bytes | None]
"""What an id is of a message; None if the message cannot be found by it."""
USED_MAX: Final = 128
"""Indexes and watches together: each message that comes or goes is shown to each of them. The one
not used for longest goes. So many are a watch and an index for each selection that there may be."""


class Indexes:
    """The indexes and watches of one store. is_used: whether there is any."""

    __slots__ = (
        *("_by_id", "_keys", "_lanes", "_paged", "_passed", "_store", "_used", "_watches"),
        "is_used",
    )

    def __init__(self, store: str, lanes: list[Lane]) -> None:
        self._store = store
        self._lanes = lanes
        self._by_id: dict[str, dict[bytes, Places]] = {}
        """Messages in memory, by the name of the id and the id."""
        self._keys: dict[str, KeyOf] = {}
        """What each id is of a message."""
        self._paged: dict[str, PagedIndex] = {}
        """Messages that are not in memory, by the name of the id."""
        self._watches: dict[str, Watch] = {}
        """By name."""
        self._used: dict[str, None] = {}
        """Names of indexes and watches; the last ones used come last."""
        self._passed: set[Place] = set()
        """Paged-out messages that watches have seen, and that are about to be removed."""
        self.is_used = False

    @property
    def paged_count(self) -> int:
        """How many messages are not in memory."""
        return sum(lane.paged.total for lane in self._lanes)

    def with_id(
        self,
        name: str,
        value: bytes,
        after: Place = START,
        skips: Skips | None = None,
        key: KeyOf | None = None,
    ) -> Iterator[Stored]:
        """Iterate over the available messages with this id, in the order of delivery.

        name: of the id: an attribute of messages, or, if key says what it is, any. after: a place
        behind which to begin. Raises PageNeeded when the next of them may be one that is not in
        memory, unless the caller would pass over it: skips.
        """
        index = self._by_id.get(name)
        if index is None:
            index = self._by_id[name] = {}
            self._keys[name] = key = key or partial(_id_of, name)
            for lane in reversed(self._lanes):
                for stored in lane.available:
                    _add(index, key(stored), stored)
        self._use(name)
        places = index.get(value)
        loaded = places.after(after) if places is not None else iter(())
        paged = self._first_paged(name, value, after, skips)
        if paged is None:
            yield from loaded
            return
        number, seq = paged
        for stored in loaded:
            if stored.place > (-number, seq, 0):
                break
            yield stored
        raise PageNeeded(self._store, number, seq, 1)

    def _first_paged(
        self, name: str, value: bytes, after: Place, skips: Skips | None
    ) -> tuple[int, int] | None:
        index = self._paged.get(name)
        if index is None:
            is_any_paged = any(lane.paged for lane in self._lanes)
            if not is_any_paged:
                return None
            index = self._paged[name] = PagedIndex()
        if not index.complete and (following := self.unindexed(name)) is not None:
            raise following
        return index.first(value, self._is_paged, self.paged_count, after, skips)

    def _is_paged(self, lane: int, seq: int) -> bool:
        return seq in self._lanes[lane].paged

    def watch(self, name: str, make: Callable[[], AnyWatch]) -> AnyWatch:
        """Return the watch of a name, made on first use.

        Raises PageNeeded until it has seen all of the available messages.
        """
        found = self._watches.get(name)
        if found is None:
            found = self._watches[name] = make()
            found.begin(self._lanes)
        self._use(name)
        found.judge(AT_ONCE_COST)
        following = self.unindexed(name)
        if following is not None:
            raise following
        return cast("AnyWatch", found)

    def _use(self, name: str) -> None:
        """Note that an index or a watch is used now, and forget one if there are too many.

        A name ends with the name of the watch that it asks, which is used with it: it stays.
        """
        self.is_used = True
        for one in [one for one in self._used if name.endswith(one)]:
            del self._used[one]
            self._used[one] = None
        self._used.pop(name, None)
        self._used[name] = None
        if len(self._used) > USED_MAX:
            oldest = next(iter(self._used))
            if oldest in self._watches:
                self.forget(oldest)  # and the indexes that ask what it has seen
            else:
                self._forget_one(oldest)

    def selects(self, name: str, stored: Stored) -> bool | None:
        """Whether the watch of a selection has a message, whose content is at hand, in its view;
        None if it cannot say so.
        """
        found = self._watches.get(name)
        return found.has(stored) if isinstance(found, Selected) else None

    def forget(self, name: str) -> None:
        """Forget the watch of a name, and all whose name ends with it."""
        for one in [one for one in self._used if one.endswith(name)]:
            self._forget_one(one)

    def _forget_one(self, name: str) -> None:
        del self._used[name]
        self._watches.pop(name, None)
        if self._by_id.pop(name, None) is not None:
            del self._keys[name]
            self._paged.pop(name, None)

    def forget_passed(self) -> None:
        """Forget what watches know for the sake of requests that wait: none waits."""
        for watch in self._watches.values():
            watch.forget_passed()

    def unindexed(self, name: str) -> PageNeeded | None:
        """Say which page an index or a watch is to look at next; None if it has seen all."""
        if name in self._watches:
            watch = self._watches[name]
            if watch.judge(0):
                return PageNeeded(self._store, 0, 0, 0, name, at_hand=True)
            following = watch.next_unread()
            return PageNeeded(self._store, *following, 0, name) if following else None
        if name not in self._paged:
            return None
        index = self._paged[name]
        for lane in self._lanes:
            seq = lane.paged.at_or_after(index.progress.get(lane.number, 0))
            if seq is not None:
                return PageNeeded(self._store, lane.number, seq, 0, name)
        index.complete = True
        return None

    def read_page(self, name: str, lane: int, through: int, page: list[Stored]) -> None:
        """Take a page, all there is up to seq through, into an index or watch being built."""
        if name in self._watches:
            self._watches[name].read(self._lanes[lane], through, page)
            self._watches[name].judge(SLICE_COST)
        index = self._paged.get(name)
        if index is None:
            return
        for stored in page:
            seq = stored.place[1]
            value = self._keys[name](stored)
            if value is not None and seq in self._lanes[lane].paged:
                index.add(value, lane, seq)
        index.progress[lane] = through + 1

    def added(self, stored: Stored) -> None:
        """Note that a message is available now."""
        for watch in self._watches.values():  # first, because ids may ask what they have seen
            watch.added(stored)
        for name, index in self._by_id.items():
            _add(index, self._keys[name](stored), stored)

    def removed(self, stored: Stored) -> None:
        """Note that a message is not available any more."""
        self._remove(stored)
        for watch in self._watches.values():
            watch.removed(stored)

    def paged_out(self, stored: Stored) -> None:
        """Note that the content of an available message leaves memory."""
        self._remove(stored)
        lane, seq, _ = stored.place
        for name, paged in self._paged.items():
            value = self._keys[name](stored)
            if value is not None:
                paged.add(value, -lane, seq)
        for watch in self._watches.values():
            watch.paged_out(stored)

    def paged_in(self, stored: Stored) -> None:
        """Note that the content of an available message is in memory again."""
        for watch in self._watches.values():
            watch.paged_in(stored)
        for name, index in self._by_id.items():
            _add(index, self._keys[name](stored), stored)

    def passed_by(self, stored: Stored) -> None:
        """Note that a paged-out message, whose content is at hand, is about to be removed."""
        if not self.is_used:
            return  # its removal is of no interest either
        for watch in self._watches.values():
            watch.paged_in(stored)
            watch.removed(stored)
        self._passed.add(stored.place)

    def removed_unseen(self, place: Place) -> None:
        """Note that a paged-out message is removed: what watches say of it is wrong from now on,
        unless they have seen it go.
        """
        if place in self._passed:
            self._passed.remove(place)
        else:
            self.forget_watches()

    def forget_watches(self) -> None:
        """Forget the watches, and the indexes that ask what they have seen: messages have gone
        without their content being looked at.
        """
        for name in list(self._watches):
            self.forget(name)

    def forget_paged(self) -> None:
        """Forget what must have seen each paged-out message: some have come back unseen."""
        self._paged.clear()
        self.forget_watches()

    def _remove(self, stored: Stored) -> None:
        for name, index in self._by_id.items():
            value = self._keys[name](stored)
            if value is None:
                continue
            places = index[value]
            places.remove(stored)
            if not places:
                del index[value]


def _id_of(name: str, stored: Stored) -> bytes:
    value: bytes = getattr(stored.message, name)
    return value


def _add(index: dict[bytes, Places], value: bytes | None, stored: Stored) -> None:
    if value is None:
        return
    places = index.get(value)
    if places is None:
        places = index[value] = Places()
    places.add(stored)
