"""Feeds on a real Kafka: each record of a topic of others once, whatever becomes of the topic."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

import adapter
from adapter.core.attributes.feed import FeedAttributes
from adapter.core.contract.feeds import FedBatch, FeedStart
from adapter.localkafka import LocalKafka, free_port
from adapter.registry.http import RegistryServer
from adapter.registry.topic import in_memory
from adapter.registry.values import Values
from adapter.runtime.feeds.kafka import KafkaFeedTopics
from adapter.runtime.feeds.port import FeedReading, SizedBatch
from adapter.runtime.feeds.readers import FeedReaders
from adapter.storage.format import names
from adapter.testing import TestQueueManager
from mqk_demo.proxy import Proxy
from tests.support import java_client
from tests.support.backlog import until
from tests.support.feed_site import WITHIN_S, OthersTopic, await_feed, bodies
from tests.support.java_client import JavaRecord
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka

RECORDS = 20_000
PARTITIONS = 6
KILLS = 5
CUTS = 5
ORDER = {"type": "record", "name": "Order", "fields": [{"name": "number", "type": "int"}]}
TRANSACTION = 200
LONGEST = "104000000"
"""In bytes, of a record that a broker takes by its defaults, but for max.message.bytes."""


@pytest.fixture
def manager(kafka: AnyKafka, unique_name: Callable[..., str]) -> Iterator[TestQueueManager]:
    name = unique_name("QM")
    servers = kafka.bootstrap_servers
    with adapter.testing.queue_manager(name, bootstrap_servers=servers) as one:
        with one.connect() as qm:
            qm.define_queue("ORDERS", msg_delivery_sequence="FIFO")
            qm.define_queue("DEAD.LETTERS")
        one.mqsc("ALTER QMGR DEADQ(DEAD.LETTERS)")
        yield one


@pytest.fixture
def topic(kafka: AnyKafka, unique_name: Callable[..., str]) -> OthersTopic:
    """One of one partition."""
    return OthersTopic(kafka.bootstrap_servers, unique_name("orders"))


def test_records_become_messages(manager: TestQueueManager, topic: OthersTopic) -> None:
    large = bytes(8 * 1024 * 1024)
    manager.mqsc(f"ALTER QLOCAL(ORDERS) MAXMSGL({len(large)})")
    topic.produce(b"one", key=b"k1", headers=[("colour", b"red"), ("colour", None), ("n", b"")])
    topic.produce(None, b"", large)
    said = manager.mqsc(
        f"DEFINE FEED(F) TOPIC('{topic.name}') QUEUE(ORDERS) KEYTO(CORRELID)\n"
        "DISPLAY FEED(F) TOPIC QUEUE"
    )
    assert f"TOPIC({topic.name})" in said
    with manager.connect() as qm:
        first = qm.get("ORDERS", timeout=WITHIN_S)
        assert first is not None
        assert first.body == b"one"
        assert first.correlation_id == b"k1" + bytes(22)
        assert first.properties is not None
        stamp = first.properties.pop("KafkaTimestamp")
        assert isinstance(stamp, int)
        assert abs(stamp - first.put_time_ms) < 60_000
        assert first.properties == {
            "KafkaTopic": topic.name,
            "KafkaPartition": 0,
            "KafkaOffset": 0,
            "colour": "red",
            "colour.2": None,
            "n": "",
        }
        assert bodies(qm, "ORDERS", 2) == [b"", large]
        found = await_feed(qm, "F", lambda one: one["lag"] == 0)
        assert found["positions"] == {0: 4}
        assert found["state"] == "running"


def test_aborted_transactions_never_show(manager: TestQueueManager, topic: OthersTopic) -> None:
    with manager.connect() as qm:
        qm.define_object("feed", "F", topic=topic.name, queue="ORDERS")
        producer = topic.producer(**{"transactional.id": topic.name})
        producer.init_transactions(WITHIN_S)
        for n in range(6):
            producer.begin_transaction()
            producer.produce(topic.name, b"%d" % n)
            producer.flush(WITHIN_S)
            producer.commit_transaction() if n % 2 else producer.abort_transaction()
        assert bodies(qm, "ORDERS", 3) == [b"1", b"3", b"5"]
        producer.begin_transaction()
        producer.produce(topic.name, b"never")
        producer.flush(WITHIN_S)
        producer.abort_transaction()
        # The position passes what is no message, so that retention may take it.
        await_feed(qm, "F", lambda one: one["positions"] == {0: 14} and one["lag"] == 0)
        assert qm.get("ORDERS") is None


def test_what_a_producer_in_java_aborts_never_shows(
    kafka: AnyKafka, manager: TestQueueManager, topic: OthersTopic
) -> None:
    """Each of its transactions is written twice, and aborted the first time."""
    values = [b"%d" % n for n in range(2_000)]
    records = [JavaRecord(None, value) for value in values]
    with manager.connect() as qm:
        qm.define_object("feed", "F", topic=topic.name, queue="ORDERS")
        java_client.produce(kafka.bootstrap_servers, topic.name, records, topic.name, "100")
        assert bodies(qm, "ORDERS", len(values)) == values
        written = 2 * (len(values) + len(values) // 100)  # with the ends of transactions
        await_feed(qm, "F", lambda one: one["positions"] == {0: written} and one["lag"] == 0)
        assert qm.get("ORDERS") is None


def test_partitions_that_are_added_are_read_from_their_beginning(
    manager: TestQueueManager, topic: OthersTopic
) -> None:
    topic.produce(b"before")
    with manager.connect() as qm:
        qm.define_object("feed", "F", topic=topic.name, queue="ORDERS", begin="LATEST")
        await_feed(qm, "F", lambda one: one["positions"] == {0: 1})
        topic.add_partitions(3)
        topic.produce(b"added", partition=2)
        topic.produce(b"old")
        assert sorted(bodies(qm, "ORDERS", 2)) == [b"added", b"old"]
        await_feed(qm, "F", lambda one: one["positions"] == {0: 2, 1: 0, 2: 1})


def test_a_feed_begins_at_a_time(manager: TestQueueManager, topic: OthersTopic) -> None:
    topic.produce(b"before")
    second = time.time() // 1 + 2
    time.sleep(max(0.0, second - time.time()))
    topic.produce(b"after")
    begin = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second))
    with manager.connect() as qm:
        qm.define_object("feed", "F", topic=topic.name, queue="ORDERS", begin=begin)
        assert bodies(qm, "ORDERS", 1) == [b"after"]
        qm.seek_feed("F", "0:0")
        assert bodies(qm, "ORDERS", 2) == [b"before", b"after"]


@pytest.mark.parametrize("while_running", [True, False])
def test_a_topic_that_was_made_again_is_not_read_as_the_old_one(
    manager: TestQueueManager, topic: OthersTopic, while_running: bool
) -> None:
    topic.produce(b"a", b"b")
    with manager.connect() as qm:
        qm.define_object("feed", "F", topic=topic.name, queue="ORDERS")
        assert bodies(qm, "ORDERS", 2) == [b"a", b"b"]
    if not while_running:
        manager.stop()
    topic.delete()
    topic.create()
    topic.produce(*(b"%d" % n for n in range(10)))
    if not while_running:
        manager.start()
    with manager.connect() as qm:
        found = await_feed(qm, "F", lambda one: one["state"] == "stopped")
        assert "was deleted and made again" in str(found["why"])
        assert "mqk feed seek F EARLIEST" in str(found["why"])
        assert qm.get("ORDERS") is None
        qm.seek_feed("F", "EARLIEST")
        assert bodies(qm, "ORDERS", 10) == [b"%d" % n for n in range(10)]


def test_retention_that_overtook_the_position_stops_the_feed(
    manager: TestQueueManager, topic: OthersTopic
) -> None:
    topic.produce(b"0")
    with manager.connect() as qm:
        qm.define_object("feed", "F", topic=topic.name, queue="ORDERS")
        assert bodies(qm, "ORDERS", 1) == [b"0"]
        qm.alter_object("feed", "F", state="PAUSED")
        await_feed(qm, "F", lambda one: one["state"] == "paused")
        topic.produce(b"1", b"2", b"3", b"4")
        topic.trim(3)
        qm.alter_object("feed", "F", state="RUNNING")
        found = await_feed(qm, "F", lambda one: one["state"] == "stopped")
        assert str(found["why"]).startswith("records 1 to 2 of partition 0 of topic ")
        assert "`mqk feed seek F 0:3`" in str(found["why"])
        assert qm.get("ORDERS") is None
        qm.seek_feed("F", "0:3")
        assert bodies(qm, "ORDERS", 2) == [b"3", b"4"]


def test_a_full_queue_pauses_its_feed_and_no_other(
    manager: TestQueueManager, topic: OthersTopic
) -> None:
    values = [b"%d" % n for n in range(50)]
    topic.produce(*values)
    with manager.connect() as qm:
        qm.define_queue("SMALL", max_depth=20, msg_delivery_sequence="FIFO")
        qm.define_object("feed", "F", topic=topic.name, queue="SMALL")
        qm.define_object("feed", "G", topic=topic.name, queue="ORDERS")
        found = await_feed(qm, "F", lambda one: one["state"] == "waiting")
        assert found["why"] == "queue SMALL is full"
        assert found["positions"] == {0: 20}
        assert bodies(qm, "ORDERS", 50) == values
        got = [qm.get("SMALL", timeout=WITHIN_S) for _ in range(50)]
        assert [one.body for one in got if one is not None] == values
        assert qm.get("SMALL") is None
        await_feed(qm, "F", lambda one: one["state"] == "running" and one["lag"] == 0)


def test_a_record_of_any_length_is_read(manager: TestQueueManager, topic: OthersTopic) -> None:
    """Also one that is longer than the longest answer that a client of Kafka takes by itself."""
    topic.set(max_message_bytes=LONGEST)
    producer = topic.producer(**{"message.max.bytes": LONGEST})
    producer.produce(topic.name, bytes(100_000_001))
    assert producer.flush(WITHIN_S) == 0
    topic.produce(b"behind it")
    with manager.connect() as qm:
        qm.define_object("feed", "F", topic=topic.name, queue="ORDERS", refused="WAIT")
        found = await_feed(qm, "F", lambda one: one["state"] == "waiting")
        assert "offset 0 of partition 0 cannot be put on queue ORDERS: reason 2030" in str(
            found["why"]
        )
        qm.seek_feed("F", "0:1")
        assert bodies(qm, "ORDERS", 1) == [b"behind it"]


def test_a_topic_that_is_missing_stops_only_its_feed(
    manager: TestQueueManager,
    topic: OthersTopic,
    kafka: AnyKafka,
    unique_name: Callable[..., str],
) -> None:
    missing = OthersTopic(kafka.bootstrap_servers, unique_name("missing"), partitions=0)
    topic.produce(b"a")
    with manager.connect() as qm:
        qm.define_object("feed", "F", topic=missing.name, queue="ORDERS")
        qm.define_object("feed", "G", topic=topic.name, queue="ORDERS")
        assert bodies(qm, "ORDERS", 1) == [b"a"]
        found = await_feed(qm, "F", lambda one: one["state"] == "retrying")
        assert f"topic {missing.name} does not exist" in str(found["why"])
        missing.create()
        missing.produce(b"b")
        assert bodies(qm, "ORDERS", 1) == [b"b"]


def test_positions_are_shown_as_offsets_of_a_consumer_group(
    manager: TestQueueManager, topic: OthersTopic, kafka: AnyKafka
) -> None:
    topic.produce(b"a", b"b")
    with manager.connect() as qm:
        qm.define_object("feed", "F", topic=topic.name, queue="ORDERS")
        assert bodies(qm, "ORDERS", 2) == [b"a", b"b"]
    group = names.feed_group(manager.name, "F")
    watcher = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": group})
    deadline_s = time.monotonic() + WITHIN_S
    while True:
        (place,) = watcher.committed([TopicPartition(topic.name, 0)], 10)
        if place.offset == 2:
            break
        assert time.monotonic() < deadline_s, place
        time.sleep(0.1)
    watcher.close()


def test_a_reader_whose_connections_are_cut_reads_on(
    killable_kafka: LocalKafka, unique_name: Callable[..., str]
) -> None:
    kafka = killable_kafka
    topic = OthersTopic(kafka.bootstrap_servers, unique_name("orders"), 2)
    batches: list[FedBatch] = []
    broke: list[str] = []

    def deliver(found: Sequence[FeedStart | SizedBatch]) -> None:
        batches.extend(one.batch for one in found if isinstance(one, SizedBatch))

    def bodies_of(partition: int) -> list[bytes]:
        mine = [one for one in batches if one.partition == partition]
        assert [one.start for one in mine[1:]] == [one.next for one in mine[:-1]]
        return [each.message.body for one in mine for each in one.messages]

    def has_read(count: int) -> bool:
        return all(len(bodies_of(n)) == count for n in range(2))

    topics = KafkaFeedTopics(kafka.proxied_bootstrap_servers)
    readers = FeedReaders("QM1", topics, broke.append)
    feed = FeedAttributes(topic=topic.name, queue="Q")
    with Proxy(*kafka.behind_proxy(1), listen_port=proxied_port(kafka)) as proxy:
        readers.read({"F": FeedReading("F", 1, feed, "EARLIEST", "", {})}, deliver)
        values: list[bytes] = []
        for n in range(CUTS):
            some = [b"%d" % number for number in range(100 * n, 100 * n + 100)]
            values += some
            for partition in range(2):
                topic.produce(*some[:50], partition=partition)
            proxy.cut()
            for partition in range(2):
                topic.produce(*some[50:], partition=partition)
            until(partial(has_read, len(values)))
        readers.stop()()
    assert [bodies_of(n) for n in range(2)] == [values, values]
    assert not broke


def test_values_are_decoded_by_the_registry_of_the_queue_manager(
    kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path
) -> None:
    """Another registry over HTTP, which is away at first."""
    topic = OthersTopic(kafka.bootstrap_servers, unique_name("orders"))
    registry = in_memory()
    value = Values(registry).encode({"number": 7}, ORDER, "orders-value", register=True)
    topic.produce(value, b"text")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    name, servers = unique_name("QM"), kafka.bootstrap_servers
    with ServerProcess(name, servers, tmp_path, registry=url) as server:
        server.start()
        with adapter.connect(server.address) as qm:
            qm.define_queue("ORDERS")
            given: dict[str, Any] = {"topic": topic.name, "queue": "ORDERS", "refused": "WAIT"}
            qm.define_object("feed", "F", value="AVROJSON", fields="ALL", **given)
            found = await_feed(qm, "F", lambda one: one["state"] == "retrying")
            assert "does not answer" in str(found["why"])
            assert qm.get("ORDERS") is None
            with RegistryServer(registry) as running:
                running.start(port=port)
                message = qm.get("ORDERS", timeout=WITHIN_S)
                assert message is not None
                assert (message.body, message.properties["number"]) == (b'{"number":7}', 7)
                found = await_feed(qm, "F", lambda one: one["state"] == "waiting")
                assert "is not Avro in the frame with a schema's number" in str(found["why"])


def proxied_port(kafka: LocalKafka) -> int:
    """Return the port at which the proxy is to listen."""
    return int(kafka.proxied_bootstrap_servers.rpartition(":")[2])


def test_each_record_is_put_once_whatever_is_killed(
    kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path
) -> None:
    """The owner is killed with SIGKILL, while transactions commit and abort on the topic."""
    topic = OthersTopic(kafka.bootstrap_servers, unique_name("orders"), PARTITIONS)
    producer = topic.producer(**{"transactional.id": topic.name, "linger.ms": "5"})
    producer.init_transactions(WITHIN_S)
    name = unique_name("QM")
    with ServerProcess(name, kafka.bootstrap_servers, tmp_path) as server:
        server.start()
        with adapter.connect(server.address) as qm:
            qm.define_queue("ORDERS", msg_delivery_sequence="FIFO")
            qm.define_object("feed", "F", topic=topic.name, queue="ORDERS")
            for first in range(0, RECORDS, RECORDS // KILLS):
                before = read_of(qm)
                for at in range(first, first + RECORDS // KILLS, TRANSACTION):
                    transact(producer, topic.name, range(at, at + TRANSACTION))
                deadline_s = time.monotonic() + WITHIN_S
                while read_of(qm) < before + TRANSACTION:
                    assert time.monotonic() < deadline_s
                server.kill()
                server.start()
            by_partition: dict[object, list[int]] = defaultdict(list)
            for work in qm.queue("ORDERS").units(500, timeout=WITHIN_S):
                with work:
                    for one in work.messages:
                        by_partition[one.properties["KafkaPartition"]].append(int(one.body))
                if sum(map(len, by_partition.values())) >= RECORDS:
                    break
            assert qm.get("ORDERS", timeout=1) is None
    for n in range(PARTITIONS):
        assert by_partition[n] == list(range(n, RECORDS, PARTITIONS))


def read_of(qm: adapter.Connection) -> int:
    """Return how many offsets the feed F has read, of all partitions."""
    found = qm.figures()["feeds"].get("F")
    return sum(found["positions"].values()) if found else 0


def transact(producer: Producer, topic: str, numbers: Iterable[int]) -> None:
    """Produce these numbers in a transaction, and others before it in one that is aborted."""
    for ends in (producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        for number in numbers:
            value = number if ends == producer.commit_transaction else -number
            producer.produce(topic, b"%d" % value, partition=number % PARTITIONS)
        assert producer.flush(WITHIN_S) == 0  # so that what is aborted is there
        ends(WITHIN_S)
