"""Store: any number of lanes, and a kind of queue that IBM MQ does not have."""

from typing import Any

import pytest

from adapter.core.contract.message import MessageData, Place
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.spans import Span
from adapter.core.contract.stored import Stored
from adapter.core.model.claims import Batch, DurableConsumer
from adapter.core.model.paged_index import LANES_MAX, START
from adapter.core.model.store import Store
from adapter.core.model.views import Selected


class FifoQueue(Store):
    """A kind of queue with one lane, whose messages have no priority, and attributes of its own."""

    def __init__(self, name: str, label: str, journal_bytes_max: int) -> None:
        super().__init__(name, lanes=1)
        self.label = label
        self.journal_bytes_max = journal_bytes_max


def stored(place: Place, **fields: Any) -> Stored:
    fields.setdefault("priority", 0)
    return Stored(
        message=MessageData(**fields),
        place=place,
        unit=b"",
        unit_index=0,
        unit_size=1,
        queue_unit_index=0,
        queue_unit_size=1,
        entry_n=1,
    )


def fifo(count: int = 0, **fields: Any) -> FifoQueue:
    queue = FifoQueue("PRIVATE$/ORDERS", "orders", 1_000)
    for seq in range(1, count + 1):
        queue.add(stored((0, seq, 0), **fields))
    return queue


def seqs(queue: Store) -> list[int]:
    return [each.place[1] for each in queue.in_order()]


def test_a_queue_of_another_kind_is_a_store_and_its_attributes() -> None:
    queue = fifo(3)
    queue.add(stored((0, 3, 1)))
    assert (queue.label, queue.available_count, queue.lanes[0].next_seq) == ("orders", 4, 4)
    second = queue.stored[0, 2, 0]
    queue.lock(second)
    assert [each.place for each in queue.in_order()] == [(0, 1, 0), (0, 3, 0), (0, 3, 1)]
    assert (queue.available_count, queue.locked_count) == (3, 1)
    queue.unlock(second)
    assert seqs(queue) == [1, 2, 3, 3]
    assert queue.take((0, 1, 0), 0) is not None
    with pytest.raises(KeyError):
        queue.take((0, 1, 1), 0)
    assert [each.place[1] for each in queue.in_order_after((0, 2, 0))] == [3, 3]
    assert [each.place[1] for each in queue.in_order_after(START)] == [2, 3, 3]


def test_its_messages_are_paged_out_and_found_again() -> None:
    queue = fifo(10, correlation_id=b"c" * 24)
    kept = dict(queue.stored)
    assert queue.page_out(2, 1_000, moved_n=1) == 8
    assert (queue.available_count, queue.paged_count, len(queue.stored)) == (10, 8, 2)
    with pytest.raises(PageNeeded) as needed:
        seqs(queue)
    assert (needed.value.lane, needed.value.seq) == (0, 3)
    with pytest.raises(PageNeeded) as needed:
        list(queue.indexes.with_id("correlation_id", b"c" * 24))
    assert needed.value.field == "correlation_id"
    queue.page_in([kept[0, seq, 0] for seq in range(3, 11)])
    assert seqs(queue) == list(range(1, 11))
    found = queue.indexes.with_id("correlation_id", b"c" * 24)
    assert [each.place[1] for each in found] == list(range(1, 11))


def test_the_first_messages_are_found_in_memory_or_left_to_a_walk() -> None:
    queue = Store("Q", lanes=3)
    assert queue.first_in_memory(1) == []
    for place in ((0, 1, 0), (-1, 1, 0), (-1, 2, 0)):
        queue.add(stored(place))
    first, second = queue.stored[-1, 1, 0], queue.stored[-1, 2, 0]
    assert queue.first_in_memory(1) == [first]
    assert queue.first_in_memory(2) == [first, second]
    assert queue.first_in_memory(3) == [], "the third is in another lane"
    queue.lock(first)
    assert queue.first_in_memory(1) == [second]
    queue.unlock(first)
    queue.lanes[2].paged.add(1)
    assert queue.first_in_memory(1) == [], "a message that is not in memory comes before"


