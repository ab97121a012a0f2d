"""Read mode browse: a stream of what is put to a queue, consumed or not, which removes nothing.

The driver asks Kafka how far each lane is committed; a task reads one lane's records from one
offset to another and joins messages of several records, also one that begins in the batch before.
Offsets name their topic: when a queue is deleted and defined again, a checkpoint of the old one
does not fit the new one's. This module knows Kafka's client; it must not know Spark's columns.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import Any, Self

from confluent_kafka import IsolationLevel, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

import adapter
from adapter.storage.format.schemas import UnreadableError
from adapter.storage.ledger.failures import Failure, classify, describe, explain
from adapter.storage.topics.decoder import chunk_of, is_no_message
from spark_jobs import ranges
from spark_jobs.errors import SparkJobError
from spark_jobs.lane_rows import LaneRows
from spark_jobs.options import BROKERS, EARLIEST, LATEST, SourceOptions
from spark_jobs.planning import AvailableNow, Limit, limit_of, rows_of
from spark_jobs.topics import choose, deletion

ANSWER_S = 20.0
RETRY_S = 0.1
LOOK_S = 5.0
"""Between two looks whether the queue still has the topic that is read."""
LaneOffsets = dict[str, int]
BrowseOffset = dict[str, Any]


class Range(InputPartition):
    """Records of one lane, from one offset to before another."""

    def __init__(
        self, options: SourceOptions, servers: str, topic: str, lane: int, start: int, end: int
    ) -> None:
        super().__init__(lane)
        self.options = options
        self.servers = servers
        self.topic = topic
        self.lane = lane
        self.start = start
        self.end = end

    def client(self) -> dict[str, Any]:
        """The settings of a Kafka client."""
        return {**self.options.kafka, "bootstrap.servers": self.servers}


class BrowsedTopic:
    """A queue's topic, as the driver sees it."""

    def __init__(
        self,
        options: SourceOptions,
        servers: str,
        admin: AdminClient,
        manager: str,
        name: str,
        lanes: list[int],
    ) -> None:
        self.name = name
        self._options = options
        self._servers = servers
        self._admin = admin
        self._manager = manager
        self._lanes = lanes
        self._looked_s = time.monotonic()

    @classmethod
    def find(cls, options: SourceOptions) -> Self:
        """Ask the queue manager for its Kafka, and that for the queue's topic; SparkJobError."""
        try:
            with adapter.connect(options.address, application="spark") as qm:
                manager, told = qm.name, qm.bootstrap_servers
        except adapter.Error as problem:
            raise SparkJobError(f"mqk: {problem.text}") from None
        servers = options.kafka.get("bootstrap.servers", told)
        if not servers:
            raise SparkJobError(
                f"mqk: queue manager {manager} at {options.address} runs in memory: only queues on "
                "Kafka can be read"
            )
        admin = AdminClient({**options.kafka, "bootstrap.servers": servers})
        topics = _topics(admin, servers)
        try:
            name = choose(topics, options.queue, manager)
        except SparkJobError as problem:
            raise SparkJobError(f"mqk: {problem.text}") from None
        return cls(options, servers, admin, manager, name, sorted(topics[name].partitions))

    def check_current(self) -> None:
        """Refuse to go on when the queue has been deleted; from time to time only."""
        if time.monotonic() < self._looked_s + LOOK_S:
            return
        self._looked_s = time.monotonic()
        try:
            now = choose(_topics(self._admin, self._servers), self._options.queue, self._manager)
        except SparkJobError:
            now = "none"
        if now != self.name:
            raise SparkJobError(f"mqk: {deletion(self._options.queue, self.name, now)}")

    def beginning(self, options: SourceOptions) -> LaneOffsets:
        """Where a new query begins."""
        if options.starting == "latest":
            return self.ends()
        lanes = self._ask(OffsetSpec.earliest())  # type: ignore[no-untyped-call]
        if isinstance(options.starting, dict):
            ends = self.ends()
            for lane, offset in options.starting.items():
                lanes[str(lane)] = self._start(lane, offset, lanes, ends)
        return lanes

    def _start(self, lane: int, offset: int, first: LaneOffsets, ends: LaneOffsets) -> int:
        """Return where to begin in a lane, of which an offset was given."""
        if str(lane) not in ends:
            raise SparkJobError(
                f"mqk: startingOffsets names lane {lane}: {self.name} has {len(ends)}, from 0 on"
            )
        end = ends[str(lane)]
        if offset > end:
            raise SparkJobError(
                f"mqk: startingOffsets begins lane {lane} at {offset}: {self.name} ends there at "
                f"{end}, and what comes before {offset} would be left out; give {end}, or -1"
            )
        return {EARLIEST: first[str(lane)], LATEST: end}.get(offset, offset)

    def ends(self) -> LaneOffsets:
        """How far each lane is committed."""
        return self._ask(OffsetSpec.latest())  # type: ignore[no-untyped-call]

    def ranges(self, start: LaneOffsets, end: LaneOffsets) -> Iterator[Range]:
        """A range for each lane that has anything between two offsets."""
        for lane in self._lanes:
            begin = start.get(str(lane), 0)
            until = end.get(str(lane), begin)  # none of a lane that the topic did not have then
            if until > begin:
                yield Range(self._options, self._servers, self.name, lane, begin, until)

    def _ask(self, spec: OffsetSpec) -> LaneOffsets:
        """Ask Kafka until it answers for every lane.

        Not all brokers know the leaders of a new topic at once, and those of others may be moving.
        """
        deadline_s = time.monotonic() + ANSWER_S
        while True:
            try:
                lanes = self._ask_once(spec)
            except KafkaException as problem:
                why = explain(problem, "Read", self.name)
                passes = classify(problem) is Failure.RETRY
            else:
                if min(lanes.values()) >= 0:
                    return lanes
                why, passes = "no answer", True  # librdkafka's offset when a connection was lost
            if not passes or time.monotonic() > deadline_s:
                raise SparkJobError(f"mqk: Kafka does not say how far {self.name} goes: {why}")
            time.sleep(RETRY_S)

    def _ask_once(self, spec: OffsetSpec) -> LaneOffsets:
        wanted = {TopicPartition(self.name, lane): spec for lane in self._lanes}
        asked = self._admin.list_offsets(
            wanted, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=ANSWER_S
        )
        return {str(one.partition): found.result().offset for one, found in asked.items()}


