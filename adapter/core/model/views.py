"""Views: some of a queue's available messages in the order of delivery, in memory or not.

Theory. A view is two things side by side: the messages in memory, sorted by place, and for each
lane the seqs of those that are not. Iterating merges both: where the next seq comes before the next
message in memory, PageNeeded is raised for it, and the caller comes again when it is loaded.

A watch feeds one or more views. It is shown each message that becomes available (added) or stops
being so (removed), always with its content at hand, and hears when that content leaves memory or
comes back. What was paged out before the watch began is `unread`: the watch is not usable until all
of it was read once, page by page. A page that brings a message into memory before its turn counts
as read. So a view costs one pass over what is paged out and then one look at each message that
comes or goes; a get that may have few of many messages never looks at the others.
This module does not know what a message must be like to be in a view.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from adapter.core.contract.message import MessageData, Place
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.ranges import Ranges
from adapter.core.contract.stored import Stored
from adapter.core.model.lane import Lane
from adapter.core.model.paged_index import LANES_MAX
from adapter.core.model.places import Places

START: Final[Place] = (-LANES_MAX, 0, 0)
"""Before every message."""


class View:
    """Messages by place: those in memory, and the seqs by lane of those that are not."""

    __slots__ = ("loaded", "paged")

    def __init__(self) -> None:
        self.loaded = Places()
        self.paged: dict[int, Ranges] = {}

    def __contains__(self, stored: Stored) -> bool:
        return self.loaded.has(stored.place)

    def add(self, stored: Stored) -> None:
        """Take in a message that is in memory."""
        self.loaded.add(stored)

    def add_paged(self, place: Place) -> None:
        """Take in a message that is not in memory."""
        self.paged.setdefault(-place[0], Ranges()).add(place[1])

    def discard(self, place: Place) -> bool:
        """Take a message out, if it is in; whether it was."""
        if self.loaded.discard(place):
            return True
        paged = self.paged.get(-place[0])
        if place[2] or paged is None or place[1] not in paged:
            return False
        paged.remove(place[1])
        return True

    def page_out(self, stored: Stored) -> None:
        """Keep only the number of a message, if it is in."""
        if self.loaded.discard(stored.place):
            self.add_paged(stored.place)

    def page_in(self, stored: Stored) -> None:
        """Take back the content of a message, if it is in."""
        paged = self.paged.get(-stored.place[0])
        if paged is not None and stored.place[1] in paged:
            paged.remove(stored.place[1])
            self.loaded.add(stored)

    def in_order(self, queue: str, after: Place = START) -> Iterator[Stored]:
        """Iterate in the order of delivery, behind a place; may raise PageNeeded."""
        gap = self._gap_behind(after)
        for stored in self.loaded.after(after):
            if gap is not None and gap < stored.place:
                break
            yield stored
        if gap is not None:
            raise PageNeeded(queue, -gap[0], gap[1])

    def _gap_behind(self, after: Place) -> Place | None:
        for number in sorted(self.paged, reverse=True):
            if -number < after[0]:
                continue
            seq = self.paged[number].at_or_after(after[1] + 1 if -number == after[0] else 0)
            if seq is not None:
                return -number, seq, 0
        return None


class Watch(ABC):
    """Follows what is available on a queue. unread: what is paged out and not yet known, by lane.

    A subclass says what added and removed mean; both are only called with the content at hand.
    """

    __slots__ = ("unread",)

    def __init__(self) -> None:
        self.unread: list[Ranges] = []

    def begin(self, lanes: list[Lane]) -> None:
        """Take in what is in memory; the rest is to be read."""
        self.unread = [Ranges(lane.paged.spans()) for lane in lanes]
        for lane in reversed(lanes):
            for stored in lane.available:
                self.added(stored)

    @abstractmethod
    def views(self) -> Iterable[View]:
        """Return its views."""

    @abstractmethod
    def added(self, stored: Stored) -> None:
        """Take in a message that is available now."""

    @abstractmethod
    def removed(self, stored: Stored) -> None:
        """Take out a message that is not available any more."""

    def paged_out(self, stored: Stored) -> None:
        """Note that a message's content goes."""
        for view in self.views():
            view.page_out(stored)

    def paged_in(self, stored: Stored) -> None:
        """Note that a message's content has come."""
        unread = self.unread[-stored.place[0]]
        if stored.place[1] in unread:
            unread.remove(stored.place[1])
            self.added(stored)
            return
        for view in self.views():
            view.page_in(stored)

    def read(self, lane: Lane, through: int, page: Iterable[Stored]) -> None:
        """Take in what is paged out up to a seq; page: its content, as far as there is any."""
        unread = self.unread[lane.number]
        for stored in page:
            seq = stored.place[1]
            if seq in unread and seq in lane.paged:
                self.added(stored)
                self.paged_out(stored)
        first = unread.at_or_after(0)
        while first is not None and first <= through:
            unread.remove(first)
            first = unread.at_or_after(first)

    def next_unread(self) -> tuple[int, int] | None:
        """Say which message is to be read next: (lane, seq), or None."""
        for number, unread in enumerate(self.unread):
            seq = unread.at_or_after(0)
            if seq is not None:
                return number, seq
        return None


class Selected(Watch):
    """The messages that a predicate holds for."""

    __slots__ = ("_fits", "view")

    def __init__(self, fits: Callable[[MessageData], bool]) -> None:
        super().__init__()
        self._fits = fits
        self.view = View()

    def views(self) -> Iterable[View]:
        return (self.view,)

    def added(self, stored: Stored) -> None:
        if self._fits(stored.message):
            self.view.add(stored)

    def removed(self, stored: Stored) -> None:
        self.view.discard(stored.place)
