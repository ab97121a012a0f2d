"""MQCTL's operations: when they take effect, when they return, and with what."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from queue import Queue as Results
from typing import Any

import ibmmq
import pytest
from ibmmq import CMQC, ibmmqc

from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL, conname, reason_of

WAIT_S = 20.0
Function = Callable[..., None]


@pytest.fixture
def consuming(manager: TestQueueManager) -> Iterator[ibmmq.QueueManager]:
    """A connection that other threads may use, too."""
    cno = ibmmq.CNO(Options=CMQC.MQCNO_HANDLE_SHARE_BLOCK)
    qmgr = ibmmq.connect("QM1", CHANNEL, conname(manager), cno=cno)
    yield qmgr
    if qmgr.is_connected:
        qmgr.disconnect()


def register(
    qmgr: ibmmq.QueueManager, function: Function, name: str = "ORDERS", **gmo: Any
) -> ibmmq.Queue:
    queue = ibmmq.Queue(qmgr, name, CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_BROWSE)
    queue.cb(md=ibmmq.MD(), gmo=ibmmq.GMO(**gmo), cbd=ibmmq.CBD(CallbackFunction=function))
    return queue


def control(qmgr: ibmmq.QueueManager, operation: int) -> tuple[int, int]:
    code, reason = ibmmqc.MQCTL(qmgr.get_handle(), operation, ibmmq.CTLO().pack())
    return code, reason


def test_a_start_that_waits_returns_when_the_function_has_returned(
    manager: TestQueueManager, consuming: ibmmq.QueueManager
) -> None:
    """So the usual end, MQDISC behind it, does not commit what the function is still at."""

    def work(**said: Any) -> None:
        consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())
        time.sleep(0.1)  # the work is long
        consuming.put1("REPLIES", "done", ibmmq.MD(), ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT))
        consuming.commit()

    register(consuming, work, Options=CMQC.MQGMO_SYNCPOINT)
    with manager.connect() as other:
        other.put("ORDERS", "a")
        consuming.ctl(CMQC.MQOP_START_WAIT, ibmmq.CTLO())
        consuming.disconnect()
        assert [other.queue(name).depth() for name in ("ORDERS", "REPLIES")] == [0, 1]


def test_functions_run_in_the_thread_that_waits(
    manager: TestQueueManager, consuming: ibmmq.QueueManager
) -> None:
    threads: list[int] = []

    def note(**said: Any) -> None:
        threads.append(threading.get_ident())
        if len(threads) == 3:
            consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())

    register(consuming, note)
    with manager.connect() as other:
        for number in range(3):
            other.put("ORDERS", str(number))
    consuming.ctl(CMQC.MQOP_START_WAIT, ibmmq.CTLO())
    assert set(threads) == {threading.get_ident()}


def test_a_start_that_waits_ends_with_its_connection(manager: TestQueueManager) -> None:
    cno = ibmmq.CNO(Options=CMQC.MQCNO_RECONNECT_DISABLED)
    qmgr = ibmmq.connect("QM1", CHANNEL, conname(manager), cno=cno)
    started = threading.Event()
    register(qmgr, lambda **_: started.set())
    with manager.connect() as other:
        other.put("ORDERS", "a")

    def crash() -> None:
        assert started.wait(WAIT_S)
        manager.crash()

    thread = threading.Thread(target=crash)
    thread.start()
    assert control(qmgr, CMQC.MQOP_START_WAIT) == (
        CMQC.MQCC_FAILED,
        CMQC.MQRC_CONNECTION_BROKEN,
    )
    thread.join()
    manager.start()
    qmgr.disconnect()


def suspend(qmgr: ibmmq.QueueManager, queue: ibmmq.Queue) -> None:
    qmgr.ctl(CMQC.MQOP_SUSPEND, ibmmq.CTLO())


def deregister(qmgr: ibmmq.QueueManager, queue: ibmmq.Queue) -> None:
    queue.cb(operation=CMQC.MQOP_DEREGISTER)


def suspend_consumer(qmgr: ibmmq.QueueManager, queue: ibmmq.Queue) -> None:
    queue.cb(operation=CMQC.MQOP_SUSPEND)


def close(qmgr: ibmmq.QueueManager, queue: ibmmq.Queue) -> None:
    queue.close()


@pytest.mark.parametrize(
    ("act", "code", "reason"),
    [
        (suspend, CMQC.MQCC_WARNING, CMQC.MQRC_CONNECTION_SUSPENDED),
        (deregister, CMQC.MQCC_FAILED, CMQC.MQRC_NO_CALLBACKS_ACTIVE),
        (suspend_consumer, CMQC.MQCC_FAILED, CMQC.MQRC_NO_CALLBACKS_ACTIVE),
        (close, CMQC.MQCC_FAILED, CMQC.MQRC_NO_CALLBACKS_ACTIVE),
    ],
)
def test_a_start_that_waits_ends_when_nothing_can_be_called(
    manager: TestQueueManager,
    consuming: ibmmq.QueueManager,
    act: Callable[[ibmmq.QueueManager, ibmmq.Queue], None],
    code: int,
    reason: int,
) -> None:
    queues: list[ibmmq.Queue] = []
    queues.append(register(consuming, lambda **_: act(consuming, queues[0])))
    with manager.connect() as other:
        other.put("ORDERS", "a")
        other.put("ORDERS", "b")
        assert control(consuming, CMQC.MQOP_START_WAIT) == (code, reason)
        assert other.queue("ORDERS").depth() == 1
    consuming.put1("REPLIES", "the connection is the program's")


def test_a_suspended_wait_goes_on_where_it_is_resumed(
    manager: TestQueueManager, consuming: ibmmq.QueueManager
) -> None:
    seen: list[bytes] = []

    def note(**said: Any) -> None:
        seen.append(said["msg"])
        operation = CMQC.MQOP_SUSPEND if len(seen) == 1 else CMQC.MQOP_STOP
        consuming.ctl(operation, ibmmq.CTLO())

    register(consuming, note)
    with manager.connect() as other:
        other.put("ORDERS", "a")
        other.put("ORDERS", "b")
    assert control(consuming, CMQC.MQOP_START_WAIT)[1] == CMQC.MQRC_CONNECTION_SUSPENDED
    assert seen == [b"a"]
    assert control(consuming, CMQC.MQOP_RESUME) == (CMQC.MQCC_OK, CMQC.MQRC_NONE)
    assert seen == [b"a", b"b"]


def test_a_start_with_no_consumer_to_call(consuming: ibmmq.QueueManager) -> None:
    waits = control(consuming, CMQC.MQOP_START_WAIT)
    assert waits == (CMQC.MQCC_FAILED, CMQC.MQRC_NO_CALLBACKS_ACTIVE)


def test_what_ends_a_function_for_good_ends_the_wait(
    manager: TestQueueManager, consuming: ibmmq.QueueManager
) -> None:
    def leave(**_: Any) -> None:
        raise SystemExit(3)

    register(consuming, leave)
    with manager.connect() as other:
        other.put("ORDERS", "a")
    with pytest.raises(SystemExit):
        consuming.ctl(CMQC.MQOP_START_WAIT, ibmmq.CTLO())
    consuming.put1("REPLIES", "it is stopped")


def test_a_function_takes_its_stop_back(
    manager: TestQueueManager, consuming: ibmmq.QueueManager
) -> None:
    seen: Results[bytes] = Results()

    def note(**said: Any) -> None:
        consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())
        consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
        seen.put(said["msg"])

    register(consuming, note)
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    with manager.connect() as other:
        for body in (b"a", b"b"):
            other.put("ORDERS", body)
            assert seen.get(timeout=WAIT_S) == body
    consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())


def test_what_a_function_may_not_ask_for(
    manager: TestQueueManager, consuming: ibmmq.QueueManager
) -> None:
    given: Results[Any] = Results()

    def ask(**_: Any) -> None:
        waits = control(consuming, CMQC.MQOP_START_WAIT)[1]
        given.put((waits, ibmmqc.MQDISC(consuming.get_handle())[1]))

    register(consuming, ask)
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    with manager.connect() as other:
        other.put("ORDERS", "a")
    expected = (CMQC.MQRC_ENVIRONMENT_ERROR, CMQC.MQRC_CALL_IN_PROGRESS)
    assert given.get(timeout=WAIT_S) == expected
    consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())


def test_a_start_that_is_stopped_at_once(consuming: ibmmq.QueueManager) -> None:
    def stop(**_: Any) -> None:
        consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())

    queue = ibmmq.Queue(consuming, "ORDERS", CMQC.MQOO_INPUT_SHARED)
    cbd = ibmmq.CBD(CallbackFunction=stop, Options=CMQC.MQCBDO_START_CALL)
    queue.cb(md=ibmmq.MD(), gmo=ibmmq.GMO(), cbd=cbd)
    stopped = (CMQC.MQCC_FAILED, CMQC.MQRC_CONNECTION_STOPPED)
    assert control(consuming, CMQC.MQOP_START) == stopped
    consuming.put1("REPLIES", "it is stopped")


def test_a_disconnection_waits_for_the_function(
    manager: TestQueueManager, consuming: ibmmq.QueueManager
) -> None:
    begun = threading.Event()

    def work(**_: Any) -> None:
        begun.set()
        time.sleep(0.1)  # the work is long
        consuming.put1("REPLIES", "done", ibmmq.MD(), ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT))
        consuming.backout()

    register(consuming, work, Options=CMQC.MQGMO_SYNCPOINT)
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    with manager.connect() as other:
        other.put("ORDERS", "a")
        assert begun.wait(WAIT_S)
        consuming.disconnect()
        assert [other.queue(name).depth() for name in ("ORDERS", "REPLIES")] == [1, 0]


def test_another_registration_takes_the_place_of_the_first(
    manager: TestQueueManager, consuming: ibmmq.QueueManager
) -> None:
    seen: Results[int] = Results()

    def note(**said: Any) -> None:
        seen.put(said["cbc"].CallType)

    queue = register(consuming, note)
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    consuming.ctl(CMQC.MQOP_SUSPEND, ibmmq.CTLO())
    browse = ibmmq.GMO(Options=CMQC.MQGMO_BROWSE_NEXT)
    for again in (CMQC.MQOP_REGISTER, CMQC.MQOP_DEREGISTER, CMQC.MQOP_REGISTER):
        cbd = ibmmq.CBD(CallbackFunction=note)
        queue.cb(operation=again, md=ibmmq.MD(), gmo=browse, cbd=cbd)
    consuming.ctl(CMQC.MQOP_RESUME, ibmmq.CTLO())
    with manager.connect() as other:
        other.put("ORDERS", "a")
        assert seen.get(timeout=WAIT_S) == CMQC.MQCBCT_MSG_NOT_REMOVED
        consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())
        assert other.queue("ORDERS").depth() == 1
    assert seen.empty()


def test_a_consumer_may_be_registered_suspended(
    manager: TestQueueManager, consuming: ibmmq.QueueManager
) -> None:
    seen: Results[bytes] = Results()
    queue = register(consuming, lambda **said: seen.put(said["msg"]))
    packed = ibmmq.CBD().pack(), queue.get_handle(), ibmmq.MD().pack(), ibmmq.GMO().pack()
    both = CMQC.MQOP_REGISTER | CMQC.MQOP_SUSPEND
    assert ibmmqc.MQCB(consuming.get_handle(), both, *packed)[-1] == CMQC.MQRC_NONE
    assert control(consuming, CMQC.MQOP_START_WAIT)[1] == CMQC.MQRC_NO_CALLBACKS_ACTIVE
    queue.cb(operation=CMQC.MQOP_RESUME)
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    with manager.connect() as other:
        other.put("ORDERS", "a")
    assert seen.get(timeout=WAIT_S) == b"a"
    consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())


def test_a_consumer_whose_message_handle_is_deleted_removes_nothing(
    manager: TestQueueManager, consuming: ibmmq.QueueManager
) -> None:
    heard: Results[int] = Results()
    hconn = consuming.get_handle()
    hmsg = ibmmqc.MQCRTMH(hconn, ibmmq.CMHO().pack())[0]
    given = {"Version": 4, "MsgHandle": hmsg}
    register(consuming, lambda **said: heard.put(said["cbc"].Reason), **given)
    ibmmqc.MQDLTMH(hconn, hmsg, ibmmq.DMHO().pack())
    with pytest.raises(ibmmq.MQMIError) as refused:
        register(consuming, lambda **_: None, "ASIDE", **given)
    assert reason_of(refused) == CMQC.MQRC_HMSG_ERROR
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    with manager.connect() as other:
        for body in "abc":
            other.put("ORDERS", body)
        assert heard.get(timeout=WAIT_S) == CMQC.MQRC_HMSG_ERROR
        consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())
        assert other.queue("ORDERS").depth() == 3


def test_a_consumer_waits_for_what_it_matches(
    manager: TestQueueManager, consuming: ibmmq.QueueManager
) -> None:
    """Another message on the queue neither wakes it nor shortens its wait."""
    heard: Results[float] = Results()
    queue = ibmmq.Queue(consuming, "ORDERS", CMQC.MQOO_INPUT_SHARED)
    queue.cb(
        md=ibmmq.MD(CorrelId=b"mine".ljust(24)),
        gmo=ibmmq.GMO(Options=CMQC.MQGMO_WAIT, WaitInterval=400),
        cbd=ibmmq.CBD(CallbackFunction=lambda **_: heard.put(time.monotonic())),
    )
    with manager.connect() as other:
        other.put("ORDERS", "a")
    begun = time.monotonic()
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    times = [heard.get(timeout=WAIT_S) for _ in range(2)]
    consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())
    assert times[0] - begun >= 0.39
    assert times[1] - times[0] >= 0.39


def test_verbs_are_done_when_they_return_in_an_event_loop(manager: TestQueueManager) -> None:
    """In a coroutine, and so in each cell of a notebook."""

    async def work() -> None:
        qmgr = ibmmq.connect("QM1", CHANNEL, conname(manager))
        qmgr.put1("ORDERS", "a", ibmmq.MD(), ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT))
        sub = ibmmq.Subscription(qmgr)
        sd = ibmmq.SD(Options=CMQC.MQSO_CREATE | CMQC.MQSO_DURABLE | CMQC.MQSO_MANAGED)
        sd.set_vs("SubName", "S1")
        sd.set_vs("ObjectString", "NEWS")
        sub.sub(sd)
        sub.close(CMQC.MQCO_REMOVE_SUB, close_sub_queue=True)
        with manager.connect() as other:
            assert other.objects("subscription") == []
            qmgr.disconnect()
            assert other.queue("ORDERS").depth() == 1
            assert not [one for one in other.connections() if one.application == "ibmmq"]

    asyncio.run(work())


def test_a_process_without_threads_left_starts_nothing(
    consuming: ibmmq.QueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(consuming, lambda **_: None)

    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as without:
        without.setattr(threading.Thread, "start", start)
        refused = CMQC.MQCC_FAILED, CMQC.MQRC_RESOURCE_PROBLEM
        for operation in (CMQC.MQOP_START, CMQC.MQOP_START_WAIT):
            assert control(consuming, operation) == refused
    consuming.put1("REPLIES", "it is stopped")
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())
