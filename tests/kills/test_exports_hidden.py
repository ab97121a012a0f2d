"""Transactions of exports that Kafka leaves open, or ends with another one: what counts is shown.

Kafka drops the end of a transaction where a partition has no leader. Three brokers, and topics with
one replica, of which one partition is on the broker that fails: while it is down, a transaction is
committed or aborted.
"""

import contextlib
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from confluent_kafka import Producer, admin

from adapter.localkafka import LocalKafka
from adapter.runtime.exports.kafka import KafkaExportTopics, KafkaExportWriter
from adapter.runtime.exports.port import ExportError
from adapter.storage.format import names
from adapter.storage.format.exports import ExportedRecord, ExportProgress, origin_of
from adapter.storage.movers.errors import Doubtful
from adapter.storage.movers.settings import KafkaCluster
from adapter.storage.topics.specs import TopicSettings, TopicSpec, progress_spec
from tests.support.backlog import until
from tests.support.export_site import ExportedTopic, row_of
from tests.support.feed_site import WITHIN_S
from tests.support.shared_kafka import AnyKafka

STAYS, FAILS = 1, 2
"""Brokers, and what is on them: progress and partition 0, and partition 1."""
LOST = 1
QM = "QM1"


def create(kafka: AnyKafka, spec: TopicSpec) -> None:
    """Create a topic with one replica of each partition."""
    kinds: Any = vars(admin)
    places = [[FAILS if one == LOST else STAYS] for one in range(spec.partitions)]
    settings = {**spec.settings, "unclean.leader.election.enable": "false"}
    new = kinds["NewTopic"](spec.name, spec.partitions, replica_assignment=places, config=settings)
    client = admin.AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    client.create_topics([new])[spec.name].result(WITHIN_S)


class Writing:
    """An export's own transactions, step by step: each writes a number to both partitions."""

    def __init__(self, kafka: AnyKafka, name: str) -> None:
        self._name = name
        create(kafka, progress_spec(names.export_topic(QM, name), 1))
        create(kafka, TopicSpec(name=name, partitions=2, settings={}))
        self.topic = ExportedTopic(kafka.bootstrap_servers, name, partitions=0)
        cluster = KafkaCluster(kafka.bootstrap_servers)
        self._topics = KafkaExportTopics(cluster, TopicSettings.for_brokers(1))
        self.writer, last = self.resumed()
        assert last.number == 0
        self.writer.write(records(1), progress(1))

    def take_over(self) -> KafkaExportWriter:
        """Make another writer, which has taken nothing over yet."""
        return self._topics.writer(QM, self._name, self._name)

    def resumed(self) -> tuple[KafkaExportWriter, ExportProgress]:
        """Let a writer take over, as soon as all brokers know the topic."""
        deadline_s = time.monotonic() + WITHIN_S
        while True:
            writer = self.take_over()
            try:
                return writer, writer.resume()
            except ExportError:
                writer.close()
                assert time.monotonic() < deadline_s

    @property
    def producer(self) -> Producer:
        return self.writer._producers.current

    def begin(self, number: int) -> None:
        """Write a transaction's records, and leave it open."""
        self.producer.begin_transaction()
        self.writer._producers.open = True
        self.writer._written = {}
        for at, one in enumerate(records(number)):
            self.writer._send(at, one, origin_of(QM, self._name, number))
        assert self.producer.flush(WITHIN_S) == 0

    def commit(self, number: int) -> None:
        """Commit what is open, though a broker is gone."""
        unseen = {one: (offset, end) for one, (offset, end) in self.writer._written.items()}
        with contextlib.suppress(Doubtful):
            self.writer._end(progress(number, topic=self._name, unseen=unseen))

    def is_led(self, *, led: bool = True) -> bool:
        """Whether the partition that is lost has a leader, or has none."""
        found = self.topic._operator.list_topics(timeout=WITHIN_S).topics[self._name]
        return (found.partitions[LOST].leader >= 0) is led

    def is_open(self) -> bool:
        """Whether a transaction is open in the partition that was lost."""
        return LOST in [one.lane for one in self.writer._open.lanes()]


def records(number: int) -> list[ExportedRecord]:
    """Return two records of each partition."""
    return [
        ExportedRecord(b"%d%s" % (number, part), b"key", [("h", None)], 1000 + number, partition)
        for part in (b"a", b"b")
        for partition in range(2)
    ]


def progress(number: int, **more: Any) -> ExportProgress:
    return ExportProgress(number, "Q", 1, frozenset({(0, number, 0)}), **more)


@pytest.fixture(scope="module")
def left_open() -> Iterator[dict[str, Writing]]:
    """Exports of whose second transaction a partition has not seen the end."""
    with LocalKafka(3) as kafka:
        found = {name: Writing(kafka, name) for name in ("aborted", "committed", "twice", "both")}
        for one in found.values():
            one.begin(2)
        kafka.kill(FAILS)
        for one in found.values():
            until(partial(one.is_led, led=False))
        for name in ("committed", "twice", "both"):
            found[name].commit(2)
        found["aborted"].take_over()._producers.renew()
        kafka.start(FAILS)
        for one in found.values():
            until(one.is_led)
            until(one.is_open)
        yield found
        for one in found.values():
            one.writer.close()


@pytest.mark.parametrize(("name", "number"), [("aborted", 1), ("committed", 2)])
def test_what_counts_is_shown_once(left_open: dict[str, Writing], name: str, number: int) -> None:
    check_shown_once(left_open[name], number)


def test_what_an_aborted_transaction_took_along_is_shown_once(
    left_open: dict[str, Writing],
) -> None:
    """The third one begins behind the second one, whose end was dropped, and is aborted: its
    marker ends both."""
    one = left_open["both"]
    one.begin(3)
    one.take_over()._producers.renew()
    until(lambda: not one.is_open())
    check_shown_once(one, 2)


def test_what_is_written_again_is_shown_once_though_that_fails_at_first(
    left_open: dict[str, Writing], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = left_open["twice"]

    def fail(*_: object) -> None:
        raise ExportError("a crash")

    failing = one.take_over()
    monkeypatch.setattr(failing, "_write_again", fail)
    with pytest.raises(ExportError, match="a crash"):
        failing.resume()
    check_shown_once(one, 2)


def check_shown_once(one: Writing, number: int) -> None:
    """Let a writer go on: every record that counts is there once, in the order of its partition."""
    writer, found = one.resumed()
    assert (found.number, found.places) == (number, progress(number).places)
    writer.write(records(number + 1), progress(number + 1))
    writer.check_shown()
    wanted = [record for n in range(1, number + 2) for record in records(n)]
    read = one.topic.read(len(wanted))
    for partition in range(2):
        mine = [record for record in wanted if record.partition == partition]
        assert [record.value() for record in read if record.partition() == partition] == [
            record.value for record in mine
        ]
    for record in read:
        assert record.key() == b"key"
        assert row_of(record)[3] == [("h", None)]
        assert record.timestamp()[1] == 1000 + int((record.value() or b"")[:1])
    writer.close()
