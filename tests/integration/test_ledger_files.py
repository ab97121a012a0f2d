"""mqk ledger verify, backup and restore on a real Kafka, with the queue manager and its movers."""

import io
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from confluent_kafka import Producer

import adapter.testing
from adapter.cli.main import run
from adapter.format import names
from adapter.ledger.kafka_settings import LedgerSettings
from adapter.ledger.topic_copy import Whole
from adapter.localkafka import LocalKafka
from adapter.movers.thread import MoverThread
from adapter.topics import Topics, TopicSettings
from tests.support.mover_place import WAIT_S, MoverPlace


class Place:
    """A queue manager that comes and goes, the mqk command, and a folder."""

    def __init__(self, servers: str, name: str, folder: Path) -> None:
        self.servers = servers
        self.name = name
        self.file = folder / "ledger.backup"
        self.topics = Topics(servers, TopicSettings.for_brokers(1))

    @property
    def ledger(self) -> LedgerSettings:
        topic = names.ledger_topic(self.name)
        return LedgerSettings(bootstrap_servers=self.servers, topic=topic)

    def mqk(self, command: str, *arguments: object) -> tuple[int, str]:
        """Run `mqk ledger COMMAND NAME ...`; its status, and all that it says."""
        said = io.StringIO()
        words = ["ledger", command, self.name, *map(str, arguments)]
        with redirect_stdout(said), redirect_stderr(said):
            status = run([*words, "--bootstrap-server", self.servers])
        return status, " ".join(said.getvalue().split())

    def work(self, puts: list[str], gets: int = 0) -> list[bytes]:
        """Let the queue manager run: put to Q, get from it, and let all be copied."""
        running = adapter.testing.queue_manager(self.name, bootstrap_servers=self.servers)
        with running as manager, manager.connect() as qm:
            qm.define_queue("Q", replace=True)
            for body in puts:
                qm.put("Q", body)
            got = [qm.get("Q") for _ in range(gets)]
            movers = manager._movers
            assert isinstance(movers, MoverThread)
            assert movers.caught_up(Whole(self.ledger).end - 1, WAIT_S)
        return [message.body for message in got if message is not None]

    def copies(self) -> Counter[bytes]:
        """What a reader of the queue's topic finds."""
        reader = MoverPlace.__new__(MoverPlace)
        reader.servers = self.servers
        reader.admin = self.topics._admin
        topic = names.queue_topic(self.name, "Q")
        return Counter(one.value() or b"" for one in reader.read(topic))

    def lose_ledger(self) -> None:
        self.topics.delete([names.ledger_topic(self.name)])


@pytest.fixture
def place(kafka: LocalKafka, unique_name: Callable[..., str], tmp_path: Path) -> Place:
    return Place(kafka.bootstrap_servers, unique_name(), tmp_path)


def test_a_lost_ledger_comes_back_and_copying_goes_on(place: Place) -> None:
    assert place.work(["a", "b", "c"], gets=1) == [b"a"]
    status, said = place.mqk("backup", place.file)
    assert status == 0, said
    assert "1 queues, 2 messages: no anomalies" in place.mqk("verify")[1]
    assert place.mqk("verify", "--file", place.file)[0] == 0
    assert "exists already" in place.mqk("backup", place.file)[1]
    status, said = place.mqk("restore", place.file)
    assert status == 1
    assert "is not empty" in said
    place.lose_ledger()
    status, said = place.mqk("restore", place.file)
    assert status == 0, said
    assert "copying goes on where it was" in said
    assert place.work(["d"], gets=3) == [b"b", b"c", b"d"]
    assert place.copies() == Counter([b"a", b"b", b"c", b"d"])


def test_copies_of_another_state_are_noticed(place: Place) -> None:
    """What was put after the backup is lost, and may not stay on the topics."""
    place.work(["a", "b"])
    assert place.mqk("backup", place.file)[0] == 0
    place.work(["late"])
    place.lose_ledger()
    status, said = place.mqk("restore", place.file)
    assert status == 1
    assert "the stream mover had copied up to offset" in said
    assert "Give --delete-copies" in said
    status, said = place.mqk("restore", place.file, "--delete-copies")
    assert status == 0, said
    assert "all messages and events are copied to new topics" in said
    assert place.work([], gets=3) == [b"a", b"b"]
    assert place.copies() == Counter([b"a", b"b"])


def test_what_is_wrong_in_a_ledger_is_found(place: Place) -> None:
    place.work(["a"])
    topic = names.ledger_topic(place.name)
    producer = Producer({"bootstrap.servers": place.servers})
    producer.produce(topic, b"hello", partition=0)
    assert producer.flush(WAIT_S) == 0
    status, said = place.mqk("verify")
    assert status == 1
    assert "corrupt: no record of a ledger; does not count" in said
    assert "1 anomaly" in said
    assert place.mqk("backup", place.file)[0] == 0, "a copy is a copy"
    assert place.mqk("verify", "--file", place.file)[0] == 1


def test_a_backup_of_another_queue_manager_is_refused(place: Place) -> None:
    place.work(["a"])
    assert place.mqk("backup", place.file)[0] == 0
    owner = place.name
    place.name = "OTHER"
    status, said = place.mqk("restore", place.file)
    assert status == 1
    assert f"is a backup of queue manager {owner}, not of OTHER" in said
