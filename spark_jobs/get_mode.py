"""Getting from a queue by Spark: batches of a durable consumer, consumed when Spark has done them.

A micro-batch of Spark is one batch of the consumer, or several. What is in it is settled when it is
planned, is the same after every restart, and is gone from the queue when Spark says that it is
done: with the next batch, or when the job comes back. The queue manager is asked for numbers only;
tasks read the messages from Kafka, one task for each lane, in its order.

This module runs in Spark's own Python process beside the driver; it must not know the rows' use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from msgspec import Struct
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

import adapter
from adapter.errors import Error, InvalidOption
from adapter.format import names
from spark_jobs.errors import SparkJobError
from spark_jobs.lane_reader import LaneReader, Span
from spark_jobs.rows import Row, row_of

APPLICATION = "spark"
BATCH_MAX = 10_000
TIMEOUT_S = 3_600.0
"""A job that is started once an hour still has what it was given."""

Offset = dict[str, Any]
"""As Spark keeps it in its checkpoint: the claim, in hexadecimal digits, and a batch's number."""


class Place(Struct, frozen=True):
    """Where a queue's messages are, for tasks, which know nothing of the queue manager."""

    queue_manager: str
    bootstrap_servers: str
    incarnation: int


class LanePart(InputPartition):
    """What a task reads: messages of one lane, in the order of delivery."""

    def __init__(self, place: Place, lane: int, spans: list[Span]) -> None:
        super().__init__(lane)
        self.place = place
        self.lane = lane
        self.spans = spans


class GetReader(DataSourceStreamReader):
    """The stream of one consumer. Tasks have copies of it, without its connection."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._queue = _needed(options, "queue")
        self._address = options.get("address") or "127.0.0.1:1414"
        self._name = _needed(options, "consumer")
        self._limit = _whole(options, "maxMessagesPerTrigger", BATCH_MAX, BATCH_MAX)
        self._timeout_s = _whole(options, "consumerTimeoutSeconds", int(TIMEOUT_S), 30 * 86_400)
        self._kafka_options = {
            name.removeprefix("kafka."): value
            for name, value in options.items()
            if name.startswith("kafka.")
        }
        self._planned = 0
        self._connection: adapter.Connection | None = None
        self._consumer: adapter.Consumer | None = None

    def initialOffset(self) -> Offset:  # noqa: N802 -- Spark's names
        """Where a new query begins: where the consumer stands."""
        with _told():
            consumer = self._open()
            return _offset(consumer, consumer.consumed)

    def latestOffset(self) -> Offset:  # noqa: N802
        """Have the consumer be given its next batch, if there is anything; the last batch's."""
        with _told():
            consumer = self._open()
            return _offset(consumer, consumer.claim_batch(self._limit, self._planned))

    def partitions(self, start: Offset, end: Offset) -> list[LanePart]:
        """Plan a micro-batch. What lies before it is consumed, if Spark did not come to say so."""
        with _told():
            found = self._open(start).read(start["batch"], end["batch"])
        self._planned = max(self._planned, end["batch"])
        lanes: dict[int, list[Span]] = {}
        for batch in found.batches:
            for at in range(0, len(batch.spans), 3):
                lane, first, last = batch.spans[at : at + 3]
                lanes.setdefault(lane, []).append((first, last))
        qm = self._connected()
        place = Place(qm.name, qm.bootstrap_servers, found.incarnation)
        return [LanePart(place, lane, spans) for lane, spans in lanes.items()]

    def read(self, partition: InputPartition) -> Iterator[Row]:
        """Read the messages of a part, in a task."""
        assert isinstance(partition, LanePart), "the driver planned it"
        place, lane = partition.place, partition.lane
        topic = names.queue_topic(place.queue_manager, self._queue, place.incarnation)
        reader = LaneReader(place.queue_manager, place.bootstrap_servers, self._kafka_options)
        try:
            for message, at, offset in reader.messages(
                self._queue, place.incarnation, lane, partition.spans
            ):
                yield row_of(self._queue, message, at, topic, lane, offset)
        finally:
            reader.close()

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
            self._connection = adapter.connect(self._address, application=APPLICATION)
        return self._connection

    def _open(self, offset: Offset | None = None) -> adapter.Consumer:
        """Open the consumer; with the claim that a checkpoint has, if one is given."""
        if self._consumer is None:
            self._consumer = self._connected().consumer(
                self._queue, self._name, timeout=self._timeout_s
            )
        if offset is not None:
            self._consumer.claim = bytes.fromhex(offset["claim"])
        return self._consumer


@contextmanager
def _told() -> Iterator[None]:
    """Mark what goes wrong, so that it is found in what Spark makes of it: see errors.explain."""
    try:
        yield
    except Error as error:
        raise SparkJobError(f"mqk: {error}", error.object_name) from error


def _offset(consumer: adapter.Consumer, batch: int) -> Offset:
    return {"claim": consumer.claim.hex(), "batch": batch}


def _needed(options: Mapping[str, str], name: str) -> str:
    value = options.get(name, "")
    if not value:
        raise InvalidOption(f"mqk: option {name!r} is missing: give .option({name!r}, ...)")
    return value


def _whole(options: Mapping[str, str], name: str, usual: int, most: int) -> int:
    value = options.get(name, str(usual))
    if not value.isdecimal() or not 1 <= int(value) <= most:
        raise InvalidOption(f"mqk: option {name!r} is 1 to {most}, not {value!r}")
    return int(value)
