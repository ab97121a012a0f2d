"""dramatiq with worker processes, on a queue manager in memory that they reach over TCP."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from dramatiq import Message

import adapter
from adapter import testing
from adapter.dramatiq import MqkBroker
from adapter.testing import TestQueueManager
from tests.support.backlog import until
from tests.support.task_frameworks import dramatiq_worker

MESSAGES = 200


@pytest.fixture
def manager() -> Iterator[TestQueueManager]:
    with testing.queue_manager("QM1") as running:
        yield running


@pytest.fixture
def qm(manager: TestQueueManager) -> Iterator[adapter.Connection]:
    with manager.connect() as connection:
        connection.define_queue("DONE")
        yield connection


def done(qm: adapter.Connection) -> list[int]:
    """What the actors have done so far."""
    return [int(message.text) for message in qm.queue("DONE").browse()]


def test_a_killed_worker_loses_no_message(
    manager: TestQueueManager,
    qm: adapter.Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MQK_GATE", str(tmp_path / "gate"))
    broker = MqkBroker(address=manager.address)
    for number in range(MESSAGES):
        broker.enqueue(Message("noted", "note_too", (number,), {}, {}))
    options = ("--processes", "1", "--threads", "2")
    with (
        dramatiq_worker(manager.address, tmp_path / "first", *options) as first,
        dramatiq_worker(manager.address, tmp_path / "second", *options) as second,
    ):
        until(lambda: len(done(qm)) >= MESSAGES // 4)
        first.kill()
        assert len(set(done(qm))) < MESSAGES
        (tmp_path / "gate").touch()
        broker.join("noted", timeout=20_000)
        assert second.stop() == 0
    assert set(done(qm)) == set(range(MESSAGES))
    assert len(done(qm)) <= MESSAGES + 2  # those that were processed when it was killed
    broker.close()
