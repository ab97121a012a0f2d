"""A message store: what every kind of queue is made of, whatever its attributes are called.

Theory. A store has lanes, as many as its kind of queue says. A *place* is (-lane, seq, n), so that
places sort in the order of delivery: the highest lane first. Persistent messages of a lane are
numbered densely (seq), non-persistent ones lie between them (n > 0). A place is never given twice.

Each message of a store is in exactly one of these states:

- *available*: in its lane, found by selection. In memory, or *paged out*: then its lane knows its
  seq, its backout count and when it expires, and its content is on the queue's topic;
- *locked*: held by one unit, or by one browse. It is in memory, keeps its place, and is not found;
- *claimed*: in a batch of a durable consumer. Its content is on the topic and not in memory.

add() makes a message available, lock() and unlock() hide it and show it again, claim() and
give_back() do so for batches, take() removes it for good. page_out() and page_in() change where the
content of an available message is, and nothing else: no rule may come to another result by it.
Counts are kept up on every step, so that no question needs a walk through the messages.

A kind of queue is a subclass: it adds its attributes, open counts, and what its verbs need.
This module does not know what a verb means, nor any attribute of a queue.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Final

from adapter.core.contract.arrivals import Lowest
from adapter.core.contract.commands import Request
from adapter.core.contract.message import PRIORITY_MAX, Place
from adapter.core.contract.spans import Span
from adapter.core.contract.stored import Stored
from adapter.core.model.claims import Batch, DurableConsumer
from adapter.core.model.indexes import Indexes
from adapter.core.model.lane import Lane
from adapter.core.model.marks import Marks
from adapter.core.model.paged_index import LANES_MAX, Skips

PRIORITIES: Final = PRIORITY_MAX + 1


class Store:
    """The messages of one queue."""

    def __init__(self, name: str, lanes: int) -> None:
        if not 1 <= lanes <= LANES_MAX:
            raise ValueError(f"{name}: a store has 1 to {LANES_MAX} lanes, not {lanes}")
        self.name = name
        self.lanes = [Lane(number) for number in range(lanes)]
        self.stored: dict[Place, Stored] = {}
        """What is in memory, available or locked."""
        self.available_count = 0
        self.available_by_priority = [0] * PRIORITIES
        self.soft_by_priority = [0] * PRIORITIES
        """Of those, the messages that are not persistent."""
        self.locked_count = 0
        self.consumers: dict[str, DurableConsumer] = {}
        """Durable ones, by name: they hold what is claimed."""
        self.marks: Marks | None = None
        """Which messages have been browsed, once a browse has marked one."""
        self.indexes = Indexes(name, self.lanes)
        self.suspended: list[Request] = []
        self.paging_keys: dict[Hashable, None] = {}
        """What those wait for that need a page of it, and are to be tried again when it comes."""
        """Requests that wait for a page."""

    def begin_term(self, first_n: int) -> None:
        """Number non-persistent messages from here on."""
        for lane in self.lanes:
            lane.next_n = max(lane.next_n, first_n)

    def add(self, stored: Stored) -> None:
        """Store a message at its place and advance its lane's numbering."""
        place = stored.place
        lane_number, seq, n = place
        lane = self.lanes[-lane_number]
        if n:
            lane.next_n = max(lane.next_n, n + 1)
        else:
            lane.next_seq = seq + 1
        self.stored[place] = stored
        self._offer(lane, stored)

    def lock(self, stored: Stored) -> None:
        """Hide a message for a unit, or a browse."""
        self._withdraw(stored)
        stored.locked = True
        self.locked_count += 1

    def unlock(self, stored: Stored) -> None:
        """Make a message available again, at its place."""
        stored.locked = False
        self.locked_count -= 1
        self._offer(self.lanes[-stored.place[0]], stored)

    def take(self, place: Place, priority: int) -> Stored | None:
        """Remove a message for good; None if its content is not in memory.

        KeyError or ValueError if no message is at that place.
        """
        if self.marks is not None:
            self.marks.forget(place)
        stored = self.stored.pop(place, None)
        if stored is None:
            if place[2]:
                raise KeyError(place)
            self.lanes[-place[0]].page_in(place[1])
            self.available_count -= 1
            self.available_by_priority[priority] -= 1
            if self.indexes.is_used:
                self.indexes.removed_unseen(place)
        elif stored.locked:
            self.locked_count -= 1
        else:
            self._withdraw(stored)
        return stored

    @property
    def weight(self) -> int:
        """How many bytes of available bodies are in memory."""
        return sum(lane.weight for lane in self.lanes)

    @property
    def paged_count(self) -> int:
        """How many messages are not in memory."""
        return self.indexes.paged_count

    def lowest(self) -> list[Lowest]:
        """Say of each lane from which seq and n on it has messages, locked or not."""
        found = [lane.lowest() for lane in self.lanes]
        left = self.locked_count
        for stored in self.stored.values():
            if not left:
                break
            if stored.locked:
                left -= 1
                _lower(found, -stored.place[0], stored.place[1], stored.place[2])
        for span in self.claimed_spans():
            _lower(found, span.lane, span.first, 0)
        return found

    def in_memory(self) -> Iterator[Stored]:
        """Iterate over the available messages that are in memory, in the order of delivery."""
        for lane in reversed(self.lanes):
            yield from lane.available

    def in_order(self, skips: Skips | None = None) -> Iterator[Stored]:
        """Iterate over the available messages in the order of delivery; may raise PageNeeded, but
        for what the caller would pass over: skips.
        """
        if self.available_count:
            for lane in reversed(self.lanes):
                if lane.paged.total or lane.available.first() is not None:
                    yield from lane.in_order(self.name, None, skips)

    def first_in_memory(self, count: int) -> list[Stored]:
        """Return the available messages that come first, so many, if one lane has them in memory.

        Else none: then they are found by iterating, which is slower.
        """
        for number in range(len(self.lanes) - 1, -1, -1):
            lane = self.lanes[number]
            if lane.available.first() is not None:
                return lane.first_in_memory(count)
            if lane.paged.total:
                break
        return []

    def in_order_after(self, place: Place, skips: Skips | None = None) -> Iterator[Stored]:
        """Iterate over the available messages strictly behind a place; else as in_order()."""
        for number in range(min(-place[0], len(self.lanes) - 1), -1, -1):
            yield from self.lanes[number].in_order(self.name, place, skips)

    def page_out(self, keep: int, keep_bytes: int, moved_n: int) -> int:
        """Keep in memory the first messages of each lane, its last page, and what is not on its
        topic yet.

        moved_n: entries up to it are copied for good. Returns how many were paged out.
        """
        count = 0
        for lane in self.lanes:
            if len(lane.available) <= 2 * keep and lane.weight <= 2 * keep_bytes:
                continue
            gone = lane.evict(keep, keep_bytes, moved_n)
            if not gone:
                continue
            self.let_go(lane, gone)
            lane.mark_put(gone[0].place[1], gone[0].message.available_ms)
            count += len(gone)
        return count

    def let_go(self, lane: Lane, gone: list[Stored]) -> None:
        """Forget the content of messages, given in their order, that are not in a lane any more."""
        lane.page_out(gone)
        for stored in gone:
            del self.stored[stored.place]
            if self.indexes.is_used:
                self.indexes.paged_out(stored)

    def page_in(self, come: list[Stored]) -> None:
        """Bring back paged-out messages of one lane, given in their order: one at least.

        Their backout counts are set here.
        """
        lane = self.lanes[-come[0].place[0]]
        lane.page_in_all(come)
        for stored in come:
            self.stored[stored.place] = stored
            if self.indexes.is_used:
                self.indexes.paged_in(stored)
        lane.add_all(come)

    def count_backout(self, place: Place, entry_n: int) -> None:
        """Raise the backout count of a message, in memory or not."""
        stored = self.stored.get(place)
        if stored is not None:
            stored.backout_count += 1
            stored.entry_n = entry_n
        elif place[2] or place[1] not in self.lanes[-place[0]].paged:
            raise KeyError(place)
        else:
            counts = self.lanes[-place[0]].counts
            counts[place[1]] = counts.get(place[1], 0) + 1

    @property
    def claimed_count(self) -> int:
        """How many messages consumers have been given: neither available nor locked."""
        return sum(span.count for span in self.claimed_spans())

    def claimed_spans(self) -> Iterator[Span]:
        """Iterate over what consumers have been given."""
        for consumer in self.consumers.values():
            for batch in consumer.batches.values():
                yield from batch.spans

    def claim(self, batch: Batch) -> None:
        """Hide the messages of a batch: they are on their topic, and their content goes."""
        for span in batch.spans:
            for seq in range(span.first, span.last + 1):
                self.take((-span.lane, seq, 0), span.priority)
                self.lanes[span.lane].forget_end(seq, span.expires_by_ms)

    def give_back(self, batch: Batch, more: int) -> list[Span]:
        """Return the messages of a batch to their places, their counts raised by so many.

        Returns the spans that end at a time which is new to their lane.
        """
        ending = []
        for span in batch.spans:
            lane = self.lanes[span.lane]
            lane.paged.add_span(span.first, span.last)
            self.available_count += span.count
            self.available_by_priority[span.priority] += span.count
            if lane.add_end(span.first, span.last, span.expires_by_ms):
                ending.append(span)
            if more:
                lane.counts.update(dict.fromkeys(range(span.first, span.last + 1), more))
        for one in batch.counts:
            self.lanes[one.lane].counts[one.seq] = one.count + more
        self.indexes.forget_paged()
        return ending

    def clear(self, kept: list[tuple[Place, int]]) -> None:
        """Remove every persistent message but those at these places, whose priority is given.

        Locked ones are among them, so that the same happens when it is replayed.
        """
        places = dict(kept)
        for stored in [one for one in self.stored.values() if not one.place[2]]:
            if not stored.locked and stored.place not in places:
                del self.stored[stored.place]
                self._withdraw(stored)
        for lane in self.lanes:
            left = [place[1] for place in places if -place[0] == lane.number]
            self.available_count -= lane.forget_paged([seq for seq in left if seq in lane.paged])
        self._count_again(places.items())
        self.indexes.forget_watches()
        self.marks = None

    def _count_again(self, kept: Iterable[tuple[Place, int]]) -> None:
        """Count what is available by priority, from what is left after a clearing."""
        counts = list(self.soft_by_priority)
        for place, priority in kept:
            stored = self.stored.get(place)
            if stored is None or not stored.locked:
                counts[priority] += 1
        self.available_by_priority = counts

    def _offer(self, lane: Lane, stored: Stored) -> None:
        lane.add(stored)
        indexes = self.indexes
        if indexes.is_used:
            indexes.added(stored)
        self.available_count += 1
        priority = stored.priority
        self.available_by_priority[priority] += 1
        if stored.place[2]:
            self.soft_by_priority[priority] += 1

    def _withdraw(self, stored: Stored) -> None:
        place = stored.place
        self.lanes[-place[0]].remove(stored)
        self.available_count -= 1
        priority = stored.priority
        self.available_by_priority[priority] -= 1
        if place[2]:
            self.soft_by_priority[priority] -= 1
        indexes = self.indexes
        if indexes.is_used:
            indexes.removed(stored)


def _lower(found: list[Lowest], lane: int, seq: int, n: int) -> None:
    """Count a message that is not in its lane."""
    known = found[lane]
    if n:
        found[lane] = Lowest(lane, known.seq, min(known.n, n))
    else:
        found[lane] = Lowest(lane, min(known.seq, seq), known.n)
