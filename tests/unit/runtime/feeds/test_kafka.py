"""What a client of Kafka gives, as feeds take it; without a Kafka."""

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException

from adapter.runtime.feeds.kafka import KafkaFeedConsumer, KafkaFeedTopics, ShownOffsets
from adapter.runtime.feeds.port import FeedError, FeedTopic, PartitionEnd, PartitionLost
from adapter.storage.format import names
from adapter.storage.format.feeds import TopicRecord

NOWHERE = "127.0.0.1:9"


class Given:
    """A message of the client."""

    def __init__(self, error: int | None = None, **said: Any) -> None:
        self._error = None if error is None else KafkaError(error)
        self._said = said

    def error(self) -> KafkaError | None:
        return self._error

    def headers(self) -> Any:
        headers = self._said.get("headers")
        if isinstance(headers, Exception):
            raise headers
        return headers

    def timestamp(self) -> tuple[int, int]:
        return (1, self._said["time_ms"]) if "time_ms" in self._said else (0, -1)

    def __getattr__(self, name: str) -> Any:
        return lambda: self._said.get(name)


@pytest.fixture
def consumer() -> KafkaFeedConsumer:
    return KafkaFeedTopics(NOWHERE).consumer("QM1", "F", "orders")


def read(consumer: KafkaFeedConsumer, given: Given) -> object:
    return consumer._read(given)  # type: ignore[arg-type]


def test_a_record_is_read_with_all_it_has(consumer: KafkaFeedConsumer) -> None:
    headers = [("a", b"x"), ("a", None), ("b", "text")]
    given = Given(
        partition=2, offset=7, key=b"k", value=b"v", headers=headers, time_ms=1_700_000_000_000
    )
    assert read(consumer, given) == TopicRecord(
        2, 7, b"k", b"v", [("a", b"x"), ("a", None), ("b", b"text")], 1_700_000_000_000
    )


def test_a_record_without_anything(consumer: KafkaFeedConsumer) -> None:
    assert read(consumer, Given(partition=0, offset=0)) == TopicRecord(0, 0, None, None, [], -1)


def test_headers_that_the_client_cannot_read_are_not_valid(consumer: KafkaFeedConsumer) -> None:
    broken = SystemError("returned a result with an exception set")  # as confluent_kafka does
    found = read(consumer, Given(partition=0, offset=3, value=b"v", headers=broken))
    assert isinstance(found, TopicRecord)
    assert (found.headers, found.value) == (None, b"v")


def test_ends_and_what_is_lost(consumer: KafkaFeedConsumer) -> None:
    end = Given(KafkaError._PARTITION_EOF, partition=1, offset=9)
    assert read(consumer, end) == PartitionEnd(1, 9)
    for code in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
        assert read(consumer, Given(code, partition=1)) == PartitionLost(1)


@pytest.mark.parametrize(
    "code", [KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT, 30]
)  # 30: GROUP_AUTHORIZATION_FAILED, by which positions are not shown
def test_errors_of_connections_and_of_the_group_are_none_of_the_topic(
    consumer: KafkaFeedConsumer, code: int
) -> None:
    assert read(consumer, Given(code)) is None


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "may not read topic orders: allow its user"),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, "topic orders does not exist on 127.0.0.1:9: create"),
    ],
)
def test_errors_of_the_topic_say_what_to_do(
    consumer: KafkaFeedConsumer, code: int, says: str
) -> None:
    with pytest.raises(FeedError, match=says):
        read(consumer, Given(code, partition=0))


@pytest.mark.parametrize(
    "code",
    [
        KafkaError._BAD_MSG,
        KafkaError._BAD_COMPRESSION,
        KafkaError._NOT_IMPLEMENTED,
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.INVALID_MSG,
    ],
)
def test_a_record_that_cannot_be_fetched_is_named(consumer: KafkaFeedConsumer, code: int) -> None:
    with pytest.raises(FeedError, match="what partition 2 has at offset 7 cannot be fetched: "):
        read(consumer, Given(code, topic="orders", partition=2, offset=7))
    for lost in (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN):
        assert read(consumer, Given(lost, topic="orders", partition=2, offset=7)) is None


