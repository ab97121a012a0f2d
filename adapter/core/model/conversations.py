"""Conversations of Service Broker: endpoints, conversation groups, and who is next to be received.

Theory. A conversation has two *endpoints*, each of a service and so of a queue; an endpoint belongs
to one *conversation group*. A receive takes messages of one group, which its unit locks until it
ends: of the group with the highest priority that is not locked, and of those the one whose message
came first. Looking through the queue for it would cost the more the more messages there are, so
there are three heaps, each with what lies below it:

- an endpoint has the numbers of its rows on the queue, the next one first;
- a group has, of its endpoints with rows, priority and next row, the next one first;
- a queue has, of its groups that are not locked, the same of their first endpoint; and a unit has
  it of the groups of the queue that it has locked.

An entry is added to a heap whenever what it says becomes true: a row came or came back, a group was
unlocked. An entry is never searched for to be removed. When it comes to the top and is not true any
more (the row is gone or received, the group is locked), it is dropped or replaced by what is true.
Each entry is added once and dropped once, so that a receive costs a logarithm, whatever waits.
Entries that are not true any more never come to the top while one above them stays, such as that
of a message that is never received. So a heap that has grown to twice of what it can truly say, and
to SWEEP_AT entries, is made anew: every entry added pays for a constant part of that.

Rows are known by number, in memory or not. Groups and locks are soft, and so are heaps; endpoints
and the rows they have are hard. This module does not know what a verb means.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

from adapter.core.contract.broker import DIALOG_TIMER, ERROR
from adapter.core.contract.broker_header import BrokerHeader
from adapter.core.contract.records import ConversationSet
from adapter.core.model.waiters import Waiter

OPEN, ENDED, BROKEN = 0, 1, 2
"""What is known of the far side: it has ended the conversation, or has ended it with an error."""

_SEQ_BITS: Final = 56
_ERRORS_FIRST: Final = -(1 << 60)
_TIMERS_FIRST: Final = -(1 << 61)

SWEEP_AT: Final = 64
"""Entries of a heap before it is made anew."""

NAMES_KEPT: Final = 1_000
"""Names to be shared, however few endpoints there are."""

Next = tuple[int, int, bytes]
"""Negative priority, row, and the handle or group that has it: the smallest one comes first."""


def row_of(seq: int, header: BrokerHeader) -> int:
    """Say when a message is received among those of its endpoint: timers, errors, then others."""
    if header.message_type == DIALOG_TIMER:
        return seq + _TIMERS_FIRST
    return seq + _ERRORS_FIRST if header.message_type == ERROR else seq


def seq_of(row: int) -> int:
    """Return the number in its lane of a row."""
    return row & (1 << _SEQ_BITS) - 1


class Endpoint:
    """One side of a conversation. state: what records say of it."""

    __slots__ = ("group", "retained", "rows", "state", "waiting")

    def __init__(self, state: ConversationSet, group: ConversationGroup) -> None:
        self.state = state
        self.group = group
        self.rows: list[int] = []
        """A heap; of rows that are gone, too."""
        self.retained: list[int] = []
        """Seqs of its messages on the queue of what is retained."""
        self.waiting: list[int] = []
        """Seqs of what it has sent and waits for its far service; of what has left, too."""

    def first(self, is_there: Callable[[int], bool]) -> int | None:
        """Return its next row. is_there: whether a seq is available."""
        rows = self.rows
        while rows:
            if is_there(seq_of(rows[0])):
                return rows[0]
            heapq.heappop(rows)
        return None

    def add_waiting(self, seq: int, is_there: Callable[[int], bool]) -> None:
        """Note one more message that waits for its far service. is_there: see waits().

        They leave in order, so that once the one in the middle has left a half of them has: those
        that have left are at most as many as wait, and forgetting them costs a constant of each.
        """
        waiting = self.waiting
        waiting.append(seq)
        if len(waiting) >= SWEEP_AT and not is_there(waiting[len(waiting) // 2]):
            self.waiting = [one for one in waiting if is_there(one)]

    def waits(self, is_there: Callable[[int], bool]) -> bool:
        """Whether messages wait for its far service. They leave in order: the last one counts.

        is_there: whether a seq is available on the queue where they wait.
        """
        while self.waiting and not is_there(self.waiting[-1]):
            self.waiting.pop()
        return bool(self.waiting)

    def is_unbegun(self, seq: int, sequence: int, is_there: Callable[[int], bool]) -> bool:
        """Whether all that it has sent before a message which waits for its far service waits too:
        nothing has left. seq, sequence: of the message. They leave in order.
        """
        first = bisect_left(self.waiting, True, key=is_there)
        return bisect_left(self.waiting, seq) - first == sequence


class ConversationGroup:
    """A conversation group of a queue. locked_by: the unit that has it locked, or empty; waits: the
    verbs of that unit that wait.
    """

    __slots__ = ("endpoints", "heap", "ident", "locked_by", "waits")

    def __init__(self, ident: bytes) -> None:
        self.ident = ident
        self.endpoints: dict[bytes, Endpoint] = {}
        self.locked_by = b""
        self.heap: list[Next] = []
        self.waits: list[Waiter] = []


class _Offers:
    """Groups with rows, the next one first: those that are not locked, or those that a unit has."""

    __slots__ = ("heap", "offered")

    def __init__(self) -> None:
        self.heap: list[Next] = []
        self.offered: dict[bytes, tuple[int, int]] = {}
        """The lowest entry of each group."""

    def add(self, ident: bytes, key: tuple[int, int]) -> None:
        """Note a group's next row, unless an entry says as much."""
        before = self.offered.get(ident)
        if before is None or key < before:
            self.offered[ident] = key
            heapq.heappush(self.heap, (*key, ident))

    def put_first(self, key: tuple[int, int] | None) -> None:
        """Let the first entry say this of its group; None: nothing."""
        before = self.heap[0]
        ident = before[2]
        if self.offered.get(ident) != before[:2]:
            heapq.heappop(self.heap)  # another entry is the group's
        elif key is None:
            heapq.heappop(self.heap)
            del self.offered[ident]
        else:
            self.offered[ident] = key
            heapq.heapreplace(self.heap, (*key, ident))

    def keep(self, idents: set[bytes]) -> None:
        """Keep one entry of each of these groups."""
        self.offered = {one: key for one, key in self.offered.items() if one in idents}
        self.heap = [(*key, ident) for ident, key in self.offered.items()]
        heapq.heapify(self.heap)


