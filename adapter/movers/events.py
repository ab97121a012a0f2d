"""The event mover's cargo: events, to the queue manager's one events topic."""

from __future__ import annotations

from confluent_kafka import Producer

from adapter.core.contract.records import EventRaised
from adapter.format import events, names
from adapter.format.movable import Movable, decode_events
from adapter.format.progress import Parked
from adapter.movers.mover import Load
from adapter.movers.projection import Report
from adapter.movers.settings import MOVERS, MoverSettings
from adapter.topics.admin import Topics, events_spec, progress_spec

TOPIC_PARTITION = 0  # one, so that events have one order


class Events:
    """Copies every event, as the value of a record with the object's name as its key.

    The record's timestamp is that of the copying: Kafka would refuse one of a clock that is fast.
    """

    name = "events"
    partition = 1
    parks = False  # they have one topic

    def __init__(self, settings: MoverSettings) -> None:
        self.incarnations: dict[str, int] = {}
        self._queue_manager = settings.queue_manager
        self._topic = names.events_topic(settings.queue_manager)
        self._topics = Topics(settings.bootstrap_servers, settings.topics, settings.kafka_options)
        self._specs = [
            progress_spec(settings.progress_topic, MOVERS),
            events_spec(self._topic, settings.topics),
        ]

    def open(self) -> None:
        """See Cargo."""
        self._topics.ensure(self._specs)

    def topics(self) -> list[str]:
        """See Cargo."""
        return [self._topic]

    def read(self, payload: bytes) -> list[list[Movable]]:
        """See Cargo."""
        return [
            record if record and isinstance(record[0], EventRaised) else []
            for record in decode_events(payload)
        ]

    def is_sent(self, record: list[Movable]) -> bool:
        """See Cargo: all that read gives."""
        return bool(record)

    def asks_to_settle(self, record: list[Movable]) -> bool:  # noqa: ARG002
        """See Cargo."""
        return False

    def take_in(self, record: list[Movable]) -> None:
        """See Cargo: nothing shapes how events are copied."""

    def settle(self) -> dict[str, str]:
        """See Cargo."""
        return {}

    def keep_back(
        self,
        record: list[Movable],
        parked: dict[str, Parked],  # noqa: ARG002
    ) -> list[Movable]:
        """See Cargo."""
        return record

    def repair(self, topic: str) -> bool:  # noqa: ARG002
        """See Cargo."""
        return False

    def is_defined(self, topic: str) -> bool:  # noqa: ARG002
        """See Cargo."""
        return True

    def is_unwritten(self, topic: str) -> bool:  # noqa: ARG002
        """See Cargo."""
        return False

    def last_topic(self) -> str:
        """See Cargo."""
        return self._topic

    def weight(self, record: list[Movable]) -> int:  # noqa: ARG002
        """See Cargo."""
        return 0

    def partitions(self, record: list[Movable]) -> set[tuple[str, int]]:  # noqa: ARG002
        """See Cargo."""
        return {(self._topic, TOPIC_PARTITION)}

    def send(
        self,
        record: list[Movable],
        producer: Producer,
        report: Report,
        load: Load,
        topics: dict[str, str] | None = None,  # noqa: ARG002
    ) -> None:
        """See Cargo."""
        for event in record:
            assert isinstance(event, EventRaised)
            value = events.encode(self._queue_manager, event)
            producer.produce(self._topic, value, event.name, TOPIC_PARTITION, report)
            load.bytes += len(value)
        load.messages += len(record)
        load.partitions |= self.partitions(record)
