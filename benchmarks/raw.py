"""What raw Kafka does on the same broker, in the same run: the measure for everything else."""

from __future__ import annotations

import time
from collections.abc import Mapping

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.usage import spending

BODY = bytes(2048)
WARM_UP = 300

Rate = tuple[float, Mapping[str, float]]
"""Operations a second, and what each role used for one, in microseconds of CPU."""


def create_topic(bootstrap: str, name: str, partitions: int = 1) -> None:
    """Make a topic, with as many copies as the brokers keep."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    futures = admin.create_topics([NewTopic(name, partitions)])
    futures[name].result(30)


def appends_per_second(bootstrap: str, topic: str, seconds: float) -> Rate:
    """F: idempotent produce + flush a second, one at a time, linger 0, acks=all, 2 KB."""
    producer = Producer(
        {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 0}
    )
    for _ in range(WARM_UP):
        producer.produce(topic, BODY)
        producer.flush(10)
    count = 0
    with spending() as spent:
        began = time.perf_counter()
        while (now := time.perf_counter()) - began < seconds:
            producer.produce(topic, BODY)
            producer.flush(10)
            count += 1
    return count / (now - began), spent.each(count)


def produce_then_consume_per_second(bootstrap: str, topic: str, messages: int) -> Rate:
    """Messages a second through a topic: all produced, flushed, then all consumed."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "linger.ms": 5,
            "queue.buffering.max.messages": messages + 1,
            "queue.buffering.max.kbytes": 1024 * 1024,
        }
    )
    header: list[tuple[str, str | bytes | None]] = [("mqmd", bytes(200))]
    producer.produce(topic, BODY, headers=header)
    producer.flush(10)  # a partition without a leader yet may lose what is in flight behind it
    with spending() as spent:
        began = time.perf_counter()
        for _ in range(messages - 1):
            producer.produce(topic, BODY, headers=header)
        producer.flush(120)
        _consume(bootstrap, topic, messages)
        took_s = time.perf_counter() - began
    return messages / took_s, spent.each(messages)


def _consume(bootstrap: str, topic: str, messages: int) -> None:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "bench", "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    got = 0
    while got < messages:
        batch = consumer.consume(min(1000, messages - got), 10)
        got += sum(1 for message in batch if message.error() is None and message.value())
    consumer.close()
