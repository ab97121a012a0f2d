"""Clients of Kafka that are closed are gone at once, and not at some garbage collection.

Each holds one of the 1,024 thread keys of a process: an owner that takes its ledger over again and
again would find none left.
"""

import gc
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, Producer

from adapter.storage.ledger.kafka import LedgerWriter
from adapter.storage.ledger.kafka_reader import LedgerSource
from adapter.storage.ledger.kafka_ready import OwnerProducer
from adapter.storage.ledger.kafka_settings import LedgerSettings
from adapter.storage.movers.progress import Committed
from adapter.storage.movers.settings import KafkaCluster, MoverSettings
from adapter.storage.topics.specs import TopicSettings
from tests.support.examples import examples

COUNT = examples(1_100)
NOWHERE = "127.0.0.1:1"
LEDGER = LedgerSettings(bootstrap_servers=NOWHERE, topic="mq.QM1.ledger")
MOVERS = MoverSettings(
    queue_manager="QM1",
    source=KafkaCluster(NOWHERE),
    destination=KafkaCluster(NOWHERE),
    topics=TopicSettings.for_brokers(1),
)


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def read_ledger() -> None:
    with LedgerSource(LEDGER):
        pass


def read_progress() -> None:
    with Committed(MOVERS):
        pass


def write_ledger() -> None:
    """A term that ends with an entry in flight, as one in doubt does."""
    writer = LedgerWriter(LEDGER, bytes(16), OwnerProducer(LEDGER))
    writer.start(0, lambda _n: None, lambda _why: None)
    writer.append(b"x")
    writer.stop()


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("use", [read_ledger, read_progress, write_ledger])
def test_clients_that_are_closed_are_gone(use: Callable[[], None]) -> None:
    before = clients()
    for _ in range(COUNT):
        use()
    assert clients() <= before


def clients() -> int:
    """How many there are, of other tests too."""
    return sum(isinstance(one, Consumer | Producer | LedgerWriter) for one in gc.get_objects())
