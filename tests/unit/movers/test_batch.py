"""What fits into one transaction."""

from typing import Any

from adapter.format.copied import Copy
from adapter.format.movable import Movable
from adapter.movers.batch import BYTES_MAX, MESSAGES_MAX, PARTITIONS_MAX, CopyBatch


class Places:
    """Only says where records go, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def partitions(self, record: list[Movable]) -> set[tuple[str, int]]:
        self.asked += 1
        return {(one.queue, one.lane) for one in record if isinstance(one, Copy)}


def nothing() -> None:
    """Nothing is written here."""


def record_to(places: list[tuple[str, int]]) -> list[Movable]:
    return [Copy(queue, lane, 0, b"", b"") for queue, lane in places]


def batch_of(messages: int = 1, size: int = 1, partitions: Any = ()) -> CopyBatch:
    batch = CopyBatch(set(), nothing)
    batch.messages, batch.bytes, batch.partitions = messages, size, set(partitions)
    return batch


def has_room(batch: CopyBatch, record: list[Movable]) -> bool:
    return batch.has_room(record, Places().partitions)


def test_an_empty_transaction_takes_any_record() -> None:
    """A unit is never split."""
    wide = record_to([("Q", lane) for lane in range(PARTITIONS_MAX + 1)])
    assert has_room(CopyBatch(set(), nothing), wide)
    assert not has_room(batch_of(), wide)
    long = record_to([("Q", 0)] * (MESSAGES_MAX + 1))
    assert has_room(CopyBatch(set(), nothing), long)
    assert not has_room(batch_of(), long)


def test_messages_and_bytes_are_bounded() -> None:
    one = record_to([("Q", 0)])
    assert has_room(batch_of(messages=MESSAGES_MAX - 1), one)
    assert not has_room(batch_of(messages=MESSAGES_MAX), one)
    assert has_room(batch_of(size=BYTES_MAX - 1), one)
    assert not has_room(batch_of(size=BYTES_MAX), one)


def test_partitions_are_bounded_but_shared_ones_count_once() -> None:
    full = [("Q", lane) for lane in range(PARTITIONS_MAX)]
    batch = batch_of(partitions=full)
    assert has_room(batch, record_to(full[:9] * 3))
    assert not has_room(batch, record_to([("R", 0)]))


def test_a_small_record_is_not_looked_through() -> None:
    """The usual case: it fits wherever it goes."""
    places = Places()
    batch = batch_of(partitions=[("Q", 0)])
    assert batch.has_room(record_to([("Q", 1)] * (PARTITIONS_MAX - 1)), places.partitions)
    assert places.asked == 0


def test_the_bounds_stay_below_those_of_the_client() -> None:
    """librdkafka queues 100,000 messages by default: a transaction and the largest unit fit."""
    assert MESSAGES_MAX + 10_000 < 100_000
