"""Reads what lies on queues' topics as any Kafka client would: confluent_kafka, fastavro, no more.

Everything up to a marker in each lane is read: a marker is a message that was put last, so that all
copies before it are there when it is.
"""

from __future__ import annotations

import io
import json
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
from confluent_kafka import Consumer, Message, TopicPartition
from msgspec import Struct

SCHEMA = Path(__file__).parents[2] / "schemas" / "descriptor.avsc"
LANES = 10
READ_S = 90.0
NO_MESSAGE = struct.pack(">II", 2147483645, 2147483647)
"""In the header mqck of a record that ended a transaction which Kafka had left open."""


class Copy(Struct, frozen=True):
    """One record of a queue's topic. descriptor: the fields of its header."""

    lane: int
    body: bytes
    time_ms: int
    descriptor: dict[str, Any]


def read_until(bootstrap_servers: str, topic: str, marker: bytes) -> list[Copy]:
    """Return every committed copy, lane by lane, up to the marker that each lane must have."""
    schema = fastavro.parse_schema(json.loads(SCHEMA.read_text()))
    lanes: dict[int, list[Copy]] = {lane: [] for lane in range(LANES)}
    ended: set[int] = set()
    for message in committed(bootstrap_servers, topic):
        if dict(message.headers() or []).get("mqck") == NO_MESSAGE:
            continue
        if message.value() == marker:
            ended.add(message.partition() or 0)
            if len(ended) == LANES:
                break
            continue
        lane = message.partition() or 0
        assert lane not in ended, f"{topic} lane {lane}: {message.value()!r} behind the marker"
        lanes[lane].append(_copy(message, schema))
    missing = sorted(set(lanes) - ended)
    assert not missing, f"{topic}: lanes {missing} were not copied to their end in {READ_S} s"
    return [copy for copies in lanes.values() for copy in copies]


def committed(bootstrap_servers: str, topic: str) -> Iterator[Message]:
    """Every committed record there is and comes in time, as a plain client reads them."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "reader",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed",
        }
    )
    deadline_s = time.monotonic() + READ_S
    try:
        consumer.assign([TopicPartition(topic, lane, 0) for lane in range(LANES)])
        while time.monotonic() < deadline_s:
            message = consumer.poll(0.5)
            if message is None:
                continue
            assert message.error() is None, message.error()
            yield message
    finally:
        consumer.close()


def _copy(message: Message, schema: Any) -> Copy:
    header = dict(message.headers() or [])["mqmd"]
    assert isinstance(header, bytes)
    assert header[0] == 7, "another version of the header"
    descriptor = fastavro.schemaless_reader(io.BytesIO(header[1:]), schema, None)
    assert isinstance(descriptor, dict)
    body = message.value()
    assert isinstance(body, bytes)
    return Copy(message.partition() or 0, body, message.timestamp()[1], descriptor)
