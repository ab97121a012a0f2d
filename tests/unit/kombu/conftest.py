"""A queue manager in memory for the tests of this room, with an empty set of queues for each."""

from collections.abc import Iterator

import kombu
import pytest

import adapter
from adapter import testing
from adapter.testing import TestQueueManager
from tests.support.task_frameworks import delete_queues


@pytest.fixture(scope="module")
def shared_manager() -> Iterator[TestQueueManager]:
    with testing.queue_manager("QM1") as running:
        yield running


@pytest.fixture
def manager(shared_manager: TestQueueManager) -> Iterator[TestQueueManager]:
    yield shared_manager
    with shared_manager.connect() as qm:
        delete_queues(qm)


@pytest.fixture
def qm(manager: TestQueueManager) -> Iterator[adapter.Connection]:
    with manager.connect() as connection:
        yield connection


@pytest.fixture
def url(manager: TestQueueManager) -> str:
    return f"mqk://{manager.address}/QM1"


@pytest.fixture
def connection(url: str) -> Iterator[kombu.Connection]:
    with kombu.Connection(url) as made:
        yield made
