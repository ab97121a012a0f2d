"""The tasks of one process: they share a loop and a connection, finish what they have, and tell."""

import asyncio
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import adapter
from adapter import testing
from adapter.connection.channel.flag import Flag
from adapter.errors import QueueManagerNotAvailable
from adapter.workers.settings import WorkerSettings
from adapter.workers.tasks import WorkerTasks
from tests.support import worker_functions
from tests.support.backlog import until
from tests.support.worker_process import await_depth, bodies


@contextmanager
def running(
    manager: testing.TestQueueManager, function: Callable[..., object], **settings: object
) -> Iterator[tuple[WorkerTasks, Flag]]:
    """Run tasks on the queue Q."""
    ended = Flag()
    given: dict[str, Any] = {"queue": "Q", "connecting": {"address": manager.address}, **settings}
    group = WorkerTasks(function, WorkerSettings(**given), ended)
    group.start()
    try:
        yield group, ended
    finally:
        group.stop()
        assert not group.join(10)


def test_tasks_share_one_loop_of_uvloop_and_one_connection(
    manager: testing.TestQueueManager, qm: adapter.Connection
) -> None:
    worker_functions.together.clear()
    qm.queue("Q").put_many([b"4"] * 4)
    with running(manager, worker_functions.meet, threads=4) as (group, _):
        await_depth(qm, "OUT", 4)
        until(lambda: group.figures().done == 4)
        assert len(qm.connections()) == 2
    assert bodies(qm, "OUT") == [b"uvloop"] * 4
    assert group.figures().seconds > 0


def test_what_a_coroutine_puts_is_in_the_unit_and_failures_are_counted(
    manager: testing.TestQueueManager, qm: adapter.Connection
) -> None:
    qm.queue("Q").put_many([b"poison", b"1"])
    retry = adapter.Retry(1, 0.02, 0, then="FAILED")
    with running(manager, worker_functions.copy_in_loop, retry=retry) as (group, _):
        await_depth(qm, "FAILED", 1)
        until(lambda: (group.figures().done, group.figures().failed) == (1, 2))
    assert bodies(qm, "OUT") == [b"1"]
    assert not qm.queue_status("Q")[0].uncommitted


@pytest.mark.parametrize(
    "function",
    [
        worker_functions.cancel_itself,
        worker_functions.swallow,
        worker_functions.cancel_its_task,
        worker_functions.cancel_its_task_last,
    ],
    ids=["itself", "a verb", "its task", "its task at last"],
)
def test_a_coroutine_that_is_cancelled_is_a_message_that_failed(
    manager: testing.TestQueueManager, qm: adapter.Connection, function: Callable[..., object]
) -> None:
    qm.queue("Q").put_many([b"x", b"y"])
    with running(manager, function, retry=adapter.Retry(0, then="FAILED")) as (group, _):
        await_depth(qm, "FAILED", 2)  # the task goes on behind the first
        until(lambda: group.figures().failed == 2)
    assert not group.problem


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize(
    "function", [worker_functions.cancel_the_idle, worker_functions.cancel_all_others]
)
def test_a_task_that_is_cancelled_while_it_waits_is_told(
    manager: testing.TestQueueManager, qm: adapter.Connection, function: Callable[..., object]
) -> None:
    with running(manager, function, threads=2) as (group, ended):
        until(lambda: qm.queue_status("Q")[0].waiting_gets == 2)
        qm.put("Q", b"x")
        assert ended.wait(10)
        assert group.join(10) == 0
    assert group.problem


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.filterwarnings("ignore:coroutine 'copy_in_loop' was never awaited")
def test_a_coroutine_function_that_returns_a_coroutine_is_refused(
    manager: testing.TestQueueManager, qm: adapter.Connection
) -> None:
    qm.put("Q", b"x")
    with running(manager, worker_functions.wrap_in_loop) as (group, ended):
        assert ended.wait(10)
        assert group.join(10) == 0
    assert "await it there" in group.problem
    until(lambda: bodies(qm, "Q") == [b"x"])
    assert [one.backout_count for one in qm.queue("Q").browse()] == [0]


def test_a_stop_lets_them_finish_what_they_have_in_hand(
    manager: testing.TestQueueManager, qm: adapter.Connection
) -> None:
    qm.queue("Q").put_many([b"0.3", b"0.1"])
    with running(manager, worker_functions.linger_in_loop, prefetch=4) as (group, _):
        await_depth(qm, "SHOWN", 1)
        assert group.figures().in_hand == 1
        group.stop()
        assert group.join(10) == 0
    assert bodies(qm, "OUT") == [b"0.3"]
    assert [(one.body, one.backout_count) for one in qm.queue("Q").browse()] == [(b"0.1", 0)]


