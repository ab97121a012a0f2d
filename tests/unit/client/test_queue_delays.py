"""Delayed delivery as programs ask for it: put, put_many, Message, units, and what a get tells."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

import adapter
from adapter import errors, testing
from adapter.testing import TestQueueManager
from tests.drivers import Driver


@pytest.fixture(scope="module")
def manager(driver: Driver) -> Iterator[TestQueueManager]:
    with testing.queue_manager(clock="manual") as running:
        yield driver.of(running)


@pytest.fixture
def queue(manager: TestQueueManager) -> Iterator[adapter.Queue]:
    with manager.connect() as qm:
        qm.define_queue("Q")
        with qm.queue("Q") as opened:
            yield opened
        qm.delete_queue("Q", purge=True)


def now(manager: TestQueueManager) -> datetime:
    """The queue manager's time."""
    with manager.connect() as qm:
        qm.define_queue("NOW", replace=True)
        return qm.put("NOW", b"").put_time


@pytest.mark.parametrize("delay", [10, 10.0, timedelta(seconds=10)])
def test_deliver_after(manager: TestQueueManager, queue: adapter.Queue, delay: float) -> None:
    result = queue.put(b"later", deliver_after=delay)
    assert (queue.get(), queue.depth(), queue.status().delayed) == (None, 0, 1)
    assert list(queue.browse()) == []
    manager.clock.advance(9.999)
    assert queue.get() is None
    manager.clock.advance(0.001)
    found = queue.get()
    assert found is not None
    assert found.message_id == result.message_id
    assert found.deliver_at == result.put_time + timedelta(seconds=10)
    assert found.put_time == result.put_time


def test_deliver_at(manager: TestQueueManager, queue: adapter.Queue) -> None:
    when = now(manager) + timedelta(seconds=5)
    queue.put(b"later", deliver_at=when)
    queue.put(b"long ago", deliver_at=datetime(1960, 1, 1, tzinfo=UTC))
    assert queue.get(timeout=None).body == b"long ago"  # type: ignore[union-attr]
    manager.clock.advance(5)
    assert queue.get().deliver_at == when  # type: ignore[union-attr]


def test_what_waits_can_be_browsed(manager: TestQueueManager, queue: adapter.Queue) -> None:
    queue.put(b"later", deliver_after=10)
    with manager.connect() as qm:
        (found,) = qm.queue("SYSTEM.DELAYED.QUEUE").browse()
        assert (found.body, found.destination) == (b"later", "Q")
        with pytest.raises(errors.QueueInUse, match="delayed messages are on it"):
            qm.get("SYSTEM.DELAYED.QUEUE")
    manager.clock.advance(10)
    assert queue.get().destination == ""  # type: ignore[union-attr]


def test_none_and_zero_are_at_once(queue: adapter.Queue) -> None:
    queue.put(b"a", deliver_after=None, deliver_at=None)
    queue.put(b"b", deliver_after=0)
    found = [queue.get(), queue.get()]
    assert [one.deliver_at for one in found if one] == [None, None]


def test_many_messages_each_with_its_delay(manager: TestQueueManager, queue: adapter.Queue) -> None:
    count = queue.put_many(
        adapter.Message(b"%d" % number, deliver_after=number) for number in range(4)
    )
    assert (count, queue.depth()) == (4, 1)
    manager.clock.advance(3)
    assert [one.body for one in queue.browse()] == [b"0", b"1", b"2", b"3"]


def test_a_message_that_was_got_is_put_again_at_once(
    manager: TestQueueManager, queue: adapter.Queue
) -> None:
    queue.put(b"retry me", deliver_after=1)
    manager.clock.advance(1)
    found = queue.get()
    assert found is not None
    queue.put(found)
    assert queue.depth() == 1
    queue.put(queue.get() or b"", deliver_after=2)
    assert (queue.depth(), queue.status().delayed) == (0, 1)


def test_a_wait_ends_when_a_message_is_due(manager: TestQueueManager, queue: adapter.Queue) -> None:
    with manager.connect() as other:
        work = other.queue("Q").units(timeout=30)
        queue.put(b"due", deliver_after=0.01)
        manager.clock.advance(0.01)
        unit = next(work)
        with unit:
            assert [one.body for one in unit.messages] == [b"due"]
