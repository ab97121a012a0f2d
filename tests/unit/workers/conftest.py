"""A queue manager in memory with the queues that the tests' functions use."""

from collections.abc import Iterator

import pytest

import adapter
from adapter import testing


@pytest.fixture
def manager() -> Iterator[testing.TestQueueManager]:
    with testing.queue_manager() as running:
        yield running


@pytest.fixture
def qm(manager: testing.TestQueueManager) -> Iterator[adapter.Connection]:
    with manager.connect() as connection:
        for name in ("Q", "OUT", "SHOWN", "FAILED"):
            connection.define_queue(name)
        yield connection
