"""A queue: its lanes, what is available on it, its figures and its waiters.

The invariant: a stored message is either available or locked by one unit, never both; depth is
the available ones plus the uncommitted puts. This module does not know what a verb means.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from adapter.core.attributes.queue import QueueAttributes
from adapter.core.contract.commands import Request
from adapter.core.contract.message import PRIORITY_MAX, Message, Place, Stored
from adapter.core.model.claims import Batch, Consumer, Span
from adapter.core.model.delays import Delays, class_of
from adapter.core.model.lane import Lane, PageNeeded
from adapter.core.model.marks import Marks
from adapter.core.model.paged_index import PagedIndex
from adapter.core.model.places import Places
from adapter.core.model.views import Watch
from adapter.core.model.waiter import Waiter

AnyWatch = TypeVar("AnyWatch", bound=Watch)
LANES = PRIORITY_MAX + 1
ID_FIELDS = ("message_id", "correlation_id", "group_id")
WATCHES_MAX = 64
"""Each message that comes or goes is shown to each of them. The one not used for longest goes."""


class Queue:
    """One local queue."""

    def __init__(self, name: str, incarnation: int, attributes: QueueAttributes) -> None:
        self.name = name
        self.incarnation = incarnation
        self.attributes = attributes
        self.fifo_lane = attributes.def_priority
        self.lanes = [Lane(number) for number in range(LANES)]
        self.stored: dict[Place, Stored] = {}
        """What is in memory, available or held by a unit."""
        self.depth_by_priority = [0] * LANES
        self.soft_by_priority = [0] * LANES
        """Of those, the available messages that are not persistent."""
        self.uncommitted_by_priority = [0] * LANES
        self.available_count = 0
        self.uncommitted_puts = 0
        self.high_depth = 0
        """The most that depth was since the figures were reset; soft."""
        self.locked_count = 0
        self.delayed = 0
        """Messages that wait for their time: they lie elsewhere, and have their room here."""
        self.uncommitted_delayed = 0
        """Of the uncommitted puts, those that will wait."""
        self.delays: Delays | None = None
        """When they are due, once there has been one."""
        self.open_input = 0
        self.open_output = 0
        self.open_handles = 0
        self.cooperating = 0
        """Handles whose browses share their marks."""
        self.marks: Marks | None = None
        self.exclusive = False
        self.full_reported = False
        self.triggered_ms: int | None = None
        """When the last trigger message for it was made, or put; None: not since the start."""
        self.loss_reported = False
        """No trigger message for it could be put since an event said so."""
        self.is_deleted = False
        """Handles may still lead here."""
        self.waiters: deque[Waiter] = deque()
        self.parked: list[Request] = []
        """Requests that wait for a page."""
        self.consumers: dict[str, Consumer] = {}
        """Durable ones, by name."""
        self.consuming: dict[str, int] = {}
        """Which connection has a consumer open, by its name."""
        self._index: dict[str, dict[bytes, Places]] = {}
        self._paged_index: dict[str, PagedIndex] = {}
        self.selections: Counter[str] = Counter()
        """The selection strings that handles were opened with, and by how many."""
        self._watches: dict[str, Watch] = {}
        """By name; the last ones used come last."""

    @property
    def is_temporary(self) -> bool:
        """Whether it is soft: a temporary dynamic queue."""
        return self.attributes.definition_type == "TEMPDYN"

    @property
    def moves_backouts(self) -> bool:
        """Whether the queue manager moves what came back too often; see core.rules.backout."""
        attributes = self.attributes
        return attributes.backout_action == "MOVE" and attributes.backout_threshold > 0

    @property
    def claimed_count(self) -> int:
        """How many messages consumers have been given: neither available nor held by a unit."""
        return sum(span.count for span in self.claimed())

    def claimed(self) -> Iterator[Span]:
        """Iterate over what consumers have been given."""
        for consumer in self.consumers.values():
            for batch in consumer.batches.values():
                yield from batch.spans

    @property
    def depth(self) -> int:
        """CurrentQDepth: available messages and uncommitted puts, but for delayed ones."""
        return self.available_count + self.uncommitted_puts - self.uncommitted_delayed

    @property
    def taken_room(self) -> int:
        """How much of max_depth is taken: delayed messages have their room from the put on."""
        return self.available_count + self.uncommitted_puts + self.delayed

    def counted(self) -> int:
        """How many messages count for triggers: those of TriggerMsgPriority or higher."""
        return sum(self.depth_by_priority[self.attributes.trigger_msg_priority :])

    def lane_of(self, message: Message) -> int:
        """Say which lane a message is put to; where delayed messages are, by how long they wait."""
        if message.destination:
            return class_of(message)
        if self.attributes.msg_delivery_sequence == "FIFO":
            return self.fifo_lane
        return message.priority

    def alter(self, attributes: dict[str, Any]) -> None:
        """Take new attribute values.

        A queue that is FIFO keeps its lane when the default priority changes: messages put later
        would come before others, or behind them, by that.
        """
        was_fifo = self.attributes.msg_delivery_sequence == "FIFO"
        for name, value in attributes.items():
            setattr(self.attributes, name, value)
        if not was_fifo:
            self.fifo_lane = self.attributes.def_priority

    def begin_term(self, first_n: int) -> None:
        """Number non-persistent messages from here on."""
        for lane in self.lanes:
            lane.next_n = max(lane.next_n, first_n)

    def add(self, stored: Stored) -> None:
        """Store a message at its place and advance its lane's numbering."""
        lane_number, seq, n = stored.place
        lane = self.lanes[-lane_number]
        if n:
            lane.next_n = max(lane.next_n, n + 1)
        else:
            lane.next_seq = seq + 1
        self.stored[stored.place] = stored
        self._offer(stored)
        if self.depth > self.high_depth:
            self.high_depth = self.depth

    def lock(self, stored: Stored) -> None:
        """Hide a message for a unit."""
        self._withdraw(stored)
        stored.locked = True
        self.locked_count += 1

    def unlock(self, stored: Stored) -> None:
        """Return a message to its place."""
        stored.locked = False
        self.locked_count -= 1
        self._offer(stored)

    def take(self, place: Place, priority: int) -> Stored | None:
        """Remove a message for good; None if its content is not in memory.

        KeyError or ValueError if there is none at that place.
        """
        if self.marks is not None:
            self.marks.forget(place)
        stored = self.stored.pop(place, None)
        if stored is None:
            if place[2]:
                raise KeyError(place)
            self.lanes[-place[0]].page_in(place[1])
            self.available_count -= 1
            self.depth_by_priority[priority] -= 1
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
        return sum(lane.paged.total for lane in self.lanes)

    def loaded(self) -> Iterator[Stored]:
        """Iterate over the available messages that are in memory, in the order of delivery."""
        for lane in reversed(self.lanes):
            yield from lane.available

    def in_order(self) -> Iterator[Stored]:
        """Iterate over the available messages in the order of delivery; may raise PageNeeded."""
        if self.available_count:
            for lane in reversed(self.lanes):
                if lane.paged.total or lane.available.first() is not None:
                    yield from lane.in_order(self.name)

    def in_order_after(self, place: Place) -> Iterator[Stored]:
        """Iterate over the available messages strictly behind a place; may raise PageNeeded."""
        for number in range(min(-place[0], LANES - 1), -1, -1):
            yield from self.lanes[number].in_order(self.name, place)

    def with_id(self, field: str, value: bytes) -> Iterator[Stored]:
        """Iterate over the available messages with this id, by an index built on first use.

        Raises PageNeeded when the next of them may be one that is not in memory.
        """
        index = self._index.get(field)
        if index is None:
            index = self._index[field] = {}
            for stored in self.loaded():
                _index_add(index, getattr(stored.message, field), stored)
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
        raise PageNeeded(self.name, number, seq, 1)

    def _paged_with(self, field: str, value: bytes) -> list[tuple[int, int]]:
        if field not in self._paged_index and not self.paged_count:
            return []
        index = self._paged_index.get(field)
        if index is None:
            index = self._paged_index[field] = PagedIndex()
            index.complete = not self.paged_count
        if not index.complete and (following := self.unindexed(field)) is not None:
            raise PageNeeded(self.name, *following, 0, field)
        return index.find(value, lambda lane, seq: seq in self.lanes[lane].paged)

    def watch(self, name: str, make: Callable[[], AnyWatch]) -> AnyWatch:
        """Return what follows the available messages under a name, made on first use.

        Raises PageNeeded until it has seen all of them.
        """
        found = self._watches.pop(name, None)
        if found is None:
            found = make()
            found.begin(self.lanes)
            if len(self._watches) >= WATCHES_MAX:
                del self._watches[next(iter(self._watches))]
        self._watches[name] = found
        following = found.next_unread()
        if following is not None:
            raise PageNeeded(self.name, *following, 0, name)
        return cast("AnyWatch", found)

    def unwatch(self, name: str) -> None:
        """Forget what follows the messages under a name."""
        self._watches.pop(name, None)

    def unindexed(self, field: str) -> tuple[int, int] | None:
        """Say which paged-out message is to be read next for an index: (lane, seq), or None."""
        if field in self._watches:
            return self._watches[field].next_unread()
        if field not in self._paged_index:
            return None
        index = self._paged_index[field]
        for lane in self.lanes:
            seq = lane.paged.at_or_after(index.progress.get(lane.number, 0))
            if seq is not None:
                return lane.number, seq
        index.complete = True
        return None

    def index_page(self, field: str, lane: int, through: int, page: list[Stored]) -> None:
        """Take a page, all there is up to seq through, into an index that is being built."""
        if field in self._watches:
            self._watches[field].read(self.lanes[lane], through, page)
        index = self._paged_index.get(field)
        if index is None:
            return
        for stored in page:
            seq = stored.place[1]
            if seq in self.lanes[lane].paged:
                index.add(getattr(stored.message, field), lane, seq)
        index.progress[lane] = through + 1

    def page_out(self, keep: int, keep_bytes: int, moved_n: int) -> int:
        """Keep the first messages of each lane in memory, and what is not on its topic yet.

        moved_n: entries up to it are copied for good. Returns how many were paged out.
        """
        count = 0
        for lane in self.lanes:
            if len(lane.available) <= 2 * keep and lane.weight <= 2 * keep_bytes:
                continue
            gone = lane.evict(
                keep, keep_bytes, lambda one: not one.place[2] and one.entry_n <= moved_n
            )
            for stored in gone:
                self._forget(lane, stored)
            if gone:
                lane.mark_put(gone[0].place[1], gone[0].message.available_ms)
            count += len(gone)
        return count

    def _forget(self, lane: Lane, stored: Stored) -> None:
        lane.page_out(stored)
        del self.stored[stored.place]
        self._index_remove(stored)
        for field, index in self._paged_index.items():
            index.add(getattr(stored.message, field), lane.number, stored.place[1])
        for watch in self._watches.values():
            watch.paged_out(stored)

    def page_in(self, stored: Stored) -> None:
        """Bring back a paged-out message; its backout count is set here."""
        lane = self.lanes[-stored.place[0]]
        stored.backout_count = lane.page_in(stored.place[1], stored.message.expires_at_ms)
        self.stored[stored.place] = stored
        self._show(lane, stored)
        for watch in self._watches.values():
            watch.paged_in(stored)

    def discard_paged(self, stored: Stored) -> None:
        """Note that a paged-out message, whose content is at hand, is about to be taken."""
        for watch in self._watches.values():
            watch.paged_in(stored)
            watch.removed(stored)

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

    def claim(self, batch: Batch) -> None:
        """Hide the messages of a batch: they are on their topic, and their content goes."""
        for span in batch.spans:
            for seq in range(span.first, span.last + 1):
                self.take((-span.lane, seq, 0), span.priority)

    def give_back(self, batch: Batch, more: int) -> list[Span]:
        """Return the messages of a batch to their places, their counts raised by so many.

        Returns the spans that end at a time which is new to their lane.
        """
        ending = []
        for span in batch.spans:
            lane = self.lanes[span.lane]
            lane.paged.add_span(span.first, span.last)
            self.available_count += span.count
            self.depth_by_priority[span.priority] += span.count
            if lane.add_end(span.first, span.last, span.expires_by_ms):
                ending.append(span)
            if more:
                lane.counts.update(dict.fromkeys(range(span.first, span.last + 1), more))
        for one in batch.counts:
            self.lanes[one.lane].counts[one.seq] = one.count + more
        self._paged_index.clear()  # what follows the messages has not seen them come back
        self._watches.clear()
        return ending

    def clear(self, kept: list[tuple[Place, int]]) -> None:
        """Remove every persistent message but those at these places, whose priority is given.

        Those that a unit holds are among them, so that the same happens when it is replayed.
        """
        places = dict(kept)
        for stored in [one for one in self.stored.values() if not one.place[2]]:
            if not stored.locked and stored.place not in places:
                del self.stored[stored.place]
                self._withdraw(stored)
        for lane in self.lanes:
            left = [place[1] for place in places if -place[0] == lane.number]
            self.available_count -= lane.forget_paged([seq for seq in left if seq in lane.paged])
        self._count_again(places)
        self._watches.clear()
        self.marks = None

    def _count_again(self, places: dict[Place, int]) -> None:
        """Count what is available by priority, from what is left after a clearing."""
        counts = list(self.soft_by_priority)
        for place, priority in places.items():
            stored = self.stored.get(place)
            if stored is None or not stored.locked:
                counts[priority] += 1
        for priority, held in enumerate(self.uncommitted_by_priority):
            counts[priority] += held
        self.depth_by_priority = counts

    def _offer(self, stored: Stored) -> None:
        self._show(self.lanes[-stored.place[0]], stored)
        if self._watches:
            for watch in self._watches.values():
                watch.added(stored)
        self.available_count += 1
        self.depth_by_priority[stored.message.priority] += 1
        if stored.place[2]:
            self.soft_by_priority[stored.message.priority] += 1

    def _show(self, lane: Lane, stored: Stored) -> None:
        """Let a message be found, in order and by its ids."""
        lane.add(stored)
        for field, index in self._index.items():
            _index_add(index, getattr(stored.message, field), stored)

    def _withdraw(self, stored: Stored) -> None:
        self.lanes[-stored.place[0]].remove(stored)
        self.available_count -= 1
        self.depth_by_priority[stored.message.priority] -= 1
        if stored.place[2]:
            self.soft_by_priority[stored.message.priority] -= 1
        self._index_remove(stored)
        if self._watches:
            for watch in self._watches.values():
                watch.removed(stored)

    def _index_remove(self, stored: Stored) -> None:
        for field, index in self._index.items():
            value = getattr(stored.message, field)
            places = index[value]
            places.remove(stored)
            if not places:
                del index[value]

    def hold_put(self, message: Message) -> None:
        """Count an uncommitted put."""
        self.uncommitted_puts += 1
        if message.destination:
            self.uncommitted_delayed += 1
            return
        self.high_depth = max(self.high_depth, self.depth)
        self.depth_by_priority[message.priority] += 1
        self.uncommitted_by_priority[message.priority] += 1

    def drop_put(self, message: Message) -> None:
        """Stop counting an uncommitted put: its unit has ended."""
        self.uncommitted_puts -= 1
        if message.destination:
            self.uncommitted_delayed -= 1
            return
        self.depth_by_priority[message.priority] -= 1
        self.uncommitted_by_priority[message.priority] -= 1


def _index_add(index: dict[bytes, Places], value: bytes, stored: Stored) -> None:
    places = index.get(value)
    if places is None:
        places = index[value] = Places()
    places.add(stored)
