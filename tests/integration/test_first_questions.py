"""A new client's first question to Kafka waits for no timer of librdkafka: of 250 ms before it
connects again, of 500 ms before a producer has its id. A start asks several, one after the other.
"""

import time
from collections.abc import Callable

import pytest

from adapter.runtime.network.kafka import KafkaTransport
from adapter.runtime.network.port import SentRecord
from adapter.storage.format.names import DIRECTORY_TOPIC
from adapter.storage.ledger.kafka import KafkaLedgerReader
from adapter.storage.movers.open_lanes import LaneEnds
from adapter.storage.movers.settings import KafkaCluster, MoverSettings
from adapter.storage.topics.admin import TopicAdmin, settings_for
from adapter.storage.topics.specs import TopicSettings, ledger_spec
from tests.support.shared_kafka import AnyKafka

TRIES = 15
"""The lower quarter counts: with a timer none is faster, and a busy machine is slow at times."""
REST_S = 0.06
"""As long as other clients need between the making of a client and its first question."""
TOPICS = TopicSettings.for_brokers(1)


def mover_settings(kafka: AnyKafka, queue_manager: str) -> MoverSettings:
    here = KafkaCluster(kafka.bootstrap_servers)
    return MoverSettings(queue_manager=queue_manager, source=here, destination=here, topics=TOPICS)


def count_brokers(kafka: AnyKafka, _queue_manager: str) -> Callable[[], object]:
    return lambda: settings_for(kafka.bootstrap_servers)


def read_ledger(kafka: AnyKafka, queue_manager: str) -> Callable[[], object]:
    """As a mover does."""
    ledger = mover_settings(kafka, queue_manager).ledger
    TopicAdmin(kafka.bootstrap_servers, TOPICS).ensure([ledger_spec(ledger.topic)])
    reader = KafkaLedgerReader(ledger)

    def read() -> None:
        reader.read(0.0)
        reader.close()

    return read


def find_open_lanes(kafka: AnyKafka, queue_manager: str) -> Callable[[], object]:
    ends = LaneEnds(mover_settings(kafka, queue_manager))
    return lambda: ends.open_lanes([DIRECTORY_TOPIC])


def write_to_the_directory(kafka: AnyKafka, queue_manager: str) -> Callable[[], object]:
    transport = KafkaTransport(kafka.bootstrap_servers, topics=TOPICS)
    transport.open_directory(DIRECTORY_TOPIC)
    record = SentRecord(None, key=f"queue-manager {queue_manager}".encode())
    writer = transport.writer()
    return lambda: writer.append(DIRECTORY_TOPIC, [record])


def find_the_directory(kafka: AnyKafka, _queue_manager: str) -> Callable[[], object]:
    transport = KafkaTransport(kafka.bootstrap_servers, topics=TOPICS)
    transport.open_directory(DIRECTORY_TOPIC)
    follower = transport.follower()
    time.sleep(REST_S)
    return lambda: follower.bounds(DIRECTORY_TOPIC)


@pytest.mark.parametrize(
    ("make", "timer_s"),
    [
        (count_brokers, 0.25),
        (read_ledger, 0.25),
        (find_open_lanes, 0.25),
        (write_to_the_directory, 0.5),
        (find_the_directory, 0.2),
    ],
)
def test_a_first_question_waits_for_no_timer(
    kafka: AnyKafka,
    unique_name: Callable[..., str],
    make: Callable[[AnyKafka, str], Callable[[], object]],
    timer_s: float,
) -> None:
    took: list[float] = []
    for _ in range(TRIES):
        ask = make(kafka, unique_name("QM"))
        began_s = time.monotonic()
        ask()
        took.append(time.monotonic() - began_s)
    assert sorted(took)[TRIES // 4] < 0.9 * timer_s, took
