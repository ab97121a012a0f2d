"""From a topic of Kafka to a topic: by a feed, a worker and an export, beside Kafka alone.

Both carry the same records. The loop consumes records, produces as many, and commits them with its
offsets in a Kafka transaction: one record, or up to 100. The worker gets messages, puts as many on
the queue of the export, and commits them as a unit: one message, or up to 100. Either is a thread
of this process, which reads the other topic with isolation.level=read_committed.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from types import MappingProxyType

from confluent_kafka import Consumer, Producer, TopicPartition

import adapter
from benchmarks import raw
from benchmarks.results import Row, Rows, show
from benchmarks.stack import queue_manager

RUNS = 3
PARTITIONS = 3
SINGLE = 300
WARM_UP = 50
MESSAGES = MappingProxyType({1: 500, 100: 20_000})
"""By how many are in a transaction, or in a unit, at most."""
BODY = bytes(2048)
NAME = "TOPICS"
WITHIN_S = 120.0
LOOK_S = 0.2
"""How long a loop waits for records before it looks whether it is to end."""
WAYS = MappingProxyType({"loop": "Kafka transactions", "worker": "feed, worker, export"})


class Topics:
    """Two topics, their producer and their reader; the queues between them, if there are any."""

    def __init__(self, bootstrap: str, name: str) -> None:
        self.bootstrap, self.name = bootstrap, name
        self.source, self.target = f"{name}.in", f"{name}.out"
        self.fed, self.exported = self.source.upper(), self.target.upper()
        for topic in (self.source, self.target):
            raw.create_topic(bootstrap, topic, PARTITIONS)
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
        self._reader = self.consumer(self.target)

    def consumer(self, topic: str) -> Consumer:
        """Make a consumer of all partitions of a topic, from their beginning."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": self.name,
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            }
        )
        consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
        return consumer

    def write(self, count: int) -> None:
        """Write so many records, and wait until they are there."""
        for number in range(count):
            self._producer.produce(self.source, BODY, b"%d" % number)
            self._producer.poll(0)
        assert self._producer.flush(WITHIN_S) == 0

    def read(self, count: int) -> None:
        """Read so many records of the other topic."""
        deadline_s = time.perf_counter() + WITHIN_S
        while count:
            found = self._reader.consume(min(count, 500), LOOK_S)
            count -= sum(one.error() is None for one in found)
            assert time.perf_counter() < deadline_s, f"{count} records are missing"

    def close(self) -> None:
        """Close the connections."""
        self._reader.close()


@contextmanager
def transactions(topics: Topics, size: int) -> Iterator[None]:
    """Consume, produce and commit by Kafka alone, up to so many records at a time."""
    stopping = threading.Event()
    producer = Producer(
        {"bootstrap.servers": topics.bootstrap, "transactional.id": topics.name, "linger.ms": 0}
    )
    producer.init_transactions(WITHIN_S)

    def loop() -> None:
        with closing(topics.consumer(topics.source)) as consumer:
            while not stopping.is_set():
                first = consumer.poll(LOOK_S)
                if first is None:
                    continue
                found = [first, *(consumer.consume(size - 1, 0) if size > 1 else [])]
                producer.begin_transaction()
                for one in found:
                    producer.produce(topics.target, one.value(), one.key())
                behind = {one.partition(): (one.offset() or 0) + 1 for one in found}
                places = [TopicPartition(topics.source, at or 0, to) for at, to in behind.items()]
                producer.send_offsets_to_transaction(
                    places, consumer.consumer_group_metadata(), WITHIN_S
                )
                producer.commit_transaction(WITHIN_S)

    with _running(loop, stopping.set):
        yield


@contextmanager
def worker(qm: adapter.Connection, topics: Topics, size: int) -> Iterator[None]:
    """Get, put and commit, up to so many messages at a time, between a feed and an export."""
    for name in (topics.fed, topics.exported):
        qm.define_queue(name, msg_delivery_sequence="FIFO", max_depth=999_999_999)
    qm.define_object("export", "E", queue=topics.exported, topic=topics.target)
    qm.define_object("feed", "F", topic=topics.source, queue=topics.fed, origin=False)
    fed = qm.queue(topics.fed)

    def loop() -> None:
        exported = qm.queue(topics.exported)
        for unit in fed.units(size=size):
            with unit:
                for one in unit.messages:
                    exported.put(one.body, properties=one.properties)

    with _running(loop, fed.close):
        yield
    qm.delete_object("feed", "F")
    qm.delete_object("export", "E")


@contextmanager
def _running(loop: Callable[[], None], stop: Callable[[], None]) -> Iterator[None]:
    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        stop()
        thread.join(WITHIN_S)


def latencies_ms(once: Callable[[], float], count: int) -> list[float]:
    """Do something again and again, one at a time; once: returns when its time began."""
    took = []
    for _ in range(WARM_UP + count):
        began_s = once()
        took.append((time.perf_counter() - began_s) * 1000)
    return took[WARM_UP:]


def measure(
    bootstrap: str,
    runs: int = RUNS,
    single: int = SINGLE,
    messages: Mapping[int, int] = MESSAGES,
) -> Rows:
    """Rate and latency of both, in turn."""
    rows = _rows(messages)
    with queue_manager(bootstrap, NAME) as address, adapter.connect(address) as qm:
        for run in range(runs):
            for way in WAYS:
                for size, count in messages.items():
                    topics = Topics(bootstrap, f"{way}.{size}.{run}")
                    carried = (
                        transactions(topics, size) if way == "loop" else worker(qm, topics, size)
                    )
                    with closing(topics), carried:
                        rows[f"{way}_rate_{size}"].runs.append(_rate(topics, count))
                        if size == 1:
                            _measure_latency(qm if way == "worker" else None, topics, rows, single)
            show(rows, f"after run {run + 1} of {runs}")
    return rows


def _rate(topics: Topics, count: int) -> float:
    topics.write(WARM_UP)
    topics.read(WARM_UP)
    began_s = time.perf_counter()
    topics.write(count)
    topics.read(count)
    return count / (time.perf_counter() - began_s)


def _measure_latency(
    qm: adapter.Connection | None, topics: Topics, rows: Rows, single: int
) -> None:
    """Measure single records. qm: where the export is; None for the loop of Kafka alone."""

    def through() -> float:
        topics.write(1)
        began_s = time.perf_counter()
        topics.read(1)
        return began_s

    _note(rows, "loop" if qm is None else "worker", latencies_ms(through, single))
    if qm is not None:
        exported = qm.queue(topics.exported)

        def exported_alone() -> float:
            exported.put(BODY)
            began_s = time.perf_counter()
            topics.read(1)
            return began_s

        _note(rows, "export", latencies_ms(exported_alone, single))


def _note(rows: Rows, name: str, took_ms: list[float]) -> None:
    rows[f"{name}_p50"].runs.append(statistics.median(took_ms))
    rows[f"{name}_p99"].runs.append(statistics.quantiles(took_ms, n=100)[98])


def _rows(messages: Mapping[int, int]) -> Rows:
    rows: Rows = {}
    for way, name in WAYS.items():
        for size in messages:
            against = f"loop_rate_{size}" if way == "worker" else ""
            rows[f"{way}_rate_{size}"] = Row(f"{name}, {size} at a time", "msg/s", against=against)
        for part in ("p50", "p99"):
            against = f"loop_{part}" if way == "worker" else ""
            rows[f"{way}_{part}"] = Row(f"{name}, one record, {part}", "ms", against=against)
    for part in ("p50", "p99"):
        rows[f"export_{part}"] = Row(f"from a commit to its record's reader, {part}", "ms")
    return rows
