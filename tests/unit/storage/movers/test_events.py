"""What the event mover copies of an entry."""

from typing import Any

import pytest

from adapter.core.contract.records import EventRaised, QueueDefined
from adapter.storage.format import entries, events
from adapter.storage.movers.batch import CopyBatch
from adapter.storage.movers.events import Events
from adapter.storage.movers.settings import KafkaCluster, MoverSettings
from adapter.storage.topics.specs import TopicSettings

SETTINGS = MoverSettings(
    queue_manager="QM1",
    source=KafkaCluster("nowhere:9"),
    destination=KafkaCluster("nowhere:9"),
    topics=TopicSettings.for_brokers(1),
)
EVENT = EventRaised("queue_full", "A", 5, {"depth": "7"})


class NotedProducer:
    """Keeps what is produced."""

    def __init__(self) -> None:
        self.sent: list[tuple[Any, ...]] = []

    def produce(self, *arguments: Any) -> None:
        self.sent.append(arguments)


def test_only_events_are_read() -> None:
    payload = entries.encode([QueueDefined("A", 0, {}), EVENT])
    assert Events(SETTINGS).read(payload) == [[], [EVENT]]


def test_an_event_is_keyed_by_its_object_and_stamped_by_nobody() -> None:
    producer: Any = NotedProducer()
    load = CopyBatch(set(), pytest.fail)

    def report(_error: object, _message: object) -> None:
        """Nothing is delivered here."""

    Events(SETTINGS).send([EVENT], producer, report, load)
    (topic, value, *rest) = producer.sent[0]
    assert (topic, rest) == ("mq.QM1.events", ["A", 0, report])
    assert events.decode(value) == ("QM1", EVENT)
    assert (load.messages, load.partitions) == (1, {("mq.QM1.events", 0)})
