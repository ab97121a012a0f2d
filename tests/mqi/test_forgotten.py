"""Objects that a program forgets to close are closed when they are collected, wherever that is."""

import asyncio
import gc
import threading

import ibmmq
import pytest
from ibmmq import CMQC

from adapter.connection.channel.link.in_process import ServingThread
from adapter.mqi import descriptor, putting
from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL, conname

WAIT_S = 20.0
SHARED = ibmmq.CNO(Options=CMQC.MQCNO_HANDLE_SHARE_BLOCK)


class Forgotten:
    """Holds a queue, and itself: only a collection takes it away."""

    def __init__(self, held: object) -> None:
        self.held = held
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


def test_a_collection_in_a_verb_does_not_wait_for_another_connection(
    manager: TestQueueManager,
    qmgr: ibmmq.QueueManager,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The thread that is busy with that one does what is left, when it leaves its verb."""
    busy = ibmmq.connect("QM1", CHANNEL, conname(manager), cno=SHARED)
    waited_on = ibmmq.Queue(busy, "REPLIES", CMQC.MQOO_INPUT_SHARED)
    gmo = ibmmq.GMO(Options=CMQC.MQGMO_WAIT, WaitInterval=CMQC.MQWI_UNLIMITED)
    waiting = threading.Thread(target=lambda: waited_on.get(None, ibmmq.MD(), gmo), daemon=True)
    gc.disable()
    try:
        Forgotten(ibmmq.Queue(busy, "ORDERS", CMQC.MQOO_OUTPUT))
        waiting.start()
        with manager.connect() as administrator:
            while not administrator.queue("REPLIES").status().waiting_gets:
                waiting.join(0.01)

        def collect_and_describe(*given: object) -> object:
            gc.collect()
            return descriptor.message_of(*given)  # type: ignore[arg-type]

        monkeypatch.setattr(putting, "message_of", collect_and_describe)
        verb = threading.Thread(target=lambda: put_alone(manager), daemon=True)
        verb.start()
        verb.join(WAIT_S / 4)
        assert not verb.is_alive(), "it waits for the connection that another thread is in"
        monkeypatch.undo()
    finally:
        gc.enable()
    qmgr.put1("REPLIES", "x")
    waiting.join(WAIT_S)
    assert opened(manager) == 0
    busy.disconnect()


def put_alone(manager: TestQueueManager) -> None:
    """Put a message on a connection of its own."""
    own = ibmmq.connect("QM1", CHANNEL, conname(manager))
    own.put1("ASIDE", "x")
    own.disconnect()
