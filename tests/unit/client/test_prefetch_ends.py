"""Loops with units ahead when their queue manager stops, or their thread is interrupted."""

import threading
from collections.abc import Iterator

import pytest

import adapter
from adapter import testing
from adapter.client.work import Work
from adapter.testing import TestQueueManager
from tests.drivers import Driver
from tests.support.backlog import until

BODIES = [b"%d" % number for number in range(40)]
LONG_S = 60.0


@pytest.fixture
def manager(driver: Driver) -> Iterator[TestQueueManager]:
    with testing.queue_manager() as running:
        with running.connect() as qm:
            qm.define_queue("Q")
            qm.queue("Q").put_many(BODIES)
        yield driver.of(running)


class Worker:
    """A loop in a thread that waits for each unit's permission."""

    def __init__(self, qm: adapter.Connection) -> None:
        self.seen: list[tuple[bytes, int]] = []
        self.ended = 0
        self.may_end = threading.Event()
        self.thread = threading.Thread(target=self._work, args=(qm.queue("Q"),))
        self.thread.start()

    def _work(self, queue: adapter.Queue) -> None:
        for unit in queue.units(prefetch=8, commits=8):
            with unit:
                (message,) = unit.messages
                self.seen.append((message.body, message.backout_count))
                if len(self.seen) == 15:
                    assert self.may_end.wait(LONG_S)
            self.ended += 1

    def has_ended(self, count: int) -> bool:
        """Whether so many units have ended: a connection may be closed that sends no commit."""
        return self.ended >= count

    def has_seen(self, count: int) -> bool:
        return len(self.seen) >= count


def test_a_queue_manager_stops_when_what_is_ahead_is_done(manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        worker = Worker(qm)
        until(lambda: worker.has_seen(15))
        stopping = threading.Thread(target=manager.stop, kwargs={"quiesce_s": LONG_S})
        stopping.start()
        until(lambda: manager.statistics()["state"] == "quiescing")
        worker.may_end.set()
        stopping.join(LONG_S / 3)
        assert not stopping.is_alive()
        manager.start()
        until(lambda: worker.has_ended(len(BODIES)))
        assert worker.seen == [(body, 0) for body in BODIES]
        qm.close()
        worker.thread.join(10)


def test_a_loop_that_waits_keeps_no_queue_manager_from_stopping(
    manager: TestQueueManager,
) -> None:
    with manager.connect() as qm:
        worker = Worker(qm)
        worker.may_end.set()
        until(lambda: worker.has_ended(len(BODIES)))
        stopping = threading.Thread(target=manager.stop, kwargs={"quiesce_s": LONG_S})
        stopping.start()
        stopping.join(LONG_S / 3)
        assert not stopping.is_alive()
        manager.start()
        with manager.connect() as other:
            other.put("Q", b"late")
        until(lambda: worker.has_ended(len(BODIES) + 1))
        qm.close()
        worker.thread.join(10)


def begun(queue: adapter.Queue) -> Iterator[Work]:
    """A loop that has shown ten units."""
    units = queue.units(timeout=5, prefetch=8)
    for _ in range(10):
        with next(units):
            pass
    return units


def test_an_interrupted_loop_shows_nothing_and_counts_nothing(
    manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    with manager.connect() as qm:
        queue = qm.queue("Q")
        units = begun(queue)
        interrupted = False

        def interrupt(*_arguments: object) -> None:
            nonlocal interrupted
            interrupted = True
            raise KeyboardInterrupt

        monkeypatch.setattr(qm._channel, "submit", interrupt)
        with pytest.raises(KeyboardInterrupt):
            next(units)
        monkeypatch.undo()
        assert interrupted
        until(lambda: queue.depth() == len(BODIES) - 10)
        with manager.connect() as other:
            found = [(one.body, one.backout_count) for one in other.queue("Q").browse()]
        assert found == [(body, 0) for body in BODIES[10:]]


def test_an_interrupted_wait_for_a_commit_that_has_its_outcome_loses_nothing(
    manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    with manager.connect() as qm:
        queue = qm.queue("Q")
        with qm.unit() as unit:
            queue.put(b"x", wait=False)
            unit.commit(wait=False)

        def interrupt(*_arguments: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(qm._channel, "await_all", interrupt)
        with pytest.raises(KeyboardInterrupt):
            qm.flush()
        monkeypatch.undo()
        qm.flush()
        assert qm.outcome(unit.id) == "committed"