def test_a_message_that_fails_while_they_stop_is_left_to_the_next_worker(
    manager: testing.TestQueueManager, qm: adapter.Connection
) -> None:
    """It has put something, and so would be got again, by a queue that is closed."""
    is_stopped = threading.Event()

    async def fail(_message: adapter.Message) -> None:
        await adapter.worker_connection().put("OUT", b"x")
        assert await asyncio.to_thread(is_stopped.wait, 10)
        raise ValueError

    qm.put("Q", b"x")
    with running(manager, fail) as (group, _):
        until(lambda: group.figures().in_hand == 1)
        group.stop()
        until(lambda: qm.queue_status("Q")[0].open_input_count == 0)
        is_stopped.set()
        assert group.join(10) == 0
    assert not group.problem
    assert [one.backout_count for one in qm.queue("Q").browse()] == [1]


def test_a_stop_does_not_wait_for_ever(
    manager: testing.TestQueueManager, qm: adapter.Connection
) -> None:
    qm.put("Q", b"1")
    with running(manager, worker_functions.linger_in_loop) as (group, _):
        await_depth(qm, "SHOWN", 1)
        group.stop()
        assert group.join(0.05) == 1
        group.close(abrupt=True)
        await_depth(qm, "Q", 1)
        assert next(iter(qm.queue("Q").browse())).backout_count == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_coroutine_that_ends_the_process_gives_everything_back(
    manager: testing.TestQueueManager, qm: adapter.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    qm.queue("Q").put_many([b"1", b"2", b"3"])
    with running(manager, worker_functions.leave_in_loop, threads=2) as (group, ended):
        assert ended.wait(10)
        assert group.join(10) == 0
    assert "ended unexpectedly" in group.problem
    assert "leaving" in caplog.text
    until(lambda: not qm.queue("Q").status().uncommitted)
    status = qm.queue("Q").status()
    assert status.current_depth + status.delayed == 3


def test_a_queue_that_is_not_there_is_told(
    manager: testing.TestQueueManager, qm: adapter.Connection
) -> None:
    with running(manager, worker_functions.copy_in_loop, queue="MISSING") as (group, ended):
        assert ended.wait(10)
    assert "queue MISSING does not exist" in group.problem


def test_a_queue_manager_that_is_not_there_is_told_at_once(
    manager: testing.TestQueueManager,
) -> None:
    settings = WorkerSettings(queue="Q", connecting={"address": "127.0.0.1:1"})
    group = WorkerTasks(worker_functions.copy_in_loop, settings, Flag())
    with pytest.raises(QueueManagerNotAvailable):
        group.start()


def test_a_restarted_queue_manager_is_waited_for(
    manager: testing.TestQueueManager, qm: adapter.Connection
) -> None:
    with running(manager, worker_functions.copy_in_loop, threads=2) as (group, ended):
        until(lambda: qm.queue_status("Q")[0].waiting_gets == 2)
        manager.restart()
        qm.put("Q", b"1")
        await_depth(qm, "OUT", 1)
        until(lambda: group.figures().is_connected)
        assert not ended.is_set()


def test_without_a_policy_a_message_comes_again(
    manager: testing.TestQueueManager, qm: adapter.Connection
) -> None:
    qm.alter_queue("Q", backout_threshold=2, backout_requeue_queue="FAILED")
    qm.put("Q", b"poison")
    with running(manager, worker_functions.refuse_in_loop, retry=None):
        await_depth(qm, "FAILED", 1)


def test_it_needs_no_uvloop(
    manager: testing.TestQueueManager, qm: adapter.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    worker_functions.together.clear()
    qm.put("Q", b"1")
    with running(manager, worker_functions.meet):
        await_depth(qm, "OUT", 1)
    assert bodies(qm, "OUT")[0].startswith(b"asyncio")


@pytest.mark.parametrize("end", ["commit", "backout"])
def test_a_function_that_fails_behind_the_end_of_its_unit_has_failed_and_no_more(
    manager: testing.TestQueueManager,
    qm: adapter.Connection,
    caplog: pytest.LogCaptureFixture,
    end: str,
) -> None:
    qm.queue("Q").put_many([end, "1"])
    retry = adapter.Retry(0, 0.02, 0, then="FAILED")
    with running(manager, worker_functions.end_and_fail_in_loop, retry=retry) as (group, ended):
        await_depth(qm, "OUT", 1)
        until(lambda: (group.figures().done, group.figures().failed >= 1) == (1, True))
        if end == "backout":
            await_depth(qm, "FAILED", 1)
        assert not ended.is_set()
    assert not group.problem
    assert not qm.queue("Q").depth()
    assert "behind the end of its unit" in caplog.text
