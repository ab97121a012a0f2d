"""One queue manager's topics on a real Kafka, for tests of movers: a ledger to copy from, written
without an owner, and what a reader of committed records finds on the other side."""

import itertools
import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterable

from confluent_kafka import Consumer, IsolationLevel, KafkaError, Message, TopicPartition
from confluent_kafka import admin as kafka_admin

from adapter.core.contract import records as r
from adapter.core.contract.message import MessageData as Body
from adapter.storage.format import descriptor, entries, names, progress
from adapter.storage.format.progress import CopyProgress
from adapter.storage.ledger.kafka import KafkaLedger, LedgerSettings
from adapter.storage.movers.settings import KafkaCluster, MoverSettings
from adapter.storage.topics.admin import TopicAdmin
from adapter.storage.topics.decoder import is_no_message
from adapter.storage.topics.specs import TopicSettings, ledger_spec
from tests.support import ends

WAIT_S = 30.0
LANES = 10
PUT_TIME_MS = 1_700_000_000_000


class Copied:
    """One copy as a plain Kafka consumer sees it, its descriptor read."""

    def __init__(self, record: Message) -> None:
        headers = dict(record.headers() or [])
        header = headers[descriptor.HEADER]
        assert isinstance(header, bytes)
        value = record.value() or b""
        self.message, self.position = descriptor.decode(header, value)
        self.body = value
        self.lane = record.partition()
        self.timestamp = record.timestamp()[1]
        self.offset = record.offset()


def difference(queue: str, lane: int, found: list[bytes], written: list[bytes]) -> str:
    """Say how copies differ from what was written; the lists themselves say too much."""
    pairs = zip(found, written, strict=False)
    at = next(
        (at for at, pair in enumerate(pairs) if pair[0] != pair[1]), min(len(found), len(written))
    )
    return (
        f"{queue} lane {lane}: {len(found)} copies ({len(set(found))} different) of "
        f"{len(written)}, from {at} on {found[at : at + 3]} instead of {written[at : at + 3]}"
    )


