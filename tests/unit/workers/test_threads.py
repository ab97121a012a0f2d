"""The threads of one process: they share the work, finish what they have in hand, and tell."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import adapter
from adapter.connection.channel.flag import Flag
from adapter.workers.settings import WorkerSettings
from adapter.workers.threads import WorkerThreads
from tests.support import worker_functions
from tests.support.backlog import until
from tests.support.worker_process import await_depth, bodies


@contextmanager
def running(
    qm: adapter.Connection, function: Callable[..., object], **settings: object
) -> Iterator[tuple[WorkerThreads, Flag]]:
    """Run threads on the queue Q."""
    ended = Flag()
    given: dict[str, Any] = {"queue": "Q", "connecting": {}, **settings}
    wanted = WorkerSettings(**given)
    group = WorkerThreads(qm, function, wanted, ended)
    group.start()
    try:
        yield group, ended
    finally:
        group.stop()
        assert not group.join(10)


def test_threads_share_the_work(qm: adapter.Connection) -> None:
    qm.queue("Q").put_many([b"1", b"2", b"3", b"4"])
    with running(qm, worker_functions.count_threads, threads=4) as (group, _):
        await_depth(qm, "OUT", 4)
        until(lambda: group.figures().done == 4)
    done = [body.decode().split() for body in bodies(qm, "OUT")]
    assert sorted(one[0] for one in done) == ["1", "2", "3", "4"]
    assert len({one[2] for one in done}) > 1
    assert group.figures().seconds >= 0.4


def test_failures_are_counted_and_go_on(qm: adapter.Connection) -> None:
    qm.queue("Q").put_many([b"poison", b"1"])
    retry = adapter.Retry(1, 0.02, 0, then="FAILED")
    with running(qm, worker_functions.copy, retry=retry) as (group, _):
        await_depth(qm, "FAILED", 1)
        until(lambda: (group.figures().done, group.figures().failed) == (1, 2))
    assert bodies(qm, "OUT") == [b"1"]


def test_a_stop_lets_them_finish_what_they_have_in_hand(qm: adapter.Connection) -> None:
    qm.queue("Q").put_many([b"0.3", b"0.1"])
    with running(qm, worker_functions.linger, prefetch=4) as (group, _):
        await_depth(qm, "SHOWN", 1)
        assert group.figures().in_hand == 1
        group.stop()
        assert group.join(10) == 0
    assert bodies(qm, "OUT") == [b"0.3"]
    assert [(one.body, one.backout_count) for one in qm.queue("Q").browse()] == [(b"0.1", 0)]


def test_a_stop_does_not_wait_for_ever(qm: adapter.Connection) -> None:
    qm.put("Q", b"1")
    with running(qm, worker_functions.linger) as (group, _):
        await_depth(qm, "SHOWN", 1)
        group.stop()
        assert group.join(0.05) == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_ends_ends_the_others_and_is_told(
    qm: adapter.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    qm.put("Q", b"x")
    with running(qm, worker_functions.leave, threads=2) as (group, ended):
        assert ended.wait(10)
        assert group.join(10) == 0
    assert "ended unexpectedly" in group.problem
    assert "leaving" in caplog.text
    status = qm.queue("Q").status()
    assert status.current_depth + status.delayed == 1  # the other thread may have put it again


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize(
    ("function", "remedy"),
    [
        (worker_functions.wrap, "with `async def`"),
        (worker_functions.promise, "with `async def`"),
        (worker_functions.iterate_later, "run it to its end in the function"),
    ],
    ids=["coroutine", "future", "generator"],
)
def test_a_function_that_returns_work_to_be_done_is_refused_and_its_message_stays(
    qm: adapter.Connection, function: Callable[..., object], remedy: str
) -> None:
    qm.put("Q", b"x")
    with running(qm, function) as (group, ended):
        assert ended.wait(10)
    assert remedy in group.problem
    assert [(one.body, one.backout_count) for one in qm.queue("Q").browse()] == [(b"x", 0)]


def test_a_message_that_fails_while_they_stop_is_left_to_the_next_worker(
    qm: adapter.Connection,
) -> None:
    """It has put something, and so would be got again, by a queue that is closed."""
    is_stopped = threading.Event()

    def fail(_message: adapter.Message) -> None:
        qm.put("OUT", b"x")
        assert is_stopped.wait(10)
        raise ValueError

    qm.put("Q", b"x")
    with running(qm, fail) as (group, _):
        until(lambda: group.figures().in_hand == 1)
        group.stop()
        is_stopped.set()
        assert group.join(10) == 0
    assert not group.problem
    assert [one.backout_count for one in qm.queue("Q").browse()] == [1]


def test_a_queue_that_is_not_there_is_told(qm: adapter.Connection) -> None:
    with running(qm, worker_functions.copy, queue="MISSING") as (group, ended):
        assert ended.wait(10)
    assert "queue MISSING does not exist" in group.problem


def test_a_connection_that_somebody_closed_is_told(qm: adapter.Connection) -> None:
    with running(qm, worker_functions.copy) as (group, ended):
        until(lambda: qm.queue_status("Q")[0].waiting_gets == 1)
        threading.Thread(target=qm.close).start()
        assert ended.wait(10)
    assert group.problem


def test_without_a_policy_a_message_comes_again(qm: adapter.Connection) -> None:
    qm.alter_queue("Q", backout_threshold=2, backout_requeue_queue="FAILED")
    qm.put("Q", b"poison")
    with running(qm, worker_functions.refuse, retry=None):
        await_depth(qm, "FAILED", 1)


@pytest.mark.parametrize("end", ["commit", "backout"])
def test_a_function_that_fails_behind_the_end_of_its_unit_has_failed_and_no_more(
    qm: adapter.Connection, caplog: pytest.LogCaptureFixture, end: str
) -> None:
    qm.queue("Q").put_many([end, "1"])
    retry = adapter.Retry(0, 0.02, 0, then="FAILED")
    with running(qm, worker_functions.end_and_fail, retry=retry) as (group, ended):
        await_depth(qm, "OUT", 1)
        until(lambda: (group.figures().done, group.figures().failed >= 1) == (1, True))
        if end == "backout":
            await_depth(qm, "FAILED", 1)
        assert not ended.is_set()
    assert not group.problem
    assert not qm.queue("Q").depth()
    assert "behind the end of its unit" in caplog.text
