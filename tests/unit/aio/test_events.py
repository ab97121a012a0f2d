"""Events read by a thread, for tasks. A real Kafka: tests/integration/test_events.py."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Self

import pytest

import adapter
from adapter import errors as e
from adapter.connection.channel import books
from adapter.core.contract.records import EventRaised
from adapter.storage.topics import events
from tests.support.loopback import Loopback


class ScriptedReader:
    """Reads two events, and then waits for its end. The last one made is `made`."""

    made: "ScriptedReader"

    def __init__(self, *_place: object) -> None:
        ScriptedReader.made = self
        self.closed = threading.Event()
        self.threads: set[int] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_problem: object) -> None:
        self.threads.add(threading.get_ident())
        self.closed.set()

    def read(self, wait_ms: int, is_ended: Callable[[], bool]) -> Iterator[EventRaised]:
        for name in ("ONE", "TWO"):
            self.threads.add(threading.get_ident())
            yield EventRaised("queue_full", name, 7, {})
        while wait_ms and not is_ended():
            time.sleep(0.01)


@pytest.fixture(autouse=True)
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "EventReader", ScriptedReader)
    monkeypatch.setattr(books.ChannelBooks, "kafka", "127.0.0.1:9")


async def test_they_come_from_one_other_thread(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        found = [event async for event in qm.events()]
        assert [(event.name, event.kind, event.time_ms) for event in found] == [
            ("ONE", "queue_full", 7),
            ("TWO", "queue_full", 7),
        ]
        reader = ScriptedReader.made
        assert await asyncio.to_thread(reader.closed.wait, 10)
        assert len(reader.threads) == 1
        assert threading.get_ident() not in reader.threads


async def test_a_cancelled_wait_ends_the_reader(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        has_both = asyncio.Event()

        async def follow() -> None:
            async for event in qm.events(timeout=None):
                if event.name == "TWO":
                    has_both.set()

        following = asyncio.create_task(follow())
        await has_both.wait()
        assert await qm.queue("Q").depth() == 0
        following.cancel()
        with pytest.raises(asyncio.CancelledError):
            await following
        assert await asyncio.to_thread(ScriptedReader.made.closed.wait, 10)


async def test_a_loop_that_is_left_ends_the_reader(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        watched = qm.events(timeout=None)
        assert (await anext(watched)).name == "ONE"
        await watched.aclose()
        reader = ScriptedReader.made
        assert await asyncio.to_thread(reader.closed.wait, 10)
        assert threading.get_ident() not in reader.threads


async def test_a_queue_manager_in_memory_has_none(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(books.ChannelBooks, "kafka", "")
    async with await adapter.aio.connect(server.address) as qm:
        with pytest.raises(e.KafkaNotAvailable, match="QM1 is in memory"):
            await anext(qm.events())
        with pytest.raises(e.InvalidTimeout):
            qm.events(-1)
