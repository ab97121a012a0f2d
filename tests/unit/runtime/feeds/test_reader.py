"""One feed is read: all partitions, without a gap, bounded, while the topic is the same one."""

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from adapter.core.attributes.feed import FeedAttributes
from adapter.core.contract.feeds import NOT_A_MESSAGE, FedBatch, FeedStart
from adapter.registry.values import Values
from adapter.runtime.feeds import reader as module
from adapter.runtime.feeds import schemas, undecided
from adapter.runtime.feeds.port import FeedReading, SizedBatch
from adapter.runtime.feeds.reader import FeedReader
from adapter.storage.format.feeds import TopicRecord, message_of
from tests.support.backlog import until
from tests.support.feed_topics import DisturbedFeeds, WatchedConsumer

WITHIN_S = 10.0


class Reading:
    """A reader, and what it has handed on."""

    def __init__(self, feeds: DisturbedFeeds) -> None:
        self.feeds = feeds
        self.starts: list[FeedStart] = []
        self.batches: list[FedBatch] = []
        self.sizes: list[int] = []
        self.came = threading.Condition()
        self.broke: list[str] = []
        self.reader: FeedReader | None = None

    def start(
        self,
        offsets: dict[int, int] | None = None,
        topic_id: str = "",
        begin: str = "EARLIEST",
        **attributes: Any,
    ) -> FeedReader:
        """Begin to read."""
        feed = FeedAttributes(topic="orders", queue="Q", **attributes)
        reading = FeedReading("F", 3, feed, begin, topic_id, offsets or {})
        self.reader = FeedReader("QM1", reading, self.feeds, self._deliver)
        self.reader.start(self.broke.append)
        return self.reader

    def _deliver(self, found: Sequence[FeedStart | SizedBatch]) -> None:
        with self.came:
            for one in found:
                if isinstance(one, SizedBatch):
                    self.batches.append(one.batch)
                    self.sizes.append(one.size)
                else:
                    self.starts.append(one)
            self.came.notify_all()

    def await_bodies(self, count: int) -> list[bytes]:
        """Wait until so many messages were handed on; returns all."""
        with self.came:
            assert self.came.wait_for(lambda: len(self.bodies()) >= count, WITHIN_S), self.why
        return self.bodies()

    def await_next(self, partition: int, offset: int) -> None:
        """Wait until everything before an offset was handed on."""

        def is_there() -> bool:
            return any(one.partition == partition and one.next >= offset for one in self.batches)

        with self.came:
            assert self.came.wait_for(is_there, WITHIN_S), self.why

    def bodies(self, partition: int | None = None) -> list[bytes]:
        return [
            each.message.body
            for one in self.batches
            for each in one.messages
            if partition in (None, one.partition)
        ]

    @property
    def why(self) -> str:
        assert self.reader is not None
        return self.reader.figures({}).why

    @property
    def state(self) -> str:
        assert self.reader is not None
        return self.reader.figures({}).state


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reading]:
    monkeypatch.setattr(module, "SWEEP_S", 0.05)
    feeds = DisturbedFeeds()
    feeds.topics.create("orders")
    one = Reading(feeds)
    yield one
    assert one.reader is not None
    one.reader.tell_to_stop()
    one.reader.join(WITHIN_S)
    assert not one.reader.is_alive
    assert not one.broke
    assert all(each.closed for each in feeds.consumers)


def test_it_says_where_it_begins_and_hands_on_what_is_there(at: Reading) -> None:
    at.feeds.append("orders", b"a", b"b")
    at.feeds.topics.trim("orders", 1)
    at.start()
    assert at.await_bodies(1) == [b"b"]
    assert at.starts == [FeedStart("F", 3, "id 1", {0: 1})]
    (batch,) = at.batches
    assert (batch.feed, batch.version, batch.topic_id) == ("F", 3, "id 1")
    assert (batch.partition, batch.start, batch.next) == (0, 1, 2)


def test_it_reads_on_where_the_ledger_says(at: Reading) -> None:
    at.feeds.append("orders", b"a", b"b", b"c")
    at.start({0: 2}, "id 1", begin="LATEST")
    assert at.await_bodies(1) == [b"c"]
    assert at.starts == []


