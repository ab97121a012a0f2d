"""mqk ledger verify, backup and restore on a real Kafka, with the queue manager and its movers."""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import AsyncMock

import pytest
from confluent_kafka import Producer

import adapter
import adapter.testing
from adapter.cli.main import run
from adapter.runtime.owner.housekeeping import Housekeeping
from adapter.server.services.movers import NoMovers
from adapter.storage.backup import contents, restoring
from adapter.storage.backup.file import BackupLane, CopiedRecord
from adapter.storage.backup.kafka import KafkaRestoreTarget
from adapter.storage.format import names
from adapter.storage.ledger.kafka_reader import Whole
from adapter.storage.ledger.kafka_settings import LedgerSettings
from adapter.storage.ledger.port import LedgerError
from adapter.storage.movers.progress import topics_like
from adapter.storage.movers.settings import KafkaCluster, MoverSettings
from adapter.storage.movers.thread import MoverThread
from adapter.storage.topics.admin import TopicAdmin
from adapter.storage.topics.specs import TopicSettings
from adapter.testing import TestQueueManager
from tests.support.backlog import bodies, until
from tests.support.mover_place import WAIT_S, MoverPlace
from tests.support.shared_kafka import AnyKafka

UNIT = 20


class Place:
    """A queue manager that comes and goes, the mqk command, and a folder."""

    def __init__(self, servers: str, name: str, folder: Path) -> None:
        self.servers = servers
        self.name = name
        self.file = folder / "ledger.backup"
        self.topics = TopicAdmin(servers, TopicSettings.for_brokers(1))
        self.settings = MoverSettings(
            queue_manager=name,
            source=KafkaCluster(servers),
            destination=KafkaCluster(servers),
            topics=TopicSettings.for_brokers(1),
        )

    @property
    def ledger(self) -> LedgerSettings:
        return self.settings.ledger

    def mqk(self, command: str, *arguments: object) -> tuple[int, str]:
        """Run `mqk ledger COMMAND NAME ...`; its status, and all that it says."""
        said = io.StringIO()
        words = ["ledger", command, self.name, *map(str, arguments)]
        with redirect_stdout(said), redirect_stderr(said):
            status = run([*words, "--bootstrap-server", self.servers])
        return status, " ".join(said.getvalue().split())

    def done(self, command: str, *arguments: object) -> str:
        """The same, for a command that works."""
        status, said = self.mqk(command, *arguments)
        assert status == 0, said
        return said

    def refused(self, command: str, *arguments: object) -> str:
        """The same, for one that does not."""
        status, said = self.mqk(command, *arguments)
        assert status == 1, said
        return said

    @contextmanager
    def running(self) -> Iterator[tuple[TestQueueManager, adapter.Connection]]:
        """Let the queue manager run, with little in memory and many snapshots."""
        with (
            adapter.testing.queue_manager(
                self.name,
                bootstrap_servers=self.servers,
                window_messages=UNIT,
                snapshot_entries=20,
            ) as manager,
            manager.connect() as qm,
        ):
            yield manager, qm

    def copied(self, manager: TestQueueManager) -> None:
        """Wait until all that is in the ledger is on the topics."""
        movers = manager._movers
        assert isinstance(movers, MoverThread)
        assert movers.caught_up(Whole(self.ledger).end - 1, WAIT_S)

    def copies(self, queue: str = "Q") -> list[bytes]:
        """What a reader of a queue's topic finds, lane by lane in order."""
        reader = MoverPlace.__new__(MoverPlace)
        reader.servers = self.servers
        reader.admin = self.topics._admin
        found = reader.read(names.queue_topic(self.name, queue))
        return [one.value() or b"" for one in sorted(found, key=lambda one: one.partition() or 0)]

    def lose_all(self) -> None:
        """As if the cluster were another one."""
        target = KafkaRestoreTarget(self.settings)
        target.delete(target.existing())


@pytest.fixture
def place(kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path) -> Place:
    return Place(kafka.bootstrap_servers, unique_name(), tmp_path)


def drain(qm: adapter.Connection, queue: str = "Q") -> list[bytes]:
    got: list[bytes] = []
    source = qm.queue(queue)
    while True:
        with qm.unit() as unit:
            for _ in range(UNIT):
                message = source.get(unit=unit)
                if message is None:
                    return got
                got.append(message.body)


