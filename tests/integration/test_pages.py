"""Pages are found on a lane whose numbers have gaps: what was restored from a backup."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from adapter.core.contract.message import MessageData
from adapter.core.contract.unit_records import Placed
from adapter.storage.format import descriptor, names
from adapter.storage.topics.admin import TopicAdmin
from adapter.storage.topics.reader import SINGLE_READ_ON, KafkaPageReader
from adapter.storage.topics.specs import TopicSettings, queue_spec
from tests.support.shared_kafka import AnyKafka

WAIT_S = 20.0
LANE = 3
SEQS = [1, 7, *range(2_000, 4_500), 9_000, *range(20_000, 21_500), 90_000]
ID = bytes(24)


@pytest.fixture(scope="module")
def reader(kafka: AnyKafka) -> Iterator[KafkaPageReader]:
    """Of a lane that holds these messages and no others."""
    topic = names.queue_topic("GAPS", "Q")
    TopicAdmin(kafka.bootstrap_servers, TopicSettings.for_brokers(1)).ensure(
        [queue_spec(topic, 10)]
    )
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 5})
    for seq in SEQS:
        message = MessageData(b"%d" % seq, ID, ID, ID, persistence=1)
        header = descriptor.encode(Placed("Q", LANE, seq, 0, 0, 0, 1, message), ID, 1)
        producer.produce(topic, message.body, None, LANE, headers=[(descriptor.HEADER, header)])
    assert producer.flush(WAIT_S) == 0
    reader = KafkaPageReader("GAPS", kafka.bootstrap_servers, {})
    yield reader
    reader.close()


def read(reader: KafkaPageReader, seq: int, count: int) -> list[int]:
    return [one.seq for one in reader.read("Q", 0, LANE, seq, count).messages]


@pytest.mark.parametrize("count", [1, 20])
def test_every_message_is_found_in_whatever_order_they_are_asked_for(
    reader: KafkaPageReader, count: int
) -> None:
    asked = [90_000, 1, 4_499, 20_000, 7, 9_000, 21_499, 2_000, 20_700, 3_300, 90_000, 1]
    for seq in asked:
        at = SEQS.index(seq)
        assert read(reader, seq, count) == SEQS[at : at + count], f"from {seq} on"


def test_single_messages_that_follow_each_other_are_found(reader: KafkaPageReader) -> None:
    following = [*range(2_000, 2_000 + 3 * SINGLE_READ_ON), 90_000, 4_498, 4_499, 9_000, 90_000]
    for seq in following:
        assert read(reader, seq, 1) == [seq]


def test_nothing_is_fetched_while_the_reader_rests(reader: KafkaPageReader) -> None:
    for seq in (2_000, 90_000):  # with others behind it, and the last one
        for count in (1, 20):
            assert read(reader, seq, count)[0] == seq
        reader.rest()
        assert reader._singles._open().assignment() == reader._pages._open().assignment() == []
