"""Connections to a queue manager of this process, as its own clients have them."""

from collections.abc import Iterator
from contextlib import contextmanager

from adapter.connection.channel.channel import Channel
from adapter.runtime.own_clients.client import client_of
from adapter.testing import TestQueueManager

APPLICATION = "own client of a test"


def dial(manager: TestQueueManager) -> Channel:
    """Connect."""
    return client_of(manager._loop, manager._accept, manager.name, APPLICATION)


@contextmanager
def connected(manager: TestQueueManager) -> Iterator[Channel]:
    """Connect, and close behind the with statement."""
    channel = dial(manager)
    try:
        yield channel
    finally:
        channel.close()