def fill(manager: TestQueueManager, qm: adapter.Connection) -> None:
    """A backlog that is paged out, with holes and a message that was returned, and a snapshot."""
    qm.define_queue("Q", max_depth=1_000_000)
    queue = qm.queue("Q")
    queue.put_many(bodies(0, 1_000), unit_size=UNIT)
    unit = qm.unit()
    unit.begin()
    assert queue.get(unit=unit) is not None
    unit.backout()
    chosen = [adapter.Message(b"%06d" % n, correlation_id=b"%024d" % n) for n in range(1000, 1600)]
    queue.put_many(chosen, unit_size=UNIT)
    for number in range(1001, 1600, 2):
        assert queue.get(correlation_id=b"%024d" % number) is not None
    before = manager.statistics()["snapshots"]
    queue.put_many(bodies(1_600, 2_300), unit_size=UNIT)
    until(lambda: manager.statistics()["snapshots"] > before)
    until(lambda: manager.statistics()["messages_in_memory"] <= 2 * UNIT)


WAITING = [*bodies(0, 1_000), *bodies(1_000, 1_600)[::2], *bodies(1_600, 2_300), b"of a unit", b""]


def test_a_trimmed_ledger_is_restored_with_all_that_waits(place: Place) -> None:
    """While it runs: pages, holes, counts and outcomes; then every message once, in order."""
    with place.running() as (manager, qm):
        fill(manager, qm)
        until(lambda: Whole(place.ledger).first > 0)
        with qm.unit() as unit:
            qm.queue("Q").put(b"of a unit", unit=unit)
            qm.queue("Q").put(b"", unit=unit)
        said = place.done("backup", place.file)
        qm.put("Q", b"of another time")
    assert "messages from before them" in said
    assert "queues, 2,002 messages: no anomalies" in place.done("verify", "--file", place.file)
    assert "exists already" in place.refused("backup", place.file)
    assert "there are topics of queue manager" in place.refused("restore", place.file)
    place.lose_all()
    said = place.done("restore", place.file)
    assert f"mqk qmgr start {place.name}" in said
    assert "2,002 messages: no anomalies" in place.done("verify")
    with place.running() as (manager, qm):
        place.copied(manager)
        assert place.copies() == WAITING
        assert qm.outcome(unit.id) == "committed"
        found = qm.queue("Q").get(correlation_id=b"%024d" % 1200)
        assert found is not None
        assert found.body == b"001200"
        first = qm.queue("Q").get()
        assert first is not None
        assert (first.body, first.backout_count) == (b"000000", 1)
        qm.put("Q", b"and on")
        rest = [body for body in WAITING[1:] if body != b"001200"]
        assert drain(qm) == [*rest, b"and on"]
        place.copied(manager)
        assert place.copies() == [*WAITING, b"and on"]
    assert "0 messages: no anomalies" in place.done("verify")


def test_a_ledger_without_a_snapshot_is_restored_from_its_beginning(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        Housekeeping, "write_last", AsyncMock()
    )  # as if there had been no time for it
    with (
        adapter.testing.queue_manager(place.name, bootstrap_servers=place.servers) as manager,
        manager.connect() as qm,
    ):
        qm.define_queue("Q")
        for body in ("a", "b", "c"):
            qm.put("Q", body)
        assert qm.get("Q") is not None
    place.done("backup", place.file)
    said = place.refused("restore", place.file)
    assert "it may run: " in said
    assert "give --delete-topics to delete them first" in said
    assert "restored from" in place.done("restore", place.file, "--delete-topics")
    with place.running() as (manager, qm):
        assert drain(qm) == [b"b", b"c"]
        place.copied(manager)
        assert place.copies() == [b"a", b"b", b"c"], "they come from the ledger"


def test_finding_reliability_d3_a_restore_keeps_what_others_have_sent(place: Place) -> None:
    """What had been received comes from the backup, and the rest from the inbound topic."""
    writer = Producer({"bootstrap.servers": place.servers})

    def send(body: str) -> None:
        topic, key, value, headers = adapter.kafka.inbound_record(
            "Q", adapter.Message(body=body), queue_manager=place.name
        )
        writer.produce(topic, value, key, headers=list(headers))
        assert not writer.flush(WAIT_S)

    def taken(qm: adapter.Connection) -> bytes:
        found = qm.get("Q", timeout=WAIT_S)
        assert found is not None
        return found.body

    with (
        adapter.testing.network(place.name, bootstrap_servers=place.servers) as (manager,),
        manager.connect() as qm,
    ):
        qm.define_queue("Q", msg_delivery_sequence="FIFO")
        send("received")
        assert taken(qm) == b"received"
        qm.put("Q", "waits")
    place.done("backup", place.file)
    send("not received")
    said = place.done("restore", place.file, "--delete-topics")
    kept = names.inbound_topic(place.name)
    assert f"kept, with the messages that others have sent: {kept}" in said
    with (
        adapter.testing.network(place.name, bootstrap_servers=place.servers) as (manager,),
        manager.connect() as qm,
    ):
        assert [taken(qm), taken(qm)] == [b"waits", b"not received"]
        assert qm.get("Q") is None


