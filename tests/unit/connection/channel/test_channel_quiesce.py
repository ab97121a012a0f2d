"""A queue manager that is stopped under its clients: units end, and what is new waits for the next.

On a real queue manager in this process.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from adapter import testing
from adapter.errors import BackedOut, ConnectionClosed, QueueManagerQuiescing
from adapter.testing import TestQueueManager

WAIT_S = 20.0
LONG_S = 60.0


@pytest.fixture
def manager() -> Iterator[TestQueueManager]:
    with testing.queue_manager() as running:
        with running.connect() as qm:
            qm.define_queue("Q")
            qm.put("Q", "a")
        yield running


@contextmanager
def in_thread(call: Callable[[], object]) -> Iterator[list[object]]:
    """Call beside the test; what came of it is there when this ends."""
    came: list[object] = []

    def run() -> None:
        try:
            came.append(call())
        except Exception as error:  # noqa: BLE001 -- looked at by the test
            came.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield came
    finally:
        thread.join(WAIT_S)
        assert not thread.is_alive()


def await_state(manager: TestQueueManager, state: str) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while manager.statistics()["state"] != state:
        assert time.monotonic() < deadline_s, state
        time.sleep(0.005)


def test_a_unit_ends_and_the_queue_manager_with_it(manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        unit = qm.unit()
        unit.begin()
        assert qm.get("Q", unit=unit) is not None
        with in_thread(lambda: manager.stop(quiesce_s=LONG_S)):
            await_state(manager, "quiescing")
            with pytest.raises(QueueManagerQuiescing, match="accepts no new work"):
                manager.connect()
            qm.put("Q", "done", unit=unit)
            unit.commit()
        manager.start()
        message = qm.get("Q")
        assert message is not None
        assert message.body == b"done"
        assert qm.get("Q") is None


def test_what_is_new_waits_for_the_next_while_another_thread_ends_its_unit(
    manager: TestQueueManager,
) -> None:
    with manager.connect() as qm:
        unit = qm.unit()
        unit.begin()
        assert qm.get("Q", unit=unit) is not None
        with in_thread(lambda: manager.stop(quiesce_s=LONG_S)):
            await_state(manager, "quiescing")
            with in_thread(lambda: qm.put("Q", "new")):
                while qm.statistics()["unanswered"] != 1:
                    time.sleep(0.005)  # bounded by the test's own time
                unit.commit()
                await_stopped(manager)
                manager.start()
        message = qm.get("Q")
        assert message is not None
        assert message.body == b"new"
        assert qm.get("Q") is None


def await_stopped(manager: TestQueueManager) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while manager.is_running:
        assert time.monotonic() < deadline_s
        time.sleep(0.005)


def test_who_does_not_wait_for_the_next_is_told(manager: TestQueueManager) -> None:
    with manager.connect(reconnect_timeout_s=0.0) as qm, manager.connect() as other:
        queue = qm.queue("Q")
        assert queue.get() is not None
        unit = other.unit()
        unit.begin()
        other.put("Q", "held", unit=unit)
        with (
            in_thread(lambda: queue.get(timeout=None)) as came,
            in_thread(lambda: manager.stop(quiesce_s=LONG_S)),
        ):
            while manager.statistics()["state"] == "running" or not came:
                time.sleep(0.005)  # bounded by the test's own time
            unit.backout()
    (error,) = came
    assert isinstance(error, QueueManagerQuiescing)
    manager.start()


def test_a_stuck_unit_is_backed_out_when_its_time_is_over(manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        unit = qm.unit()
        unit.begin()
        assert qm.get("Q", unit=unit) is not None
        began_s = time.monotonic()
        manager.stop(quiesce_s=0.05)
        assert time.monotonic() - began_s < WAIT_S / 2
        manager.start()
        with pytest.raises(BackedOut):
            unit.commit()
        message = qm.get("Q")
        assert message is not None
        assert message.backout_count == 1


def test_what_waits_for_the_next_ends_with_its_connection(manager: TestQueueManager) -> None:
    qm = manager.connect()
    unit = qm.unit()
    unit.begin()
    assert qm.get("Q", unit=unit) is not None
    with in_thread(lambda: manager.stop(quiesce_s=LONG_S)):
        await_state(manager, "quiescing")
        frames = qm.statistics()["frames_received"]
        with in_thread(lambda: qm.put("Q", "new")) as came:
            while qm.statistics()["frames_received"] == frames:
                time.sleep(0.005)  # bounded by the test's own time
            began_s = time.monotonic()
            qm.close()
            assert time.monotonic() - began_s < 2.0
    assert isinstance(came[0], ConnectionClosed)
    manager.start()
