"""A queue manager on Kafka with queues for Spark, and what is on their topics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import adapter
from adapter.storage.format import names
from adapter.testing import TestQueueManager
from spark_jobs import sources
from spark_jobs.sinks import Sink
from tests.support.backlog import until
from tests.support.queue_topic import LANES, committed

Headers = list[tuple[str, str | bytes | None]]
COPIED_S = 30.0
DONE_S = 90


class Site:
    """One queue manager and the Kafka beneath it."""

    def __init__(self, manager: TestQueueManager, servers: str, spark: SparkSession) -> None:
        self.manager = manager
        self.servers = servers
        self.spark = spark
        self.name = manager.name
        self.address = manager.address

    def stream(self, queue: str, **options: Any) -> DataFrame:
        """The queue as a stream."""
        return sources.queue_stream(
            self.spark, queue, bootstrap_servers=self.servers, queue_manager=self.name, **options
        )

    def batch(self, queue: str, **options: Any) -> DataFrame:
        """What is on the queue's topic."""
        return sources.queue_batch(
            self.spark, queue, bootstrap_servers=self.servers, queue_manager=self.name, **options
        )

    def topic(self, queue: str) -> str:
        """The topic of a queue that was defined once."""
        return names.queue_topic(self.name, queue)

    def put_units(self, queue: str, units: int, size: int = 3, lanes: int = LANES) -> list[bytes]:
        """Put units over some priorities; the ids of the messages that were put."""
        with self.manager.connect() as qm:
            return put_units(qm, queue, units, size, lanes)

    def wait_copied(self, queue: str, count: int) -> list[Any]:
        """Wait until so many records are on a queue's topic, as a plain client reads them, and the
        queue manager knows it: only then are they given to consumers.
        """
        found = wait_copied(self.servers, self.topic(queue), count)
        until(lambda: not self.manager.statistics()["uncopied_bytes"])
        return found

    def write_foreign(self, queue: str, value: bytes, headers: Headers) -> None:
        """Write a record to a queue's topic, as no queue manager does."""
        producer = Producer({"bootstrap.servers": self.servers})
        producer.produce(self.topic(queue), value, partition=0, headers=headers)
        assert producer.flush(COPIED_S) == 0


def put_units(qm: adapter.Connection, queue: str, units: int, size: int, lanes: int) -> list[bytes]:
    """Put units over some priorities, from 0 on; the ids of the messages that were put."""
    ids = []
    for unit in range(units):
        with qm.unit():
            for index in range(size):
                done = qm.put(queue, f"{unit}.{index}", priority=(unit + index) % lanes)
                ids.append(done.message_id)
    return ids


def wait_copied(servers: str, topic: str, count: int) -> list[Any]:
    """Wait until so many records are on a topic, as a plain client reads them."""
    found: list[Any] = list(islice(committed(servers, topic), count))
    assert len(found) >= count, f"{len(found)} of {count} records are on {topic}"
    return found


def start(messages: DataFrame, sink: Sink, checkpoint: Path) -> StreamingQuery:
    """Start a stream that goes on until it is stopped."""
    writer = messages.writeStream.foreachBatch(sink)
    return writer.option("checkpointLocation", str(checkpoint)).start()


@contextmanager
def running(messages: DataFrame, sink: Sink, checkpoint: Path) -> Iterator[StreamingQuery]:
    """Run a stream; it is stopped behind the block."""
    query = start(messages, sink, checkpoint)
    try:
        yield query
    finally:
        query.stop()


def drain(messages: DataFrame, sink: Sink, checkpoint: Path) -> None:
    """Run a stream over all that is there, in as many batches as its limit makes of it."""
    query = (
        messages.writeStream.foreachBatch(sink)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    await_end(query)


def await_end(query: StreamingQuery) -> None:
    """Wait for the end of a query, within a bound; what ended it is raised."""
    try:
        assert query.awaitTermination(DONE_S), f"not done in {DONE_S} s: {query.status}"
    finally:
        query.stop()


def collecting(into: list[Any], then: Callable[[DataFrame, int], None] | None = None) -> Sink:
    """A sink that keeps (batch, row) as the rows reach it, in whatever order they have there."""

    def write(batch: DataFrame, batch_id: int) -> None:
        into.extend((batch_id, row) for row in batch.collect())
        if then is not None:
            then(batch, batch_id)

    return write


def order_problems(rows: Iterable[Any]) -> list[str]:
    """Where the seqs of a lane are not dense and ascending."""
    last: dict[int, int] = {}
    problems = []
    for row in rows:
        wanted = last.get(row["partition"], 0) + 1
        if row["seq"] != wanted:
            problems.append(f"lane {row['partition']}: {row['seq']} instead of {wanted}")
        last[row["partition"]] = row["seq"]
    return problems


@contextmanager
def queues(site: Site, *names_of: str) -> Iterator[adapter.Connection]:
    """Define queues, and be connected."""
    with site.manager.connect() as qm:
        for name in names_of:
            qm.define_queue(name)
        yield qm
