"""Consumed messages go from their topics after a while; what is on a queue never does."""

import json
import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from adapter import testing
from adapter.cli.main import run
from adapter.core.contract import records as r
from adapter.core.contract.message import MessageData as Put
from adapter.storage.format import descriptor, names
from adapter.storage.ledger.kafka_settings import BATCH_BY_BATCH
from adapter.storage.topics.admin import TopicAdmin
from adapter.storage.topics.port import ALL, PagesUnavailableError, Trimmed
from adapter.storage.topics.reader import KafkaPageReader
from adapter.storage.topics.specs import TopicSettings, queue_spec
from adapter.storage.topics.trim import KafkaTrimmer
from adapter.testing import TestQueueManager
from tests.support.backlog import bodies, drain, until
from tests.support.shared_kafka import AnyKafka

WINDOW = 20
UNIT = 30
WAIT_S = 20.0


class Reader:
    """A reader of committed records of one lane, from its first one on."""

    def __init__(self, kafka: AnyKafka, topic: str, lane: int = 0) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": kafka.bootstrap_servers,
                "group.id": "reader",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 5,
                "isolation.level": "read_committed",
            }
        )
        self._place = TopicPartition(topic, lane)

    def bounds(self) -> tuple[int, int]:
        bounds = self._consumer.get_watermark_offsets(self._place, WAIT_S)
        assert bounds is not None
        return bounds

    def first(self) -> Message:
        self._place.offset = self.bounds()[0]
        self._consumer.assign([self._place])
        deadline_s = time.monotonic() + WAIT_S
        while time.monotonic() < deadline_s:
            found = self._consumer.poll(0.2)
            if found is not None:
                assert found.error() is None, found.error()
                return found
        raise AssertionError("nothing is there")

    def close(self) -> None:
        self._consumer.close()


def header(seq: int) -> list[tuple[str, str | bytes | None]]:
    put = Put(b"", bytes(24), bytes(24), bytes(24))
    return [
        (descriptor.HEADER, descriptor.encode(r.Placed("Q", 0, seq, 0, 0, 0, 1, put), bytes(24), 1))
    ]


def fill(kafka: AnyKafka, topic: str, seqs: list[list[int]]) -> None:
    """Write a lane as movers do: a transaction for each list; a negative seq aborts its own."""
    producer = Producer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "transactional.id": f"{topic}-fill",
            **BATCH_BY_BATCH,
        }
    )
    producer.init_transactions(WAIT_S)
    for transaction in seqs:
        producer.begin_transaction()
        for seq in transaction:
            producer.produce(topic, b"%d" % seq, partition=0, headers=header(abs(seq)))
        if transaction[0] < 0:
            producer.flush(WAIT_S)
            producer.abort_transaction(WAIT_S)
        else:
            producer.commit_transaction(WAIT_S)


@pytest.fixture
def name(unique_name: Callable[..., str]) -> str:
    return unique_name()


@pytest.fixture
def topic(kafka: AnyKafka, name: str) -> str:
    one = names.queue_topic(name, "Q")
    TopicAdmin(kafka.bootstrap_servers, TopicSettings.for_brokers(1)).ensure([queue_spec(one, 10)])
    return one


@pytest.fixture
def reader(kafka: AnyKafka, topic: str) -> Iterator[Reader]:
    one = Reader(kafka, topic)
    yield one
    one.close()


