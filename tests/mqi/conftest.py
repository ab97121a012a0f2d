"""Programs written against ibmmq's public API, and the queue manager that they connect to.

Nothing here says that it is not IBM's: the programs know a queue manager's name, a channel and a
connection name.
"""

from collections.abc import Iterator

import ibmmq
import pytest

import adapter.testing
from adapter.testing import TestQueueManager

CHANNEL = "DEV.APP.SVRCONN"


@pytest.fixture
def manager() -> Iterator[TestQueueManager]:
    """A queue manager in memory, with the queues that the programs use."""
    with adapter.testing.queue_manager("QM1") as running:
        with running.connect() as administrator:
            administrator.define_queue("ORDERS")
            administrator.define_queue("REPLIES")
            administrator.define_queue("ASIDE")
            administrator.define_queue(
                "FRAGILE", backout_threshold=2, backout_requeue_queue="ASIDE"
            )
        yield running


def conname(manager: TestQueueManager) -> str:
    """HOST(PORT), as a CONNAME is written."""
    host, port = manager.address.rsplit(":", 1)
    return f"{host}({port})"


@pytest.fixture
def qmgr(manager: TestQueueManager) -> Iterator[ibmmq.QueueManager]:
    """A client connection as most programs make it."""
    connected = ibmmq.connect("QM1", CHANNEL, conname(manager))
    yield connected
    if connected.is_connected:
        connected.disconnect()


def reason_of(refused: pytest.ExceptionInfo[ibmmq.MQMIError]) -> int:
    """The MQRC of what was raised."""
    return int(refused.value.reason)
