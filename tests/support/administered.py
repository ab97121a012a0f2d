"""A queue manager in this process that the tests of one module share, and a connection to it."""

from collections.abc import Iterator

import pytest

import adapter
import adapter.testing


@pytest.fixture(scope="module")
def manager() -> Iterator[adapter.testing.TestQueueManager]:
    with adapter.testing.queue_manager("QM1") as running:
        yield running


@pytest.fixture(scope="module")
def qm(manager: adapter.testing.TestQueueManager) -> Iterator[adapter.Connection]:
    with manager.connect(application="a test") as connection:
        yield connection
