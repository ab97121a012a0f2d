"""What the requirement tests share: a queue manager in this process, and one on a real Kafka."""

import io
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import fastavro
import pytest
from confluent_kafka import Consumer, Message

import adapter
import adapter.testing
from adapter.storage.format import names
from tests.drivers import Driver, driver, pytest_generate_tests, pytest_pyfunc_call
from tests.support.shared_kafka import AnyKafka

__all__ = [
    "driver",
    "manager",
    "on_kafka",
    "pytest_generate_tests",
    "pytest_pyfunc_call",
    "qm",
    "read_topic",
]

SCHEMA = Path(__file__).parents[2] / "schemas" / "descriptor.avsc"
READ_S = 30.0


@pytest.fixture
def manager() -> Iterator[adapter.testing.TestQueueManager]:
    """A queue manager on a ledger in memory."""
    with adapter.testing.queue_manager("SPEC") as running:
        yield running


@pytest.fixture
def qm(manager: adapter.testing.TestQueueManager, driver: Driver) -> Iterator[adapter.Connection]:
    """A connection to it by each driver, and a transactional queue Q to work on."""
    with driver.of(manager).connect() as connection:
        connection.define_queue("Q")
        yield connection


@pytest.fixture
def on_kafka(
    kafka: AnyKafka, unique_name: Callable[..., str]
) -> Iterator[adapter.testing.TestQueueManager]:
    """A queue manager on a real Kafka, movers and all."""
    servers = kafka.bootstrap_servers
    with adapter.testing.queue_manager(unique_name("QM"), bootstrap_servers=servers) as running:
        yield running


@pytest.fixture
def read_topic(kafka: AnyKafka) -> Callable[[str, int], list[tuple[bytes, dict[str, Any]]]]:
    """Read so many copies from a queue manager's topic of queue Q, as a plain Kafka client does."""

    def read(queue_manager: str, count: int) -> list[tuple[bytes, dict[str, Any]]]:
        topic = names.queue_topic(queue_manager, "Q")
        schema = fastavro.parse_schema(json.loads(SCHEMA.read_text()))
        copies = []
        for message in committed(kafka.bootstrap_servers, topic, count):
            header = cast("bytes", dict(message.headers() or [])["mqmd"])
            descriptor = fastavro.schemaless_reader(io.BytesIO(header[1:]), schema, None)
            copies.append((cast("bytes", message.value()), cast("dict[str, Any]", descriptor)))
        return copies

    return read


def committed(servers: str, topic: str, count: int) -> Iterator[Message]:
    """The first so many committed records of a topic; fewer if they do not come in time."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": topic,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([topic])
    deadline_s = time.monotonic() + READ_S
    try:
        while count and time.monotonic() < deadline_s:
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                count -= 1
                yield message
    finally:
        consumer.close()