def test_what_is_on_no_topic_yet_is_in_a_backup(place: Place) -> None:
    """The snapshot of a stop holds the messages that movers which were starting had not copied."""
    with place.running() as (manager, _):
        manager.stop()
        manager._movers = NoMovers()
        manager.start()
        with manager.connect() as qm:
            qm.define_queue("Q")
            qm.put("Q", "waits")
    assert topics_like(place.settings, names.queue_topic(place.name, "Q")) == []
    place.done("backup", place.file)
    place.lose_all()
    place.done("restore", place.file)
    with place.running() as (manager, qm):
        assert drain(qm) == [b"waits"]
        place.copied(manager)
        assert place.copies() == [b"waits"]


def test_topics_of_a_queue_manager_that_runs_are_not_deleted(place: Place) -> None:
    with place.running() as (_, qm):
        qm.define_queue("Q")
        qm.put("Q", "a")
        place.done("backup", place.file)
        said = place.refused("restore", place.file, "--delete-topics")
        assert "is owned by" in said
        assert drain(qm) == [b"a"]


class Interrupted(KafkaRestoreTarget):
    """Dies when it has written so many records, or else before it takes the mark away."""

    left = 0

    def _take_mark_away(self) -> None:
        raise KeyboardInterrupt

    def copy(self, lane: BackupLane, copied: CopiedRecord) -> None:
        self._count()
        super().copy(lane, copied)

    def append(self, offset: int, value: bytes | None) -> None:
        self._count()
        super().append(offset, value)

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0:
            self._poured.flush()
            raise KeyboardInterrupt


def test_a_restore_that_was_interrupted_is_begun_again(place: Place) -> None:
    """Whenever it ends, no queue manager starts on what is there."""
    with place.running() as (manager, qm):
        qm.define_queue("Q")
        qm.queue("Q").put_many(bodies(0, 600), unit_size=UNIT)
        until(lambda: manager.statistics()["snapshots"] > 0)
    place.done("backup", place.file)
    place.lose_all()
    found = contents.examine(place.file)
    target = Interrupted(place.settings)
    for target.left in (found.messages // 2, found.messages):
        target.delete(target.existing())
        with pytest.raises(KeyboardInterrupt):
            restoring.restore(place.file, found, target, lambda: None)
        assert "a restore of this ledger was begun" in place.refused("verify")
    with pytest.raises(LedgerError, match="restore of this ledger was begun"), place.running():
        pytest.fail("it began")
    place.done("restore", place.file)
    with place.running() as (manager, qm):
        assert drain(qm) == bodies(0, 600)
        place.copied(manager)
        assert place.copies() == bodies(0, 600)


def test_a_restore_that_ended_before_its_mark_was_taken_away_can_be_begun_anew(
    place: Place,
) -> None:
    """All is there by then: only who wants to lose what may have been added since may do that."""
    with place.running() as (_, qm):
        qm.define_queue("Q")
        qm.put("Q", b"x")
        place.done("backup", place.file)
    place.lose_all()
    target = Interrupted(place.settings)
    target.left = 10**9
    with pytest.raises(KeyboardInterrupt):
        restoring.restore(place.file, contents.examine(place.file), target, lambda: None)
    assert "give --delete-topics" in place.refused("restore", place.file)
    place.done("restore", place.file, "--delete-topics")
    with place.running() as (_, qm):
        assert drain(qm) == [b"x"]


def test_a_backup_that_is_damaged_or_torn_writes_nothing(place: Place) -> None:
    with place.running() as (_, qm):
        qm.define_queue("Q")
        place.done("backup", place.file)
    place.lose_all()
    whole = place.file.read_bytes()
    place.file.write_bytes(whole[:-5])
    assert "is damaged: it is cut off: the block at byte" in place.refused("restore", place.file)
    place.file.write_bytes(whole[:-70] + b"x" + whole[-69:])
    assert "has a wrong checksum. Use another backup" in place.refused("restore", place.file)
    assert topics_like(place.settings, names.ledger_topic(place.name)) == []


def test_what_is_wrong_in_a_ledger_is_found(place: Place) -> None:
    with place.running() as (_, qm):
        qm.define_queue("Q")
    topic = names.ledger_topic(place.name)
    producer = Producer({"bootstrap.servers": place.servers})
    producer.produce(topic, b"hello", partition=0)
    assert producer.flush(WAIT_S) == 0
    said = place.refused("verify")
    assert "corrupt: not a record of a ledger; does not count" in said
    assert "1 anomaly" in said
    place.done("backup", place.file)
    assert "1 anomaly" in place.refused("verify", "--file", place.file), "a copy is a copy"
    owner, place.name = place.name, "OTHER"
    words = f"is a backup of queue manager {owner}, not of OTHER"
    assert words in place.refused("restore", place.file)
