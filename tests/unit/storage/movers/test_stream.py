"""Which topic a queue's messages go to, and when topics are made."""

from typing import Any

import pytest

from adapter.core.contract.records import EventRaised, QueueDefined, QueueDeleted
from adapter.storage.format import entries
from adapter.storage.format.chunks import CHUNK_BYTES
from adapter.storage.format.copied import Copy
from adapter.storage.format.movable import Movable
from adapter.storage.movers import stream
from adapter.storage.movers.batch import CopyBatch
from adapter.storage.movers.errors import Doubtful
from adapter.storage.movers.settings import BATCH_BYTES, KafkaCluster, MoverSettings
from adapter.storage.movers.stream import Stream
from adapter.storage.topics.specs import TopicSettings, TopicSpec

SETTINGS = MoverSettings(
    queue_manager="QM1",
    source=KafkaCluster("nowhere:9"),
    destination=KafkaCluster("nowhere:9"),
    topics=TopicSettings.for_brokers(1),
)


class NotedTopics:
    """Stands for the creation of topics."""

    def __init__(self, *_connection: object) -> None:
        self.made: list[list[str]] = []

    def ensure(self, specs: list[TopicSpec]) -> None:
        self.made.append([spec.name for spec in specs])


class NotedProducer:
    """Keeps what is produced."""

    def __init__(self) -> None:
        self.sent: list[tuple[Any, ...]] = []

        self.written: list[int] = []
        """How many were produced when all of them were waited for."""

    def produce(self, *arguments: Any) -> None:
        self.sent.append(arguments)

    def flush(self) -> None:
        self.written.append(len(self.sent))


@pytest.fixture
def cargo(monkeypatch: pytest.MonkeyPatch) -> Stream:
    monkeypatch.setattr(stream, "TopicAdmin", NotedTopics)
    return Stream(SETTINGS)


def made(cargo: Stream) -> list[list[str]]:
    topics: Any = cargo._topics
    noted: list[list[str]] = topics.made
    return noted


def topics_of(cargo: Stream, *queues: str) -> list[str]:
    producer: Any = NotedProducer()
    record: list[Movable] = [Copy(queue, 0, 7, b"d", b"body") for queue in queues]
    cargo.send(record, producer, lambda _error, _message: None, CopyBatch(set(), producer.flush))
    return [arguments[0] for arguments in producer.sent]


def test_a_copy_has_lane_time_header_and_body_as_they_are_in_the_ledger(cargo: Stream) -> None:
    producer: Any = NotedProducer()
    load = CopyBatch(set(), producer.flush)

    def report(_error: object, _message: object) -> None:
        """Nothing is delivered here."""

    record: list[Movable] = [Copy("A", 3, 7, b"d", b"body"), Copy("A", 4, 0, b"e", b"")]
    cargo.send(record, producer, report, load)
    assert producer.sent == [
        ("mq.QM1.q.A", b"body", None, 3, report, None, 7, [("mqmd", b"d")]),
        # A timestamp of 0 would be the current time for librdkafka.
        ("mq.QM1.q.A", b"", None, 4, report, None, 1, [("mqmd", b"e")]),
    ]
    assert (load.messages, load.bytes) == (2, 4)
    assert load.partitions == {("mq.QM1.q.A", 3), ("mq.QM1.q.A", 4)}