def test_the_first_messages_are_found_before_those_that_are_paged_out() -> None:
    queue = fifo(10)
    assert queue.page_out(2, 1_000, moved_n=1) == 8
    first, second = list(queue.stored.values())
    assert queue.first_in_memory(2) == [first, second]
    assert queue.first_in_memory(3) == []
    queue.take(first.place, 0)
    queue.take(second.place, 0)
    queue.add(stored((0, 11, 0)))
    assert queue.first_in_memory(1) == [], "what is paged out comes before"


def test_nothing_behind_a_message_that_is_not_copied_is_paged_out() -> None:
    queue = fifo(10)
    for stored in queue.stored.values():
        stored.entry_n = stored.place[1]
    queue.stored[0, 6, 0].entry_n = 11
    assert queue.page_out(2, 1_000, moved_n=9) == 3
    assert queue.lanes[0].paged.spans() == [(3, 5)]
    assert queue.page_out(2, 1_000, moved_n=11) == 5
    assert queue.lanes[0].paged.spans() == [(3, 10)]


def test_its_messages_are_claimed_by_durable_consumers() -> None:
    queue = fifo(5)
    batch = Batch([Span(0, 1, 3, 0)], [])
    consumer = queue.consumers["C"] = DurableConsumer("C", bytes(24), 1_000)
    queue.claim(batch)
    consumer.batches[1] = batch
    assert (seqs(queue), queue.claimed_count) == ([4, 5], 3)
    assert queue.give_back(batch, 1) == []
    assert (queue.available_count, queue.lanes[0].counts) == (5, {1: 1, 2: 1, 3: 1})


def test_it_is_cleared_but_for_what_units_hold() -> None:
    queue = fifo(5)
    queue.lock(queue.stored[0, 2, 0])
    queue.clear([((0, 2, 0), 0)])
    assert (list(queue.stored), queue.available_count, queue.locked_count) == ([(0, 2, 0)], 0, 1)


@pytest.mark.parametrize("lanes", [1, 2, 10, 17, LANES_MAX])
def test_a_store_has_as_many_lanes_as_its_kind_says(lanes: int) -> None:
    store = Store("Q", lanes)
    for number in range(lanes):
        for seq in (1, 2, 3):
            store.add(stored((-number, seq, 0), message_id=bytes([number, seq]) * 12))
    expected = [(number, seq) for number in reversed(range(lanes)) for seq in (1, 2, 3)]
    assert [(-lane, seq) for lane, seq, _ in (each.place for each in store.in_order())] == expected
    after = [(-each.place[0], each.place[1]) for each in store.in_order_after(START)]
    assert after == expected
    last = bytes([lanes - 1, 3]) * 12
    assert [each.place for each in store.indexes.with_id("message_id", last)] == [(1 - lanes, 3, 0)]
    view = store.indexes.watch("all", lambda: Selected(lambda message: True)).view
    assert [(-each.place[0], each.place[1]) for each in view.in_order("Q")] == expected
    store.page_out(0, 0, moved_n=1)
    with pytest.raises(PageNeeded) as needed:
        next(store.in_order())
    assert (needed.value.lane, needed.value.seq) == (lanes - 1, 1)
    with pytest.raises(PageNeeded) as needed:
        next(iter(view.in_order("Q")))
    assert (needed.value.lane, needed.value.seq) == (lanes - 1, 1)


def test_a_paged_out_message_of_the_last_lane_is_found_by_its_id() -> None:
    store = Store("Q", LANES_MAX)
    ident = b"i" * 24
    first = stored((1 - LANES_MAX, 1, 0), message_id=ident)
    store.add(first)
    with pytest.raises(StopIteration):
        next(store.indexes.with_id("message_id", b"j" * 24))
    store.page_out(0, -1, moved_n=1)
    with pytest.raises(PageNeeded):
        next(store.indexes.with_id("message_id", ident))
    store.indexes.read_page("message_id", LANES_MAX - 1, 1, [first])
    with pytest.raises(PageNeeded) as needed:
        next(store.indexes.with_id("message_id", ident))
    assert (needed.value.lane, needed.value.seq, needed.value.field) == (LANES_MAX - 1, 1, "")


@pytest.mark.parametrize("lanes", [-1, 0, LANES_MAX + 1])
def test_a_number_of_lanes_out_of_range_is_an_error(lanes: int) -> None:
    with pytest.raises(ValueError, match=rf"Q: a store has 1 to {LANES_MAX} lanes, not {lanes}"):
        Store("Q", lanes)
