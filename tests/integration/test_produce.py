"""produce() on a real Kafka: the records that programs of both drivers produce, each once."""

import asyncio
import contextlib
import random
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka import Message

import adapter
from adapter import errors as e
from adapter import testing
from tests.drivers import Driver, driver, pytest_generate_tests, pytest_pyfunc_call
from tests.support.export_site import ExportedTopic, await_export, row_of
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka

__all__ = ["driver", "pytest_generate_tests", "pytest_pyfunc_call"]

Named = Callable[..., str]


@pytest.fixture
def qm(kafka: AnyKafka, unique_name: Named, driver: Driver) -> Iterator[adapter.Connection]:
    servers = kafka.bootstrap_servers
    name = unique_name("QM")
    with (
        testing.queue_manager(name, bootstrap_servers=servers) as running,
        driver.of(running).connect() as connection,
    ):
        yield connection


@pytest.fixture
def topic(kafka: AnyKafka, unique_name: Named) -> ExportedTopic:
    """One of three partitions."""
    return ExportedTopic(kafka.bootstrap_servers, unique_name("results"), 3)


def test_records_are_as_they_were_produced(qm: adapter.Connection, topic: ExportedTopic) -> None:
    headers = [("z", "1"), ("a", None), ("z", b"\xff"), ("", ""), ("mqk-export", "no export")]
    when = datetime(2020, 2, 29, 12, 0, 0, 123_456, UTC)
    with qm.unit() as unit:
        unit.produce(topic.name, b"", b"", headers=headers, timestamp=when, partition=2)
        unit.produce(topic.name, None, "k", partition=2, wait=False)
        unit.produce(topic.name, "żółw", None, timestamp=1, partition=2)
        qm.kafka_topic(topic.name).produce("keyed", "customer-17")
    try:
        found = topic.read(4)
    except AssertionError:
        print(qm.figures()["exports"])
        raise
    rows = [row_of(one) for one in found]
    own = [one for one in headers if one[0] != "mqk-export"]
    exact = [(name, value.encode() if isinstance(value, str) else value) for name, value in own]
    assert rows.pop(next(n for n, one in enumerate(found) if one.value() == b"keyed"))[:3] == (
        partition_in_java(b"customer-17", 3),
        b"customer-17",
        b"keyed",
    )
    assert rows == [
        (2, b"", b"", exact),
        (2, b"k", None, []),
        (2, None, "żółw".encode(), []),
    ]
    times = {one.value(): one.timestamp()[1] for one in found}
    assert times[b""] == 1_582_977_600_123
    assert times["żółw".encode()] == 1


def partition_in_java(key: bytes, partitions: int) -> int:
    """Kafka's own partitioner: murmur2 of the key (org.apache.kafka.common.utils.Utils)."""
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    h = (0x9747B28C ^ len(key)) & mask
    whole = len(key) - len(key) % 4
    for at in range(0, whole, 4):
        k = int.from_bytes(key[at : at + 4], "little") * m & mask
        k = (k ^ (k >> 24)) * m & mask
        h = (h * m & mask) ^ k
    rest = key[whole:]
    if rest:
        h = (h ^ int.from_bytes(rest, "little")) * m & mask
    h = (h ^ (h >> 13)) * m & mask
    return ((h ^ (h >> 15)) & 0x7FFFFFFF) % partitions


def test_only_what_was_committed_is_there_in_the_order_of_commits(
    qm: adapter.Connection, topic: ExportedTopic
) -> None:
    qm.define_queue("Q")
    for number in range(60):
        qm.put("Q", str(number))
    first, second = qm.unit(), qm.unit()
    first.begin()
    second.begin()
    first.produce(topic.name, "of the first", partition=0)
    second.produce(topic.name, "of the second", partition=0)
    second.commit()
    first.commit()
    for unit in qm.queue("Q").units(size=3, timeout=0):
        with unit:
            for message in unit.messages:
                unit.produce(topic.name, message.body, partition=0, wait=False)
        lost = qm.unit()
        lost.begin()
        lost.produce(topic.name, "never", partition=0)
        lost.backout()
    wanted = [b"of the second", b"of the first", *(b"%d" % number for number in range(60))]
    assert topic.values(62) == wanted


def test_a_topic_that_is_missing_is_written_when_it_is_there(
    qm: adapter.Connection, kafka: AnyKafka, unique_name: Named
) -> None:
    later = ExportedTopic(kafka.bootstrap_servers, unique_name("later"), 0)
    qm.produce(later.name, b"1", "k")
    export = f"SYSTEM.EXPORT.{later.name}".replace("-", "%2D")
    await_export(qm, export, lambda one: "does not exist" in str(one["why"]))
    later.create()
    assert later.rows(1) == [(0, b"k", b"1", [])]


RECORDS = 400
WITHIN_S = 60.0
KILLS = 4


def test_each_record_is_there_once_though_the_queue_manager_is_killed(
    kafka: AnyKafka, unique_name: Named, tmp_path: Path
) -> None:
    """Workers of both drivers turn messages into records; everything is killed meanwhile."""
    topic = ExportedTopic(kafka.bootstrap_servers, unique_name("results"), 2)
    with ServerProcess(unique_name("QM"), kafka.bootstrap_servers, tmp_path) as server:
        server.start()
        with adapter.connect(server.address) as qm:
            qm.define_queue("Q")
            qm.queue("Q").put_many(str(number) for number in range(RECORDS))
            ended = threading.Event()
            killing = threading.Thread(target=kill_at_random, args=(server, ended))
            killing.start()
            try:
                work_by_thread(server.address, topic.name)
                asyncio.run(work_by_task(server.address, topic.name))
            finally:
                ended.set()
                killing.join()
        check(topic.read(RECORDS))


def kill_at_random(server: ServerProcess, ended: threading.Event) -> None:
    chance = random.Random(5)
    for _ in range(KILLS):
        if ended.wait(0.2 + chance.random()):
            return
        server.kill()
        server.start()


def work_by_thread(address: str, topic: str) -> None:
    with adapter.connect(address) as qm:
        done = 0
        queue = qm.queue("Q")
        for unit in queue.units(timeout=None, retry=adapter.Retry(50, backoff=0.01)):
            with unit:
                (message,) = unit.messages
                unit.produce(topic, message.body, message.body, headers={"by": "thread"})
            done += not unit.failed
            if done == RECORDS // 2:
                break


async def connect_between_kills(address: str) -> adapter.aio.Connection:
    """Connect; a first connection is not tried again by itself."""
    async with asyncio.timeout(WITHIN_S):
        while True:
            try:
                return await adapter.aio.connect(address)
            except e.QueueManagerNotAvailable:
                await asyncio.sleep(0.05)


async def work_by_task(address: str, topic: str) -> None:
    """A loop is told of a commit in flight that was backed out: it is begun again."""
    async with await connect_between_kills(address) as qm:
        queue = qm.queue("Q")
        is_done = False
        while not is_done:
            with contextlib.suppress(adapter.BackedOut):
                async for unit in queue.units(timeout=5, prefetch=4, commits=4):
                    async with unit:
                        (message,) = unit.messages
                        await unit.produce(topic, message.body, message.body, wait=False)
                is_done = True


def check(found: list[Message]) -> None:
    keys = [one.key() or b"" for one in found]
    assert sorted(keys) == sorted(b"%d" % number for number in range(RECORDS))
    assert all(one.value() == one.key() for one in found)
