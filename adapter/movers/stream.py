"""The stream mover's cargo: messages, to the topics of their queues.

A topic is created when its queue is defined in the ledger, before the first copy. Which topic a
queue has depends on how often its name was used before: that is known from the ledger, and kept in
the progress, because the record that defined the queue may be trimmed one day.
"""

from __future__ import annotations

from typing import cast

from confluent_kafka import Producer

from adapter.core.records import QueueDefined, QueueDeleted
from adapter.format import names
from adapter.format.descriptor import HEADER
from adapter.format.movable import Copy, Movable, decode_copies
from adapter.movers.mover import Load, Report
from adapter.movers.progress import topics_like
from adapter.movers.settings import MOVERS, MoverSettings
from adapter.topics import LANES_MAX, Topics, TopicSpec, progress_spec, queue_spec

Headers = list[tuple[str, str | bytes | None]]


class Stream:
    """Copies every persistent message to its queue's topic: lane to partition, body to value."""

    name = "stream"
    partition = 0

    def __init__(self, settings: MoverSettings) -> None:
        self._settings = settings
        self._queue_manager = settings.queue_manager
        self._progress = progress_spec(settings.progress_topic, MOVERS)
        self._topics = Topics(settings.bootstrap_servers, settings.topics, settings.kafka_options)
        self._incarnations: dict[str, int] = {}
        self._names: dict[str, str] = {}
        self._missing: list[TopicSpec] = []

    @property
    def incarnations(self) -> dict[str, int]:
        """Of the queues whose name was used before."""
        return self._incarnations

    @incarnations.setter
    def incarnations(self, incarnations: dict[str, int]) -> None:
        self._incarnations = incarnations
        self._names.clear()
        self._missing.clear()

    def open(self) -> None:
        """See Cargo."""
        self._topics.ensure([self._progress])

    def topics(self) -> list[str]:
        """See Cargo."""
        beginning = names.queue_topic(self._queue_manager, "")
        return topics_like(self._settings, beginning)

    def read(self, payload: bytes) -> list[list[Movable]]:
        """See Cargo."""
        return [record if _is_ours(record) else [] for record in decode_copies(payload)]

    def is_sent(self, record: list[Movable]) -> bool:
        """See Cargo."""
        return isinstance(record[0], Copy)

    def take_in(self, record: list[Movable]) -> None:
        """See Cargo: a queue was defined or deleted."""
        change = record[0]
        assert isinstance(change, QueueDefined | QueueDeleted)
        self._names.pop(change.name, None)
        self._incarnations.pop(change.name, None)
        if isinstance(change, QueueDefined):
            if change.incarnation:
                self._incarnations[change.name] = change.incarnation
            self._missing.append(queue_spec(self._topic(change.name), LANES_MAX))

    def settle(self) -> None:
        """See Cargo: the topics of queues that were defined together are created together."""
        if self._missing:
            self._topics.ensure(self._missing)
            self._missing = []

    def partitions(self, record: list[Movable]) -> set[tuple[str, int]]:
        """See Cargo."""
        return {(one.queue, one.lane) for one in record if isinstance(one, Copy)}

    def send(self, record: list[Movable], producer: Producer, report: Report, load: Load) -> None:
        """See Cargo."""
        produce = producer.produce
        add = load.partitions.add
        topics = self._names
        size = 0
        for one in cast("list[Copy]", record):
            queue, lane, body = one.queue, one.lane, one.body
            topic = topics.get(queue) or self._topic(queue)
            time_ms = one.put_time_ms or 1  # 0 would mean the current time
            header: Headers = [(HEADER, one.descriptor)]
            produce(topic, body, None, lane, report, None, time_ms, header)
            add((queue, lane))
            size += len(body)
        load.messages += len(record)
        load.bytes += size

    def _topic(self, queue: str) -> str:
        incarnation = self._incarnations.get(queue, 0)
        name = self._names[queue] = names.queue_topic(self._queue_manager, queue, incarnation)
        return name


def _is_ours(record: list[Movable]) -> bool:
    return bool(record) and isinstance(record[0], Copy | QueueDefined | QueueDeleted)
