"""A topic of Kafka that exports write, as its readers and its operator see it."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition
from confluent_kafka.admin import AdminClient

import adapter
from adapter.storage.format.hops import ORIGIN
from tests.support.backlog import until
from tests.support.feed_site import WITHIN_S, Headers, OthersTopic

Row = tuple[int | None, bytes | None, bytes | None, Headers]
"""Partition, key, value, headers without that of the export."""


class ExportedTopic(OthersTopic):
    """One topic, and a reader of what is committed in it."""

    def __init__(self, bootstrap_servers: str, name: str, partitions: int = 1) -> None:
        self._operator = AdminClient({"bootstrap.servers": bootstrap_servers})
        super().__init__(bootstrap_servers, name, partitions)

    def create(self, partitions: int = 1) -> None:
        super().create(partitions)
        until(lambda: self.partitions() == partitions)

    def add_partitions(self, total: int) -> None:
        super().add_partitions(total)
        until(lambda: self.partitions() == total)  # the broker does not know it at once

    def partitions(self) -> int:
        """Return how many partitions it has; 0 if it is not there."""
        found = self._operator.list_topics(timeout=WITHIN_S).topics.get(self.name)
        return len(found.partitions) if found is not None else 0

    def read(self, count: int, within_s: float = WITHIN_S) -> list[Message]:
        """Read from the beginning until so many records are committed; there are no others.

        In the order of each partition.
        """
        consumer = Consumer(
            {
                "bootstrap.servers": self._servers,
                "group.id": f"reader of {self.name}",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "fetch.message.max.bytes": "10000000",
                "auto.offset.reset": "earliest",
                "topic.metadata.refresh.interval.ms": "500",
            }
        )
        places = [TopicPartition(self.name, one, 0) for one in range(self.partitions())]
        consumer.assign(places)
        found: list[Message] = []
        at_end: set[int | None] = set()
        deadline_s = time.monotonic() + within_s
        try:
            while len(found) < count or len(at_end) < len(places):
                assert time.monotonic() < deadline_s, f"{len(found)} records of {count}"
                for one in consumer.consume(1000, 0.2):
                    error = one.error()
                    if error is None:
                        found.append(one)
                        at_end.discard(one.partition())
                    elif error.code() == KafkaError._PARTITION_EOF:
                        at_end.add(one.partition())
        finally:
            consumer.close()
        assert len(found) == count, f"{len(found)} records, and not {count}"
        return found

    def rows(self, count: int) -> list[Row]:
        """Read so many records, and return what is in them."""
        return [row_of(one) for one in self.read(count)]

    def values(self, count: int) -> list[bytes | None]:
        """Read so many records; return their values."""
        return [one.value() for one in self.read(count)]


def row_of(record: Message) -> Row:
    """Return what is in a record."""
    headers = [one for one in cast("Headers", record.headers() or []) if one[0] != ORIGIN]
    return record.partition(), record.key(), record.value(), headers


def figures(qm: adapter.Connection, export: str) -> Mapping[str, object]:
    """Return the figures of an export."""
    found: Mapping[str, object] = qm.figures()["exports"][export]
    return found


def await_export(
    qm: adapter.Connection,
    export: str,
    wanted: Callable[[Mapping[str, object]], bool],
    within_s: float = WITHIN_S,
) -> Mapping[str, object]:
    """Wait until the figures of an export are as they are wanted."""
    deadline_s = time.monotonic() + within_s
    while not wanted(found := figures(qm, export)):
        assert time.monotonic() < deadline_s, found
        time.sleep(0.02)
    return found


def await_why(qm: adapter.Connection, export: str, text: str) -> str:
    """Wait until an export says why it does not write, with this text in it."""
    return str(await_export(qm, export, lambda one: text in str(one["why"]))["why"])


def put_all(qm: adapter.Connection, queue: str, bodies: Sequence[bytes], **properties: Any) -> None:
    """Put these bodies in one unit. properties: of all of them."""
    with qm.unit():
        for body in bodies:
            qm.put(queue, body, properties=properties)
