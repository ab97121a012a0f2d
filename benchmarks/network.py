"""From a put on one queue manager to the get on another, beside a plain Kafka transaction.

Both carry the same bytes. The transaction is one of a producer that goes on at once, read with
isolation.level=read_committed; the put is durable on its own queue manager, sent, put there by the
other one, and got, durably again.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable

from confluent_kafka import Consumer, Producer, TopicPartition

import adapter
from adapter.administration.mqsc import execute
from benchmarks import raw
from benchmarks.results import Row, Rows, show
from benchmarks.stack import queue_manager

RUNS = 3
SINGLE = 300
WARM_UP = 50
MESSAGES = 20_000
UNIT = 500
BODY = bytes(2048)
FROM, TO, QUEUE, REMOTE = "NETA", "NETB", "ARRIVED", "REMOTE"
WITHIN_S = 60.0


def measure(bootstrap: str) -> Rows:
    """Latency of single messages, and rate of units of 500."""
    rows = {
        "raw_latency": Row("Kafka transaction of one record to its reader, p50", "ms"),
        "latency": Row("put to get on another queue manager, p50", "ms", against="raw_latency"),
        "raw_rate": Row("Kafka transactions of 500 records to their reader", "msg/s"),
        "rate": Row("units of 500 put to units of 500 got", "msg/s", against="raw_rate"),
    }
    with queue_manager(bootstrap, FROM) as a, queue_manager(bootstrap, TO) as b:
        define(a, b)
        for run in range(RUNS):
            latency_ms, rate = transactions(bootstrap, f"raw-network-{run}")
            rows["raw_latency"].runs.append(latency_ms)
            rows["raw_rate"].runs.append(rate)
            with adapter.connect(a) as here, adapter.connect(b) as there:
                rows["latency"].runs.append(put_to_get_ms(here, there))
                rows["rate"].runs.append(units_per_second(here, there))
            show(rows, f"after run {run + 1} of {RUNS}")
    return rows


def define(a: str, b: str) -> None:
    """Make the queue there, and its name here."""
    with adapter.connect(a) as here, adapter.connect(b) as there:
        execute.run(there, f"DEFINE QLOCAL({QUEUE}) MAXDEPTH(999999999)")
        execute.run(here, f"DEFINE QLOCAL({TO}) USAGE(XMITQ) MSGDLVSQ(FIFO) MAXDEPTH(999999999)")
        execute.run(here, f"DEFINE QREMOTE({REMOTE}) RNAME({QUEUE}) RQMNAME({TO}) DEFPSIST(YES)")


def median_ms(once: Callable[[], object]) -> float:
    """Do something again and again, one at a time."""
    took: list[float] = []
    for _ in range(WARM_UP + SINGLE):
        began = time.perf_counter()
        once()
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took[WARM_UP:])


def put_to_get_ms(here: adapter.Connection, there: adapter.Connection) -> float:
    """Put one message here, and get it there."""
    remote, queue = here.queue(REMOTE), there.queue(QUEUE)

    def once() -> None:
        remote.put(BODY)
        assert queue.get(timeout=WITHIN_S) is not None

    return median_ms(once)


def units_per_second(here: adapter.Connection, there: adapter.Connection) -> float:
    """Put units here while units are got there."""
    remote, queue = here.queue(REMOTE), there.queue(QUEUE)
    bodies = [BODY] * UNIT

    def put() -> None:
        for _ in range(MESSAGES // UNIT):
            with here.unit():
                remote.put_many(bodies)

    putting = threading.Thread(target=put)
    began = time.perf_counter()
    putting.start()
    got = 0
    for unit in queue.units(size=UNIT, timeout=WITHIN_S):
        with unit:
            got += len(unit.messages)
        if got == MESSAGES:
            break
    took_s = time.perf_counter() - began
    putting.join()
    assert got == MESSAGES
    return MESSAGES / took_s


def transactions(bootstrap: str, topic: str) -> tuple[float, float]:
    """The same by Kafka alone: milliseconds for one record, and records a second in units."""
    raw.create_topic(bootstrap, topic)
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic})
    producer.init_transactions(30)
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "bench", "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])

    def send(count: int) -> None:
        producer.begin_transaction()
        for _ in range(count):
            producer.produce(topic, BODY)
        producer.commit_transaction(30)

    def read(count: int) -> None:
        while count:
            message = consumer.poll(WITHIN_S)
            assert message is not None
            count -= message.error() is None

    def once() -> None:
        send(1)
        read(1)

    latency_ms = median_ms(once)

    def send_all() -> None:
        for _ in range(MESSAGES // UNIT):
            send(UNIT)

    sending = threading.Thread(target=send_all)
    began = time.perf_counter()
    sending.start()
    read(MESSAGES)
    took_s = time.perf_counter() - began
    sending.join()
    consumer.close()
    return latency_ms, MESSAGES / took_s
