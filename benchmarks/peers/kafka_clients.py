"""A process full of clients of Kafka alone: `python -m benchmarks.peers.kafka_clients`.

Each has a producer, and a consumer of a partition of its own, which reads ahead. Without
transactions a unit is not atomic: its records are flushed, and offsets committed, one after the
other. Task.address: the bootstrap servers. Task.queue: the topic.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.clients import BODY, Task, Work, repeat, run

WITHIN_S = 30.0
AHEAD = 16
"""Records that wait for each client, so that there is something to fetch ahead."""


class Client:
    """One client: units of records produced, and units of records consumed."""

    def __init__(self, task: Task, number: int, settings: Mapping[str, str]) -> None:
        servers = {"bootstrap.servers": task.address}
        self._topic = task.queue
        self._partition = task.first + number
        self.producer = Producer(
            {**servers, "enable.idempotence": True, "linger.ms": 0, **settings}
        )
        self.consumer = Consumer(
            {
                **servers,
                "group.id": task.queue,
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            }
        )
        self.consumer.assign([TopicPartition(self._topic, self._partition, 0)])

    def produce(self, count: int) -> None:
        """Hand so many records to the producer."""
        for _ in range(count):
            self.producer.produce(self._topic, BODY, partition=self._partition)

    def consume(self, count: int) -> list[TopicPartition]:
        """Read so many records; where to go on."""
        left, last = count, 0
        while left:
            records = self.consumer.consume(left, WITHIN_S)
            assert records, "no record came"
            left -= len(records)
            last = records[-1].offset() or 0
        return [TopicPartition(self._topic, self._partition, last + 1)]


class Plain(Client):
    """Idempotent produce and flush; offsets committed by themselves. Not atomic."""

    def __init__(self, task: Task, number: int) -> None:
        super().__init__(task, number, {})

    def put(self, count: int) -> None:
        """Have so many records kept."""
        self.produce(count)
        self.producer.flush(WITHIN_S)

    def get(self, count: int) -> None:
        """Read so many records, and have that kept."""
        self.consumer.commit(offsets=self.consume(count), asynchronous=False)


class Transactional(Client):
    """Records in a transaction, and offsets in one."""

    def __init__(self, task: Task, number: int) -> None:
        name = f"{task.queue}-{task.first + number}"
        super().__init__(task, number, {"transactional.id": name})
        self.producer.init_transactions(WITHIN_S)

    def put(self, count: int) -> None:
        """Have so many records kept, or none."""
        self.producer.begin_transaction()
        self.produce(count)
        self.producer.commit_transaction(WITHIN_S)

    def get(self, count: int) -> None:
        """Read so many records, and have that kept."""
        self.producer.begin_transaction()
        group = self.consumer.consumer_group_metadata()
        self.producer.send_offsets_to_transaction(self.consume(count), group, WITHIN_S)
        self.producer.commit_transaction(WITHIN_S)


def round_trips(client: Plain | Transactional, task: Task, go: threading.Barrier) -> list[Work]:
    """Do round trips of two records until the time is over."""
    work: list[Work] = []

    def once() -> float:
        began = time.perf_counter()
        client.put(2)
        took = time.perf_counter() - began
        client.get(2)
        return took * 1000

    client.put(1)  # alone: a partition without a leader yet may lose what is in flight with others
    client.put(AHEAD)
    repeat(once, task, go, work)
    client.consumer.close()
    return work


def plain(task: Task, number: int, go: threading.Barrier, work: list[Work]) -> None:
    """One client without transactions."""
    work += round_trips(Plain(task, number), task, go)


def transactional(task: Task, number: int, go: threading.Barrier, work: list[Work]) -> None:
    """One client with transactions."""
    work += round_trips(Transactional(task, number), task, go)


def batches(task: Task, number: int, go: threading.Barrier, work: list[Work]) -> None:
    """All in transactions of a unit's size: so many messages put, then got."""
    client = Transactional(task, number)
    client.put(1)  # alone, as above
    go.wait()
    began = time.perf_counter()
    for unit in (client.put, client.get):
        for _ in range(task.messages // task.unit_size):
            unit(task.unit_size)
    work.append(Work(task.messages, time.perf_counter() - began, []))
    client.consumer.close()


if __name__ == "__main__":
    run({"plain": plain, "transactional": transactional, "batches": batches})
