"""The table of rights on Kafka, on a broker that allows nothing else.

The whole is enough for each role, and each right is needed: it is withdrawn, what needs it fails by
the name of the right, and works again when it is granted. One queue manager runs all the time.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from msgspec import Struct

import adapter
from adapter.cli.main import run
from adapter.host.settings.acls.table import GROUP, QUEUE_MANAGER, TOPIC, TRANSACTIONAL_ID
from adapter.runtime.exports.kafka import KafkaExportTopics
from adapter.runtime.exports.port import TopicRefusedError
from adapter.runtime.feeds.kafka import KafkaFeedTopics
from adapter.runtime.network.kafka import KafkaTransport
from adapter.runtime.network.lookup import read_directory
from adapter.runtime.network.port import SentRecord
from adapter.server.services.own_schemas import ON_TOPIC
from adapter.storage.format import names
from adapter.storage.ledger.failures import describe_denial as denied
from adapter.storage.ledger.failures import error_of, explain
from adapter.storage.movers.settings import KafkaCluster
from adapter.storage.topics.admin import TopicAdmin
from adapter.storage.topics.specs import TopicSettings, progress_spec
from spark_jobs import ranges
from spark_jobs.spans import SpanReader
from spark_jobs.topics import choose
from tests.docs.acls import EXAMPLE
from tests.support import queue_topic
from tests.support.acl_cluster import Cluster
from tests.support.acl_site import WITHIN_S, GrantedRight, rights
from tests.support.backlog import until
from tests.support.export_site import ExportedTopic
from tests.support.feed_site import OthersTopic
from tests.support.locked_kafka import certificate, locked_kafka
from tests.support.server_process import ServerProcess

OWN = names.own_prefix("QM1")
LEDGER = names.ledger_topic("QM1")
INBOUND = names.inbound_topic("QM2", "QM1")
ALL = rights()
MAY_NOT_READ = "the queue manager may not read topic orders: allow its user of Kafka to READ"
MAY_NOT_WRITE = "the queue manager may not write topic results: allow its user of Kafka to WRITE"
REGISTERED = "our schemas are registered"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    key, trusted = certificate(tmp_path_factory.mktemp("keys"))
    with locked_kafka(key) as kafka:
        yield Cluster(kafka, trusted)


class QueueManager:
    """A queue manager that runs with the rights of the table, and what it says."""

    def __init__(self, cluster: Cluster, server: ServerProcess) -> None:
        self.cluster = cluster
        self.server = server
        self.qm = adapter.connect(server.address)
        self.orders = OthersTopic(cluster.operator, "orders", partitions=0)
        self.results = ExportedTopic(cluster.operator, "results", partitions=0)
        self.put: list[bytes] = []
        self.meanwhile: list[threading.Thread] = []
        self._said_before = 0

    def figures(self) -> str:
        """What its status says: the figures, or why it does not answer."""
        try:
            with adapter.connect(
                self.server.address, connect_timeout_s=1.0, reconnect_timeout_s=0.0
            ) as qm:
                return str(qm.figures())
        except adapter.Error as error:
            return str(error)

    def await_said(self, text: str) -> None:
        """Wait until its status says this, and its log, since forget()."""
        until(lambda: text in self.figures() and text in self.server.said()[self._said_before :])

    def forget(self) -> None:
        """Look at what it logs from now on."""
        self._said_before = len(self.server.said())

    def begin_again(self) -> None:
        """Follow another life of the process."""
        self._said_before = 0

    def put_one(self) -> None:
        body = b"%d" % len(self.put)
        self.qm.put("ORDERS", body)
        self.put.append(body)

    def put_meanwhile(self) -> None:
        """Put a message, and do not wait for the answer."""
        self.meanwhile.append(threading.Thread(target=self.put_one, daemon=True))
        self.meanwhile[-1].start()

    def is_copied(self) -> bool:
        """Whether each message that was put is on the queue's topic."""
        found = self.qm.figures()
        stream = found["movers"]["stream"]
        return not (found["movers_hold"] or found["movers_parked"] or stream["lag_records"])

    def sent(self) -> int:
        """How many records the peer's topic has."""
        return self.cluster.bounds(INBOUND)[0][1]