@pytest.mark.parametrize(
    ("begin", "offset"), [("LATEST", 2), ("EARLIEST", 0), ("1970-01-01T00:00:01Z", 0)]
)
def test_it_begins_where_the_feed_says(at: Reading, begin: str, offset: int) -> None:
    at.feeds.append("orders", b"a", b"b")
    at.start(begin=begin)
    until(lambda: bool(at.starts))
    assert at.starts[0].offsets == {0: offset}


def test_a_time_behind_all_records_is_the_end(at: Reading) -> None:
    at.feeds.append("orders", b"a", b"b")
    at.start(begin="1970-01-01T00:01:00Z")
    until(lambda: bool(at.starts))
    assert at.starts[0].offsets == {0: 2}


def test_partitions_that_are_added_are_read_from_their_beginning(at: Reading) -> None:
    at.feeds.append("orders", b"a")
    at.start(begin="LATEST")
    until(lambda: bool(at.starts))
    at.feeds.topics.add_partitions("orders", 2)
    at.feeds.append("orders", b"b", partition=1)
    assert at.await_bodies(1) == [b"b"]
    assert at.starts[1].offsets == {1: 0}


def test_batches_follow_each_other_without_a_gap(at: Reading) -> None:
    at.start(tombstones="SKIP")
    at.feeds.append("orders", b"a", None, gap=2)
    at.feeds.append("orders", b"b", None)
    at.await_next(0, 6)
    assert at.bodies() == [b"a", b"b"]
    assert at.batches[0].start == 0
    assert [one.start for one in at.batches[1:]] == [one.next for one in at.batches[:-1]]


def test_what_is_no_record_at_the_end_is_passed(at: Reading) -> None:
    at.feeds.append("orders", b"a", gap=3)
    at.start()
    at.await_next(0, 4)
    assert at.batches[-1].messages == []