class ConversationGroups:
    """The conversation groups of one queue. is_there: whether a message is available, by seq."""

    __slots__ = ("_groups", "_is_there", "_locked", "_offers")

    def __init__(self, is_there: Callable[[int], bool]) -> None:
        self._is_there = is_there
        self._groups: dict[bytes, ConversationGroup] = {}
        self._offers = _Offers()
        self._locked: dict[bytes, _Offers] = {}
        """The same of the groups that a unit has locked, by unit."""

    def __iter__(self) -> Iterator[ConversationGroup]:
        return iter(self._groups.values())

    def get(self, ident: bytes) -> ConversationGroup | None:
        """Return a group, if it has endpoints or is locked."""
        return self._groups.get(ident)

    def need(self, ident: bytes) -> ConversationGroup:
        """Return a group, made if it does not exist."""
        group = self._groups.get(ident)
        if group is None:
            group = self._groups[ident] = ConversationGroup(ident)
        return group

    def add(self, endpoint: Endpoint) -> None:
        """Let an endpoint belong to its group."""
        group = self.need(endpoint.state.group)
        group.endpoints[endpoint.state.handle] = endpoint
        endpoint.group = group
        self.offer(endpoint)

    def remove(self, endpoint: Endpoint) -> None:
        """Take an endpoint out of its group, which goes with its last one unless it is locked."""
        self.hide(endpoint)
        self.forget(endpoint.group)

    def forget(self, group: ConversationGroup) -> None:
        """Forget a group that nothing belongs to, and no unit has locked."""
        is_known = self._groups.get(group.ident) is group  # and not another one of its name
        if is_known and not group.endpoints and not group.locked_by:
            del self._groups[group.ident]

    def move(self, endpoint: Endpoint, ident: bytes) -> None:
        """Let an endpoint belong to another group."""
        self.hide(endpoint)
        self.forget(endpoint.group)
        endpoint.group = self.need(ident)
        self.show(endpoint)

    def hide(self, endpoint: Endpoint) -> None:
        """Let no message of an endpoint be found; its group is kept."""
        endpoint.group.endpoints.pop(endpoint.state.handle, None)

    def show(self, endpoint: Endpoint) -> None:
        """Let the messages of an endpoint be found again."""
        endpoint.group.endpoints[endpoint.state.handle] = endpoint
        self.offer(endpoint)

    def add_row(self, endpoint: Endpoint, row: int) -> None:
        """Note that an endpoint has a row: it came, or came back."""
        first = endpoint.first(self._is_there)
        heapq.heappush(endpoint.rows, row)
        if first is None or row < first:
            self.offer(endpoint)

    def offer(self, endpoint: Endpoint) -> None:
        """Note an endpoint's next row in its group, and the group in the queue."""
        first = endpoint.first(self._is_there)
        if first is None:
            return
        group, state = endpoint.group, endpoint.state
        if len(group.heap) >= max(SWEEP_AT, 2 * len(group.endpoints)):
            group.heap = self._truths(group)
            heapq.heapify(group.heap)
        else:
            heapq.heappush(group.heap, (-state.priority, first, state.handle))
        self.offer_group(group)

    def _truths(self, group: ConversationGroup) -> list[Next]:
        """Say of each endpoint of a group with rows which row is next."""
        found = []
        for handle, endpoint in group.endpoints.items():
            first = endpoint.first(self._is_there)
            if first is not None:
                found.append((-endpoint.state.priority, first, handle))
        return found

    def offer_group(self, group: ConversationGroup) -> None:
        """Note a group's next row in the queue, unless it is locked."""
        if self.first_of(group) is None:
            return
        owner = group.locked_by
        offers = self._locked.setdefault(owner, _Offers()) if owner else self._offers
        offers.add(group.ident, group.heap[0][:2])
        if len(offers.heap) > max(SWEEP_AT, 2 * len(self._groups)):
            offers.keep({one.ident for one in self if one.locked_by == owner})

    def lock(self, group: ConversationGroup, unit: bytes, waits: list[Waiter]) -> None:
        """Let a unit have a group locked. waits: the unit's verbs that wait."""
        group.locked_by, group.waits = unit, waits
        self.offer_group(group)

    def unlock(self, group: ConversationGroup) -> None:
        """Let a group be received from again: its unit ends, with all of its locks."""
        self._locked.pop(group.locked_by, None)
        group.locked_by, group.waits = b"", []
        self.offer_group(group)
        self.forget(group)

    def first_of(self, group: ConversationGroup) -> Endpoint | None:
        """Return the endpoint of a group that is received from next, which is then on top."""
        heap = group.heap
        while heap:
            priority, row, handle = heap[0]
            endpoint = group.endpoints.get(handle)
            first = endpoint.first(self._is_there) if endpoint is not None else None
            if endpoint is None or first is None:
                heapq.heappop(heap)
            elif (-endpoint.state.priority, first) != (priority, row):
                heapq.heapreplace(heap, (-endpoint.state.priority, first, handle))
            else:
                return endpoint
        return None

    def next(self, unit: bytes = b"") -> ConversationGroup | None:
        """Return the group that is received from next: not locked, and with rows. unit: of the
        groups that this unit has locked.
        """
        offers = self._locked.get(unit) if unit else self._offers
        while offers is not None and offers.heap:
            group = self._groups.get(offers.heap[0][2])
            is_known = group is not None and group.locked_by == unit
            if group is None or not is_known or self.first_of(group) is None:
                offers.put_first(None)
            elif group.heap[0][:2] != offers.heap[0][:2]:
                offers.put_first(group.heap[0][:2])
            else:
                return group
        return None


