"""A topic of other producers on a real Kafka, and what a queue manager says of its feed."""

import time
from collections.abc import Callable, Mapping

from confluent_kafka import Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # missing from its __all__
    AdminClient,
    NewPartitions,
    NewTopic,
)

import adapter
from tests.support.topic_settings import configure

WITHIN_S = 30.0
Headers = list[tuple[str, str | bytes | None]]


class OthersTopic:
    """One topic, its producers and its operator."""

    def __init__(self, bootstrap_servers: str, name: str, partitions: int = 1) -> None:
        self.name = name
        self._servers = bootstrap_servers
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers})
        self._producer = self.producer()
        if partitions:
            self.create(partitions)

    def create(self, partitions: int = 1) -> None:
        """Make the topic."""
        deadline_s = time.monotonic() + WITHIN_S
        while True:
            new = NewTopic(self.name, partitions, 1, config={"max.message.bytes": "9000000"})
            failure = self._admin.create_topics([new])[self.name].exception(WITHIN_S)
            if failure is None:
                return
            assert time.monotonic() < deadline_s, failure  # its deletion is not over
            time.sleep(0.05)

    def delete(self) -> None:
        """Delete it with all it has. The broker knows when this returns: until then it would take
        records for the old topic, also when there is a new one of its name.
        """
        self._admin.delete_topics([self.name])[self.name].result(WITHIN_S)
        deadline_s = time.monotonic() + WITHIN_S
        while self._is_known():
            assert time.monotonic() < deadline_s, "the broker keeps a deleted topic"
            time.sleep(0.02)

    def _is_known(self) -> bool:
        asked = self._admin.describe_topics(TopicCollection([self.name]))
        return asked[self.name].exception(WITHIN_S) is None

    def set(self, **settings: str) -> None:
        """Alter settings of the topic, by their names with _ for the dots; they are in effect when
        this returns.
        """
        named = {name.replace("_", "."): value for name, value in settings.items()}
        configure(self._servers, self.name, named)

    def add_partitions(self, total: int) -> None:
        """Let it have so many."""
        new = NewPartitions(self.name, total)
        self._admin.create_partitions([new])[self.name].result(WITHIN_S)
        self._producer = self.producer()  # the one before does not know them yet

    def trim(self, offset: int, partition: int = 0) -> None:
        """Delete the records before an offset, as retention does."""
        place = TopicPartition(self.name, partition, offset)
        (done,) = self._admin.delete_records([place]).values()
        done.result(WITHIN_S)

    def producer(self, **more: str) -> Producer:
        """Make another producer."""
        settings = {"bootstrap.servers": self._servers, "message.max.bytes": "9000000"}
        return Producer(settings | more)

    def produce(
        self,
        *values: bytes | None,
        partition: int = 0,
        key: bytes | None = None,
        headers: Headers | None = None,
    ) -> None:
        """Append records; they are there when this returns."""
        for value in values:
            self._producer.produce(
                self.name, value, key, partition, headers=headers or [], on_delivery=_check
            )
        assert self._producer.flush(WITHIN_S) == 0


def _check(error: object, _: object) -> None:
    assert error is None, error


def figures(qm: adapter.Connection, feed: str) -> Mapping[str, object]:
    """Return the figures of a feed."""
    found: Mapping[str, object] = qm.figures()["feeds"][feed]
    return found


def await_feed(
    qm: adapter.Connection, feed: str, wanted: Callable[[Mapping[str, object]], bool]
) -> Mapping[str, object]:
    """Wait until the figures of a feed are as they are wanted."""
    deadline_s = time.monotonic() + WITHIN_S
    while not wanted(found := figures(qm, feed)):
        assert time.monotonic() < deadline_s, found
        time.sleep(0.02)
    return found


def bodies(qm: adapter.Connection, queue: str, count: int) -> list[bytes]:
    """Get so many messages, and see that there is no other one."""
    found = [qm.get(queue, timeout=WITHIN_S) for _ in range(count)]
    assert qm.get(queue) is None
    return [one.body for one in found if one is not None]
