"""Objects that a program forgets to close are closed when they are collected, wherever that is."""

import asyncio
import gc

import ibmmq
from ibmmq import CMQC

from adapter.connection.channel.link.in_process import ServingThread
from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL, conname


class Forgotten:
    """Holds a queue, and itself: only a collection takes it away."""

    def __init__(self, queue: ibmmq.Queue) -> None:
        self.queue = queue
        self.itself = self


def opened(manager: TestQueueManager) -> int:
    """How many have ORDERS open for output."""
    with manager.connect() as administrator:
        return administrator.queue("ORDERS").status().open_output_count


def test_a_queue_that_is_collected_is_closed(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    Forgotten(ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT))
    gc.collect()
    assert opened(manager) == 0


def test_a_collection_in_the_thread_of_the_queue_manager_waits_for_nothing(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    """The queue is closed with the next call that may wait, as it was to be."""
    Forgotten(ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT))
    thread = ServingThread(target=gc.collect)
    thread.start()
    thread.join()
    assert opened(manager) == 1
    qmgr.put1("REPLIES", "x")
    assert opened(manager) == 0


def test_a_collection_inside_an_event_loop_of_the_program_closes(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    Forgotten(ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT))

    async def collect() -> None:
        gc.collect()

    asyncio.run(collect())
    assert opened(manager) == 0


def test_a_connection_that_is_collected_is_disconnected(manager: TestQueueManager) -> None:
    qmgr = ibmmq.connect("QM1", CHANNEL, conname(manager))
    qmgr.put1("ORDERS", "x", ibmmq.MD(), ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT))
    del qmgr
    gc.collect()
    with manager.connect() as administrator:
        got = administrator.get("ORDERS")
        assert got is not None
        assert got.body == b"x"