@pytest.fixture(scope="module")
def running(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueueManager]:
    login = cluster.options(QUEUE_MANAGER)
    with ServerProcess(
        "QM1", cluster.servers, tmp_path_factory.mktemp("server"), options=login,
        registry=ON_TOPIC, network=True,
    ) as server:  # fmt: skip
        server.start()
        one = QueueManager(cluster, server)
        with one.qm as qm:
            for queue in ("ORDERS", "FED", "QM2"):
                qm.define_queue(queue, usage="XMITQ" if queue == "QM2" else "NORMAL")
            qm.define_queue("OUT", msg_delivery_sequence="FIFO")
            qm.define_object("feed", "F", topic="orders", queue="FED")
            qm.define_object("export", "X", topic="results", queue="OUT")
            one.put_one()
            one.orders.produce(b"fed 1")
            assert qm.queue("FED").get(timeout=WITHIN_S) is not None
            qm.put("OUT", b"1")
            assert one.results.values(1) == [b"1"]
            qm.put("Q", b"far", queue_manager="QM2")
            until(lambda: one.sent() == 1)
            assert next(queue_topic.committed(cluster.operator, names.queue_topic("QM1", "ORDERS")))
            until(one.is_copied)
            until(lambda: REGISTERED in server.said())
            yield one


# -- a queue manager that runs while a right is withdrawn, and granted again

Work = Callable[[QueueManager], None]


class WithdrawnRight(Struct, frozen=True):
    """What becomes of a right that is withdrawn from a queue manager that runs.

    work: what needs it. says: in status and log. works: waits until all is well again.
    """

    resource: str
    name: str
    operation: str
    says: str
    work: Work
    works: Work

    @property
    def right(self) -> GrantedRight:
        return GrantedRight(QUEUE_MANAGER, self.resource, self.name, self.operation)


def is_put_and_copied(one: QueueManager) -> None:
    for putting in one.meanwhile:
        putting.join(WITHIN_S)
        assert not putting.is_alive()
    until(one.is_copied)
    assert one.qm.queue("ORDERS").depth() == len(one.put)


def announce_another(one: QueueManager) -> None:
    """Enter another queue manager in the directory, as its own process does."""
    writer = KafkaTransport(one.cluster.operator).writer()
    entry = b'{"version":1,"queue_manager":"QM3","address":"","ident":"","computer":""}'
    writer.append(names.DIRECTORY_TOPIC, [SentRecord(entry, key=b"queue-manager QM3")])
    writer.close()


def knows_another(one: QueueManager) -> None:
    until(lambda: one.qm.figures()["network"]["queue_managers"] == 2)


def send_another(one: QueueManager) -> None:
    one.qm.put("Q", b"far", queue_manager="QM2")


def has_sent_another(one: QueueManager) -> None:
    until(lambda: one.sent() == 2)


def feed_another(one: QueueManager) -> None:
    one.orders.produce(b"fed 2")


def has_fed_another(one: QueueManager) -> None:
    got = one.qm.queue("FED").get(timeout=WITHIN_S)
    assert got is not None
    assert got.body == b"fed 2"


def export_another(one: QueueManager) -> None:
    one.qm.put("OUT", b"2")


def has_exported_another(one: QueueManager) -> None:
    assert one.results.values(2) == [b"1", b"2"]
    until(lambda: one.qm.figures()["exports"]["X"]["why"] == "")


def begin_export_again(one: QueueManager) -> None:
    one.qm.alter_object("export", "X", state="PAUSED")
    until(lambda: one.qm.figures()["exports"]["X"]["state"] == "paused")
    one.qm.put("OUT", b"3")
    one.qm.alter_object("export", "X", state="RUNNING")


def exports_again(one: QueueManager) -> None:
    assert one.results.values(3) == [b"1", b"2", b"3"]


