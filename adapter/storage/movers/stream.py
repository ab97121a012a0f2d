"""What the stream mover copies: messages, to the topics of their queues.

A topic is created when its queue is defined in the ledger, before the first copy. Which topic a
queue has depends on how often its name was used before: that is known from the ledger, and kept in
the progress, because the record that defined the queue may be trimmed one day.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Self, cast

import msgspec
from confluent_kafka import KafkaException, Message, Producer

from adapter.core.contract.lanes import LANES
from adapter.core.contract.object_names import GENERATED, SYSTEM
from adapter.core.contract.records import QueueDefined, QueueDeleted
from adapter.storage.format import chunks, names
from adapter.storage.format.copied import Copy
from adapter.storage.format.descriptor import HEADER, DescriptorReader
from adapter.storage.format.movable import Movable, decode_copies
from adapter.storage.format.progress import Parked
from adapter.storage.movers.batch import CopyBatch
from adapter.storage.movers.progress import ever_written, never_written, topics_like
from adapter.storage.movers.projection import OnDelivery
from adapter.storage.movers.recorded import seq_of
from adapter.storage.movers.settings import PARTITIONS, STREAM, MoverSettings
from adapter.storage.topics.admin import TopicAdmin, TopicError
from adapter.storage.topics.decoder import RecordDecoder
from adapter.storage.topics.specs import TopicSpec, progress_spec, queue_spec

RECORD_BYTES: Final = 64
"""What Kafka's format adds to a body and a descriptor, at most."""
REPAIR_S = 3.0
"""For Kafka's answers while a parked topic is seen to: the other topics wait meanwhile."""