def test_a_batch_of_a_partition_is_written_before_the_next_one_begins(cargo: Stream) -> None:
    """Else librdkafka's thread does not sleep until the first one is answered."""
    producer: Any = NotedProducer()
    load = CopyBatch({("mq.QM1.q.A", lane) for lane in (3, 4, 5)}, producer.flush)
    bodies = bytes(BATCH_BYTES // 10)

    def send(count: int, lane: int, body: bytes) -> None:
        record: list[Movable] = [Copy("A", lane, 7, b"d", body)] * count
        cargo.send(record, producer, lambda _error, _message: None, load)

    send(9, 3, bodies)
    send(9, 4, bodies)
    assert producer.written == []
    send(2, 3, bodies)
    send(9, 4, bodies)
    assert producer.written == [18], "what has been written in between counts no more"
    send(1, 4, bodies)
    assert producer.written == [18, 29]
    send(3, 5, bytes(BATCH_BYTES))
    assert producer.written == [18, 29], "of long ones several batches are on their way together"


def test_a_partition_acknowledges_the_first_record_before_it_gets_a_second(cargo: Stream) -> None:
    """Else it may take the second without the first, and librdkafka takes both for written."""
    producer: Any = NotedProducer()
    known: set[tuple[str, int]] = set()
    load = CopyBatch(known, producer.flush)

    def send(*lanes: int, body: bytes = b"") -> None:
        record: list[Movable] = [Copy("A", lane, 7, b"d", body) for lane in lanes]
        cargo.send(record, producer, lambda _error, _message: None, load)

    send(3, 4)
    assert producer.written == []
    send(3, 4, 5, 3)
    assert producer.written == [2], "one flush for all that is in flight"
    send(5)
    assert producer.written == [2, 6]
    send(3, 4, 5)
    assert producer.written == [2, 6]
    assert known == {("mq.QM1.q.A", lane) for lane in (3, 4, 5)}
    send(6, body=bytes(2 * CHUNK_BYTES))
    assert producer.written == [2, 6, 11], "behind the first chunk"
    cargo.take_in([QueueDeleted("A")])
    cargo.take_in([QueueDefined("A", 1, {})])
    send(3, 3)
    assert producer.written == [2, 6, 11, 13], "an incarnation has a topic of its own"


def test_what_is_not_written_in_time_is_followed_by_nothing(cargo: Stream) -> None:
    producer: Any = NotedProducer()

    def late() -> None:
        raise Doubtful("3 records were not written in 20 s")

    record: list[Movable] = [Copy("A", 3, 7, b"d", bytes(BATCH_BYTES // 6))] * 6
    known = {("mq.QM1.q.A", 3)}
    with pytest.raises(Doubtful, match="3 records were not written in 20 s"):
        cargo.send(record, producer, lambda _error, _message: None, CopyBatch(known, late))
    assert len(producer.sent) == 5
    with pytest.raises(Doubtful):
        cargo.send(record, producer, lambda _error, _message: None, CopyBatch(set(), late))
    assert len(producer.sent) == 6, "the first one of a partition that does not know the producer"


def test_incarnations_follow_the_ledger(cargo: Stream) -> None:
    assert topics_of(cargo, "A") == ["mq.QM1.q.A"]
    cargo.take_in([QueueDeleted("A")])
    cargo.take_in([QueueDefined("A", 1, {})])
    cargo.take_in([QueueDefined("B", 0, {})])
    assert topics_of(cargo, "A", "B") == ["mq.QM1.q.A-1", "mq.QM1.q.B"]
    assert cargo.incarnations == {"A": 1}
    cargo.take_in([QueueDeleted("A")])
    assert cargo.incarnations == {}
    cargo.take_in([QueueDefined("A", 2, {})])
    assert topics_of(cargo, "A", "A") == ["mq.QM1.q.A-2"] * 2


def test_incarnations_come_from_the_progress(cargo: Stream) -> None:
    topics_of(cargo, "A")
    cargo.incarnations = {"A": 5}
    assert topics_of(cargo, "A", "B") == ["mq.QM1.q.A-5", "mq.QM1.q.B"]
    cargo.incarnations = {}
    assert topics_of(cargo, "A") == ["mq.QM1.q.A"]


def test_topics_of_queues_defined_together_are_made_together(cargo: Stream) -> None:
    cargo.take_in([QueueDefined("A", 0, {})])
    cargo.take_in([QueueDefined("B", 3, {})])
    assert made(cargo) == []
    cargo.settle()
    cargo.settle()
    assert made(cargo) == [["mq.QM1.q.A", "mq.QM1.q.B-3"]]


def test_topics_of_system_queues_are_made_when_they_are_first_written(cargo: Stream) -> None:
    copies: list[Movable] = [Copy("SYSTEM.A", 0, 7, b"d", b""), Copy("A", 0, 7, b"d", b"")]
    cargo.take_in([QueueDefined("SYSTEM.A", 0, {})])
    cargo.take_in([QueueDefined("SYSTEM.B", 2, {})])
    cargo.settle()
    assert made(cargo) == []
    assert [cargo.needs_topics(copies) for _ in range(2)] == [True, False]
    cargo.settle()
    assert cargo.needs_topics([Copy("SYSTEM.B", 0, 7, b"d", b"")])
    cargo.settle()
    assert not cargo.needs_topics(copies[1:])
    assert made(cargo) == [["mq.QM1.q.SYSTEM.A"], ["mq.QM1.q.SYSTEM.B-2"]]
    cargo.take_in([QueueDeleted("SYSTEM.A")])
    assert cargo.needs_topics(copies), "its next incarnation has another topic"
    cargo.incarnations = {}
    assert cargo.needs_topics(copies), "another term does not know what this one made"


def test_what_another_term_left_to_be_made_is_forgotten(cargo: Stream) -> None:
    """It is read again, from the progress."""
    cargo.take_in([QueueDefined("A", 0, {})])
    cargo.incarnations = {}
    cargo.settle()
    assert made(cargo) == []


def test_events_are_another_movers(cargo: Stream) -> None:
    payload = entries.encode([EventRaised("kind", "A", 1, {}), QueueDeleted("A")])
    assert cargo.read(payload) == [[], [QueueDeleted("A")]]
    assert not cargo.is_sent([QueueDeleted("A")])
    assert cargo.is_sent([Copy("A", 0, 0, b"", b"")])