WHILE_IT_RUNS = (
    WithdrawnRight(
        TOPIC, OWN, "Create", denied("Create", f"topic {OWN}q.NEW"),
        lambda one: one.qm.define_queue("NEW"), is_put_and_copied,
    ),
    WithdrawnRight(
        TOPIC, OWN, "Write", denied("Write", f"topic {LEDGER}"),
        QueueManager.put_meanwhile, is_put_and_copied,
    ),
    WithdrawnRight(
        TOPIC, OWN, "Read", denied("Read", f"topic {names.progress_topic('QM1')}"),
        QueueManager.put_one, is_put_and_copied,
    ),
    WithdrawnRight(
        TRANSACTIONAL_ID, OWN, "Write", denied("Write", f"transactional id {OWN}stream.0"),
        QueueManager.put_one, is_put_and_copied,
    ),
    WithdrawnRight(
        TOPIC, names.DIRECTORY_TOPIC, "Read", denied("Read", f"topic {names.DIRECTORY_TOPIC}"),
        announce_another, knows_another,
    ),
    WithdrawnRight(
        TOPIC, INBOUND, "Write", denied("Write", f"topic {INBOUND}"),
        send_another, has_sent_another,
    ),
    WithdrawnRight(TOPIC, "orders", "Read", MAY_NOT_READ, feed_another, has_fed_another),
    WithdrawnRight(
        TOPIC, "results", "Write", MAY_NOT_WRITE, export_another, has_exported_another
    ),
    WithdrawnRight(
        TOPIC, "results", "Read", denied("Read", "topic results"),
        begin_export_again, exports_again,
    ),
)  # fmt: skip


@pytest.mark.parametrize("one", WHILE_IT_RUNS, ids=lambda one: str(one.right))
def test_a_right_that_is_withdrawn_is_named_and_service_goes_on_when_it_is_granted(
    running: QueueManager, one: WithdrawnRight
) -> None:
    running.forget()
    with running.cluster.site.without(one.right):
        one.work(running)
        running.await_said(one.says)
    one.works(running)


# -- steps of all roles that need no process of their own


class RightNeeded(Struct, frozen=True):
    """A right without which a step fails, and says so."""

    role: str
    resource: str
    name: str
    operation: str
    says: str
    step: Callable[[Cluster, str], object]

    @property
    def right(self) -> GrantedRight:
        return GrantedRight(self.role, self.resource, self.name, self.operation)


def start(cluster: Cluster, role: str) -> None:
    cluster.wired(role)


def read_ledger(cluster: Cluster, role: str) -> None:
    ledger = cluster.wired(role).ledger()
    assert ledger.last_record() is not None
    ledger.close()


def trim_ledger(cluster: Cluster, role: str) -> None:
    ledger = cluster.wired(role).ledger()
    ledger.trim(ledger.bounds()[0])
    ledger.close()


def add_partition(cluster: Cluster, role: str) -> None:
    """Let a topic of progress of an older release have one more mover."""
    topic = f"{OWN}progress-of-an-older-release"
    settings = TopicSettings.for_brokers(1)
    as_operator = TopicAdmin(cluster.operator, settings)
    as_operator.ensure([progress_spec(topic, 1)])
    try:
        TopicAdmin(cluster.servers, settings, cluster.options(role)).ensure(
            [progress_spec(topic, 2)]
        )
    finally:
        as_operator.delete([topic])
        until(lambda: topic not in as_operator.identities([topic]))


def register(cluster: Cluster, role: str) -> None:
    cluster.register(role)


def open_directory(cluster: Cluster, role: str) -> None:
    cluster.transport(role).open_directory(names.DIRECTORY_TOPIC)


def delete(cluster: Cluster, topic: str) -> None:
    """Delete a topic: who may not create it goes on as long as it is there."""
    as_operator = TopicAdmin(cluster.operator, TopicSettings.for_brokers(1))
    if as_operator.identities([topic]):
        as_operator.delete([topic])
    until(lambda: topic not in as_operator.identities([topic]))


def register_anew(cluster: Cluster, role: str) -> None:
    delete(cluster, "_schemas")
    register(cluster, role)


def open_directory_anew(cluster: Cluster, role: str) -> None:
    delete(cluster, names.DIRECTORY_TOPIC)
    open_directory(cluster, role)


def append(cluster: Cluster, role: str, topic: str) -> None:
    writer = cluster.transport(role).writer()
    try:
        writer.append(topic, [SentRecord(b"{}", key=b"no entry")])
    finally:
        writer.close()


def write_directory(cluster: Cluster, role: str) -> None:
    append(cluster, role, names.DIRECTORY_TOPIC)


def send_to_qm1(cluster: Cluster, role: str) -> None:
    append(cluster, role, names.inbound_topic("QM1", "QM2"))


def show_positions(cluster: Cluster, role: str) -> None:
    topics = KafkaFeedTopics(cluster.servers, cluster.options(role))
    consumer = topics.consumer("QM1", "G", "orders")
    group = names.feed_group("QM1", "G")
    watching = Consumer({"bootstrap.servers": cluster.operator, "group.id": group})
    before = committed(watching)
    try:
        consumer.show({0: before + 1})
        until(
            lambda: bool(consumer.not_shown) or committed(watching) > before,
            lambda: consumer.read(0.02),
        )
        assert not consumer.not_shown, consumer.not_shown
    finally:
        consumer.close()
        watching.close()