class Conversations:
    """All endpoints of a queue manager: by handle, and by conversation and side."""

    __slots__ = (
        *("_names", "begun", "by_side", "endpoints", "handles_begun", "listings", "of_contract"),
        *("of_far_service", "of_queue", "of_service"),
    )

    def __init__(self) -> None:
        self.endpoints: dict[bytes, Endpoint] = {}
        self.by_side: dict[tuple[bytes, bool], bytes] = {}
        """Handles, by conversation and whether it is the initiator's."""
        self.of_service = Counter[str]()
        """How many there are, by service; below by contract, by queue, and by far service."""
        self.of_contract = Counter[str]()
        self.of_queue = Counter[str]()
        self.of_far_service = Counter[str]()
        self.begun = Counter[tuple[str, str]]()
        """How many endpoints units have begun, by ("service" or "contract", its name); soft."""
        self.handles_begun: set[bytes] = set()
        """Their handles; soft."""
        self.listings: dict[str, list[Any]] = {}
        """What views list, sorted as of their first answer; soft."""
        self._names: dict[str, str] = {}

    def share_names(self, state: ConversationSet) -> ConversationSet:
        """Let a state have the one copy of each name that recurs in many endpoints; returns it."""
        names = self._names
        if len(names) > NAMES_KEPT and len(names) > 2 * len(self.endpoints):
            names.clear()  # those that are in use come again
        state.queue = names.setdefault(state.queue, state.queue)
        state.service = names.setdefault(state.service, state.service)
        state.far_service = names.setdefault(state.far_service, state.far_service)
        far = state.far_queue_manager
        state.far_queue_manager = names.setdefault(far, far)
        state.contract = names.setdefault(state.contract, state.contract)
        return state

    def add(self, endpoint: Endpoint) -> None:
        """Know an endpoint."""
        state = endpoint.state
        self.endpoints[state.handle] = endpoint
        self.by_side[state.conversation, state.is_initiator] = state.handle
        self._count(state, 1)

    def remove(self, endpoint: Endpoint) -> None:
        """Forget an endpoint."""
        state = endpoint.state
        del self.endpoints[state.handle]
        del self.by_side[state.conversation, state.is_initiator]
        self._count(state, -1)

    def change(self, endpoint: Endpoint, state: ConversationSet) -> None:
        """Let an endpoint be as a state says."""
        self._count(endpoint.state, -1)
        endpoint.state = state
        self._count(state, 1)

    def _count(self, state: ConversationSet, by: int) -> None:
        for counts, name in (
            (self.of_service, state.service),
            (self.of_contract, state.contract),
            (self.of_queue, state.queue),
            (self.of_far_service, state.far_service),
        ):
            counts[name] += by
            if not counts[name]:
                del counts[name]

    def is_taken(self, ident: bytes) -> bool:
        """Whether a conversation or a handle has this id: of an endpoint here, of either side, or
        of one that a unit has begun.
        """
        sides = (ident, True) in self.by_side or (ident, False) in self.by_side
        return sides or ident in self.endpoints or ident in self.handles_begun

    def count_begun(self, state: ConversationSet, by: int) -> None:
        """Count an endpoint that a unit has begun, or one that is not (by: -1), or not any more."""
        if by > 0:
            self.handles_begun.add(state.handle)
        else:
            self.handles_begun.discard(state.handle)
        for key in ("service", state.service), ("contract", state.contract):
            self.begun[key] += by
            if not self.begun[key]:
                del self.begun[key]

    def at(self, conversation: bytes, is_initiator: bool) -> Endpoint | None:
        """Return one side of a conversation, if it is here."""
        return self.endpoints.get(self.by_side.get((conversation, is_initiator), b""))
