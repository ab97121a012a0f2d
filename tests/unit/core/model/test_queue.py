"""Queue: lanes number what is stored, depth counts it, indexes find it."""

from typing import Any

import pytest

from adapter.core.attributes.queue import QueueAttributes
from adapter.core.contract.message import MessageData, Place
from adapter.core.contract.stored import Stored
from adapter.core.model.queue import LocalQueue


def stored(place: Place, **fields: Any) -> Stored:
    return Stored(
        message=MessageData(priority=-place[0], **fields),
        place=place,
        unit=b"",
        unit_index=0,
        unit_size=1,
        queue_unit_index=0,
        queue_unit_size=1,
    )


def queue(**attributes: Any) -> LocalQueue:
    return LocalQueue("Q", 0, QueueAttributes(**attributes))


def test_a_lane_numbers_persistent_messages_densely() -> None:
    q = queue()
    q.add(stored((-3, 1, 0)))
    assert (q.lanes[3].next_seq, q.lanes[3].next_n) == (2, 1)
    q.add(stored((-3, 1, 1)))
    q.add(stored((-3, 1, 2)))
    assert (q.lanes[3].next_seq, q.lanes[3].next_n) == (2, 3)
    q.add(stored((-3, 2, 0)))
    assert (q.lanes[3].next_seq, q.lanes[3].next_n) == (3, 3)
    assert q.lanes[0].next_seq == 1


def test_a_late_non_persistent_message_has_a_number_that_does_not_come_again() -> None:
    q = queue()
    q.add(stored((0, 1, 0)))
    q.add(stored((0, 2, 0)))
    q.add(stored((0, 1, 7)))
    assert (q.lanes[0].next_seq, q.lanes[0].next_n) == (3, 8)


def test_depth_is_available_messages_and_uncommitted_puts() -> None:
    q = queue()
    first, second = stored((-5, 1, 0)), stored((-2, 1, 0))
    q.add(first)
    q.add(second)
    q.hold_put(MessageData(priority=7))
    assert (q.depth, q.depth_by_priority) == (3, [0, 0, 1, 0, 0, 1, 0, 1, 0, 0])
    q.lock(first)
    assert (q.depth, q.locked_count) == (2, 1)
    assert list(q.in_order()) == [second]
    q.unlock(first)
    assert list(q.in_order()) == [first, second]
    q.lock(first)
    assert q.take(first.place, 0) is first
    assert q.take(second.place, 0) is second
    q.drop_put(MessageData(priority=7))
    assert (q.depth, q.locked_count, q.available_count) == (0, 0, 0)
    assert q.depth_by_priority == [0] * 10
    assert not q.stored


def test_in_order_after_a_place() -> None:
    q = queue()
    places: list[Place] = [(-9, 1, 0), (-5, 1, 0), (-5, 1, 1), (-5, 2, 0), (0, 1, 0)]
    for place in reversed(places):
        q.add(stored(place))
    assert [each.place for each in q.in_order_after((-99, 0, 0))] == places
    assert [each.place for each in q.in_order_after((-5, 1, 0))] == places[2:]
    assert [each.place for each in q.in_order_after((-7, 4, 0))] == places[1:]
    assert list(q.in_order_after((0, 1, 0))) == []


def test_indexes_are_built_on_first_use_and_kept() -> None:
    q = queue()
    first, second = (
        stored((-1, 1, 0), group_id=b"g" * 24),
        stored((-9, 1, 0), group_id=b"g" * 24),
    )
    q.add(first)
    assert list(q.indexes.with_id("group_id", b"g" * 24)) == [first]
    q.add(second)
    assert list(q.indexes.with_id("group_id", b"g" * 24)) == [second, first]
    q.lock(second)
    assert list(q.indexes.with_id("group_id", b"g" * 24)) == [first]
    q.take(first.place, 0)
    assert list(q.indexes.with_id("group_id", b"g" * 24)) == []
    assert q.indexes._by_id["group_id"] == {}, "ids that are gone leave nothing behind"


