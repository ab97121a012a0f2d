"""Read mode get: batches of a durable consumer, gone from the queue when Spark has done them.

A micro-batch of Spark is one batch of the consumer, or several if it may have more messages than a
batch. They are claimed when Spark plans its tasks, when they stand in the checkpoint: so a
checkpoint that is refused claims nothing, and what is in a batch is the same after every restart.
They are consumed when Spark says that the micro-batch is done: it asks what comes behind it (4.2),
also when the job comes back, or it begins the next one. The queue manager is asked for numbers
only; tasks read the messages from Kafka, a lane in one task and in its order. This module must not
know Spark's columns.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

import adapter
from adapter.client.consumer import BATCH_MAX
from adapter.core.contract.results import BatchDescription, Batches
from spark_jobs.errors import SparkJobError
from spark_jobs.options import SourceOptions
from spark_jobs.planning import AvailableNow, Limit, limit_of
from spark_jobs.spans import SeqSpan, SpanReader

GetOffset = dict[str, Any]
"""As Spark keeps it in its checkpoint: queue, consumer, the claim in hexadecimal digits, and the
number of a batch. ends: that batch is an empty one, which only says that the one before is done."""
PART_MESSAGES = 2_500
"""Below that another task costs more than it brings: each has a Kafka client of its own."""
MESSAGES_MAX = 10 * BATCH_MAX
"""Of a micro-batch: each batch of the consumer in it is a claim, which takes a moment."""
COPIED_S = 10.0
"""How long a query of what is available now waits until all of it is on its topic."""
LOOK_S = 0.05
UNKNOWN = -1
"""Before Spark 4.2 a query that comes back does not say where it begins."""
LaneSpans = dict[int, list[SeqSpan]]
"""Which messages of each lane, in the order of delivery."""


class SpanPart(InputPartition):
    """What a task reads: messages of some lanes, in the order of delivery."""

    def __init__(
        self,
        options: SourceOptions,
        queue_manager: str,
        servers: str,
        incarnation: int,
        lanes: LaneSpans,
    ) -> None:
        super().__init__(tuple(lanes))
        self.options = options
        self.queue_manager = queue_manager
        self.servers = servers
        self.incarnation = incarnation
        self.lanes = lanes


class GetReader(DataSourceStreamReader, AvailableNow):  # type: ignore[misc]  # of any Spark
    """Plans the micro-batches of a consumer; it lives in the driver's Python process."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._limit = min(options.max_messages_per_batch or BATCH_MAX, MESSAGES_MAX)
        self._planned = UNKNOWN
        """The last batch that Spark has planned."""
        self._size = 0
        """Messages of that batch."""
        self._left: int | None = None
        """Messages that a trigger of what is available now has still to bring."""
        self._connection: adapter.Connection | None = None
        self._consumer: adapter.Consumer | None = None

    def initialOffset(self) -> GetOffset:  # noqa: N802 -- Spark's name
        """Where a new query begins: where the consumer stands."""
        with _marking():
            self._planned = self._open().consumed
            return self._offset(self._planned)

    def getDefaultReadLimit(self) -> Limit:  # noqa: N802 -- Spark's name
        """How much a micro-batch may bring."""
        return limit_of(self._limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 -- Spark's name
        """Bring no more messages than the queue has now, in as many micro-batches as that takes."""
        with _marking():
            await_copies(self._connect())
            self._left = self._depth()

    def latestOffset(  # noqa: N802 -- Spark's name
        self,
        start: GetOffset | None = None,
        limit: Limit | None = None,  # noqa: ARG002
    ) -> GetOffset:
        """The next batch, if there is anything to bring, or to end; otherwise the last one.

        start, limit: from Spark 4.2 on. limit is what getDefaultReadLimit said, or no limit at all,
        which a batch of a consumer always has.
        """
        with _marking():
            if start is not None:
                self._open(start)
                self._planned = start["batch"]
            consumer = self._open()
            # Spark asks what comes behind a batch when that is in its log of commits. Nothing else
            # may come to say so: the driver was killed then, and the queue is quiet.
            done = min(self._planned, consumer.last) if start is not None else UNKNOWN
            if consumer.consumed < done:
                consumer.consume(done)
            if UNKNOWN < self._planned < consumer.last:
                return self._offset(self._planned + 1)  # it was claimed, and its query has gone
            if self._left is not None and self._left <= 0:
                return self._end(start or self._offset(consumer.last))
            return self._offset(self._next(consumer))

    def reportLatestOffset(self) -> GetOffset | None:  # noqa: N802 -- Spark's name
        """For the query's progress: how many messages wait on the queue."""
        with _marking():
            return {"queue": self._options.queue, "waiting": self._depth()}

    def partitions(self, start: GetOffset, end: GetOffset) -> list[InputPartition]:
        """Parts of whole lanes. What lies before is consumed, if Spark did not come to say so.

        A query that comes back may ask for nothing at all from where the last micro-batch ended,
        before it knows whether that was done.
        """
        with _marking():
            self._open(end)
            consumer = self._open(start)
            self._planned = max(self._planned, end["batch"])
            if start["batch"] == end["batch"]:
                return []
            # A new checkpoint under a name that still has batches is given those alone: before
            # Spark 4.2 latestOffset does not know that it is to begin there.
            is_next = start["batch"] == consumer.last and not end.get("ends")
            found = read_batches(
                consumer, start["batch"], end["batch"], self._limit if is_next else 0
            )
        lanes: LaneSpans = {}
        for batch in found.batches:
            for lane, first, last in spans_of(batch):
                lanes.setdefault(lane, []).append((first, last))
        self._size = sum(map(count_of, lanes.values()))
        if self._left is not None:
            self._left -= self._size
        qm = self._connect()
        servers = self._options.kafka.get("bootstrap.servers", qm.bootstrap_servers)
        where = (self._options, qm.name, servers, found.incarnation)
        return [SpanPart(*where, some) for some in share_out(lanes)]

    def read(self, partition: InputPartition | None) -> Iterator[Any]:
        """In a task: the rows of a part, as Arrow batches."""
        return read(partition) if isinstance(partition, SpanPart) else iter(())

    def commit(self, end: GetOffset) -> None:
        """Consume what Spark has done."""
        with _marking():
            self._open(end).consume(end["batch"])

    def stop(self) -> None:
        """Close the consumer: its next program finds all as it is."""
        with suppress(adapter.Error):  # a queue manager that is away notices by itself
            if self._consumer is not None:
                self._consumer.close()
            if self._connection is not None:
                self._connection.close()

    def __getstate__(self) -> dict[str, Any]:
        """Go to tasks without the connection."""
        return self.__dict__ | {"_connection": None, "_consumer": None}

    def _next(self, consumer: adapter.Consumer) -> int:
        """Return up to which batch the next micro-batch goes: the last one if there is nothing."""
        following = consumer.next_batch(min(self._limit, BATCH_MAX))
        if following > consumer.last and self._limit > BATCH_MAX:
            following += (min(self._limit, max(1, self._depth())) - 1) // BATCH_MAX
        return following

    def _end(self, start: GetOffset) -> GetOffset:
        """Where a query ends that has brought all that it was to bring.

        Spark says that a micro-batch is done when it begins the next one: therefore an empty one.
        """
        if not self._size:
            return start
        return self._offset(start["batch"] + 1) | {"ends": True}

    def _depth(self) -> int:
        return self._connect().queue(self._options.queue).status().current_depth

    def _connect(self) -> adapter.Connection:
        if self._connection is None:
            self._connection = adapter.connect(self._options.address, application="spark")
        return self._connection

    def _open(self, offset: GetOffset | None = None) -> adapter.Consumer:
        """Open the consumer; and check that an offset of a checkpoint is still of its claim."""
        options = self._options
        if self._consumer is None:
            self._consumer = self._connect().consumer(
                options.queue,
                options.consumer,
                timeout=options.consumer_timeout_s,
                may_break_off=True,  # Spark kills this process when a query ends
            )
        if offset is not None:
            self._check(offset, self._consumer)
        return self._consumer

    def _check(self, offset: GetOffset, consumer: adapter.Consumer) -> None:
        """Refuse a checkpoint of something else, and one whose claim is lost."""
        options = self._options
        if not isinstance(offset.get("claim"), str) or not isinstance(offset.get("batch"), int):
            raise SparkJobError(
                "mqk: the checkpoint is of another readMode than get: give this query its own"
            )
        queue, name = offset.get("queue", options.queue), offset.get("consumer", options.consumer)
        if (queue, name) != (options.queue, options.consumer):
            raise SparkJobError(
                f"mqk: the checkpoint is of consumer {name} of queue {queue}, and this query is "
                f"consumer {options.consumer} of queue {options.queue}: give each its own"
            )
        if offset["claim"] == consumer.claim.hex():
            return
        if offset["batch"] > consumer.last:
            why = f"queue {queue}, or its consumer {name}, was deleted and defined again"
        else:
            why = (
                f"consumer {name} of queue {queue} was gone longer than its timeout, and its "
                "messages returned to the queue; or one of the two was deleted and defined again"
            )
        raise SparkJobError(
            f"mqk: the checkpoint is no longer valid: {why}. Check what the sink has of the last "
            "batch, then begin with a new checkpoint; option consumerTimeoutSeconds is how long a "
            "consumer may be gone",
            name,
        )

    def _offset(self, batch: int) -> GetOffset:
        consumer = self._open()
        named = {"queue": self._options.queue, "consumer": self._options.consumer}
        return named | {"claim": consumer.claim.hex(), "batch": batch}


def await_copies(qm: adapter.Connection) -> None:
    """Wait until what is on the queues now is on their topics: before that no consumer is given it,
    and a query that is to end with what is there would end without it. Bounded: others may put
    without a pause.
    """
    until_s = time.monotonic() + COPIED_S
    with suppress(adapter.NotAuthorized):  # who may get messages need not see the figures
        while qm.figures().get("uncopied_bytes") and time.monotonic() < until_s:
            time.sleep(LOOK_S)


def read(part: SpanPart) -> Iterator[Any]:
    """Read a part's messages as Arrow batches."""
    reader = SpanReader(
        part.queue_manager,
        part.servers,
        part.options.kafka,
        sum(map(count_of, part.lanes.values())),
        fail_on_data_loss=part.options.fail_on_data_loss,
    )
    try:
        for lane, spans in part.lanes.items():
            yield from reader.rows(part.options.queue, part.incarnation, lane, spans)
    finally:
        reader.close()


def count_of(spans: Iterable[SeqSpan]) -> int:
    """How many messages spans are."""
    return sum(last - first + 1 for first, last in spans)


def read_batches(consumer: adapter.Consumer, after: int, through: int, limit: int) -> Batches:
    """Read batches; those that the consumer does not have yet are claimed, one after the other.

    limit: messages of those that are claimed, at most. Batches for which nothing is left are empty.
    """
    known = min(consumer.last, through)
    found = consumer.read(after, known) if known > after else None
    for number in range(max(known, after) + 1, through + 1):
        found = consumer.read(after, number, min(limit, BATCH_MAX))
        limit -= count_of((first, last) for _, first, last in spans_of(found.batches[-1]))
    assert found is not None, "there are batches"
    return found


def spans_of(batch: BatchDescription) -> Iterator[tuple[int, int, int]]:
    """Iterate over the lane, first and last message of each span."""
    spans = batch.spans
    return zip(spans[::3], spans[1::3], spans[2::3], strict=True)


def share_out(lanes: LaneSpans) -> Iterator[LaneSpans]:
    """Share lanes out to tasks, so that each has enough to do; the highest priorities first."""
    some: LaneSpans = {}
    count = 0
    for lane in sorted(lanes, reverse=True):
        some[lane] = lanes[lane]
        count += count_of(lanes[lane])
        if count >= PART_MESSAGES:
            yield some
            some, count = {}, 0
    if some:
        yield some


@contextmanager
def _marking() -> Iterator[None]:
    """Mark what goes wrong, so that it is found in what Spark makes of it: see errors.explain."""
    try:
        yield
    except SparkJobError:
        raise
    except adapter.Error as problem:
        marked = "mqk: " + problem.text  # a traceback that shows this line must not be taken for it
        raise SparkJobError(marked, problem.object_name) from None
