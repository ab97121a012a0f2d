"""Pages are those of the queue that was asked for, whoever else reads pages, and whatever comes.

A term that has ended may still read a page while the next one reads another queue's.
"""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from adapter.core.contract.message import MessageData
from adapter.core.contract.records import Placed
from adapter.storage.format import descriptor, names
from adapter.storage.topics import partition_consumer, reader
from adapter.storage.topics.port import PagesUnavailableError
from adapter.storage.topics.reader import KafkaPageReader
from tests.support.examples import examples

QUEUES = ("A", "B", "C")
LANES = (0, 1)
LENGTH = 400
PAGE = 20
READS = examples(60)
WAIT_S = 20.0
ID = bytes(24)


class PlacedRecord:
    """A record of some partition as Kafka's client shows it; its body says which."""

    def __init__(self, place: tuple[str, int], seq: int) -> None:
        self.place, self.seq = place, seq
        message = MessageData(b"%s %d %d" % (place[0].encode(), place[1], seq), ID, ID, ID)
        message.persistence = 1
        header = descriptor.encode(Placed("Q", place[1], seq, 0, 0, 0, 1, message), ID, 1)
        self._body, self._headers = message.body, [(descriptor.HEADER, header)]

    def topic(self) -> str:
        return self.place[0]

    def partition(self) -> int:
        return self.place[1]

    def value(self) -> bytes:
        return self._body

    def key(self) -> None:
        return None

    def headers(self) -> list[tuple[str, bytes]]:
        return self._headers

    def timestamp(self) -> tuple[int, int]:
        return 1, 5

    def offset(self) -> int:
        return self.seq - 1

    def error(self) -> None:
        return None


class SlowConsumer:
    """A consumer of any partition of the queues, as threads without a lock of their own see it.

    It takes a moment for each question. strays: how often a record of the partition that it was
    assigned before still comes.
    """

    def __init__(self, chance: random.Random, strays: float = 0.0) -> None:
        self._chance, self._strays = chance, strays
        self._place: tuple[str, int] = ("", 0)
        self._before: tuple[str, int] = ("", 0)
        self._at = 0
        self.closed = threading.Event()

    def assign(self, partitions: list[TopicPartition]) -> None:
        one = partitions[0]
        if (one.topic, one.partition) != self._place:
            self._before, self._place = self._place, (one.topic, one.partition)
        self._at = one.offset + 1

    def unassign(self) -> None:
        self._place = ("", 0)

    def poll(self, _timeout_s: float) -> PlacedRecord | None:
        time.sleep(0.0002)  # Kafka's answer
        return self._next()

    def consume(self, count: int, _timeout_s: float) -> list[PlacedRecord]:
        found = [self._next() for _ in range(min(count, self._chance.randrange(1, 8)))]
        return [one for one in found if one is not None]

    def get_watermark_offsets(self, *_: Any) -> tuple[int, int]:
        time.sleep(0.0002)
        return 0, LENGTH

    def close(self) -> None:
        self.closed.set()

    def _next(self) -> PlacedRecord | None:
        if self._before[0] and self._chance.random() < self._strays:
            return PlacedRecord(self._before, self._at)
        if not self._place[0] or self._at > LENGTH:
            return None
        self._at += 1
        return PlacedRecord(self._place, self._at - 1)


def read_some(pages: KafkaPageReader, seed: int) -> None:
    """Read pages as one term does, and look whose they are."""
    chance = random.Random(seed)
    for _ in range(READS):
        queue, lane = chance.choice(QUEUES), chance.choice(LANES)
        seq, count = chance.randrange(1, LENGTH - PAGE), chance.choice([1, PAGE])
        found = pages.read(queue, 1, lane, seq, count).messages
        topic = names.queue_topic("QM1", queue, 1).encode()
        want = [(at, b"%s %d %d" % (topic, lane, at)) for at in range(seq, seq + len(found))]
        assert [(one.seq, bytes(one.message.body)) for one in found] == want
        assert found
        if chance.random() < 0.1:
            pages.rest()


@pytest.mark.parametrize("seed", range(2))
def test_terms_that_read_at_once_are_given_no_message_of_another_queue(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(partition_consumer, "Consumer", lambda _settings: SlowConsumer(chance))
    pages = KafkaPageReader("QM1", "", {})
    with ThreadPoolExecutor(3) as terms:
        reads = [terms.submit(read_some, pages, 10 * seed + term) for term in range(3)]
        for one in reads:
            one.result(WAIT_S)


@pytest.mark.parametrize("seed", range(2))
def test_records_of_another_partition_are_no_part_of_a_page(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(
        partition_consumer, "Consumer", lambda _settings: SlowConsumer(chance, strays=0.1)
    )
    read_some(KafkaPageReader("QM1", "", {}), seed)


def test_a_reader_that_waits_for_kafka_keeps_no_stop_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its connections are closed when the read has ended, which it does soon."""
    waits, goes_on = threading.Event(), threading.Event()
    consumer = SlowConsumer(random.Random(1))

    def poll(_timeout_s: float) -> None:
        waits.set()
        goes_on.wait(WAIT_S)

    monkeypatch.setattr(consumer, "poll", poll)
    monkeypatch.setattr(partition_consumer, "Consumer", lambda _settings: consumer)
    monkeypatch.setattr(reader, "IN_USE_S", 0.05)
    pages = KafkaPageReader("QM1", "", {})
    with ThreadPoolExecutor(1) as term:
        reading = term.submit(pages.read, "A", 1, 0, 5, 1)
        assert waits.wait(WAIT_S)
        pages.close()
        assert not consumer.closed.is_set(), "a thread is in it"
        goes_on.set()
        with pytest.raises(PagesUnavailableError, match="closed"):
            reading.result(WAIT_S)
    assert consumer.closed.is_set()
    with pytest.raises(PagesUnavailableError, match="closed"):
        pages.read("A", 1, 0, 5, 1)
    pages.close()
