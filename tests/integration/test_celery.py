"""Celery with worker processes, on a queue manager in memory that they reach over TCP."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery, chain, signature

import adapter
from adapter import testing
from adapter.kombu import MqkTransport
from adapter.testing import TestQueueManager
from tests.support.backlog import until
from tests.support.task_frameworks import celery_worker

TASKS = 200
RESULT_S = 20.0
NOTE, ADD = "tests.support.task_apps.note", "tests.support.task_apps.add"


@pytest.fixture
def manager() -> Iterator[TestQueueManager]:
    with testing.queue_manager("QM1") as running:
        yield running


@pytest.fixture
def qm(manager: TestQueueManager) -> Iterator[adapter.Connection]:
    with manager.connect() as connection:
        connection.define_queue("DONE")
        yield connection


@pytest.fixture
def app(manager: TestQueueManager) -> Iterator[Celery]:
    assert MqkTransport.default_port
    with Celery("tests", broker=f"mqk://{manager.address}/QM1", backend="rpc://") as made:
        made.conf.update(result_expires=60)
        yield made


def done(qm: adapter.Connection) -> list[int]:
    """What the tasks have done so far."""
    return [int(message.text) for message in qm.queue("DONE").browse()]


def is_quiet(qm: adapter.Connection) -> bool:
    """Whether all tasks were acknowledged."""
    status = qm.queue("celery").status()
    return status.current_depth == 0 == status.uncommitted_gets


@pytest.mark.parametrize("pool", ["solo", "prefork"])
def test_a_killed_worker_loses_no_task(
    pool: str,
    manager: TestQueueManager,
    qm: adapter.Connection,
    app: Celery,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MQK_GATE", str(tmp_path / "gate"))
    for number in range(TASKS):
        app.send_task(NOTE, (number,), ignore_result=True)
    options = ("--pool", pool, "--concurrency", "2", "--without-mingle", "--without-gossip")
    with celery_worker(manager.address, tmp_path / "log", *options) as worker:
        until(lambda: len(done(qm)) >= TASKS // 4)
        worker.kill()
    assert len(set(done(qm))) < TASKS
    (tmp_path / "gate").touch()
    with celery_worker(manager.address, tmp_path / "log", *options) as worker:
        until(lambda: is_quiet(qm))
        assert worker.stop() == 0
    assert set(done(qm)) == set(range(TASKS))
    assert len(done(qm)) <= TASKS + 2  # those that were executed when it was killed


def test_results_chains_control_and_events(
    manager: TestQueueManager, qm: adapter.Connection, app: Celery, tmp_path: Path
) -> None:
    seen: list[str] = []

    def note_event(event: dict[str, Any]) -> None:
        seen.append(event["type"])
        receiver.should_stop = "task-succeeded" in seen

    with (
        celery_worker(manager.address, tmp_path / "log", "--pool", "prefork", "-c", "1", "-E"),
        app.connection() as connection,
    ):
        receiver = app.events.Receiver(connection, handlers={"*": note_event})
        watcher = threading.Thread(target=receiver.capture, kwargs={"timeout": RESULT_S})
        watcher.start()
        until(lambda: app.control.inspect(timeout=1).ping() is not None)
        summed = chain(signature(ADD, (1, 2), app=app), signature(ADD, (3,), app=app))()
        assert summed.get(timeout=RESULT_S) == 6
        watcher.join(RESULT_S)
        app.send_task(ADD, (1, 1), countdown=10 * RESULT_S)
        assert qm.queue("celery").status().delayed == 1
        assert app.send_task(ADD, (1, 1), countdown=0.5).get(timeout=RESULT_S) == 2
    assert "task-succeeded" in seen


def test_a_worker_outlives_the_queue_manager(
    manager: TestQueueManager, qm: adapter.Connection, app: Celery, tmp_path: Path
) -> None:
    with celery_worker(manager.address, tmp_path / "log", "--pool", "prefork", "-c", "1"):
        assert app.send_task(ADD, (1, 1)).get(timeout=RESULT_S) == 2
        manager.crash()
        manager.start()
        assert app.send_task(ADD, (2, 2)).get(timeout=RESULT_S) == 4