def test_whole_messages_before_the_one_that_is_needed_go(
    kafka: AnyKafka, name: str, topic: str, reader: Reader
) -> None:
    """Among aborted copies, markers, and messages of several records."""
    fill(kafka, topic, [[1, 2, 2, 2], [-3, -4], [3], [4, 4, 5], [-6, -6, -6], [6], [7]])
    trimmer = KafkaTrimmer(name, kafka.bootstrap_servers, {})
    lane = ("Q", 0, 0)
    for seq, first in ((1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (5, 5), (3, 5), (7, 7)):
        before = reader.bounds()[0]
        trimmed = trimmer.trim({lane: seq, ("Q", 0, 9): 100, ("NONE", 0, 0): 7, ("Q", 4, 0): ALL})
        assert trimmed.undone == {}
        assert trimmed.offsets == reader.bounds()[0] - before
        assert reader.first().value() == b"%d" % first
    assert trimmer.trim({lane: 8}).undone == {}
    fill(kafka, topic, [[8]])
    assert reader.first().value() == b"8"


def test_the_topic_of_a_deleted_queue_goes_as_a_whole(
    kafka: AnyKafka, name: str, topic: str
) -> None:
    fill(kafka, topic, [[1, 2], [3]])
    trimmer = KafkaTrimmer(name, kafka.bootstrap_servers, {})
    lanes = {("Q", 0, number): ALL for number in range(10)}
    trimmed = trimmer.trim({**lanes, ("Q", 1, 0): ALL})
    assert (trimmed.topics, trimmed.undone) == (1, {})
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    until(lambda: topic not in admin.list_topics(timeout=WAIT_S).topics)
    assert trimmer.trim(lanes).topics == 0
    away = KafkaTrimmer(name, "127.0.0.1:1", {}).trim(lanes)
    assert set(away.undone) == set(lanes)


def test_what_no_mover_wrote_is_passed_over_and_what_cannot_be_done_is_told(
    kafka: AnyKafka, name: str, topic: str, reader: Reader
) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce(topic, b"odd", partition=0)
    assert producer.flush(WAIT_S) == 0
    fill(kafka, topic, [[1], [2]])
    trimmer = KafkaTrimmer(name, kafka.bootstrap_servers, {})
    assert trimmer.trim({("Q", 0, 0): 1}) == Trimmed(0, {})
    assert reader.bounds()[0] == 0
    assert trimmer.trim({("Q", 0, 0): 2}).undone == {}
    assert reader.first().value() == b"2"
    away = KafkaTrimmer(name, "127.0.0.1:1", {}).trim({("Q", 0, 0): 2, ("Q", 0, 1): 3})
    assert set(away.undone) == {("Q", 0, 0), ("Q", 0, 1)}
    assert all(away.undone.values())


def test_pages_are_read_when_what_lies_before_has_gone_meanwhile(
    kafka: AnyKafka, name: str, topic: str
) -> None:
    fill(kafka, topic, [list(range(at, at + 1_000)) for at in range(1, 4_000, 1_000)])
    pages = KafkaPageReader(name, kafka.bootstrap_servers, {})
    try:
        for seq in (1, 1_500):
            assert [one.seq for one in pages.read("Q", 0, 0, seq, 2).messages] == [seq, seq + 1]
        trimmer = KafkaTrimmer(name, kafka.bootstrap_servers, {})
        until(lambda: bool(trimmer.trim({("Q", 0, 0): 2_500}).offsets))  # it is tried again
        for count in (2, 1):
            page = pages.read("Q", 0, 0, 2_500, count)
            assert [one.seq for one in page.messages] == [2_500, 2_501][:count]
        with pytest.raises(PagesUnavailableError):
            pages.read("Q", 0, 0, 4_001, 1)
    finally:
        pages.close()


def keep_busy(manager: TestQueueManager) -> None:
    """Write entries: so many make a snapshot due."""
    with manager.connect() as qm:
        queue = qm.queue("OTHER")
        for _ in range(10):
            queue.put("something")
            queue.get()


def test_topics_of_deleted_queues_are_listed_and_deleted(
    kafka: AnyKafka, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})

    def there() -> list[str]:
        beginning = names.queue_topic(name, "")
        return sorted(
            t for t in admin.list_topics(timeout=WAIT_S).topics if t.startswith(beginning)
        )

    def mqk(*arguments: str) -> str:
        assert run(["queue", "topics", "--qmgr", one.address, *arguments]) == 0
        return capsys.readouterr().out

    with testing.queue_manager(name, bootstrap_servers=kafka.bootstrap_servers) as one:
        with one.connect() as qm:
            for queue in ("Q", "OTHER"):
                qm.define_queue(queue)
                qm.put(queue, b"first")
            until(lambda: len(there()) == 2)
            qm.delete_queue("Q", purge=True)
            qm.define_queue("Q")
            until(lambda: len(there()) == 3)
        listed = mqk("--json").splitlines()
        assert [json.loads(line)["orphaned"] for line in listed] == [False, True, False]
        assert names.queue_topic(name, "Q") in mqk("--orphaned")
        assert mqk("--orphaned", "--delete") == "1 topic of deleted queues deleted\n"
        until(lambda: len(there()) == 2)
        assert mqk("--orphaned", "--json") == ""
        with one.connect() as qm:
            qm.put("Q", b"second")
            assert (message := qm.get("Q")) is not None
            assert message.body == b"second"


def test_consumed_messages_go_and_the_rest_is_got_in_order_through_crashes(
    kafka: AnyKafka, name: str, topic: str, reader: Reader
) -> None:
    count = 1_200
    with testing.queue_manager(
        name,
        bootstrap_servers=kafka.bootstrap_servers,
        window_messages=WINDOW,
        snapshot_entries=20,
        consumed_retention_ms=0,
    ) as one:
        with one.connect() as qm:
            qm.define_queue("Q", max_depth=1_000_000)
            qm.define_queue("OTHER")
            qm.queue("Q").put_many(bodies(0, count), unit_size=UNIT)
        got = drain(one, 300, UNIT)
        # The first of what is left is held by a unit, and given back when the owner dies.
        with one.connect() as qm:
            unit = qm.unit()
            unit.begin()
            held = qm.queue("Q").get(unit=unit)
            assert held is not None
            behind = qm.queue("Q").get()
            assert (held.body, behind and behind.body) == (b"000300", b"000301")
            until(lambda: reader.first().value() == b"000300", lambda: keep_busy(one))
            one.crash()
        one.start()
        got += drain(one, 299, UNIT)
        one.crash()  # with some of it trimmed, perhaps, and some of it not
        one.start()
        got += drain(one, 300, UNIT)
        one.restart()
        until(lambda: reader.first().value() == b"000900", lambda: keep_busy(one))
        got += drain(one, 300, UNIT)
        with one.connect() as qm:
            assert qm.get("Q") is None
            qm.delete_queue("Q")
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        until(lambda: topic not in admin.list_topics(timeout=WAIT_S).topics, lambda: keep_busy(one))
        until(lambda: one.statistics()["deleted_topics"] == 1)
    assert got == [body for body in bodies(0, count) if body != b"000301"]
