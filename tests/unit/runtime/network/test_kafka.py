"""What the sender to other queue managers asks of its Kafka client."""

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from adapter.host.logs import LogSettings
from adapter.runtime.network import kafka
from adapter.runtime.network.collecting import INCOMPLETE_S
from adapter.runtime.network.kafka import KafkaTopicWriter, KafkaTransport
from adapter.runtime.network.port import NetworkError, SentRecord
from adapter.server.services.kafka_wiring import KafkaSettings, Wired
from adapter.storage.ledger.failures import OF_CONNECTIONS
from adapter.storage.ledger.seals import NO_KEYS
from adapter.storage.topics.specs import TopicSettings


def test_a_writer_has_one_batch_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a partition that is new to it may take the second one without the first."""
    made: list[dict[str, Any]] = []
    monkeypatch.setattr(kafka, "Producer", made.append)
    KafkaTopicWriter("nowhere:9", {"max.in.flight.requests.per.connection": 5})
    assert made[0]["max.in.flight.requests.per.connection"] == 1


def test_a_topic_that_the_broker_does_not_know_yet_is_a_failure_that_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As the ledger's topic, when a queue manager that is new enters itself in the directory."""
    known: dict[str, str] = {}
    asked = SimpleNamespace(identities=lambda _names, _right: known)
    monkeypatch.setattr(KafkaTransport, "_admin", lambda _: asked)
    kafka_settings = KafkaSettings(bootstrap_servers="nowhere:9")
    topics = TopicSettings.for_brokers(3)
    link = Wired("QM1", kafka_settings, topics, LogSettings(), NO_KEYS).network()
    with pytest.raises(NetworkError, match="is not known"):
        link.ident()
    known["mq.QM1.ledger"] = "id"
    assert link.ident() == "id"


class Given:
    """A consumer that is given one message, or error."""

    def __init__(self, topic: str | None, offset: int, error: int) -> None:
        self._answers: list[Any] = [
            SimpleNamespace(
                topic=lambda: topic, offset=lambda: offset, error=lambda: KafkaError(error)
            )
        ]
        self.left: list[str] = []

    def incremental_assign(self, _places: object) -> None: ...

    def incremental_unassign(self, places: list[Any]) -> None:
        self.left += [one.topic for one in places]

    def poll(self, _timeout_s: float) -> Any:
        return self._answers.pop() if self._answers else None

    def consume(self, _most: int, _timeout_s: float) -> list[Any]:
        return []


def told(topic: str | None, error: int, followed: str = "mq.QM1.in") -> list[Any]:
    """Return what a follower says of an error that Kafka's client gives it."""
    follower = kafka.KafkaFollower("k:9092", {})
    vars(follower)["_consumer"] = given = Given(topic, 7, error)
    follower.follow(followed, 0)
    found = follower.read(0.1)
    assert given.left == ([followed] if found else [])
    return found


@pytest.mark.parametrize(
    "error",
    [
        KafkaError._BAD_MSG,
        KafkaError._BAD_COMPRESSION,
        KafkaError._NOT_IMPLEMENTED,
        KafkaError._UNDERFLOW,
        KafkaError.INVALID_MSG,
        KafkaError.INVALID_RECORD,
        KafkaError.UNKNOWN,
    ],
)
@pytest.mark.parametrize(
    ("topic", "remedy"),
    [
        ("mq.QM1.in", "delete its records before offset 8 (kafka-delete-records.sh), and send"),
        ("mq.QM1.in.QM2", "delete its records before offset 8 (kafka-delete-records.sh), and send"),
        ("mq.directory", "delete the topic: it is made and written again"),
    ],
)
def test_what_cannot_be_fetched_is_said_with_its_place_and_what_to_do(
    topic: str, remedy: str, error: int
) -> None:
    (lost,) = told(topic, error, topic)
    assert lost.is_there
    assert lost.why.startswith(f"what {topic} has at offset 7 cannot be fetched: ")
    assert f"; if it stays so, {remedy}" in lost.why


@pytest.mark.parametrize("error", sorted(OF_CONNECTIONS))
def test_an_error_of_a_connection_loses_no_topic(error: int) -> None:
    assert told("mq.QM1.in", error) == told(None, error) == []


def test_a_topic_that_is_gone_is_lost_and_one_that_may_not_be_read_is_there() -> None:
    (gone,) = told("mq.QM1.in", KafkaError.UNKNOWN_TOPIC_OR_PART)
    (denied,) = told("mq.QM1.in", KafkaError.TOPIC_AUTHORIZATION_FAILED)
    assert not gone.is_there
    assert denied.is_there


class Remembers:
    """A consumer that was told of a partition without a leader, and says so until it asks again."""

    def __init__(self, _settings: object) -> None:
        self._has_leader = False

    def list_topics(self, _topic: str, _timeout_s: float) -> None:
        self._has_leader = True

    def get_watermark_offsets(self, *_: object) -> tuple[int, int]:
        if not self._has_leader:
            raise KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION))
        return 4, 7


def test_a_topic_that_had_no_leader_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "Consumer", Remembers)
    assert kafka.KafkaFollower("k:9092", {}).bounds("mq.QM1.in.QM2") == (4, 7)


class Acknowledges:
    """A producer whose records are all acknowledged, after so many seconds."""

    def __init__(self, clock: list[float], takes_s: float) -> None:
        self._clock, self._takes_s = clock, takes_s

    def produce(self, *_: object, **__: object) -> None:
        pass

    def __len__(self) -> int:
        return 0

    def poll(self, _timeout_s: float) -> int:
        return 0

    def flush(self, _timeout_s: float) -> int:
        self._clock[0] += self._takes_s
        return 0


@pytest.mark.parametrize("takes_s", [1.0, 31.0, 600.0])
def test_a_unit_that_was_written_too_slowly_is_sent_again(
    takes_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process was stopped meanwhile: the destination waits for a unit for a minute."""
    clock = [0.0]
    monkeypatch.setattr(kafka, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(kafka, "Producer", lambda _settings: Acknowledges(clock, takes_s))
    writer = KafkaTopicWriter("nowhere:9", {})
    records = [SentRecord(b"1"), SentRecord(b"2")]
    if takes_s < INCOMPLETE_S / 2:
        writer.append("topic", records)
        return
    with pytest.raises(NetworkError, match="took so long"):
        writer.append("topic", records)