def test_what_lies_before_a_record_that_cannot_be_fetched_is_read(
    consumer: KafkaFeedConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = Given(KafkaError._BAD_MSG, topic="orders", partition=0, offset=8)
    first = Given(partition=0, offset=7, value=b"v")
    client = SimpleNamespace(poll=lambda _: first, consume=lambda *_: [bad])
    monkeypatch.setattr(consumer, "_consumer", client)
    assert [one.partition for one in consumer.read(0)] == [0]
    with pytest.raises(FeedError, match="at offset 8"):
        consumer.read(0)
    assert consumer.read(0) != []


def test_what_a_call_raises_is_an_error_of_the_feed(
    consumer: KafkaFeedConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing:
        def __getattr__(self, name: str) -> Any:
            def fail(*_: object, **__: object) -> None:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

            return fail

    monkeypatch.setattr(consumer, "_consumer", Failing())
    monkeypatch.setattr(consumer, "_admin", Failing())
    calls = (
        lambda: consumer.assign({0: 1}),
        lambda: consumer.pause(0),
        lambda: consumer.resume(0),
        lambda: consumer.read(0),
        consumer.describe,
        lambda: consumer.ends([0]),
    )
    for call in calls:
        with pytest.raises(FeedError, match="reading orders on"):
            call()
    consumer.show({0: 1})


def offsets_of(consumer: KafkaFeedConsumer, monkeypatch: pytest.MonkeyPatch, *offsets: int) -> None:
    """Let Kafka answer with these offsets, one question after another."""
    left = list(offsets)

    class Answering:
        def list_offsets(self, asked: dict[Any, Any], **_: object) -> dict[Any, Future[Any]]:
            found: dict[Any, Future[Any]] = {}
            for place in asked:
                found[place] = Future()
                found[place].set_result(SimpleNamespace(offset=left.pop(0)))
            return found

    monkeypatch.setattr(consumer, "_admin", Answering())


def test_an_offset_that_is_none_is_no_answer(
    consumer: KafkaFeedConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client gives it, and no error, if its connection is lost while it asks."""
    for ask in (consumer.first, consumer.ends, lambda some: consumer.since(some, 5)):
        offsets_of(consumer, monkeypatch, 7, OFFSET_INVALID)
        with pytest.raises(FeedError, match="asking for offsets of orders, partition 1: no answer"):
            ask([0, 1])


def test_a_topic_without_an_id_or_partitions_is_no_answer(
    consumer: KafkaFeedConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for ident, partitions in ((None, [SimpleNamespace(id=0)]), ("id", [])):
        answer: Future[Any] = Future()
        answer.set_result(SimpleNamespace(topic_id=ident, partitions=partitions))
        admin = SimpleNamespace(describe_topics=lambda *_, answer=answer, **__: {"orders": answer})
        monkeypatch.setattr(consumer, "_admin", admin)
        with pytest.raises(FeedError, match="asking for topic orders: no answer"):
            consumer.describe()


def test_partitions_without_a_leader_are_named(
    consumer: KafkaFeedConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaders = {0: SimpleNamespace(id=7), 1: None, 2: SimpleNamespace(id=-1)}
    partitions = [SimpleNamespace(id=n, leader=one) for n, one in reversed(leaders.items())]
    answer: Future[Any] = Future()
    answer.set_result(SimpleNamespace(topic_id="id", partitions=partitions))
    admin = SimpleNamespace(describe_topics=lambda *_, **__: {"orders": answer})
    monkeypatch.setattr(consumer, "_admin", admin)
    assert consumer.describe() == FeedTopic("id", (0, 1, 2), (1, 2))


def test_a_time_behind_all_records_is_the_end(
    consumer: KafkaFeedConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    offsets_of(consumer, monkeypatch, 7, -1, 9)
    assert consumer.since([0, 1], 5) == {0: 7, 1: 9}


def test_nothing_is_asked_of_no_partition(consumer: KafkaFeedConsumer) -> None:
    assert consumer.first([]) == {}


def test_settings_that_are_not_accepted_are_named() -> None:
    topics = KafkaFeedTopics(NOWHERE, {"no.such.setting": "x"})
    with pytest.raises(FeedError, match="are not accepted"):
        topics.consumer("QM1", "F", "orders")


def test_the_group_names_queue_manager_and_feed() -> None:
    assert names.feed_group("QM1", "ORDERS.IN") == "mqk-QM1-ORDERS.IN"


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (KafkaError.GROUP_AUTHORIZATION_FAILED, "Kafka denies Read on group mqk-QM1-F: grant it"),
        (KafkaError._TIMED_OUT, "_TIMED_OUT"),
    ],
)
def test_offsets_that_are_not_committed_say_why(code: int, says: str) -> None:
    shown = ShownOffsets("mqk-QM1-F")
    shown(KafkaError(code), [])
    assert says in shown.problem
    shown(None, [])
    assert not shown.problem
