"""A client of Kafka ends with the task that it was made for, also when who asked keeps the failure.

The traceback of an exception refers to the frames that it passed, and these to their clients. One
that lives on takes three threads, connects again and again, and, if it has a transactional id, may
fence its successor.
"""

import gc
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar, Self

import pytest

import adapter
from adapter.cli import cluster
from adapter.registry.log import TopicLog
from adapter.runtime.feeds import kafka as feeds
from adapter.runtime.feeds.kafka import KafkaFeedConsumer
from adapter.storage.ledger import kafka, kafka_reader, kafka_signs
from adapter.storage.ledger.kafka import KafkaLedger, KafkaLedgerReader
from adapter.storage.ledger.kafka_settings import LedgerSettings
from adapter.storage.ledger.kafka_snapshots import KafkaSnapshots
from adapter.storage.ledger.port import LedgerUnavailable, Position
from adapter.storage.ledger.snapshots import Snapshot
from adapter.storage.movers import transactions
from adapter.storage.movers.progress import Committed
from adapter.storage.movers.settings import KafkaCluster, MoverSettings
from adapter.storage.movers.transactions import AlternatingProducers, of_mover
from adapter.storage.topics import events, trim
from adapter.storage.topics.admin import TopicAdmin, settings_for
from adapter.storage.topics.events import EventReader
from adapter.storage.topics.specs import TopicSettings
from adapter.storage.topics.trim import KafkaTrimmer

NOWHERE = "127.0.0.1:1"
SHORT_S = 0.05
LEDGER = LedgerSettings(
    bootstrap_servers=NOWHERE,
    topic="mq.QM1.ledger",
    message_timeout_ms=50,
    take_over_timeout_s=SHORT_S,
    read_timeout_s=SHORT_S,
)
TOPICS = TopicSettings(replication=1, min_insync_replicas=1, timeout_s=SHORT_S)
MOVERS = MoverSettings(
    queue_manager="QM1",
    source=KafkaCluster(NOWHERE),
    destination=KafkaCluster(NOWHERE),
    topics=TOPICS,
)
TIMES = 3


def prepare() -> None:
    KafkaLedger(LEDGER).prepare()


def take_over() -> None:
    KafkaLedger(LEDGER).take_over(bytes(16), "", lambda _entry: None)


def read_ledger() -> None:
    KafkaLedgerReader(LEDGER).read(SHORT_S)


def delete_before() -> None:
    kafka_reader.delete_before(LEDGER, 1)


def ask_the_time() -> None:
    kafka_signs.time_ms(LEDGER)


def write_snapshot() -> None:
    KafkaSnapshots(LEDGER).write(Snapshot(Position(0, bytes(16), 0), 0, [b"x"]))


def begin_a_term() -> None:
    producers = AlternatingProducers(of_mover(MOVERS, "stream"))
    try:
        producers.renew()
    finally:
        producers.close()


def read_progress() -> None:
    with Committed(MOVERS) as committed:
        committed.bounds("progress", 0)


def count_brokers() -> None:
    settings_for(NOWHERE, None, SHORT_S)


def make_topics() -> None:
    with TopicAdmin(NOWHERE, TOPICS) as topics:
        topics.identities(["orders"], "Describe")


def trim_topics() -> None:
    (why,) = KafkaTrimmer("QM1", NOWHERE, {}).trim({("ORDERS", 1, 0): 1}).undone.values()
    raise RuntimeError(why)


def read_events() -> None:
    with EventReader("QM1", NOWHERE, {}) as events:
        next(events.read(0))


def describe_feed() -> None:
    consumer = KafkaFeedConsumer(NOWHERE, {}, "group", "orders")
    try:
        consumer.describe()
    finally:
        consumer.close()


def write_schema() -> None:
    TopicLog(NOWHERE, read_timeout_s=SHORT_S).write(b"key", b"value")


def examine_cluster() -> None:
    cluster.topics(NOWHERE, {}, "mq.")


