"""The drivers of the SDK, threads and tasks: tests that use the fixture `driver` run with each.

What only threads have is listed in ONLY_THREADS, with the reason. A listed test runs with tasks
too, and has to fail with the words of its reason: so the list can only get shorter. A conftest
imports `driver` and `pytest_pyfunc_call` from here.
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


@pytest.fixture(scope="module", params=[Threads, Tasks], ids=["threads", TASKS])
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
ONLY_THREADS = {
    f"unit/client/test_{file}::test_{name}": lack
    for file, name, lack in (
        ("prefetch_ends", "an_interrupted_loop_shows_nothing_and_counts_nothing", NO_CHANNEL),
        ("prefetch_ends", "an_interrupted_wait_for_a_commit_is_in_doubt", NO_CHANNEL),
        ("replies", "a_lost_connection_takes_replies_with_it_that_a_token_may_end", NO_TOKEN),
        ("replies", "a_request_with_a_token_gets_its_reply", NO_TOKEN),
        ("replies", "a_wait_for_a_reply_is_cancelled", NO_TOKEN),
        ("work", "finding_users_2_a_signal_handler_ends_units_that_wait", NO_TOKEN),
        ("work", "finding_users_2_a_token_ends_units", NO_TOKEN),
    )
}
"""By file, without its suffix, and name of the test."""


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Have a listed test fail with tasks, as its reason says."""
    file = pyfuncitem.path.relative_to(TESTS).with_suffix("").as_posix()
    called = f"{file}::{pyfuncitem.originalname}"
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
