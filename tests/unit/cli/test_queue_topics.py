"""Whose a topic is: the queue manager says it; and what is deleted of those of its own Kafka."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self

import pytest
from msgspec import structs

import adapter
import adapter.testing
from adapter.cli import cluster, queue_topics
from adapter.cli.queue_topics import QueueTopic, _show, examine, queues_of
from adapter.server.access import credentials
from adapter.storage.format import names
from adapter.storage.topics.specs import TopicSettings
from tests.support.passwords import hash_cheaply
from tests.unit.cli.conftest import Mqk

HERE = "id-of-its-kafka"


class OneKafka:
    """Kafka as the command meets it: the topics there are. deleted: those that it was told to."""

    def __init__(self) -> None:
        self.topics: list[str] = []
        self.deleted: list[str] = []

    def __call__(self, *_: object) -> Self:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def delete(self, topics: Iterable[str]) -> None:
        self.deleted.extend(topics)


MakeKafka = Callable[[str, adapter.testing.TestQueueManager], OneKafka]


@pytest.fixture
def kafka_of(monkeypatch: pytest.MonkeyPatch) -> MakeKafka:
    """Let a queue manager be on a Kafka, and the command meet one with this id."""

    def made(ident: str, manager: adapter.testing.TestQueueManager) -> OneKafka:
        known = OneKafka()
        owner = manager._running().owner
        figures = owner.statistics
        monkeypatch.setattr(
            owner, "statistics", lambda: structs.replace(figures(), kafka_cluster=HERE)
        )
        settings = TopicSettings(replication=1, min_insync_replicas=1, cluster_id=ident)
        monkeypatch.setattr(queue_topics, "settings_for", lambda *_: settings)
        monkeypatch.setattr(cluster, "topics", lambda *_: known.topics)
        monkeypatch.setattr(queue_topics, "TopicAdmin", known)
        return known

    return made


DELETE = ("queue", "topics", "--orphaned", "--delete", "--yes", "--bootstrap-server", "kafka:1")
LIST = ("queue", "topics", "--bootstrap-server", "kafka:1")


def test_topics_are_deleted_of_queues_that_were_and_of_no_others(
    at: Mqk, manager: adapter.testing.TestQueueManager, kafka_of: MakeKafka
) -> None:
    """Also queues of MSMQ and of Service Broker, which queues() never shows, are there."""
    with manager.connect() as qm, manager.connect_msmq() as host:
        host.create(r".\private$\orders")
        for _ in range(2):
            qm.define_queue("WAS")
            qm.delete_queue("WAS")
        qm.define_queue("WAS")
    queues = [("WAS", 0), ("WAS", 1), ("WAS", 2), ("WAS", 3), ("Q", 0), ("NEVER", 0)]
    queues += [("private$\\orders", 0), ("system$;deadletter", 0), ("system$;journal", 0)]
    kafka = kafka_of(HERE, manager)
    kafka.topics = [names.queue_topic("QM1", *one) for one in queues]
    kafka.topics.append(f"mq.QM1.q.WAS-{2**63}")  # another program's: no queue lives so often
    said = at(*LIST)
    assert said.status == 0
    states = {line.split()[0]: line.split()[3:] for line in said.out.splitlines()[1:]}
    assert kafka.topics[-1] not in states
    assert {one for one, state in states.items() if state == ["deleted"]} == set(kafka.topics[:2])
    # Incarnations that are to come, and queues that this ledger never had, are not "deleted".
    assert states[kafka.topics[3]] == states[kafka.topics[5]] == ["unknown"]
    assert states[names.queue_topic("QM1", "private$\\orders")] == []
    said = at(*DELETE)
    assert (said.status, said.out) == (0, "2 topics of deleted queues deleted\n")
    assert kafka.deleted == kafka.topics[:2]


def test_nothing_is_deleted_of_another_kafka(
    at: Mqk, manager: adapter.testing.TestQueueManager, kafka_of: MakeKafka
) -> None:
    with manager.connect() as qm:
        qm.delete_queue("Q")
    kafka = kafka_of("id-of-another", manager)
    kafka.topics = [names.queue_topic("QM1", "Q")]
    for command in (LIST, DELETE):
        said = at(*command)
        assert said.status == 1
        assert said.err == (
            "mqk: Kafka at kafka:1 is not that of queue manager QM1: its id is id-of-another, and "
            "the queue manager's is id-of-its-kafka; name the queue manager's own with "
            "--bootstrap-server\n"
        )
    assert not kafka.deleted


def test_a_queue_manager_that_does_not_say_which_kafka_is_its_own_is_not_believed(
    at: Mqk,
    manager: adapter.testing.TestQueueManager,
    kafka_of: MakeKafka,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kafka = kafka_of(HERE, manager)
    monkeypatch.delattr(manager._running().owner, "statistics")
    said = at(*DELETE)
    assert (said.status, kafka.deleted) == (1, [])
    assert "does not say which Kafka it is on" in said.err


def test_who_may_not_change_the_queue_manager_is_not_answered(
    mqk: Mqk, quiet: None, kafka_of: MakeKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    credentials.write(tmp_path / "users", {"op": hash_cheaply("secret")})
    with adapter.testing.queue_manager(
        credentials_file=tmp_path / "users", authorities=True
    ) as manager:
        with manager.connect() as qm:
            qm.define_queue("SECRET")
            qm.set_role("operator", users=["op"])
            qm.set_authority("SECRET", users=["op"], add=["none"])
        kafka = kafka_of(HERE, manager)
        kafka.topics = [names.queue_topic("QM1", "SECRET")]
        monkeypatch.setenv("MQK_QMGR", manager.address)
        monkeypatch.setenv("MQK_USER", "op")
        monkeypatch.setenv("MQK_PASSWORD", "secret")
        said = mqk(*DELETE)
    assert said.status == 1
    assert said.err.startswith("mqk: no authority for QM1: ")
    assert not kafka.deleted


def test_a_topic_that_is_parked_and_one_that_is_none_of_a_queue() -> None:
    topics = queues_of(["mq.QM.q.A-1", "mq.QM.q.-Z", "mq.QM.q.B"])
    assert topics == [("mq.QM.q.A-1", ("A", 1)), ("mq.QM.q.B", ("B", 0))]
    assert examine(topics, ["there", "deleted"], {"mq.QM.q.B": "no room"}) == [
        QueueTopic("mq.QM.q.A-1", "A", 1, "there", orphaned=False, parked=False),
        QueueTopic("mq.QM.q.B", "B", 0, "deleted", orphaned=True, parked=True),
    ]


def test_a_queue_manager_in_memory_has_none(at: Mqk) -> None:
    said = at("queue", "topics")
    assert (said.status, said.err) == (
        1,
        "mqk: queue manager QM1 runs in memory: it has no topics\n",
    )


def test_deleting_goes_with_naming_which(at: Mqk) -> None:
    said = at("queue", "topics", "--delete")
    assert said.status == 2
    assert "--delete goes with --orphaned" in said.err


def test_finding_users_6_a_parked_topic_is_deleted_too_and_named_with_the_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = [
        QueueTopic("mq.QM.q.A", "A", 0, "deleted", orphaned=True, parked=False),
        QueueTopic("mq.QM.q.B", "B", 0, "deleted", orphaned=True, parked=True),
    ]
    _show(found, {"mq.QM.q.B": "no right to write"}, deleted=True, as_json=False)
    first, second = capsys.readouterr().out.splitlines()
    assert first == "2 topics of deleted queues deleted"
    assert second.startswith("mq.QM.q.B was parked (no right to write): ")
