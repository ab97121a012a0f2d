"""Feeds while brokers are killed and frozen: each record once, the order of a partition kept."""

import itertools
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # missing from its __all__
    AdminClient,
    NewTopic,
)

import adapter
from adapter.localkafka import LocalKafka
from tests.support.feed_site import await_feed, figures
from tests.support.shared_kafka import AnyKafka

pytestmark = pytest.mark.timeout(400)  # a broker is away for longer than its clients wait
PARTITIONS = 4
WITHIN_S = 120.0
BESIDE_FAULT = 500
"""Records that are produced before the fault, and after it."""


class SteadyProducer:
    """Produces the numbers 0, 1, 2, ... in turn to each partition, whatever becomes of brokers."""

    def __init__(self, bootstrap_servers: str, topic: str) -> None:
        settings = {"bootstrap.servers": bootstrap_servers, "enable.idempotence": "true"}
        self._producer = Producer(settings | {"message.timeout.ms": "300000", "linger.ms": "5"})
        self._topic = topic
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.count = 0
        self.failures: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join(WITHIN_S)

    def end(self) -> int:
        """Produce no more; returns how many numbers are there."""
        self._stopping.set()
        self._thread.join(WITHIN_S)
        assert self._producer.flush(WITHIN_S) == 0
        assert not self.failures
        return self.count

    def _run(self) -> None:
        for number in itertools.count():
            value, partition = b"%d" % number, number % PARTITIONS
            self._producer.produce(self._topic, value, None, partition, on_delivery=self._check)
            self.count = number + 1
            self._producer.poll(0)
            if self._stopping.wait(0.002):
                return

    def _check(self, error: object, _: object) -> None:
        if error is not None:
            self.failures.append(str(error))


@contextmanager
def feeding(kafka: AnyKafka, name: str, replication: int) -> Iterator[adapter.Connection]:
    """Run a queue manager with a feed, F, of topic orders on queue ORDERS."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    new = NewTopic("orders", PARTITIONS, replication, config={"min.insync.replicas": "1"})
    admin.create_topics([new])["orders"].result(WITHIN_S)
    servers = kafka.bootstrap_servers
    with (
        adapter.testing.queue_manager(name, bootstrap_servers=servers) as manager,
        manager.connect() as qm,
    ):
        qm.define_queue("ORDERS", msg_delivery_sequence="FIFO")
        qm.define_object("feed", "F", topic="orders", queue="ORDERS", origin=True)
        yield qm


def await_read(qm: adapter.Connection, count: int) -> None:
    """Wait until the feed has put so many records."""
    await_within(lambda: sum(positions(qm).values()) >= count)


def positions(qm: adapter.Connection) -> dict[int, int]:
    found = figures(qm, "F")["positions"]
    assert isinstance(found, dict)
    return found


def await_within(is_so: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + WITHIN_S
    while not is_so():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


def check_all(qm: adapter.Connection, count: int) -> None:
    """See that each number was put once, and that those of a partition are in order."""
    by_partition: dict[object, list[int]] = defaultdict(list)
    found = 0
    for work in qm.queue("ORDERS").units(500, timeout=WITHIN_S):
        with work:
            for one in work.messages:
                by_partition[one.properties["KafkaPartition"]].append(int(one.body))
                found += 1
        if found >= count:
            break
    assert qm.get("ORDERS", timeout=1) is None
    for n in range(PARTITIONS):
        assert by_partition[n] == list(range(n, count, PARTITIONS))


def test_a_broker_that_is_killed_and_started_again(unique_name: Callable[..., str]) -> None:
    with (
        LocalKafka() as kafka,
        feeding(kafka, unique_name("QM"), 1) as qm,
        SteadyProducer(kafka.bootstrap_servers, "orders") as producer,
    ):
        await_read(qm, BESIDE_FAULT)
        kafka.kill(1)
        before = producer.count
        await_within(lambda: producer.count > before + BESIDE_FAULT)
        kafka.start(1)
        await_read(qm, before + 2 * BESIDE_FAULT)
        check_all(qm, producer.end())
        await_feed(qm, "F", lambda one: one["state"] == "running" and one["lag"] == 0)


def test_a_broker_that_is_frozen_for_longer_than_a_feed_waits(
    unique_name: Callable[..., str],
) -> None:
    with (
        LocalKafka() as kafka,
        feeding(kafka, unique_name("QM"), 1) as qm,
        SteadyProducer(kafka.bootstrap_servers, "orders") as producer,
    ):
        await_read(qm, BESIDE_FAULT)
        kafka.pause(1)
        try:
            await_within(lambda: figures(qm, "F")["state"] == "retrying")
            assert figures(qm, "F")["why"]
        finally:
            kafka.resume(1)
        await_read(qm, producer.count + BESIDE_FAULT)
        check_all(qm, producer.end())
        await_feed(qm, "F", lambda one: one["state"] == "running" and one["lag"] == 0)


def test_of_three_brokers_one_after_the_other_is_killed(unique_name: Callable[..., str]) -> None:
    with (
        LocalKafka(3) as kafka,
        feeding(kafka, unique_name("QM"), 3) as qm,
        SteadyProducer(kafka.bootstrap_servers, "orders") as producer,
    ):
        for broker in (1, 2, 3):
            await_read(qm, producer.count + BESIDE_FAULT)
            kafka.kill(broker)
            await_read(qm, producer.count + BESIDE_FAULT)
            kafka.start(broker)
        await_read(qm, producer.count + BESIDE_FAULT)
        check_all(qm, producer.end())
        await_feed(qm, "F", lambda one: one["state"] == "running" and one["lag"] == 0)
