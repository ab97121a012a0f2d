"""Records by which any Kafka client puts messages, and the directory, on a real Kafka."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

import adapter
from adapter.errors import QueueManagerNotAvailable
from adapter.storage.format import names
from adapter.testing import TestQueueManager
from tests.pages.blocks import TOP
from tests.support.shared_kafka import AnyKafka

WITHIN_S = 30.0
EXAMPLE = TOP / "examples" / "topic-writers" / "put.py"
Headers = list[tuple[str, str | bytes | None]]


@pytest.fixture
def manager(kafka: AnyKafka, unique_name: Callable[..., str]) -> Iterator[TestQueueManager]:
    name = unique_name("QM")
    with adapter.testing.network(name, bootstrap_servers=kafka.bootstrap_servers) as (one,):
        with one.connect() as qm:
            qm.define_queue("ORDERS", msg_delivery_sequence="FIFO")
            qm.define_queue("DEAD.LETTERS")
        one.mqsc("ALTER QMGR DEADQ(DEAD.LETTERS)")
        yield one


def producer(kafka: AnyKafka, **more: str) -> Producer:
    return Producer({"bootstrap.servers": kafka.bootstrap_servers, **more})


def body(qm: adapter.Connection, queue: str) -> bytes:
    message = qm.get(queue, timeout=WITHIN_S)
    assert message is not None
    return message.body


def test_a_plain_kafka_client_puts(kafka: AnyKafka, manager: TestQueueManager) -> None:
    sent = adapter.Message(body="one dozen", priority=7, properties={"colour": "red"})
    topic, key, value, headers = adapter.kafka.inbound_record(
        "ORDERS", sent, queue_manager=manager.name
    )
    with manager.connect() as qm:
        writer = producer(kafka)
        writer.produce(topic, value, key, headers=list(headers))
        writer.flush(10)
        got = qm.get("ORDERS", timeout=WITHIN_S)
        assert got is not None
        assert (got.text, got.priority, got.properties) == ("one dozen", 7, {"colour": "red"})
        assert got.persistent


def test_the_example_puts_with_a_kafka_client_alone(
    kafka: AnyKafka, manager: TestQueueManager
) -> None:
    told = subprocess.run(
        [sys.executable, EXAMPLE, manager.name, "ORDERS", "one dozen", "two dozen"],
        env={**os.environ, "BOOTSTRAP_SERVERS": kafka.bootstrap_servers},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert told.stdout == "2 records for ORDERS\n"
    with manager.connect() as qm:
        got = [qm.get("ORDERS", timeout=WITHIN_S) for _ in range(2)]
    assert [one.text for one in got if one] == ["one dozen", "two dozen"]
    assert [one.properties for one in got if one] == [{"colour": "red"}] * 2


def test_each_record_is_put_once_whatever_restarts(
    kafka: AnyKafka, manager: TestQueueManager
) -> None:
    writer = producer(kafka)
    for n in range(30):
        topic, key, value, headers = adapter.kafka.inbound_record(
            "ORDERS", b"%d" % n, queue_manager=manager.name
        )
        writer.produce(topic, value, key, headers=list(headers))
        if n % 10 == 5:
            writer.flush(10)
            manager.crash()
            manager.start()
    writer.flush(10)
    with manager.connect() as qm:
        assert [body(qm, "ORDERS") for _ in range(30)] == [b"%d" % n for n in range(30)]
        assert qm.get("ORDERS") is None


def test_what_is_no_message_goes_to_the_dead_letter_queue(
    kafka: AnyKafka, manager: TestQueueManager
) -> None:
    topic = names.inbound_topic(manager.name)
    writer = producer(kafka)
    writer.produce(topic, b"no headers")
    writer.produce(
        topic, b"no such priority", headers=[("mq.queue", b"ORDERS"), ("mq.priority", b"x")]
    )
    writer.produce(topic, b"no such queue", headers=[("mq.queue", b"NOWHERE")])
    writer.produce(topic, None, headers=[("mq.queue", b"ORDERS")])
    writer.flush(10)
    with manager.connect() as qm:
        assert body(qm, "ORDERS") == b""
        letters = [qm.get("DEAD.LETTERS", timeout=WITHIN_S) for _ in range(3)]
        found = {one.body: one.dead_letter for one in letters if one is not None}
    reasons = {text: header.reason for text, header in found.items() if header is not None}
    assert reasons == {b"no headers": 2110, b"no such priority": 2110, b"no such queue": 2085}
    assert found[b"no such queue"].destination == "NOWHERE"  # type: ignore[union-attr]


def test_an_open_transaction_on_one_topic_blocks_that_source_alone(
    kafka: AnyKafka, manager: TestQueueManager
) -> None:
    topic = names.inbound_topic(manager.name)
    foreign = producer(kafka, **{"transactional.id": manager.name})
    foreign.init_transactions(10)
    foreign.begin_transaction()
    headers: Headers = [("mq.queue", b"ORDERS")]
    foreign.produce(topic, b"in a transaction", headers=headers)
    foreign.flush(10)
    producer_beside = producer(kafka)
    producer_beside.produce(topic, b"behind it", headers=headers)
    producer_beside.flush(10)
    with manager.connect() as qm:
        assert qm.get("ORDERS", timeout=0.5) is None
        foreign.commit_transaction(10)
        assert [body(qm, "ORDERS") for _ in range(2)] == [b"in a transaction", b"behind it"]


def test_the_directory_says_where_a_queue_manager_is(
    kafka: AnyKafka, manager: TestQueueManager
) -> None:
    servers = kafka.bootstrap_servers
    with adapter.connect(bootstrap_servers=servers, queue_manager=manager.name) as qm:
        assert qm.name == manager.name
        manager.restart()
        qm.put("ORDERS", "after a restart")
    with pytest.raises(QueueManagerNotAvailable, match="is not in the directory"):
        adapter.connect(bootstrap_servers=servers, queue_manager="NOT.THERE", connect_timeout_s=5.0)


def test_tasks_find_it_in_the_directory_too(kafka: AnyKafka, manager: TestQueueManager) -> None:
    async def find() -> None:
        servers = kafka.bootstrap_servers
        async with await adapter.aio.connect(
            bootstrap_servers=servers, queue_manager=manager.name
        ) as qm:
            assert qm.name == manager.name
            await asyncio.to_thread(manager.restart)
            await qm.put("ORDERS", "after a restart")
        with pytest.raises(QueueManagerNotAvailable, match="is not in the directory"):
            await adapter.aio.connect(
                bootstrap_servers=servers, queue_manager="NOT.THERE", connect_timeout_s=5.0
            )

    asyncio.run(find())
