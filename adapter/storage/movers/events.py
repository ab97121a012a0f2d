"""What the event mover copies: events, to the queue manager's one events topic."""

from __future__ import annotations

from confluent_kafka import Message, Producer

from adapter.core.contract.records import EventRaised
from adapter.storage.format import events, names
from adapter.storage.format.movable import Movable, decode_events
from adapter.storage.movers.batch import CopyBatch
from adapter.storage.movers.projection import OnDelivery
from adapter.storage.movers.settings import EVENTS, PARTITIONS, MoverSettings
from adapter.storage.topics.admin import TopicAdmin
from adapter.storage.topics.specs import events_spec, progress_spec

TOPIC_PARTITION = 0  # one, so that events have one order


class Events:
    """A Projection: copies every event, as the value of a record with the object's name as its key.

    The record's timestamp is that of the copying: Kafka would refuse one of a clock that is fast.
    """

    name = EVENTS
    patience_s = 0.2
    parkable = None

    def __init__(self, settings: MoverSettings) -> None:
        self._queue_manager = settings.queue_manager
        self._topic = names.events_topic(settings.queue_manager)
        there = settings.destination
        self._topics = TopicAdmin(there.bootstrap_servers, settings.topics, there.options)
        self._specs = [
            progress_spec(settings.progress_topic, len(PARTITIONS)),
            events_spec(self._topic, settings.topics),
        ]

    def open(self) -> None:
        self._topics.ensure(self._specs)

    def topics(self) -> list[str]:
        return [self._topic]

    def read(self, payload: bytes) -> list[list[Movable]]:
        return [
            record if record and isinstance(record[0], EventRaised) else []
            for record in decode_events(payload)
        ]

    def last_topic(self) -> str:
        return self._topic

    def partitions(self, record: list[Movable]) -> set[tuple[str, int]]:  # noqa: ARG002
        return {(self._topic, TOPIC_PARTITION)}

    def identities(self, record: list[Movable]) -> list[tuple[tuple[str, int], object]]:
        place = self._topic, TOPIC_PARTITION
        return [
            (place, (one.name.encode(), events.encode(self._queue_manager, one)))
            for one in record
            if isinstance(one, EventRaised)
        ]

    def identity(self, copied: Message) -> object | None:
        return copied.key(), copied.value()

    def send(
        self, record: list[Movable], producer: Producer, report: OnDelivery, batch: CopyBatch
    ) -> None:
        place = self._topic, TOPIC_PARTITION
        for event in record:
            assert isinstance(event, EventRaised)
            value = events.encode(self._queue_manager, event)
            batch.prepare(place, len(value))
            producer.produce(self._topic, value, event.name, TOPIC_PARTITION, report)
            batch.bytes += len(value)
        batch.messages += len(record)
