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

A look may cost much: a selection of ten thousand characters, a property of as many. Such messages
are `unjudged` until a request asks for the view, and then they are judged in slices, of which a
step of core does one: PageNeeded says that there is more at hand.
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
from adapter.core.model.lane import Lane, first_gap
from adapter.core.model.paged_index import START, Skips
from adapter.core.model.places import Places

SLICE_COST: Final = 5_000
"""Of looks at messages in one step; a unit is about a microsecond."""
AT_ONCE_COST: Final = 1_000
"""Of looks for which a request need not wait a step."""
LOOK_LENGTH: Final = 1_024
"""Characters of a property that are compared in the time that else passes at each part of a
selection."""
LOOK_COST: Final = 100
"""Of one look that is done as the message comes: fifty selections may look at it."""


class View:
    """Messages by place: those in memory, and the seqs by lane of those that are not."""

    __slots__ = ("loaded", "paged")

    def __init__(self) -> None:
        self.loaded = Places()
        self.paged: dict[int, Ranges] = {}

    def has(self, place: Place) -> bool:
        """Whether the message at a place is in, in memory or not."""
        paged = self.paged.get(-place[0])
        return self.loaded.has(place) or (not place[2] and paged is not None and place[1] in paged)

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

    def in_order(
        self, queue: str, after: Place = START, skips: Skips | None = None
    ) -> Iterator[Stored]:
        """Iterate in the order of delivery, behind a place; may raise PageNeeded, but for what the
        caller would pass over: skips.
        """
        gap = self._gap_behind(after, skips)
        for stored in self.loaded.after(after):
            if gap is not None and gap < stored.place:
                break
            yield stored
        if gap is not None:
            raise PageNeeded(queue, -gap[0], gap[1])

    def _gap_behind(self, after: Place, skips: Skips | None) -> Place | None:
        for number in sorted(self.paged, reverse=True):
            if -number < after[0]:
                continue
            behind = after[1] + 1 if -number == after[0] else 0
            seq = first_gap(number, self.paged[number], behind, skips)
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

    def forget_passed(self) -> None:  # noqa: B027 -- most know nothing
        """Forget what is known for the sake of requests that wait for pages."""

    def judge(self, most: int) -> bool:
        """Look at messages at hand that are not judged; most: what that may cost. Whether there
        are more of them.
        """
        del most
        return False

    def next_unread(self) -> tuple[int, int] | None:
        """Say which message is to be read next: (lane, seq), or None."""
        for number, unread in enumerate(self.unread):
            seq = unread.at_or_after(0)
            if seq is not None:
                return number, seq
        return None


class Selected(Watch):
    """The messages that a predicate holds for."""

    __slots__ = ("_fits", "_lanes", "_length", "_unjudged", "view")

    def __init__(self, fits: Callable[[MessageData], bool], length: int = 0) -> None:
        """length: of the selection string that fits stands for; 0 if it costs next to nothing."""
        super().__init__()
        self._fits = fits
        self._length = length
        self._lanes: list[Lane] = []
        self._unjudged: dict[Place, Stored] = {}
        self.view = View()

    def begin(self, lanes: list[Lane]) -> None:
        self._lanes = lanes
        if not self._length:
            super().begin(lanes)
            return
        self.unread = [Ranges(lane.paged.spans()) for lane in lanes]
        for lane in reversed(lanes):
            for stored in lane.available:
                self._unjudged[stored.place] = stored

    def views(self) -> Iterable[View]:
        return (self.view,)

    def added(self, stored: Stored) -> None:
        if self._length and self._cost(stored.message) > LOOK_COST:
            self._unjudged[stored.place] = stored
        elif self._fits(stored.message):
            self.view.add(stored)

    def removed(self, stored: Stored) -> None:
        if self._unjudged.pop(stored.place, None) is None:
            self.view.discard(stored.place)

    def paged_out(self, stored: Stored) -> None:
        if self._unjudged.pop(stored.place, None) is None:
            super().paged_out(stored)
        else:
            self.unread[-stored.place[0]].add(stored.place[1])

    def paged_in(self, stored: Stored) -> None:
        if stored.place in self._unjudged:
            self._unjudged[stored.place] = stored
        else:
            super().paged_in(stored)

    def read(self, lane: Lane, through: int, page: Iterable[Stored]) -> None:
        if not self._length:
            super().read(lane, through, page)
            return
        unread = self.unread[lane.number]
        for stored in page:
            if stored.place[1] in unread and stored.place[1] in lane.paged:
                self._unjudged[stored.place] = stored
        super().read(lane, through, ())

    def judge(self, most: int) -> bool:
        while self._unjudged and most > 0:
            stored = self._unjudged[next(iter(self._unjudged))]
            most -= self._cost(stored.message)
            self._judge(stored)
        return bool(self._unjudged)

    def has(self, stored: Stored) -> bool | None:
        """Whether a message, whose content is at hand, is in the view; it is judged now if it was
        not before. None: it is one that is still to be read.
        """
        place = stored.place
        if not place[2] and place[1] in self.unread[-place[0]]:
            return None
        if place in self._unjudged:
            self._judge(stored)
        return self.view.has(place)

    def _judge(self, stored: Stored) -> None:
        place = stored.place
        del self._unjudged[place]
        if not self._fits(stored.message):
            return
        if not place[2] and place[1] in self._lanes[-place[0]].paged:
            self.view.add_paged(place)
        else:
            self.view.add(stored)

    def _cost(self, message: MessageData) -> int:
        """What it costs at most to look at a message, in microseconds."""
        longest = 0
        if message.properties:
            for value in message.properties.values():
                if isinstance(value, str) and len(value) > longest:
                    longest = len(value)
        return 1 + self._length * (LOOK_LENGTH + longest) // (10 * LOOK_LENGTH)
