"""Exports whose connections are cut, and whose topics have transactions of others open."""

from collections.abc import Callable, Iterator

import pytest

import adapter
from adapter.localkafka import LocalKafka
from adapter.runtime.exports import kafka as kafka_exports
from adapter.runtime.exports import open_transactions
from adapter.storage.movers.socket_timeout import SocketTimeout
from adapter.testing import TestQueueManager
from mqk_demo.proxy import Proxy
from tests.support.backlog import until
from tests.support.export_site import ExportedTopic, await_export, await_why, put_all
from tests.support.feed_site import WITHIN_S

CUTS = 6
SLOW_S = 0.25


@pytest.fixture
def kafka(killable_kafka: LocalKafka) -> LocalKafka:
    """One that is reached through a proxy."""
    return killable_kafka


@pytest.fixture
def topic(kafka: LocalKafka, unique_name: Callable[..., str]) -> ExportedTopic:
    return ExportedTopic(kafka.bootstrap_servers, unique_name("results"))


def define(manager: TestQueueManager, topic: ExportedTopic) -> None:
    with manager.connect() as qm:
        qm.define_queue("RESULTS", msg_delivery_sequence="FIFO")
        qm.define_object("export", "E", topic=topic.name, queue="RESULTS")


@pytest.fixture
def proxied(
    kafka: LocalKafka, unique_name: Callable[..., str], topic: ExportedTopic
) -> Iterator[tuple[TestQueueManager, Proxy]]:
    """A queue manager with an export, and the proxy through which it reaches Kafka."""
    servers = kafka.proxied_bootstrap_servers
    port = int(servers.rpartition(":")[2])
    name = unique_name("QM")
    with (
        Proxy(*kafka.behind_proxy(1), listen_port=port) as proxy,
        adapter.testing.queue_manager(name, bootstrap_servers=servers) as manager,
    ):
        define(manager, topic)
        yield manager, proxy


def test_an_export_whose_connections_are_cut_writes_on(
    proxied: tuple[TestQueueManager, Proxy], topic: ExportedTopic
) -> None:
    manager, proxy = proxied
    values: list[bytes] = []
    with manager.connect() as qm:
        for turn in range(CUTS):
            some = [b"%06d" % (1000 * turn + n) for n in range(300)]
            put_all(qm, "RESULTS", some)
            values += some
            proxy.cut()
            until(lambda: qm.queue("RESULTS").depth() < 300)
        assert topic.read(len(values), 2 * WITHIN_S) is not None
        assert topic.values(len(values)) == values


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each export begin with producers whose commits are definite within 0.18 s."""
    monkeypatch.setattr(kafka_exports, "SocketTimeout", lambda: SocketTimeout(300))


@pytest.mark.usefixtures("impatient")
def test_an_export_to_a_kafka_whose_every_commit_is_slow_writes(
    proxied: tuple[TestQueueManager, Proxy], topic: ExportedTopic
) -> None:
    manager, proxy = proxied
    with manager.connect() as qm:
        proxy.delay(replies_s=SLOW_S)
        put_all(qm, "RESULTS", [b"1", b"2", b"3"])
        await_export(qm, "E", lambda one: one["records"] == 3)
        proxy.delay()
        put_all(qm, "RESULTS", [b"4"])
        assert topic.values(4) == [b"1", b"2", b"3", b"4"]


def test_a_transaction_of_another_producer_is_waited_for(
    kafka: LocalKafka,
    unique_name: Callable[..., str],
    topic: ExportedTopic,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is written behind it shows when it has ended. Until then nobody can know what is open
    there: an exporter that takes over waits."""
    monkeypatch.setattr(open_transactions, "OTHERS_S", 1.0)
    # A commit that a slow Kafka leaves in doubt would have an exporter take over too early.
    monkeypatch.setattr(kafka_exports, "SocketTimeout", lambda: SocketTimeout(int(1000 * WITHIN_S)))
    other = topic.producer(**{"transactional.id": topic.name})
    other.init_transactions(WITHIN_S)
    name, servers = unique_name("QM"), kafka.bootstrap_servers
    with adapter.testing.queue_manager(name, bootstrap_servers=servers) as manager:
        define(manager, topic)
        with manager.connect() as qm:
            other.begin_transaction()
            other.produce(topic.name, b"never")
            assert other.flush(WITHIN_S) == 0
            put_all(qm, "RESULTS", [b"1"])
            await_export(qm, "E", lambda one: one["records"] == 1)
            put_all(qm, "RESULTS", [b"2"])
            found = await_export(qm, "E", lambda one: one["records"] == 2)
            assert (found["why"], found["failures"]) == ("", 0)
            qm.alter_object("export", "E", state="PAUSED")
            await_export(qm, "E", lambda one: one["state"] == "paused")
            put_all(qm, "RESULTS", [b"3"])
            qm.alter_object("export", "E", state="RUNNING")
            why = await_why(qm, "E", "of another producer is open")
            assert why == (
                f"a transaction of another producer is open in {topic.name}[0] from offset 0 on, "
                "and hides what comes behind it: end it, by kafka-transactions abort if its "
                "producer is gone"
            )
            other.abort_transaction(WITHIN_S)
            assert topic.values(3) == [b"1", b"2", b"3"]
            await_export(qm, "E", lambda one: one["why"] == "")
