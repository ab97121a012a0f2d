"""What lies on a topic of other programs, as any Kafka client reads it: committed records alone."""

from __future__ import annotations

import time
from typing import Any

from confluent_kafka import Consumer, Message, TopicPartition

import adapter

WITHIN_S = 60.0
LOOK_S = 0.05


def records(bootstrap_servers: str, topic: str, count: int, partition: int = 0) -> list[Message]:
    """Read so many records of a partition, and see that there is no other one."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed",
        }
    )
    found: list[Message] = []
    deadline_s = time.monotonic() + WITHIN_S
    try:
        consumer.assign([TopicPartition(topic, partition, 0)])
        while time.monotonic() < deadline_s:
            record = consumer.poll(0.5)
            if record is None:
                continue
            if record.error() is None:
                found.append(record)
            elif len(found) >= count:  # the end of the partition
                break
    finally:
        consumer.close()
    assert len(found) == count, [one.value() for one in found]
    return found


def values(bootstrap_servers: str, topic: str, count: int) -> list[bytes | None]:
    """Read the values of so many records of partition 0, and see that there is no other one."""
    return [one.value() for one in records(bootstrap_servers, topic, count)]


def await_records(qm: adapter.Connection, export: str, count: int) -> None:
    """Wait until an export has written so many records since it was started."""
    deadline_s = time.monotonic() + WITHIN_S
    while (found := qm.figures()["exports"][export])["records"] < count:
        assert time.monotonic() < deadline_s, found
        time.sleep(LOOK_S)


def headers(record: Message) -> dict[str, Any]:
    """Return the headers of a record that are not the export's own."""
    found = dict(record.headers() or [])
    found.pop("mqk-export", None)
    return found