USES = {
    prepare: "storage/ledger/kafka_ready.py",
    take_over: "storage/ledger/kafka_ready.py",
    read_ledger: "storage/ledger/kafka_reader.py",
    delete_before: "storage/ledger/kafka_reader.py",
    ask_the_time: "storage/ledger/kafka_signs.py",
    write_snapshot: "storage/ledger/kafka_snapshots.py",
    begin_a_term: "storage/movers/transactions.py",
    read_progress: "storage/movers/progress.py",
    count_brokers: "storage/topics/admin.py",
    make_topics: "storage/topics/admin.py",
    trim_topics: "storage/topics/trim.py",
    read_events: "storage/topics/events.py",
    describe_feed: "runtime/feeds/kafka.py",
    write_schema: "registry/log.py",
    examine_cluster: "cli/cluster.py",
}
"""What is done, and the module that makes the client for it."""
LASTING = {
    "storage/topics/partition_consumer.py": "made once, by a cursor that asks again",
    "runtime/network/kafka.py": "made once, by a link that asks again",
    "storage/backup/kafka.py": "of a command, that ends",
    "localkafka/readiness.py": "of a broker of a test, which is asked until it answers",
}
"""Modules whose clients outlive a failure, and why."""
MAKES = re.compile(r"(?<![A-Za-z_])(Producer|Consumer|AdminClient)\(")


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(transactions, "INIT_TIMEOUT_S", SHORT_S)
    monkeypatch.setattr(trim, "ANSWER_S", SHORT_S)
    monkeypatch.setattr(events, "ANSWER_MS", 50)
    monkeypatch.setattr(feeds, "ANSWER_S", SHORT_S)
    monkeypatch.setattr(feeds, "SPARE_S", SHORT_S)
    monkeypatch.setattr(cluster, "ASK_TIMEOUT_S", SHORT_S)
    monkeypatch.setattr("adapter.storage.movers.progress.READ_TIMEOUT_S", SHORT_S)
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("use", USES)
def test_a_client_ends_though_its_failure_is_kept(use: Callable[[], None]) -> None:
    before = threads()
    kept = []
    for _ in range(TIMES):
        with pytest.raises(Exception) as failed:
            use()
        kept.append(failed)
    assert threads() <= before, [str(one.value) for one in kept]


def test_every_module_that_makes_clients_is_in_the_table() -> None:
    root = Path(adapter.__file__).parent
    makers = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if "confluent_kafka" in (text := path.read_text()) and MAKES.search(text)
    }
    assert makers == set(USES.values()) | LASTING.keys()


def threads() -> int:
    """How many threads of librdkafka's there are, of other tests too."""
    return sum(one.read_text().startswith("rdk:") for one in Path("/proc/self/task").glob("*/comm"))


class SlowClients:
    """Ready clients, of which the first wait for a slow Kafka; the others find it away."""

    made: ClassVar[list["SlowClients"]] = []
    may_go_on: ClassVar[threading.Event] = threading.Event()

    def __init__(self, _settings: LedgerSettings) -> None:
        self.is_closed = False
        self.source = self.writes = self
        self.made.append(self)

    def find(self) -> None:
        if self is not self.made[0]:
            raise LedgerUnavailable("it is away", retriable=True)
        assert self.may_go_on.wait(10)

    def close(self) -> None:
        self.is_closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def test_clients_that_are_ready_when_another_take_over_has_begun_are_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kafka, "ReadyClients", SlowClients)
    ledger = KafkaLedger(LEDGER)
    preparing = threading.Thread(target=ledger.prepare)
    preparing.start()
    deadline_s = time.monotonic() + 10
    while not SlowClients.made:
        assert time.monotonic() < deadline_s
        threading.Event().wait(0.001)
    with pytest.raises(LedgerUnavailable):
        ledger.take_over(b"o" * 16, "", lambda _entry: None)
    SlowClients.may_go_on.set()
    preparing.join(10)
    assert [one.is_closed for one in SlowClients.made] == [True, True]
    ledger.close()
