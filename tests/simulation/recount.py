"""Counts again, from nothing, whatever a queue manager in memory counts as it goes.

Every counter, index and view of a queue is compared with what its messages, handles and units are.
What is not in memory is known by its copies, as movers would have made them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from adapter.core.attributes.system import DELAYED_QUEUE
from adapter.core.contract import commands as c
from adapter.core.contract.message import Place
from adapter.core.contract.stored import Stored
from adapter.core.contract.weights import size_of
from adapter.core.model.groups import Groups
from adapter.core.model.handles import QueueHandle, SubscriptionHandle
from adapter.core.model.lane import bucket_of
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.store import PRIORITIES
from adapter.core.model.views import Selected, View, Watch
from tests.support.core import Core
from tests.support.msmq import check_totals

LOOK_AGAIN_MS = 1_000


class Recount:
    """What one queue of a core must say, counted again."""

    def __init__(self, core: Core, queue: LocalQueue) -> None:
        self.qm, self.queue, self.now_ms = core.qm, queue, core.now_ms
        self.paged: list[Stored] = []
        """What is not in memory, in the order of delivery."""
        for lane in reversed(queue.lanes):
            if lane.paged.total:
                topic = core.topics[queue.name, queue.incarnation, lane.number]
                self.paged += [topic[seq].stored(lane.number) for seq in lane.paged]
        self.available = [one for one in queue.stored.values() if not one.locked]
        self.handles = [
            handle
            for connection in self.qm.connections.values()
            for handle in connection.handles.values()
            if isinstance(handle, QueueHandle) and handle.queue is queue
        ]

    def check(self) -> None:
        """Compare all of it."""
        self._check_lanes()
        self._check_counts()
        self._check_units()
        self._check_handles()
        self._check_times()
        self._check_indexes()
        self._check_watches()

    def _check_lanes(self) -> None:
        queue = self.queue
        claimed = {
            (span.lane, seq)
            for span in queue.claimed_spans()
            for seq in range(span.first, span.last + 1)
        }
        seen: list[Stored] = []
        for lane in queue.lanes:
            there = list(lane.available)
            seen += there
            assert all(one.place < other.place for one, other in pairwise(there)), "order of a lane"
            assert all(queue.stored.get(one.place) is one for one in there), "a lane's message"
            assert lane.weight == sum(one.length for one in there), "weight of a lane"
            seqs = {place[1] for place in queue.stored if -place[0] == lane.number and not place[2]}
            assert seqs.isdisjoint(lane.paged), "in memory, and paged out"
            taken = {seq for number, seq in claimed if number == lane.number}
            assert taken.isdisjoint({*lane.paged, *seqs}), "claimed, and there"
            assert lane.next_seq > max([*seqs, *lane.paged, *taken, 0]), "the next seq"
            assert set(lane.counts) <= set(lane.paged), "backout counts of what is not there"
            assert all(lane.counts.values()), "a backout count of 0"
        assert len(seen) == len(self.available), "available messages of a lane"
        assert not any(one.locked for one in seen), "a locked message is found"

    def _check_counts(self) -> None:
        queue = self.queue
        there = [*self.available, *self.paged]
        assert queue.available_count == len(there), "available_count"
        priorities = Counter(one.priority for one in there)
        assert queue.available_by_priority == _by_priority(priorities), "available_by_priority"
        soft = Counter(one.priority for one in self.available if one.place[2])
        assert queue.soft_by_priority == _by_priority(soft), "soft_by_priority"
        assert queue.high_depth >= queue.depth, "high_depth"
        assert queue.depth >= 0, "depth"

    def _check_units(self) -> None:
        queue = self.queue
        units = [unit for one in self.qm.connections.values() for unit in one.units.values()]
        puts = [message for unit in units for of, message in unit.puts if of is queue]
        assert queue.uncommitted_puts == len(puts), "uncommitted_puts"
        delayed = sum(bool(message.destination) for message in puts)
        assert queue.uncommitted_delayed == delayed, "uncommitted_delayed"
        priorities = Counter(one.priority for one in puts if not one.destination)
        assert queue.uncommitted_by_priority == _by_priority(priorities), "uncommitted_by_priority"
        holders = [stored for unit in units for of, stored in unit.gets if of is queue]
        holders += [handle.locked for handle in self.handles if handle.locked is not None]
        locked = [one for one in queue.stored.values() if one.locked]
        assert queue.locked_count == len(locked), "locked_count"
        assert sorted(map(id, holders)) == sorted(map(id, locked)), "what is locked, and by what"

    def _check_handles(self) -> None:
        opens, modes = self.queue.opens, [handle.modes for handle in self.handles]
        assert opens.handles == len(modes), "handles"
        assert opens.input == sum(bool(one & c.INPUT) for one in modes), "handles for input"
        assert opens.output == sum(bool(one & c.OUTPUT) for one in modes), "handles for output"
        assert opens.cooperating == sum(bool(one & c.CO_OP) for one in modes), "handles of the set"
        assert opens.exclusive == any(one & c.EXCLUSIVE for one in modes), "exclusive"
        selections = Counter(one.selection for one in self.handles if one.fits is not None)
        assert self.queue.selections == selections, "selections"
        for request in self.queue.suspended:
            turns = self.qm.connections[request.connection].turns
            assert request in turns.suspended, "a request that waits for a page"

    def _check_times(self) -> None:
        queue, due = self.queue, self.qm.due
        named = (queue.name, queue.incarnation)
        ends = {one[3]: one[0] for one in due.expiries if one[1:3] == named}
        for one in self.available:
            if one.expires_at_ms:
                assert ends.get(one.place) == one.expires_at_ms, "an end that nothing waits for"
        looks: dict[int, int] = {}
        for time_ms, *of, lane in due.paged_ends:
            if tuple(of) == named:
                looks[lane] = min(time_ms, looks.get(lane, time_ms))
        for one in self.paged:
            if one.expires_at_ms:
                lane, bucket = -one.place[0], bucket_of(one.expires_at_ms)
                assert one.place[1] in queue.lanes[lane].ends.get(bucket, ()), "a forgotten end"
                latest_ms = max(bucket, self.now_ms + LOOK_AGAIN_MS)
                assert looks.get(lane, latest_ms + 1) <= latest_ms, "a lane nobody looks at"

    def _check_indexes(self) -> None:
        indexes = self.queue.indexes
        for name, index in indexes._by_id.items():
            key = indexes._keys[name]
            wanted: dict[bytes, list[Place]] = {}
            for one in sorted(self.available, key=lambda one: one.place):
                value = key(one)
                if value is not None:
                    wanted.setdefault(value, []).append(one.place)
            found = {value: [one.place for one in places] for value, places in index.items()}
            assert found == wanted, f"the index of {name}"
            paged = indexes._paged.get(name)
            if paged is None or not paged.complete:
                continue
            for one in self.paged:
                value = key(one)
                before = (one.place[0], one.place[1] - 1, 0)
                if value is not None:
                    place = paged.first(value, indexes._is_paged, len(self.paged), before)
                    assert place == (-one.place[0], one.place[1]), f"the paged index of {name}"

    def _check_watches(self) -> None:
        for name, watch in self.queue.indexes._watches.items():
            if watch.next_unread() is not None or watch.judge(0):
                continue
            fresh = self._anew(watch)
            for one, other in zip(watch.views(), fresh.views(), strict=True):
                assert _places(one) == _places(other), f"a view of {name}"

    def _anew(self, watch: Watch) -> Watch:
        fresh: Watch
        if isinstance(watch, Groups):
            fresh = Groups(self.queue.stored)
        else:
            assert isinstance(watch, Selected)
            fresh = Selected(watch._fits)
        fresh.begin(self.queue.lanes)
        for lane in self.queue.lanes:
            page = [one for one in self.paged if -one.place[0] == lane.number]
            fresh.read(lane, lane.next_seq, page)
        return fresh


def _places(view: View) -> tuple[list[Place], list[Place]]:
    """What a view has in memory, and what it knows by number."""
    paged = [(-lane, seq, 0) for lane, seqs in view.paged.items() for seq in seqs]
    return [stored.place for stored in view.loaded], sorted(paged)


def _by_priority(counts: Counter[int]) -> list[int]:
    return [counts[priority] for priority in range(PRIORITIES)]


def check(core: Core) -> None:
    """Count everything again."""
    used = _used(core.qm)
    for queue in core.qm.queues.values():
        if queue in used or not _is_idle(queue):
            Recount(core, queue).check()
    _check_delayed(core.qm, Recount(core, core.qm.queues[DELAYED_QUEUE]))
    _check_held(core)
    _check_names(core.qm)


def _used(qm: QueueManager) -> set[LocalQueue]:
    """The queues that units and handles know."""
    used: set[LocalQueue] = set()
    for connection in qm.connections.values():
        for handle in connection.handles.values():
            if isinstance(handle, QueueHandle):
                used.add(handle.queue)
        for unit in connection.units.values():
            used.update(queue for queue, _ in (*unit.puts, *unit.gets))
    return used


def _is_idle(queue: LocalQueue) -> bool:
    """Whether a queue says that there is nothing of it: then there must be nothing that uses it."""
    counts = (queue.available_count, queue.locked_count, queue.uncommitted_puts)
    there = any(len(lane) for lane in queue.lanes)
    return not (there or any(counts) or queue.stored or queue.opens.handles or queue.consumers)


def _check_delayed(qm: QueueManager, delayed: Recount) -> None:
    """What waits for each queue, and that its time is known."""
    waiting: dict[str, set[Place]] = {}
    for one in (*delayed.queue.stored.values(), *delayed.paged):
        waiting.setdefault(one.message.destination, set()).add(one.place)
    assert waiting.keys() <= qm.queues.keys(), "messages wait for a queue that is not there"
    for queue in qm.queues.values():
        places = waiting.get(queue.name, set())
        assert queue.delayed == len(places), f"delayed of {queue.name}"
        noted = {place for _, place, _ in queue.delays.entries()} if queue.delays else set()
        assert places <= noted, f"a message for {queue.name} that waits for no time"


def _check_held(core: Core) -> None:
    """Bytes that units hold, and queues of MSMQ together."""
    qm = core.qm
    total = 0
    for connection in qm.connections.values():
        for unit in connection.units.values():
            size = sum(size_of(message) for _, message in unit.puts)
            size += sum(stored.length for _, stored in unit.gets)
            size += sum(len(trigger.message.body) for trigger in unit.triggers)
            assert unit.held_bytes == size, "held_bytes of a unit"
            total += size
    assert qm.held.total == total, "what all units hold"
    check_totals(core)


def _check_names(qm: QueueManager) -> None:
    """Who names which initiation queue, and what is a transmission queue."""
    named: dict[str, set[str]] = {}
    for queue in qm.queues.values():
        if queue.attributes.initiation_queue:
            named.setdefault(queue.attributes.initiation_queue, set()).add(queue.name)
    assert {name: set(of) for name, of in qm.initiates.items()} == named, "initiation queues"
    transmission = {queue.name for queue in qm.queues.values() if queue.is_transmission}
    assert set(qm.transmission_queues) == transmission, "transmission queues"


def left_over(qm: QueueManager) -> Iterator[str]:
    """Name temporary queues that no handle and no subscription keeps."""
    managed = {
        handle.subscription.destination
        for connection in qm.connections.values()
        for handle in connection.handles.values()
        if isinstance(handle, SubscriptionHandle)
    }
    for queue in qm.queues.values():
        if queue.is_temporary and not queue.opens.handles and queue.name not in managed:
            yield queue.name