def _topics(admin: AdminClient, servers: str) -> dict[str, Any]:
    try:
        return admin.list_topics(timeout=ANSWER_S).topics
    except KafkaException as problem:
        raise SparkJobError(
            f"mqk: Kafka at {servers} does not answer ({describe(problem)}): give its address "
            f"as option {BROKERS} if it is another from here"
        ) from None


class BrowseReader(DataSourceStreamReader, AvailableNow):  # type: ignore[misc]  # of any Spark
    """Plans the micro-batches of a stream; it lives in the driver's Python process."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._topic: BrowsedTopic | None = None
        self._planned: BrowseOffset | None = None
        self._until: LaneOffsets | None = None
        """Where a trigger of what is available now ends."""

    def initialOffset(self) -> BrowseOffset:  # noqa: N802 -- Spark's name
        """Where a new query begins."""
        topic = self._found()
        self._planned = _offset(topic.name, topic.beginning(self._options))
        return self._planned

    def getDefaultReadLimit(self) -> Limit:  # noqa: N802 -- Spark's name
        """How much a micro-batch may bring."""
        return limit_of(self._options.max_messages_per_batch)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 -- Spark's name
        """End where the lanes end now, in as many micro-batches as that takes."""
        self._until = self._found().ends()

    def latestOffset(  # noqa: N802 -- Spark's name
        self, start: BrowseOffset | None = None, limit: Limit | None = None
    ) -> BrowseOffset:
        """How far the next batch goes.

        start, limit: from Spark 4.2 on. Before, it does not say where a batch begins: that is where
        the last one ended, and the first batch after a start is as large as it happens to be.
        """
        topic = self._found()
        topic.check_current()
        self._planned = start or self._planned
        self._check(self._planned)
        most = self._options.max_messages_per_batch if limit is None else rows_of(limit)
        ends = self._until or topic.ends()
        if self._planned is not None:
            ends = cut_to(self._planned["lanes"], ends, most)
        self._planned = _offset(topic.name, ends)
        return self._planned

    def reportLatestOffset(self) -> BrowseOffset | None:  # noqa: N802 -- Spark's name
        """For the query's progress: how far the lanes go now."""
        topic = self._found()
        return _offset(topic.name, topic.ends())

    def partitions(self, start: BrowseOffset, end: BrowseOffset) -> list[InputPartition]:
        """The ranges of one batch; the same for the same offsets, also after a restart."""
        self._check(start)
        self._check(end)
        self._planned = end
        return list(self._found().ranges(start["lanes"], end["lanes"]))

    def read(self, partition: InputPartition | None) -> Iterator[Any]:
        """In a task: the rows of one lane, as Arrow batches."""
        return read_lane(partition)

    def commit(self, end: BrowseOffset) -> None:
        """Nothing is consumed."""

    def stop(self) -> None:
        """Let go of Kafka."""
        self._topic = None

    def _check(self, offset: BrowseOffset | None) -> None:
        """Refuse a checkpoint of something else."""
        if offset is None:
            return
        if not isinstance(offset.get("topic"), str) or not isinstance(offset.get("lanes"), dict):
            raise SparkJobError(
                "mqk: the checkpoint is of another readMode than browse: give this query its own"
            )
        if offset["topic"] != self._found().name:
            now = self._found().name
            raise SparkJobError(f"mqk: {deletion(self._options.queue, offset['topic'], now)}")

    def _found(self) -> BrowsedTopic:
        if self._topic is None:
            self._topic = BrowsedTopic.find(self._options)
        return self._topic


