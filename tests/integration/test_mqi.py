"""A program of ibmmq on a real Kafka: its messages lie in the queue's topic."""

from collections.abc import Callable, Iterator

import ibmmq
import pytest
from confluent_kafka import Consumer
from ibmmq import CMQC

import adapter.kafka
from adapter import testing
from adapter.testing import TestQueueManager
from tests.mqi.conftest import conname
from tests.support.shared_kafka import AnyKafka


@pytest.fixture
def manager(kafka: AnyKafka, unique_name: Callable[..., str]) -> Iterator[TestQueueManager]:
    servers = kafka.bootstrap_servers
    with testing.queue_manager(unique_name("QM"), bootstrap_servers=servers) as running:
        with running.connect() as administrator:
            administrator.define_queue("ORDERS")
        yield running


def bodies_on_topic(kafka: AnyKafka, topic: str, count: int) -> list[bytes]:
    """The values of a topic, as any Kafka client reads them."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": topic,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([topic])
    found: list[bytes] = []
    try:
        while len(found) < count:
            record = consumer.poll(30)
            assert record is not None, f"{len(found)} of {count} are there"
            if record.error() is None:  # else the topic is not made yet: the mover makes it
                found.append(record.value() or b"")
    finally:
        consumer.close()
    return found


def test_a_program_works_through_a_crash(manager: TestQueueManager, kafka: AnyKafka) -> None:
    """What it committed is there once, what it had not is gone, and Kafka has it all."""
    qmgr = ibmmq.connect(manager.name, "APP.SVRCONN", conname(manager))
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
    within = ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT)
    for number in range(10):
        queue.put(f"order {number}", ibmmq.MD(), within)
    qmgr.commit()
    queue.put("never", ibmmq.MD(), within)
    manager.crash()
    manager.start()
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.get(None, ibmmq.MD(), ibmmq.GMO(Options=CMQC.MQGMO_SYNCPOINT))
    assert refused.value.reason == CMQC.MQRC_CONNECTION_BROKEN
    qmgr = ibmmq.connect(manager.name, "APP.SVRCONN", conname(manager))
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED)
    expected = [f"order {number}".encode() for number in range(10)]
    got = [queue.get(None, ibmmq.MD(), ibmmq.GMO(Options=CMQC.MQGMO_SYNCPOINT)) for _ in range(10)]
    qmgr.commit()
    assert got == expected
    topic = adapter.kafka.topic_name(manager.name, "ORDERS")
    assert bodies_on_topic(kafka, topic, 10) == expected
    qmgr.disconnect()