def test_fifo_delivery_uses_one_lane() -> None:
    assert [queue().lane_of(MessageData(priority=priority)) for priority in (0, 9)] == [0, 9]
    fifo = queue(msg_delivery_sequence="FIFO", def_priority=4)
    assert [fifo.lane_of(MessageData(priority=priority)) for priority in (0, 9)] == [4, 4]


def test_a_fifo_queue_keeps_its_lane() -> None:
    """Messages put after an ALTER would else come before those that wait, or behind later ones."""
    q = queue(msg_delivery_sequence="FIFO", def_priority=4)
    q.alter({"def_priority": 7})
    assert q.lane_of(MessageData(priority=0)) == 4
    q.alter({"msg_delivery_sequence": "PRIORITY"})
    assert q.lane_of(MessageData(priority=2)) == 2
    q.alter({"msg_delivery_sequence": "FIFO"})
    assert q.lane_of(MessageData(priority=2)) == 7


@pytest.mark.parametrize("before", [[], [(-1, 1, 0)], [(-1, 1, 0), (-1, 2, 0)]])
def test_messages_are_added_together_as_one_by_one(before: list[Place]) -> None:
    places = [(-1, 1, 1), (-1, 1, 2), (-1, 3, 0), (-1, 3, 3), (-1, 4, 0)]
    together, one_by_one = queue(), queue()
    for q in (together, one_by_one):
        for place in before:
            q.add(stored(place, body=b"ab"))
    together.add_all([stored(place, body=b"ab") for place in places])
    for place in places:
        one_by_one.add(stored(place, body=b"ab"))
    count = len(before) + 5
    for q in (together, one_by_one):
        assert [one.place for one in q.in_order()] == sorted([*before, *places])
        assert set(q.stored) == {*before, *places}
        assert (q.lanes[1].next_seq, q.lanes[1].next_n) == (5, 4)
        assert (q.available_count, q.high_depth, q.weight) == (count, count, 2 * count)
        assert (q.available_by_priority[1], q.soft_by_priority[1]) == (count, 3)


@pytest.mark.parametrize("seqs", [[1, 2, 3], [1, 3], [2, 3], [5]])
def test_messages_are_locked_together_as_one_by_one(seqs: list[int]) -> None:
    together, one_by_one = queue(), queue()
    for q in (together, one_by_one):
        for seq in range(1, 6):
            q.add(stored((0, seq, 0), body=b"ab"))
    together.lock_all([together.stored[0, seq, 0] for seq in seqs])
    for seq in seqs:
        one_by_one.lock(one_by_one.stored[0, seq, 0])
    left = [seq for seq in range(1, 6) if seq not in seqs]
    for q in (together, one_by_one):
        assert (q.available_count, q.locked_count) == (len(left), len(seqs))
        assert [one.place[1] for one in q.stored.values() if one.locked] == seqs
        assert [one.place[1] for one in q.in_order()] == left
        assert (q.available_by_priority[0], q.weight) == (len(left), 2 * len(left))
    for seq in seqs:
        together.unlock(together.stored[0, seq, 0])
    assert [one.place[1] for one in together.in_order()] == [1, 2, 3, 4, 5]


def test_messages_of_several_lanes_and_of_an_index_are_locked_together() -> None:
    q = queue()
    for place in ((0, 1, 0), (-1, 1, 0), (-1, 1, 1)):
        q.add(stored(place, message_id=bytes(24)))
    assert len(list(q.indexes.with_id("message_id", bytes(24)))) == 3
    q.lock_all([q.stored[-1, 1, 0], q.stored[-1, 1, 1], q.stored[0, 1, 0]])
    assert list(q.in_order()) == []
    assert list(q.indexes.with_id("message_id", bytes(24))) == []
    q.unlock(q.stored[-1, 1, 1])
    assert q.soft_by_priority == [0, 1, *[0] * 8]
