"""The events of a queue manager, as programs of the SDK read them on a real Kafka."""

import asyncio
from collections.abc import Callable, Generator, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest

import adapter
from adapter import aio, testing
from adapter.client.events import Event
from adapter.errors import InvalidTimeout, KafkaNotAvailable
from adapter.storage.topics.events import EventReader
from adapter.testing import TestQueueManager
from tests.support.shared_kafka import AnyKafka

COMES_S = 30.0


@pytest.fixture
def manager(kafka: AnyKafka, unique_name: Callable[..., str]) -> Iterator[TestQueueManager]:
    servers = kafka.bootstrap_servers
    with testing.queue_manager(unique_name("EVENTS"), bootstrap_servers=servers) as one:
        yield one


def fill(qm: adapter.Connection, name: str) -> None:
    """Let a queue be full once."""
    qm.define_queue(name, max_depth=1)
    qm.put(name, "")
    with pytest.raises(adapter.errors.QueueFull):
        qm.put(name, "one too many")


def full(events: Iterator[Event]) -> Generator[Event, None, None]:
    return (event for event in events if event.kind == "queue_full")


def test_what_there_is_and_what_comes(manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        fill(qm, "ONE")
        watched = full(qm.events(COMES_S))
        first = next(watched)
        assert (first.name, first.details) == ("ONE", {"max_depth": "1"})
        assert datetime.now(UTC) - first.time < timedelta(minutes=1)
        fill(qm, "TWO")
        assert next(watched).name == "TWO"
        watched.close()
        assert [event.name for event in full(qm.events())] == ["ONE", "TWO"]
        assert [event.name for event in islice(full(qm.events(timedelta(0))), 1)] == ["ONE"]


def test_a_queue_manager_without_events(manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        assert list(qm.events()) == []
        assert list(qm.events(0.3)) == []
        with pytest.raises(InvalidTimeout):
            qm.events(-1)


def test_one_in_memory_has_no_topic() -> None:
    with testing.queue_manager("EVENTS") as one, one.connect() as qm:
        events = qm.events()
        with pytest.raises(KafkaNotAvailable, match="EVENTS is in memory"):
            next(events)


def test_settings_of_kafka_that_are_wrong(manager: TestQueueManager) -> None:
    with manager.connect() as qm, pytest.raises(KafkaNotAvailable, match=r'"no\.such\.setting"'):
        next(qm.events(kafka_options={"no.such.setting": "1"}))


def test_a_topic_that_is_not_there(kafka: AnyKafka) -> None:
    with (
        EventReader("NOBODY", kafka.bootstrap_servers, {}) as reader,
        pytest.raises(KafkaNotAvailable, match=r"topic mq\.NOBODY\.events on .* cannot be read: "),
    ):
        next(reader.read(0))


def test_tasks_are_given_them_too(manager: TestQueueManager) -> None:
    async def watch() -> list[str]:
        async with await aio.connect(manager.address) as qm:
            await qm.define_queue("ONE", max_depth=1)
            await qm.put("ONE", "")
            with pytest.raises(adapter.errors.QueueFull):
                await qm.put("ONE", "one too many")
            watched = qm.events(COMES_S)
            found = [(await anext(watched)).kind]
            following = asyncio.ensure_future(anext(watched))
            await asyncio.sleep(0)
            following.cancel()
            await asyncio.wait([following])
            assert following.cancelled()
            return found + [event.name async for event in qm.events() if event.kind == "queue_full"]

    assert asyncio.run(watch())[-1] == "ONE"
