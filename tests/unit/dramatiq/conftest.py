"""A queue manager in memory, and a broker on it that has what a test declares."""

from collections.abc import Iterator

import dramatiq
import pytest

import adapter
from adapter import testing
from adapter.dramatiq import MqkBroker
from adapter.testing import TestQueueManager


@pytest.fixture
def manager() -> Iterator[TestQueueManager]:
    with testing.queue_manager("QM1") as running:
        yield running


@pytest.fixture
def qm(manager: TestQueueManager) -> Iterator[adapter.Connection]:
    with manager.connect() as connection:
        yield connection


@pytest.fixture
def broker(manager: TestQueueManager) -> Iterator[MqkBroker]:
    made = MqkBroker(address=manager.address)
    dramatiq.set_broker(made)
    yield made
    made.close()
