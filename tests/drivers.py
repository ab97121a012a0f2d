"""The drivers of the SDK, threads and tasks: tests that use the fixture `driver` run with each.

What only threads have is listed in ONLY_THREADS, with the reason. A listed test runs with tasks
too, and has to fail with the words of its reason: so the list can only get shorter. OF_THREADS are
tests of how threads work, which are not run with tasks. A conftest imports `driver` and the hooks
from here.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec import Struct

import adapter
from adapter.testing import TestQueueManager
from tests.support.blocking import Face, TaskLoop

TASKS = "tasks"
TESTS = Path(__file__).parent


class Threads:
    """The driver of threads."""

    name = "threads"

    def connect(self, address: str, **options: Any) -> adapter.Connection:
        """Connect over TCP."""
        return adapter.connect(address, **options)

    def of(self, manager: TestQueueManager) -> TestQueueManager:
        """Return this queue manager with a connect() by this driver."""
        return manager

    def end(self) -> None:
        """End it; nothing may be left."""


class Tasks:
    """The driver of tasks, through its blocking face."""

    name = TASKS

    def __init__(self) -> None:
        self._loop = TaskLoop()

    def connect(self, address: str, **options: Any) -> adapter.Connection:
        """See Threads."""
        connected = self._loop.run(adapter.aio.connect(address, **options))
        return cast("adapter.Connection", Face(self._loop, connected))

    def of(self, manager: TestQueueManager) -> TestQueueManager:
        """See Threads."""
        return cast("TestQueueManager", ConnectedByTasks(self._loop, manager))

    def end(self) -> None:
        """See Threads."""
        assert self._loop.end() == []


class ConnectedByTasks:
    """A queue manager for tests whose connect() is that of tasks."""

    def __init__(self, loop: TaskLoop, manager: TestQueueManager) -> None:
        self._loop = loop
        self._manager = manager

    def connect(self, **options: Any) -> adapter.Connection:
        """See TestQueueManager."""
        connected = self._loop.run(self._manager.connect_aio(**options))
        return cast("adapter.Connection", Face(self._loop, connected))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._manager, name)


Driver = Threads | Tasks


@pytest.fixture(scope="module")
def driver(request: pytest.FixtureRequest) -> Iterator[Driver]:
    made: Driver = request.param()
    yield made
    made.end()


class Lack(Struct, frozen=True):
    """Something that tasks do not have. words: of the failure that shows it, as a pattern."""

    reason: str
    words: str


NO_TOKEN = Lack(
    "A task is cancelled itself: no verb of tasks takes a CancelToken.",
    r"(unexpected keyword argument|takes no argument) 'cancel'",
)
NO_CHANNEL = Lack(
    "The test interrupts a thread inside the threaded driver.", "a face of .* shows no _channel"
)
APART = Lack(
    "A get of a connection opens, gets and closes in requests of their own.",
    r"assert 5 == \(1 \+ 2",
)
ONE_CONTEXT = Lack("The face has one context for each thread.", r"\[b'outside', b'inside'\] ==")
CHANNEL, CLIENT = "unit/connection/channel/test_", "unit/client/test_"
ONLY_THREADS = {
    f"{file}::test_{name}": lack
    for file, name, lack in (
        (f"{CHANNEL}channel", "an_interrupted_wait_takes_no_message_for_nobody", NO_CHANNEL),
        (f"{CHANNEL}channel", "requests_in_one_call_go_in_one_frame", APART),
        (
            f"{CHANNEL}channel",
            "threads_start_outside_a_unit_and_copied_contexts_inside",
            ONE_CONTEXT,
        ),
        (
            f"{CHANNEL}recovery",
            "more_durable_commands_than_can_be_kept_are_refused_here",
            NO_CHANNEL,
        ),
        (f"{CHANNEL}unit", "units_are_not_noted_without_debug", NO_CHANNEL),
        (
            f"{CLIENT}prefetch_ends",
            "an_interrupted_loop_shows_nothing_and_counts_nothing",
            NO_CHANNEL,
        ),
        (
            f"{CLIENT}prefetch_ends",
            "an_interrupted_wait_for_a_commit_that_has_its_outcome_loses_nothing",
            NO_CHANNEL,
        ),
        (
            f"{CLIENT}replies",
            "a_lost_connection_takes_replies_with_it_that_a_token_may_end",
            NO_TOKEN,
        ),
        (f"{CLIENT}replies", "a_request_with_a_token_gets_its_reply", NO_TOKEN),
        (f"{CLIENT}replies", "a_wait_for_a_reply_is_cancelled", NO_TOKEN),
        (f"{CLIENT}retry", "who_may_put_by_the_alias_alone_has_it_back_by_that", NO_CHANNEL),
        (f"{CLIENT}subscription", "finding_client_5_so_does_a_loop_with_a_token", NO_TOKEN),
        (f"{CLIENT}subscription", "a_loop_with_a_token_ends_with_its_subscription", NO_TOKEN),
        (f"{CLIENT}work", "cancelling_a_loop_waits_for_nothing", NO_TOKEN),
        (f"{CLIENT}work", "finding_client_4_closing_the_queue_ends_a_loop_with_a_token", NO_TOKEN),
        (f"{CLIENT}work", "finding_users_2_a_signal_handler_ends_units_that_wait", NO_TOKEN),
        (f"{CLIENT}work", "finding_users_2_a_token_ends_units", NO_TOKEN),
    )
}
"""By file, without its suffix, and name of the test."""
OF_THREADS = {
    f"{CHANNEL}cancelling": "Tokens end waits of threads; a task is cancelled itself.",
    f"{CHANNEL}channel::test_close_does_not_wait_for_a_queue_manager_that_is_gone": (
        "It waits until one thread reads and another one waits for that."
    ),
    f"{CHANNEL}channel::test_sixteen_threads_share_a_connection": "Threads read in turn.",
    f"{CHANNEL}commits::test_a_lost_connection_divides_them": (
        "A thread notices that the link is lost when it reads, an event loop at any moment."
    ),
    f"{CHANNEL}losses::test_a_forked_child_loses_nothing": "unit/aio/test_channel forks tasks.",
    f"{CHANNEL}steps": "It is the run() of threads.",
    f"{CHANNEL}unit::test_a_call_beside_a_unit_of_another_thread_is_logged_once": (
        "The log names threads; unit/aio/test_unit is of tasks."
    ),
    f"{CHANNEL}unit::test_a_dropped_unit_is_backed_out_and_warned_of": (
        "The warning names an adapter.Unit; unit/aio/test_unit is of tasks."
    ),
    f"{CHANNEL}unit::test_the_garbage_collector_waits_for_no_thread_that_has_the_lock": (
        "The driver of tasks has no lock."
    ),
    f"{CLIENT}reconnecting": (
        "on_reconnect has a thread of its own; unit/aio/test_reconnecting is of tasks."
    ),
}
"""By file, or by test, each with the reason."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests of the SDK with each driver."""
    if "driver" in metafunc.fixturenames:
        file = file_of(metafunc.definition.path)
        is_of_threads = {file, f"{file}::{metafunc.definition.originalname}"} & OF_THREADS.keys()
        kinds = (Threads,) if is_of_threads else (Threads, Tasks)
        ids = [kind.name for kind in kinds]
        metafunc.parametrize("driver", kinds, ids=ids, indirect=True, scope="module")


def file_of(path: Path) -> str:
    """Return what a test file is called here."""
    return path.relative_to(TESTS).with_suffix("").as_posix()


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Have a listed test fail with tasks, as its reason says."""
    called = f"{file_of(pyfuncitem.path)}::{pyfuncitem.originalname}"
    lack = ONLY_THREADS.get(called)
    made = pyfuncitem.funcargs.get("driver")
    if lack is None or not isinstance(made, Tasks):
        return (yield)
    try:
        yield
    except Exception as error:
        if re.search(lack.words, f"{type(error).__name__}: {error}"):
            return True
        raise
    pytest.fail(f"{called} passes with tasks: take it out of ONLY_THREADS")
