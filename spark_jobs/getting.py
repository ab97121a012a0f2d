"""Read mode get: batches of a durable consumer, gone from the queue when Spark has done them.

A micro-batch of Spark is one batch of the consumer, or several. What is in it is settled when it is
planned and is the same after every restart. It is consumed when Spark says that it is done: with
the next micro-batch, or when the job comes back and plans on. The queue manager is asked for
numbers only; tasks read the messages from Kafka, a lane in one task and in its order. This module
must not know Spark's columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

import adapter
from adapter.client.consumer import BATCH_MAX
from adapter.format import names
from spark_jobs.errors import SparkJobError
from spark_jobs.options import Options
from spark_jobs.rows import batches
from spark_jobs.spans import Span, SpanReader

Offset = dict[str, Any]
"""As Spark keeps it in its checkpoint: the claim, in hexadecimal digits, and a batch's number."""
PART_MESSAGES = 2_500
"""Below that another task costs more than it brings: each has a Kafka client of its own."""
Lanes = dict[int, list[Span]]
"""Which messages of each lane, in the order of delivery."""


class Part(InputPartition):
    """What a task reads: messages of some lanes, in the order of delivery."""

    def __init__(
        self, options: Options, queue_manager: str, servers: str, incarnation: int, lanes: Lanes
    ) -> None:
        super().__init__(tuple(lanes))
        self.options = options
        self.queue_manager = queue_manager
        self.servers = servers
        self.incarnation = incarnation
        self.lanes = lanes


class GetReader(DataSourceStreamReader):
    """Plans the micro-batches of a consumer; it lives in the driver's Python process."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._limit = min(options.max_messages_per_trigger or BATCH_MAX, BATCH_MAX)
        self._planned = 0
        self._connection: adapter.Connection | None = None
        self._consumer: adapter.Consumer | None = None

    def initialOffset(self) -> Offset:  # noqa: N802 -- Spark's name
        """Where a new query begins: where the consumer stands."""
        with _told():
            consumer = self._open()
            return _offset(consumer, consumer.consumed)

    def latestOffset(self) -> Offset:  # noqa: N802 -- Spark's name
        """Have the consumer be given its next batch, if there is anything; the last batch."""
        with _told():
            consumer = self._open()
            return _offset(consumer, consumer.claim_batch(self._limit, self._planned))

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Parts of whole lanes. What lies before is consumed, if Spark did not come to say so.

        A query that comes back asks for nothing at all from where the last micro-batch ended,
        before it knows whether that was done.
        """
        if start["batch"] == end["batch"]:
            self._planned = max(self._planned, end["batch"])
            return []
        with _told():
            found = self._open(start).read(start["batch"], end["batch"])
        self._planned = max(self._planned, end["batch"])
        lanes: Lanes = {}
        for batch in found.batches:
            for at in range(0, len(batch.spans), 3):
                lane, first, last = batch.spans[at : at + 3]
                lanes.setdefault(lane, []).append((first, last))
        qm = self._connected()
        servers = self._options.kafka.get("bootstrap.servers", qm.bootstrap_servers)
        where = (self._options, qm.name, servers, found.incarnation)
        return [Part(*where, some) for some in shared(lanes)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """In a task: the rows of a part, as Arrow batches."""
        assert isinstance(partition, Part), "what partitions() made"
        return read(partition)

    def commit(self, end: Offset) -> None:
        """Consume what Spark has done."""
        with _told():
            self._open(end).consume(end["batch"])

    def stop(self) -> None:
        """Let go of the consumer's name."""
        if self._connection is not None:
            self._connection.close()

    def __getstate__(self) -> dict[str, Any]:
        """Go to tasks without the connection."""
        return self.__dict__ | {"_connection": None, "_consumer": None}

    def _connected(self) -> adapter.Connection:
        if self._connection is None:
            self._connection = adapter.connect(self._options.address, application="spark")
        return self._connection

    def _open(self, offset: Offset | None = None) -> adapter.Consumer:
        """Open the consumer; with the claim that a checkpoint has, if one is given."""
        options = self._options
        if self._consumer is None:
            self._consumer = self._connected().consumer(
                options.queue, options.consumer, timeout=options.consumer_timeout_s
            )
        if offset is not None:
            self._consumer.claim = _claim(offset)
        return self._consumer


def read(part: Part) -> Iterator[Any]:
    """Read a part's messages as Arrow batches."""
    queue, incarnation = part.options.queue, part.incarnation
    topic = names.queue_topic(part.queue_manager, queue, incarnation)
    reader = SpanReader(part.queue_manager, part.servers, part.options.kafka)
    try:
        for lane, spans in part.lanes.items():
            yield from batches(queue, topic, lane, reader.messages(queue, incarnation, lane, spans))
    finally:
        reader.close()


def shared(lanes: Lanes) -> Iterator[Lanes]:
    """Share lanes out to tasks, so that each has enough to do; the highest priorities first."""
    some: Lanes = {}
    count = 0
    for lane in sorted(lanes, reverse=True):
        some[lane] = lanes[lane]
        count += sum(last - first + 1 for first, last in lanes[lane])
        if count >= PART_MESSAGES:
            yield some
            some, count = {}, 0
    if some:
        yield some


@contextmanager
def _told() -> Iterator[None]:
    """Mark what goes wrong, so that it is found in what Spark makes of it: see errors.explain."""
    try:
        yield
    except adapter.Error as problem:
        marked = "mqk: " + problem.text  # a traceback that shows this line must not be taken for it
        raise SparkJobError(marked, problem.object_name) from None


def _offset(consumer: adapter.Consumer, batch: int) -> Offset:
    return {"claim": consumer.claim.hex(), "batch": batch}


def _claim(offset: Offset) -> bytes:
    try:
        return bytes.fromhex(offset["claim"])
    except (KeyError, TypeError, ValueError):
        raise SparkJobError(
            "mqk: the checkpoint is not one of readMode get: give this query one of its own"
        ) from None