def committed(consumer: Consumer) -> int:
    """Ask for the offset that a group has committed; the topic of offsets may be new."""
    place = TopicPartition("orders", 0)
    while True:
        try:
            return max(0, consumer.committed([place], WITHIN_S)[0].offset)
        except KafkaException as error:
            if error_of(error).code() not in (KafkaError.NOT_COORDINATOR, KafkaError._WAIT_COORD):
                raise
            time.sleep(0.05)


def read_ranges(cluster: Cluster, role: str) -> None:
    """Read a queue's topic as tasks of the source `mq` do: to browse, and to get."""
    client = cluster.client(role)
    topic = choose(AdminClient({**client}).list_topics(timeout=WITHIN_S).topics, "ORDERS", "QM1")
    bounds = [(lane, one) for lane, one in cluster.bounds(topic).items() if one[0] < one[1]]
    assert all(list(ranges.records(client, topic, lane, *one)) for lane, one in bounds)
    spans = SpanReader("QM1", client["bootstrap.servers"], client, 1, fail_on_data_loss=False)
    with contextlib.closing(spans):
        assert any(list(spans.rows("ORDERS", 0, lane, [(0, 1)])) for lane, _ in bounds)


def read_as_member(cluster: Cluster, role: str) -> None:
    """Read a queue's topic as a member of a consumer group."""
    (group,) = EXAMPLE.groups
    settings: dict[str, Any] = {
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    consumer = Consumer({**cluster.client(role), **settings})
    topic = names.queue_topic("QM1", "ORDERS")
    consumer.subscribe([topic])
    deadline_s = time.monotonic() + WITHIN_S
    try:
        while time.monotonic() < deadline_s:
            found = consumer.poll(0.1)
            error = None if found is None else found.error()
            if error is not None:
                # The client says so itself, without the words of mqk.
                needed = explain(error, "Read", topic, group=group)
                raise AssertionError(needed.replace("Describe on group", "Read on group"))
            if found is not None:
                consumer.commit(message=found, asynchronous=False)
                return
    finally:
        consumer.close()
    raise AssertionError("nothing came")


def put_as_client(cluster: Cluster, role: str) -> None:
    topic = names.inbound_topic("QM1")
    failures: list[str] = []

    def delivered(error: KafkaError | None, _message: object) -> None:
        failures.append("" if error is None else explain(error, "Write", topic))

    producer = Producer(cluster.client(role))
    producer.produce(topic, b"put", on_delivery=delivered)
    assert producer.flush(WITHIN_S) == 0
    assert failures == [""], failures


REGISTRY_GROUP = "group mqk-ledger-reader"
IN_STEPS = (
    *(
        RightNeeded(QUEUE_MANAGER, TOPIC, OWN, operation, denied(operation, says), step)
        for operation, says, step in (
            ("DescribeConfigs", f"topic {LEDGER}", start),
            ("Delete", f"topic {LEDGER}", trim_ledger),
            ("Alter", f"topic {OWN}progress-of-an-older-release", add_partition),
        )
    ),
    *(
        RightNeeded(role, GROUP, "mqk-", "Describe", denied("Describe", REGISTRY_GROUP), step)
        for role, step in ((QUEUE_MANAGER, read_ledger), ("registry", register))
    ),
    *(
        RightNeeded(role, TOPIC, "_schemas", one, denied(one, "topic _schemas"), step)
        for role in (QUEUE_MANAGER, "registry")
        for one, step in (
            ("Create", register_anew),
            ("DescribeConfigs", register),
            ("Write", register),
            ("Read", register),
        )
    ),
    *(
        RightNeeded(
            QUEUE_MANAGER, TOPIC, names.DIRECTORY_TOPIC, one,
            denied(one, f"topic {names.DIRECTORY_TOPIC}"), step,
        )
        for one, step in (
            ("Create", open_directory_anew),
            ("DescribeConfigs", open_directory),
            ("Write", write_directory),
        )
    ),
    RightNeeded(
        QUEUE_MANAGER, GROUP, "mqk-QM1-", "Read", denied("Read", "group mqk-QM1-G"), show_positions
    ),
    RightNeeded(
        "network-peer", TOPIC, names.inbound_topic("QM1", "QM2"), "Write",
        denied("Write", "topic mq.QM1.in.QM2"), send_to_qm1,
    ),
    RightNeeded("spark", TOPIC, f"{OWN}q.", "Read", "Kafka has no topic of any queue", read_ranges),
    RightNeeded(
        "spark", GROUP, "mqk-spark", "Describe", denied("Describe", "group mqk-spark"), read_ranges
    ),
    RightNeeded(
        "reader", TOPIC, f"{OWN}q.ORDERS", "Read", denied("Read", f"topic {OWN}q.ORDERS"),
        read_as_member,
    ),
    RightNeeded(
        "reader", GROUP, "readers", "Read", denied("Read", "group readers"), read_as_member
    ),
    RightNeeded(
        "inbound-writer", TOPIC, f"{OWN}in", "Write", denied("Write", f"topic {OWN}in"),
        put_as_client,
    ),
)  # fmt: skip


@pytest.mark.parametrize("one", IN_STEPS, ids=lambda one: str(one.right))
def test_each_right_is_needed(running: QueueManager, one: RightNeeded) -> None:
    cluster = running.cluster
    if one.role == "network-peer":
        cluster.open_inbound(names.inbound_topic("QM1", "QM2"))
    one.step(cluster, one.role)
    with (
        cluster.site.without(one.right),
        pytest.raises(Exception, match=re.escape(one.says)),
    ):
        one.step(cluster, one.role)


def test_every_right_of_the_table_is_withdrawn_once() -> None:
    withdrawn = [*(one.right for one in WHILE_IT_RUNS), *(one.right for one in IN_STEPS)]
    assert sorted(map(str, withdrawn)) == sorted(map(str, ALL))


def test_an_export_without_any_right_says_what_its_topic_needs(running: QueueManager) -> None:
    cluster = running.cluster
    there = KafkaCluster(cluster.servers, cluster.options(QUEUE_MANAGER))
    topics = KafkaExportTopics(there, TopicSettings.for_brokers(1))
    writer = topics.writer("QM1", "ANOTHER", "results")
    both = [GrantedRight(QUEUE_MANAGER, TOPIC, "results", one) for one in ("Write", "Read")]
    with cluster.site.without(*both), pytest.raises(TopicRefusedError, match=MAY_NOT_WRITE):
        writer.resume()
    assert writer.resume().number == 0
    writer.close()


def test_a_queue_manager_enters_itself_in_a_directory_that_is_made_anew(
    running: QueueManager,
) -> None:
    cluster = running.cluster
    open_directory_anew(cluster, QUEUE_MANAGER)
    there = cluster.transport(QUEUE_MANAGER)
    until(lambda: "QM1" in read_directory(there, WITHIN_S).queue_managers)


# -- the whole


def test_a_queue_manager_stops_starts_again_and_deletes_what_is_needed_no_more(
    running: QueueManager, capsys: pytest.CaptureFixture[str]
) -> None:
    """And says, while it may not delete, what it may not."""
    server, cluster = running.server, running.cluster
    first = cluster.bounds(LEDGER)[0][0]
    with cluster.site.without(GrantedRight(QUEUE_MANAGER, TOPIC, OWN, "Delete")):
        server.ask_to_end()
        assert server.await_end() == 0
        server.start()
        running.begin_again()
        running.await_said(denied("Delete", f"topic {LEDGER}"))
    until(lambda: cluster.bounds(LEDGER)[0][0] > first)
    until(lambda: not running.qm.figures()["undone"])
    assert running.qm.queue("ORDERS").depth() == len(running.put)
    until(lambda: REGISTERED in server.said())
    login = [f"-X{key}={value}" for key, value in cluster.options(QUEUE_MANAGER).items()]
    ask = ["ledger", "verify", "QM1", "--bootstrap-server", cluster.servers, *login]
    assert run(ask) == 0, capsys.readouterr().err


def test_without_rights_a_start_ends_with_a_sentence(cluster: Cluster, tmp_path: Path) -> None:
    login = cluster.options("nobody")
    with ServerProcess("QM1", cluster.servers, tmp_path, options=login) as server:
        server.launch()
        assert server.await_end() == 1
        assert denied("Create", f"topic {LEDGER}") in server.sentence()
        assert "Traceback" not in server.said()