def test_batches_are_bounded(at: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH_RECORDS", 4)
    monkeypatch.setattr(module, "BATCH_BYTES", 3_000)
    at.feeds.append("orders", *(b"%d" % n for n in range(10)), bytes(10_000), b"last")
    at.start()
    assert at.await_bodies(12)[:10] == [b"%d" % n for n in range(10)]
    assert [len(one.messages) for one in at.batches] == [4, 4, 2, 1, 1]


def test_what_waits_is_bounded_of_each_partition(
    at: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HELD_BYTES", 4_000)
    monkeypatch.setattr(module, "HELD_BYTES_LEAST", 0)
    at.feeds.topics.add_partitions("orders", 2)
    reader = at.start()
    at.feeds.append("orders", bytes(3_000))
    at.await_bodies(1)
    consumer = at.feeds.consumers[-1]
    until(lambda: consumer.paused == {0})
    at.feeds.append("orders", b"waits")
    at.feeds.append("orders", b"goes on", partition=1)
    assert at.await_bodies(2)[1] == b"goes on"
    assert reader.figures({}).held_bytes == sum(at.sizes)
    reader.note_taken(0, at.sizes[0])
    assert at.await_bodies(3)[2] == b"waits"


def test_what_waits_is_bounded_of_a_partition_that_had_no_leader_at_first(
    at: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not assigned cannot be paused: it is when it has a leader again."""
    monkeypatch.setattr(module, "HELD_BYTES", 4_000)
    monkeypatch.setattr(module, "HELD_BYTES_LEAST", 0)
    monkeypatch.setattr(module, "PAUSES_S", (0.01,))
    at.feeds.topics.add_partitions("orders", 2)
    reader = at.start()
    at.feeds.append("orders", bytes(5_000))
    at.await_bodies(1)
    with at.feeds.disturbed.lock:  # the connection breaks, and its leader is away
        at.feeds.leaderless = {0}
        at.feeds.disturbed.failure = "Kafka is away"
    until(lambda: at.state == "retrying")
    at.feeds.disturbed.failure = ""
    at.feeds.append("orders", b"1", partition=1)
    at.await_bodies(2)
    at.feeds.append("orders", *(bytes(1_000) for _ in range(20)))
    at.feeds.leaderless = set()
    until(lambda: at.why == "")
    at.feeds.append("orders", b"2", partition=1)
    at.await_bodies(3)
    until(lambda: at.feeds.consumers[-1].paused == {0})
    assert [len(one) for one in at.bodies(0)] == [5_000]
    assert reader.figures({}).held_bytes == sum(at.sizes)
    reader.note_taken(0, at.sizes[0])
    assert len(at.await_bodies(23)) == 23


def test_what_fails_is_tried_again_where_it_was(
    at: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAUSES_S", (0.01,))
    at.feeds.append("orders", b"a")
    reader = at.start()
    at.await_bodies(1)
    at.feeds.disturbed.failure = "Kafka is away"
    at.feeds.append("orders", b"b")
    until(lambda: at.state == "retrying")
    assert at.why == "Kafka is away"
    at.feeds.disturbed.failure = ""
    assert at.await_bodies(2) == [b"a", b"b"]
    until(lambda: at.state == "running")
    assert at.why == ""
    assert len(at.starts) == 1
    assert reader.figures({}).failures >= 1


def test_a_topic_that_is_not_there_is_awaited(at: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSES_S", (0.01,))
    at.feeds.topics.delete("orders")
    at.start()
    until(lambda: at.state == "retrying")
    assert at.why == "topic orders does not exist: create it, or delete the feed"
    at.feeds.topics.create("orders")
    at.feeds.append("orders", b"a")
    assert at.await_bodies(1) == [b"a"]


def test_records_of_a_topic_that_was_made_again_are_never_handed_on(at: Reading) -> None:
    at.feeds.append("orders", b"a", b"b")
    at.start()
    at.await_next(0, 2)
    with at.feeds.disturbed.lock:
        at.feeds.topics.create("orders")
        at.feeds.append("orders", b"new 0", b"new 1", b"new 2")
    until(lambda: at.state == "stopped")
    assert at.why.startswith("topic orders was deleted and made again")
    assert "`mqk feed seek F EARLIEST`" in at.why
    assert at.bodies() == [b"a", b"b"]


def test_a_topic_that_was_made_again_before_is_not_read(at: Reading) -> None:
    at.feeds.append("orders", b"a", b"b")
    at.start({0: 1}, "another id")
    until(lambda: at.state == "stopped")
    assert at.bodies() == []


def test_a_topic_that_is_made_again_between_two_questions_is_said_to_be(
    at: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not that Kafka has lost records: what is said to go on would pass over all of the new one."""
    first = WatchedConsumer.first

    def make_again(consumer: WatchedConsumer, partitions: Sequence[int]) -> dict[int, int]:
        if at.feeds.topics.extent("orders").ident == "id 1":
            at.feeds.topics.delete("orders")
            at.feeds.topics.create("orders")
        return first(consumer, partitions)

    at.feeds.append("orders", b"a", b"b")
    monkeypatch.setattr(WatchedConsumer, "first", make_again)
    at.start({0: 2}, "id 1")
    until(lambda: at.state == "stopped")
    assert at.why.startswith("topic orders was deleted and made again")
    assert "`mqk feed seek F EARLIEST`" in at.why


def test_records_that_were_deleted_before_they_were_read(at: Reading) -> None:
    at.feeds.append("orders", b"a", b"b", b"c")
    at.feeds.topics.trim("orders", 2)
    at.start({0: 1}, "id 1")
    until(lambda: at.state == "stopped")
    assert at.why == (
        "records 1 to 1 of partition 0 of topic orders were deleted before they were read: "
        "`mqk feed seek F 0:2` goes on behind them"
    )
    assert at.bodies() == []


def test_records_that_were_deleted_while_it_reads(
    at: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HELD_BYTES", 0)
    monkeypatch.setattr(module, "HELD_BYTES_LEAST", 0)
    reader = at.start()
    at.feeds.append("orders", b"a")
    at.await_bodies(1)
    until(lambda: at.feeds.consumers[-1].paused == {0})
    at.feeds.append("orders", b"b", b"c")
    at.feeds.topics.trim("orders", 2)
    reader.note_taken(0, at.sizes[0])
    until(lambda: at.state == "stopped")
    assert at.why.startswith("records 1 to 1 of partition 0")


def test_one_sentence_has_all_partitions_that_were_overtaken(at: Reading) -> None:
    at.feeds.topics.add_partitions("orders", 6)
    for n in range(6):
        at.feeds.append("orders", b"a", b"b", b"c", partition=n)
        at.feeds.topics.trim("orders", 2, n)
    at.start({0: 2, 1: 0, 2: 1, 3: 0, 4: 1, 5: 0}, "id 1")
    until(lambda: at.state == "stopped")
    assert at.why == (
        "records 0 to 1 of partition 1, records 1 to 1 of partition 2, records 0 to 1 of partition "
        "3, and records of 2 more partitions of topic orders were deleted before they were read: "
        "`mqk feed seek F 1:2,2:2,3:2,4:2,5:2` goes on behind them"
    )
    assert at.bodies() == []


def test_a_topic_that_has_lost_records(at: Reading) -> None:
    at.feeds.append("orders", b"a")
    at.start({0: 5}, "id 1")
    until(lambda: at.state == "stopped")
    assert at.why == (
        "topic orders: partition 0 ends at offset 1, and is to be read from 5 on. Kafka has lost "
        "records, or the feed was told to read from too far: `mqk feed seek F 0:1` goes on at the "
        "end"
    )


def test_positions_are_shown_and_the_lag_is_known(at: Reading) -> None:
    reader = at.start()
    at.feeds.append("orders", b"a", b"b", b"c")
    at.await_bodies(3)
    reader.show({0: 1})
    until(lambda: at.feeds.shown.get("F") == {0: 1})
    until(lambda: reader.figures({0: 1}).ends == {0: 3})
    found = reader.figures({0: 1})
    assert (found.lag, found.records, found.topic, found.queue) == (2, 3, "orders", "Q")


def test_positions_that_are_not_shown_are_reported_and_shown_later(at: Reading) -> None:
    at.feeds.not_shown = "Kafka denies Read on group G"
    reader = at.start()
    at.feeds.append("orders", b"a")
    at.await_bodies(1)
    reader.show({0: 1})
    until(lambda: at.why == "its positions are not shown: Kafka denies Read on group G")
    assert at.state == "running"
    at.feeds.not_shown = ""
    until(lambda: at.feeds.shown.get("F") == {0: 1})
    until(lambda: at.why == "")


ORDER = {"type": "record", "name": "Order", "fields": [{"name": "number", "type": "int"}]}


def encode(feeds: DisturbedFeeds, number: int) -> bytes:
    """Write an order, in the frame that names its schema."""
    values = Values(feeds.registry)
    return values.encode({"number": number}, ORDER, "orders-value", register=True)


def test_values_are_decoded(at: Reading) -> None:
    at.feeds.append("orders", encode(at.feeds, 7), b"text", None, encode(at.feeds, 8))
    at.start(value="AVROJSON", fields="number", tombstones="EMPTY")
    assert at.await_bodies(4) == [b'{"number":7}', b"text", b"", b'{"number":8}']
    (batch,) = at.batches
    properties = [one.message.properties or {} for one in batch.messages]
    assert [one.get("number") for one in properties] == [7, None, None, 8]
    assert properties[0]["KafkaSchema"] == 1
    assert [one.code for one in batch.messages] == [0, NOT_A_MESSAGE, 0, 0]
    assert "it begins with 74657874" in batch.messages[1].why
    assert properties[1]["KafkaReason"] == batch.messages[1].why


def test_nothing_is_handed_on_while_the_registry_does_not_answer(
    at: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAUSES_S", (0.01,))
    monkeypatch.setattr(module, "UNDECIDED_S", 0.05)
    at.feeds.registry_failure = "the registry does not answer"
    at.feeds.append("orders", encode(at.feeds, 7), encode(at.feeds, 8))
    reader = at.start(value="AVRO")
    until(lambda: reader.figures({}).failures > 20)
    assert (at.state, at.why) == ("retrying", "the registry does not answer")
    assert len(at.feeds.consumers) > 1, "another consumer reads after a time"
    assert not at.batches
    at.feeds.registry_failure = ""
    at.await_bodies(2)
    until(lambda: at.state == "running")
    assert [(one.start, one.next) for one in at.batches] == [(0, 2)]


def test_a_partition_with_unknown_schemas_holds_up_no_other(
    at: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who may write to one partition can let that one wait, for some seconds a time."""
    monkeypatch.setattr(undecided, "AGAIN_S", (0.01,))
    monkeypatch.setattr(schemas, "SETTLE_S", 1_000.0)
    at.feeds.topics.add_partitions("orders", 2)
    unknown = [b"\x00" + number.to_bytes(4, "big") + b"\x02" for number in range(1_000, 1_020)]
    at.feeds.append("orders", encode(at.feeds, 1), *unknown)
    at.start(value="AVRO")
    for number in range(5):
        at.feeds.append("orders", encode(at.feeds, number), partition=1)
        at.await_next(1, number + 1)
    until(lambda: at.feeds.consumers[-1].paused == {0})
    assert at.state == "retrying"
    assert "is not registered yet" in at.why
    assert at.bodies(0) == []
    monkeypatch.setattr(schemas, "SETTLE_S", 0.0)
    at.await_next(0, 21)
    assert [one.code for batch in at.batches for one in batch.messages if one.code] == (
        [NOT_A_MESSAGE] * 20
    )
    until(lambda: at.state == "running")
    at.feeds.append("orders", encode(at.feeds, 9))
    at.await_next(0, 22)


def test_a_reader_that_waits_for_the_registry_can_be_stopped(at: Reading) -> None:
    at.feeds.registry_failure = "the registry does not answer"
    at.feeds.append("orders", encode(at.feeds, 7))
    reader = at.start(value="AVRO")
    until(lambda: at.state == "retrying")
    reader.tell_to_stop()
    reader.join(WITHIN_S)
    assert not reader.is_alive
    assert not at.batches


def test_what_a_value_has_grown_to_counts(at: Reading) -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "n" * 5_000, "type": "null"}]}
    values = Values(at.feeds.registry)
    value = values.encode({"n" * 5_000: None}, schema, "orders-value", register=True)
    at.feeds.append("orders", value)
    at.start(value="AVROJSON")
    assert len(at.await_bodies(1)[0]) > 5_000
    assert at.sizes[0] > 5_000


def test_a_record_that_fails_whatever_way_is_a_dead_letter_and_others_are_read(
    at: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value of a foreign program may meet a bug of ours, or cost all memory."""
    made = message_of

    def failing(record: TopicRecord, *others: Any) -> Any:
        if record.value == b"bad":
            raise MemoryError
        return made(record, *others)

    monkeypatch.setattr(module, "message_of", failing)
    at.feeds.append("orders", b"a", b"bad", b"c")
    at.start()
    assert at.await_bodies(3) == [b"a", b"bad", b"c"]
    dead = [one for batch in at.batches for one in batch.messages if one.code]
    assert [(one.offset, one.why) for one in dead] == [
        (1, "no message can be made of it: MemoryError()")
    ]


def test_a_partition_without_a_leader_keeps_no_other_from_being_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "SWEEP_S", 0.05)
    feeds = DisturbedFeeds()
    feeds.topics.create("orders", 2)
    feeds.append("orders", b"a", partition=0)
    feeds.append("orders", b"b", partition=1)
    feeds.leaderless = {1}
    at = Reading(feeds)
    at.start({0: 0, 1: 0}, "id 1")
    try:
        assert at.await_bodies(1) == [b"a"]
        until(lambda: "partition 1 of topic orders has no leader" in at.why)
        assert at.state == "retrying"
        feeds.append("orders", b"c", partition=0)
        assert at.await_bodies(2) == [b"a", b"c"]
        feeds.leaderless = set()
        assert at.await_bodies(3) == [b"a", b"c", b"b"]
        until(lambda: at.why == "")
    finally:
        assert at.reader is not None
        at.reader.tell_to_stop()
        at.reader.join(WITHIN_S)


def test_a_feed_begins_when_all_partitions_have_leaders(at: Reading) -> None:
    """Where a partition begins, its leader says."""
    at.feeds.append("orders", b"a")
    at.feeds.leaderless = {0}
    at.start(begin="LATEST")
    until(lambda: "partition 0 of topic orders has no leader" in at.why)
    assert at.starts == []
    at.feeds.leaderless = set()
    until(lambda: bool(at.starts))
