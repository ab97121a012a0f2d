"""What fits into one transaction."""

from typing import Any

import pytest

from adapter.host.settings.setting_rows import SETTINGS
from adapter.storage.format.copied import Copy
from adapter.storage.format.movable import Movable
from adapter.storage.movers.batch import (
    BYTES_MAX,
    IN_FLIGHT_MAX,
    MESSAGES_MAX,
    PARTITIONS_MAX,
    CopyBatch,
)
from adapter.storage.movers.settings import producer_settings
from adapter.storage.movers.transactions import Trouble
from tests.unit.storage.movers import test_stream

BOUNDS = SETTINGS["max_uncommitted_messages"].bounds
assert BOUNDS is not None
UNIT_MAX = BOUNDS[1]
"""The most messages that a unit may have, by an operator's setting."""


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


class BoundedProducer:
    """Stands for librdkafka, which refuses a record when its buffer is full."""

    def __init__(self) -> None:
        settings = producer_settings(test_stream.SETTINGS, "id", Trouble(), 3_000)
        self._most = settings["queue.buffering.max.messages"]
        self._most_bytes = settings["queue.buffering.max.kbytes"] * 1024
        self.records = self.size = self.flushes = 0

    def produce(self, size: int) -> None:
        if self.records == self._most or self.size + size > self._most_bytes:
            raise BufferError("Local: Queue full")
        self.records += 1
        self.size += size

    def flush(self) -> None:
        self.records = self.size = 0
        self.flushes += 1


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    ("messages", "partitions", "size"),
    [
        (UNIT_MAX, 10_000, 200),
        (UNIT_MAX, 1, 200),
        (3_000, 3_000, 4 * 1024 * 1024),
    ],
    ids=["short ones of many lanes", "of one lane", "long ones"],
)
def test_the_largest_unit_never_fills_the_producers_buffer(
    messages: int, partitions: int, size: int, known: bool
) -> None:
    producer = BoundedProducer()
    places = [("Q", number) for number in range(partitions)]
    batch = CopyBatch(set(places) if known else set(), producer.flush)
    for number in range(messages):
        batch.prepare(places[number % partitions], size)
        producer.produce(size)
    assert batch.partitions == set(places)


def test_what_fits_is_not_written_early() -> None:
    """A flush waits for Kafka."""
    producer = BoundedProducer()
    places = [("Q", number) for number in range(IN_FLIGHT_MAX)]
    batch = CopyBatch(set(places), producer.flush)
    for place in places:
        batch.prepare(place, 200)
    assert producer.flushes == 0