class MoverPlace:
    """Writes a ledger, and reads what was copied from it. close() lets go of Kafka."""

    def __init__(self, bootstrap_servers: str, queue_manager: str) -> None:
        self.servers = bootstrap_servers
        self.settings = MoverSettings(
            queue_manager=queue_manager,
            source=KafkaCluster(bootstrap_servers),
            destination=KafkaCluster(bootstrap_servers),
            topics=TopicSettings.for_brokers(1),
        )
        self.admin = kafka_admin.AdminClient({"bootstrap.servers": bootstrap_servers})
        self.topics = TopicAdmin(bootstrap_servers, self.settings.topics)
        self.topics.ensure([ledger_spec(self.settings.ledger.topic)])
        self.written: dict[tuple[str, int], list[bytes]] = defaultdict(list)
        """The bodies that were put to each lane, in order."""
        self._ledger = KafkaLedger(
            LedgerSettings(bootstrap_servers=bootstrap_servers, topic=self.settings.ledger.topic)
        )
        self._durable = threading.Condition()
        self._durable_n = 0
        self._n = 0
        self._numbers = itertools.count()
        self._seqs: dict[tuple[str, int], itertools.count[int]] = defaultdict(itertools.count)
        self._ledger.on_durable = self._on_durable
        self.take_over()

    def close(self) -> None:
        self._ledger.close()

    def take_over(self) -> None:
        """As an owner does when it starts."""
        self.flush()
        self._ledger.take_over(os.urandom(16), "a test", lambda _entry: None)
        self._n = self._durable_n = 0

    def append(self, *records: r.Record) -> None:
        """Write an entry; the caller may want to flush()."""
        self._n = self._ledger.append(entries.encode(records))

    def flush(self) -> int:
        """Wait until what was appended is durable; the offset of the ledger's last record."""
        with self._durable:
            assert self._durable.wait_for(lambda: self._durable_n >= self._n, WAIT_S)
        return self.end(self.settings.ledger.topic) - 1

    def trim(self, before: int) -> None:
        """As an owner does that has written a snapshot."""
        self._ledger.trim(before)

    def define(self, *queues: str, incarnation: int = 0) -> None:
        self.append(*(r.QueueDefined(queue, incarnation, {}) for queue in queues))

    def unit(self, queues: Iterable[str], lanes: Iterable[int] = range(LANES)) -> r.UnitCommitted:
        """A unit of a message to each lane of each queue; every body is a number of its own."""
        unit = os.urandom(24)
        places = [(queue, lane) for queue in queues for lane in lanes]
        puts = [self._placed(index, len(places), *place) for index, place in enumerate(places)]
        return r.UnitCommitted(unit, len(places), puts, [], "commit", None)

    def copies(
        self, queue: str, incarnation: int = 0, *, settled: bool = True
    ) -> dict[int, list[Copied]]:
        """What a read_committed consumer finds, by lane in order of offsets.

        settled: once no transaction is open; Kafka shows a commit a moment after it is answered.
        """
        topic = self.topic(queue, incarnation)
        if settled:
            self.await_settled(topic, LANES)
        found: dict[int, list[Copied]] = {lane: [] for lane in range(LANES)}
        for record in self.read(topic):
            if is_no_message(record):
                continue
            copied = Copied(record)
            found[copied.lane or 0].append(copied)
        return found

    def check(self, *queues: str, incarnation: int = 0) -> None:
        """Every message once, each lane in order, no unit in part, nothing else."""
        for queue in queues:
            copies = self.copies(queue, incarnation)
            for lane, copied in copies.items():
                found, written = [one.body for one in copied], self.written[queue, lane]
                assert found == written, difference(queue, lane, found, written)
                assert [one.position.seq for one in copied] == list(range(len(copied)))

    def topic(self, queue: str, incarnation: int = 0) -> str:
        return names.queue_topic(self.settings.queue_manager, queue, incarnation)

    def progress(self) -> list[CopyProgress]:
        """All that the stream mover has committed."""
        self.await_settled(self.settings.progress_topic, 1)
        records = [
            record
            for record in self.read(self.settings.progress_topic)
            if not record.partition() and not progress.is_mark(record.key())
        ]
        return [progress.decode(record.value() or b"") for record in records]

    def read(self, topic: str) -> list[Message]:
        """All committed records of a topic, by partition."""
        partitions = self.admin.list_topics(topic, WAIT_S).topics[topic].partitions
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": "test",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "fetch.wait.max.ms": 20,
            }
        )
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        found: list[Message] = []
        ended: set[int | None] = set()
        deadline_s = time.monotonic() + WAIT_S
        while len(ended) < len(partitions):
            assert time.monotonic() < deadline_s, f"{topic} was not read"
            for record in consumer.consume(10_000, 0.05):
                error = record.error()
                if error is None:
                    found.append(record)
                else:
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    ended.add(record.partition())
        consumer.close()
        return found

    def await_settled(self, topic: str, partitions: int) -> None:
        """Wait until no transaction is open on a topic."""
        deadline_s = time.monotonic() + WAIT_S
        while self.is_open(topic, partitions):
            assert time.monotonic() < deadline_s, f"a transaction stays open on {topic}"

    def is_open(self, topic: str, partitions: int = LANES) -> bool:
        """Whether a transaction is open on a topic."""
        return ends.is_open(self.admin, topic, partitions)

    def end(self, topic: str, partition: int = 0) -> int:
        place = TopicPartition(topic, partition)
        return ends.ends(self.admin, [place], IsolationLevel.READ_UNCOMMITTED)[0]

    def _placed(self, index: int, size: int, queue: str, lane: int) -> r.Placed:
        body = b"%08d" % next(self._numbers)
        self.written[queue, lane].append(body)
        message = Body(
            body=body,
            message_id=os.urandom(24),
            correlation_id=bytes(24),
            group_id=bytes(24),
            priority=lane,
            persistence=1,
            put_time_ms=PUT_TIME_MS + index,
        )
        seq = next(self._seqs[queue, lane])
        return r.Placed(queue, lane, seq, 0, index, index % LANES, min(size, LANES), message)

    def _on_durable(self, n: int) -> None:
        with self._durable:
            self._durable_n = n
            self._durable.notify_all()