class Stream:
    """A ParkableProjection: every persistent message goes to its queue's topic.

    The lane becomes the partition, the body the value. A body that is longer than chunk_bytes
    becomes several records.
    """

    def __init__(self, settings: MoverSettings, chunk_bytes: int = chunks.CHUNK_BYTES) -> None:
        self.name = STREAM
        self.patience_s = 0.0
        self._settings = settings
        self._chunk_bytes = chunk_bytes
        self._queue_manager = settings.queue_manager
        self._progress = progress_spec(settings.progress_topic, len(PARTITIONS))
        there = settings.destination
        self._topics = TopicAdmin(there.bootstrap_servers, settings.topics, there.options)
        self._incarnations: dict[str, int] = {}
        self._names: dict[str, str] = {}
        self._written: set[str] = set()
        """Queues that were written to: those whose topics are made then have them."""
        self._missing: list[TopicSpec] = []
        self._new: set[str] = set()
        """Topics of queues that the ledger has defined in this term: nothing was copied to them."""
        self._last_topic = ""
        self._descriptors = DescriptorReader()
        self._decoder = RecordDecoder()
        hasty = msgspec.structs.replace(settings.topics, timeout_s=REPAIR_S)
        self._repairs = TopicAdmin(there.bootstrap_servers, hasty, there.options)

    @property
    def parkable(self) -> Self:
        """Each queue has a topic of its own."""
        return self

    @property
    def incarnations(self) -> dict[str, int]:
        """Of the queues whose name was used before."""
        return self._incarnations

    @incarnations.setter
    def incarnations(self, incarnations: dict[str, int]) -> None:
        self._incarnations = incarnations
        self._names.clear()
        self._written.clear()
        self._missing.clear()
        self._new.clear()

    def open(self) -> None:
        self._topics.ensure([self._progress])

    def topics(self) -> list[str]:
        beginning = names.queue_topic(self._queue_manager, "")
        return topics_like(self._settings, beginning)

    def read(self, payload: bytes) -> list[list[Movable]]:
        return [record if _is_ours(record) else [] for record in decode_copies(payload)]

    def is_sent(self, record: list[Movable]) -> bool:
        return isinstance(record[0], Copy)

    def needs_topics(self, record: list[Movable]) -> bool:
        """See the port: topics of SYSTEM queues, and of those created from models, are created when
        they are first written, because most of them never hold a persistent message.
        """
        new = {one.queue for one in cast("list[Copy]", record)} - self._written
        if not new:
            return False
        self._written |= new
        late = sorted(filter(_is_made_late, new))
        self._missing += [queue_spec(self._topic(queue), LANES) for queue in late]
        return bool(late)

    def take_in(self, record: list[Movable]) -> None:
        """See the port: a queue was defined or deleted."""
        change = record[0]
        assert isinstance(change, QueueDefined | QueueDeleted)
        self._names.pop(change.name, None)
        self._written.discard(change.name)
        self._incarnations.pop(change.name, None)
        if isinstance(change, QueueDefined):
            if change.incarnation:
                self._incarnations[change.name] = change.incarnation
            topic = self._topic(change.name)
            self._new.add(topic)
            if not _is_made_late(change.name):
                self._missing.append(queue_spec(topic, LANES))

    def settle(self) -> dict[str, str]:
        """See the port: the topics of queues that were defined together are created together."""
        missing, self._missing = self._missing, []
        if not missing:
            return {}
        try:
            self._topics.ensure(missing)
        except TopicError as error:
            if error.retriable:
                raise
            return self._settle_each(missing)
        return {}

    def _settle_each(self, missing: list[TopicSpec]) -> dict[str, str]:
        """Find out which of them it is that cannot be created."""
        refused = {}
        for spec in missing:
            try:
                self._topics.ensure([spec])
            except TopicError as error:
                if error.retriable:
                    raise
                refused[spec.name] = str(error)
        return refused

    def keep_back(self, record: list[Movable], parked: dict[str, Parked]) -> list[Movable]:
        kept: list[Movable] = []
        for one in cast("list[Copy]", record):
            at = parked.get(self._names.get(one.queue) or self._topic(one.queue))
            if at is None:
                kept.append(one)
            else:
                at.messages += 1
                at.bytes += len(one.body)
        return kept

    def repair(self, topic: str) -> bool:
        self._repairs.ensure([queue_spec(topic, LANES)])
        return never_written(self._settings, topic)

    def is_defined(self, topic: str) -> bool:
        """See the port. Of a name that was never used before it makes no difference."""
        _, queue, incarnation = names.parse_queue_topic(topic)
        return self._incarnations.get(queue, 0) == incarnation

    def goes_to(self, record: list[Movable], topics: Collection[str]) -> str:
        for one in cast("list[Copy]", record):
            topic = self._names.get(one.queue) or self._topic(one.queue)
            if topic in topics:
                return topic
        return ""

    def is_unwritten(self, topic: str) -> bool:
        """See the port. One with fewer lanes was made in the place of ours."""
        return never_written(self._settings, topic, LANES)

    def is_new(self, topic: str) -> bool:
        return topic in self._new or not ever_written(self._settings, [topic])

    def last_topic(self) -> str:
        return self._last_topic

    def weight(self, record: list[Movable]) -> int:
        return sum(len(one.body) for one in record if isinstance(one, Copy))

    def partitions(self, record: list[Movable]) -> set[tuple[str, int]]:
        return {
            (self._names.get(one.queue) or self._topic(one.queue), one.lane)
            for one in record
            if isinstance(one, Copy)
        }

    def identities(self, record: list[Movable]) -> list[tuple[tuple[str, int], object]]:
        """See the port: seqs tell the messages of a lane apart."""
        if record and not self.is_sent(record):
            self.take_in(record)
            return []
        read = self._descriptors.read
        return [
            ((self._topic(one.queue), one.lane), read(one.descriptor, b"")[1].seq)
            for one in cast("list[Copy]", record)
        ]

    def identity(self, copied: Message) -> object | None:
        return seq_of(self._decoder, copied)

    def send(
        self, record: list[Movable], producer: Producer, report: OnDelivery, batch: CopyBatch
    ) -> None:
        self._send(self._names, record, producer, report, batch)

    def send_to(
        self,
        topic: str,
        record: list[Movable],
        producer: Producer,
        report: OnDelivery,
        batch: CopyBatch,
    ) -> None:
        _, queue, _ = names.parse_queue_topic(topic)
        self._send({queue: topic}, record, producer, report, batch)

    def _send(
        self,
        topics: dict[str, str],
        record: list[Movable],
        producer: Producer,
        report: OnDelivery,
        batch: CopyBatch,
    ) -> None:
        produce, prepare = producer.produce, batch.prepare
        size, most = 0, self._chunk_bytes
        topic = ""
        try:
            for one in cast("list[Copy]", record):
                queue, lane, body, header = one.queue, one.lane, one.body, (HEADER, one.descriptor)
                topic = topics.get(queue) or self._topic(queue)
                time_ms = one.put_time_ms
                if time_ms < 1:  # 0 would mean now; Kafka takes none below
                    time_ms = 1
                besides = len(one.descriptor) + RECORD_BYTES
                size += len(body)
                if len(body) <= most:
                    prepare((topic, lane), len(body) + besides)
                    produce(topic, body, None, lane, report, None, time_ms, [header])
                    continue
                for headers, value in chunks.records_of(header, body, most):
                    prepare((topic, lane), len(value) + besides)
                    produce(topic, value, None, lane, report, None, time_ms, headers)
        except KafkaException:
            self._last_topic = topic
            raise
        batch.messages += len(record)
        batch.bytes += size

    def _topic(self, queue: str) -> str:
        incarnation = self._incarnations.get(queue, 0)
        name = self._names[queue] = names.queue_topic(self._queue_manager, queue, incarnation)
        return name


def _is_made_late(queue: str) -> bool:
    return queue.startswith(SYSTEM) or GENERATED.fullmatch(queue) is not None


def _is_ours(record: list[Movable]) -> bool:
    return bool(record) and isinstance(record[0], Copy | QueueDefined | QueueDeleted)