def _offset(topic: str, lanes: LaneOffsets) -> BrowseOffset:
    """In one fixed order: Spark compares offsets as text."""
    return {"topic": topic, "lanes": {lane: lanes[lane] for lane in sorted(lanes, key=int)}}


def cut_to(start: LaneOffsets, ends: LaneOffsets, count: int) -> LaneOffsets:
    """Cut a batch down to so many records, those of the highest priority first; 0: to none."""
    count = count or sys.maxsize
    cut = {}
    for lane in sorted(ends, key=int, reverse=True):
        begin = start.get(lane, 0)
        taken = min(count, max(0, ends[lane] - begin))
        cut[lane] = begin + taken
        count -= taken
    return cut


def read_lane(partition: InputPartition | None) -> Iterator[Any]:
    """In a task: read a range.

    Where partitions() finds nothing Spark has a task all the same, with a partition of its own.
    """
    return read(partition) if isinstance(partition, Range) else iter(())


def read(wanted: Range) -> Iterator[Any]:
    """Read the messages whose last record is in a range, as Arrow batches."""
    return LaneRows(wanted.options.queue, wanted.topic, wanted.lane).batches(blocks(wanted))


def blocks(wanted: Range) -> Iterator[list[Message]]:
    """Read a range's records; and before them those of a message that begins before the range."""
    where = (wanted.client(), wanted.topic, wanted.lane)
    read = partial(ranges.blocks, *where, fail_on_data_loss=wanted.options.fail_on_data_loss)
    taken = read(wanted.start, wanted.end)
    first = next(taken, None)
    if first is None:
        return
    before = _place(first[0])
    if before:
        taken.close()
        yield from read((first[0].offset() or 0) - before, wanted.end)
        return
    yield first
    yield from taken


def _place(record: Message) -> int:
    """How many records of the same message lie before this one."""
    try:
        return 0 if is_no_message(record) else chunk_of(record)[0]
    except UnreadableError:
        return 0  # whoever decodes it says so
