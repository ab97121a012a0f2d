"""Messages with empty bodies: their records on Kafka are false, and are read like any other."""

from collections.abc import Callable, Iterator
from itertools import islice

import pytest

from adapter import Message, testing
from adapter import kafka as plain
from adapter.cli.main import run
from adapter.storage.format import names
from adapter.storage.topics.reader import KafkaPageReader
from adapter.testing import TestQueueManager
from tests.support.backlog import until
from tests.support.queue_topic import committed
from tests.support.shared_kafka import AnyKafka

WINDOW = 4
BODIES = [b"" if number % 3 else b"%d" % number for number in range(60)]


@pytest.fixture
def manager(kafka: AnyKafka, unique_name: Callable[..., str]) -> Iterator[TestQueueManager]:
    """A queue manager whose memory has next to nothing of a queue of messages, most of them empty.

    The first and the last message of the queue are empty, and a run of them lies in between.
    """
    with testing.queue_manager(
        unique_name(),
        bootstrap_servers=kafka.bootstrap_servers,
        window_messages=WINDOW,
        snapshot_entries=10,
    ) as one:
        with one.connect() as qm:
            qm.define_queue("Q")
            queue = qm.queue("Q")
            queue.put_many(map(Message, [b"", *BODIES]), unit_size=2)
            queue.put(b"", correlation_id=b"c" * 24)
        until(lambda: one.statistics()["messages_in_memory"] <= 2 * WINDOW)
        yield one


ALL = [b"", *BODIES, b""]


def test_they_are_paged_browsed_and_got(manager: TestQueueManager) -> None:
    manager.crash()
    manager.start()
    with manager.connect() as qm:
        queue = qm.queue("Q")
        assert [one.body for one in queue.browse()] == ALL
        found = queue.get(correlation_id=b"c" * 24)
        assert found is not None
        assert found.body == b""
        got = [one.body for one in iter(queue.get, None)]
    assert got == ALL[:-1]


def test_they_are_read_by_commands(
    manager: TestQueueManager, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    at = ["--qmgr", manager.address]
    assert run(["browse", "Q", "--json", *at]) == 0
    assert len(capsysbinary.readouterr().out.splitlines()) == len(ALL)
    assert run(["get", "Q", "--all", *at]) == 0
    assert capsysbinary.readouterr().out.splitlines() == ALL


def test_they_are_claimed_and_read_from_the_topic(
    manager: TestQueueManager, kafka: AnyKafka
) -> None:
    with manager.connect() as qm, qm.consumer("Q", "READER") as consumer:
        spans: list[int] = []
        while sum(spans[2::3]) - sum(spans[1::3]) + len(spans) // 3 < len(ALL):
            (batch,) = consumer.read(consumer.consumed, consumer.claim_batch()).batches
            spans += batch.spans
            consumer.consume(consumer.last)
        assert qm.get("Q") is None
    lane = spans[0]
    reader = KafkaPageReader(manager.name, kafka.bootstrap_servers, {})
    try:
        assert values(reader, lane, 1) == ALL
        assert values(reader, lane, 2) == ALL[1:], "the first message behind an empty one"
        assert values(reader, lane, len(ALL)) == ALL[-1:]
    finally:
        reader.close()


def values(reader: KafkaPageReader, lane: int, seq: int) -> list[bytes]:
    return [record.value() or b"" for _, record in reader.records("Q", 0, lane, seq)]


def test_they_are_decoded_by_plain_clients(manager: TestQueueManager, kafka: AnyKafka) -> None:
    topic = names.queue_topic(manager.name, "Q")
    reader = committed(kafka.bootstrap_servers, topic)
    assert [plain.decode(record).body for record in islice(reader, len(ALL))] == ALL
