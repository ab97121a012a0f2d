"""Lanes in which Kafka leaves a transaction open: what counts is shown once, the rest is not.

Kafka drops the end of a transaction where a partition has no leader. Three brokers, and lanes with
one replica on one of them: while that broker is down, transactions are committed and aborted.
"""

import contextlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from confluent_kafka import Producer, admin

from adapter.localkafka import LocalKafka
from adapter.storage.format import names, progress
from adapter.storage.format.progress import CopyProgress
from adapter.storage.ledger.kafka_reader import KafkaLedgerReader
from adapter.storage.ledger.port import Entry
from adapter.storage.movers.errors import Doubtful
from adapter.storage.movers.settings import PARTITIONS
from adapter.storage.movers.stream import Stream
from adapter.storage.movers.thread import MoverThread
from adapter.storage.movers.transactions import AlternatingProducers, of_mover
from adapter.storage.movers.writer import CopyWriter
from adapter.storage.topics.reader import KafkaPageReader
from adapter.storage.topics.specs import TopicSpec, ledger_spec, progress_spec, queue_spec
from tests.support.backlog import until
from tests.support.mover_place import LANES, WAIT_S, MoverPlace
from tests.support.shared_kafka import AnyKafka

STAYS, FAILS = 1, 2
"""Brokers: one with ledger, progress and half of the lanes; and one with the other lanes."""
LOST = range(LANES // 2, LANES)
"""The lanes of the broker that fails."""


def create(kafka: AnyKafka, spec: TopicSpec, lost: range = range(0)) -> None:
    """Create a topic with one replica; lost: the partitions of the broker that fails."""
    kinds: Any = vars(admin)
    places = [[FAILS if one in lost else STAYS] for one in range(spec.partitions)]
    settings = {**spec.settings, "unclean.leader.election.enable": "false"}
    new = kinds["NewTopic"](spec.name, spec.partitions, replica_assignment=places, config=settings)
    client = admin.AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    (done,) = client.create_topics([new]).values()
    done.result(WAIT_S)


class Writing:
    """A mover's own transactions on a queue manager's topics, step by step."""

    def __init__(self, kafka: AnyKafka, name: str) -> None:
        create(kafka, ledger_spec(names.ledger_topic(name)))
        lost = range(len(PARTITIONS)) if name == "PROGRESS" else range(0)
        create(kafka, progress_spec(names.progress_topic(name), len(PARTITIONS)), lost)
        create(kafka, queue_spec(names.queue_topic(name, "A"), LANES), LOST)
        self.servers = kafka.bootstrap_servers
        self.place = MoverPlace(self.servers, name)
        self.place.define("A")
        for _ in range(3):
            self.place.append(self.place.unit(["A"]))
            self.place.flush()
        self._stream = Stream(self.place.settings)
        self._writer = CopyWriter(self.place.settings, self._stream, lambda: None)
        self._writer.producers.renew()
        self._writer.mark()
        reader = KafkaLedgerReader(self.place.settings.ledger)
        self.entries: list[Entry] = []
        until(lambda: len(self.entries) == 4, lambda: self.entries.extend(reader.read(1.0)))
        reader.close()

    @property
    def topic(self) -> str:
        return self.place.topic("A")

    def producer(self, turn: int) -> Producer:
        return self._writer.producers._producers[turn]

    def copy(self, entry: Entry, turn: int = 0) -> None:
        """Write an entry's copies in a transaction that stays open."""
        if turn:
            self.producer(turn).begin_transaction()
            self._writer._producer = self.producer(turn)
        for record in self._stream.read(entry.payload):
            self._writer.send(record)
        assert not self.producer(turn).flush(WAIT_S)
        self._writer._producer = self.producer(0)

    def write_progress(self, entry: Entry) -> None:
        """Write the progress up to an entry, as the last step before a commit."""
        self._writer.at = CopyProgress(entry.offset, entry.owner, entry.n)
        value = progress.encode(self._writer.at)
        self._writer._produce_progress(value, "stream")
        assert not self.producer(0).flush(WAIT_S)

    def commit(self, entry: Entry) -> None:
        """Commit the transaction of the first producer, with the progress up to an entry."""
        at = self._writer.at
        at.offset, at.owner, at.n = entry.offset, entry.owner, entry.n
        with contextlib.suppress(Doubtful):  # because a broker is gone
            self._writer.commit()

    def is_led(self, *, led: bool = True) -> bool:
        """Whether the lanes of the broker that fails have a leader, or have none."""
        found = self.place.admin.list_topics(self.topic, WAIT_S).topics[self.topic]
        return all((found.partitions[lane].leader >= 0) is led for lane in LOST)

    def succeed(self) -> None:
        """Take the transactional ids over, as the next mover does: what is open is aborted."""
        successor = AlternatingProducers(of_mover(self.place.settings, "stream"))
        successor.renew()
        successor.close()

    def move(self, units: int) -> None:
        """Let movers copy what is left, and then units in a transaction each."""
        movers = MoverThread(self.place.settings)
        movers.start()
        try:
            assert movers.caught_up(self.place.flush(), WAIT_S), movers.failure()
            for _ in range(units):
                self.place.append(self.place.unit(["A"]))
                assert movers.caught_up(self.place.flush(), WAIT_S), movers.failure()
        finally:
            movers.stop()


@pytest.fixture(scope="module")
def left_open() -> Iterator[dict[str, Writing]]:
    """Queue managers whose lanes were left with a transaction open, by what became of it."""
    with LocalKafka(3) as kafka:
        names_of = ("aborted", "committed", "both", "progress")
        found = {name: Writing(kafka, name.upper()) for name in names_of}
        found["aborted"].copy(found["aborted"].entries[1])
        for entry in found["committed"].entries[1:]:
            found["committed"].copy(entry)
        found["both"].copy(found["both"].entries[1])
        found["both"].copy(found["both"].entries[2], turn=1)
        found["progress"].copy(found["progress"].entries[1])
        found["progress"].write_progress(found["progress"].entries[1])
        kafka.kill(FAILS)
        for one in found.values():
            until(partial(one.is_led, led=False))
        found["committed"].commit(found["committed"].entries[-1])
        found["both"].commit(found["both"].entries[1])
        for one in found.values():
            one.succeed()
        kafka.start(FAILS)
        for one in found.values():
            until(one.is_led)
            assert one.place.is_open(one.topic), "Kafka was to leave lanes open"
        yield found
        for one in found.values():
            one.place.close()


def test_finding_reliability_d1_a_progress_left_open_counts_only_with_its_copies(
    left_open: dict[str, Writing],
) -> None:
    """Its transaction was aborted, which half of the lanes know, and the progress does not."""
    one = left_open["progress"]
    assert one.place.is_open(one.place.settings.progress_topic, len(PARTITIONS))
    check_shown_once(one)


@pytest.mark.parametrize("ended", ["aborted", "committed", "both"])
def test_what_counts_is_shown_once(left_open: dict[str, Writing], ended: str) -> None:
    check_shown_once(left_open[ended])


def check_shown_once(one: Writing) -> None:
    """Let movers go on; every message is on its lane once."""
    one.move(units=0)
    one.place.check("A")
    one.move(units=4)  # by each producer, in each lane
    one.place.check("A")
    with contextlib.closing(
        KafkaPageReader(one.place.settings.queue_manager, one.servers, {})
    ) as pages:
        for lane in range(LANES):
            page = pages.read("A", 0, lane, 0, 100)
            assert [found.message.body for found in page.messages] == one.place.written["A", lane]
            assert pages.read("A", 0, lane, 6, 1).messages[0].seq == 6
