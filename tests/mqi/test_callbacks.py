"""Asynchronous consume: MQCB and MQCTL."""

import threading
from collections.abc import Iterator
from queue import Empty
from queue import Queue as Results
from typing import Any

import ibmmq
import pytest
from ibmmq import CMQC

from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL, conname, reason_of

WAIT_S = 20.0


@pytest.fixture
def consuming(manager: TestQueueManager) -> Iterator[ibmmq.QueueManager]:
    """A connection whose callbacks are stopped at the end."""
    qmgr = ibmmq.connect("QM1", CHANNEL, conname(manager))
    yield qmgr
    qmgr.disconnect()


def consume(
    qmgr: ibmmq.QueueManager, name: str, options: int, heard: "Results[Any]", **cbd: int
) -> ibmmq.Queue:
    """Open a queue, and have what comes put into heard."""

    def on_message(**said: Any) -> None:
        heard.put(said)

    queue = ibmmq.Queue(qmgr, name, CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_BROWSE)
    queue.cb(
        md=ibmmq.MD(),
        gmo=ibmmq.GMO(Options=options),
        cbd=ibmmq.CBD(CallbackFunction=on_message, CallbackArea=name.encode(), **cbd),
    )
    return queue


def test_messages_come_to_the_program(
    manager: TestQueueManager, consuming: ibmmq.QueueManager
) -> None:
    heard: Results[Any] = Results()
    queue = consume(consuming, "ORDERS", CMQC.MQGMO_NO_SYNCPOINT, heard)
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO(ConnectionArea=b"area"))
    with manager.connect() as other:
        for number in range(3):
            other.put("ORDERS", str(number), priority=number)
            said = heard.get(timeout=WAIT_S)
            assert said["msg"] == str(number).encode()
            assert said["md"].Priority == number
            assert said["cbc"].CallType == CMQC.MQCBCT_MSG_REMOVED
            assert said["cbc"].CallbackArea == b"ORDERS"
            assert said["cbc"].ConnectionArea == b"area"
            assert said["queue"] is queue
    consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())


def test_calls_of_one_connection_never_overlap(
    manager: TestQueueManager, consuming: ibmmq.QueueManager
) -> None:
    """Two queues, one unit of work at a time: a call commits what it got, and nothing else."""
    inside = threading.Lock()
    seen: Results[bytes] = Results()

    def on_message(**said: Any) -> None:
        assert inside.acquire(blocking=False), "two calls at a time"
        consuming.put1("REPLIES", said["msg"], ibmmq.MD(), ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT))
        consuming.commit()
        inside.release()
        seen.put(said["msg"])

    for name in ("ORDERS", "FRAGILE"):
        ibmmq.Queue(consuming, name, CMQC.MQOO_INPUT_SHARED)
    queues = [ibmmq.Queue(consuming, name, CMQC.MQOO_INPUT_SHARED) for name in ("ORDERS", "ASIDE")]
    for queue in queues:
        queue.cb(
            md=ibmmq.MD(),
            gmo=ibmmq.GMO(Options=CMQC.MQGMO_SYNCPOINT),
            cbd=ibmmq.CBD(CallbackFunction=on_message),
        )
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    with manager.connect() as other:
        for number in range(20):
            other.put("ORDERS" if number % 2 else "ASIDE", str(number))
        assert sorted(int(seen.get(timeout=WAIT_S)) for _ in range(20)) == list(range(20))
        assert other.queue("REPLIES").depth() == 20
    consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())


def test_other_calls_are_refused_while_it_is_started(consuming: ibmmq.QueueManager) -> None:
    heard: Results[Any] = Results()
    consume(consuming, "ORDERS", CMQC.MQGMO_NO_SYNCPOINT, heard)
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    with pytest.raises(ibmmq.MQMIError) as refused:
        consuming.put1("REPLIES", "x")
    assert reason_of(refused) == CMQC.MQRC_HCONN_ASYNC_ACTIVE
    consuming.ctl(CMQC.MQOP_SUSPEND, ibmmq.CTLO())
    consuming.put1("ORDERS", "x")
    assert heard.empty()
    consuming.ctl(CMQC.MQOP_RESUME, ibmmq.CTLO())
    assert heard.get(timeout=WAIT_S)["msg"] == b"x"
    consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())
    consuming.put1("REPLIES", "x")


def test_a_browsing_consumer_takes_nothing(
    manager: TestQueueManager, consuming: ibmmq.QueueManager
) -> None:
    heard: Results[Any] = Results()
    consume(consuming, "ORDERS", CMQC.MQGMO_BROWSE_NEXT, heard)
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    with manager.connect() as other:
        for number in range(2):
            other.put("ORDERS", str(number))
            said = heard.get(timeout=WAIT_S)
            assert said["msg"] == str(number).encode()
            assert said["cbc"].CallType == CMQC.MQCBCT_MSG_NOT_REMOVED
        consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())
        assert other.queue("ORDERS").depth() == 2


def test_a_consumer_hears_that_gets_are_inhibited(
    manager: TestQueueManager, consuming: ibmmq.QueueManager
) -> None:
    heard: Results[Any] = Results()
    consume(consuming, "ORDERS", CMQC.MQGMO_NO_SYNCPOINT, heard)
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    with manager.connect() as administrator:
        administrator.alter_queue("ORDERS", inhibit_get=True)
        said = heard.get(timeout=WAIT_S)
        assert said["cbc"].CallType == CMQC.MQCBCT_EVENT_CALL
        assert said["cbc"].Reason == CMQC.MQRC_GET_INHIBITED
        administrator.alter_queue("ORDERS", inhibit_get=False)
        administrator.put("ORDERS", "again")
        while said["msg"] is None:
            said = heard.get(timeout=WAIT_S)
        assert said["msg"] == b"again"
    consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())


def test_a_function_may_stop_its_own_connection(
    manager: TestQueueManager, consuming: ibmmq.QueueManager
) -> None:
    stopped = threading.Event()

    def on_message(**said: Any) -> None:
        consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())
        stopped.set()

    queue = ibmmq.Queue(consuming, "ORDERS", CMQC.MQOO_INPUT_SHARED)
    queue.cb(md=ibmmq.MD(), gmo=ibmmq.GMO(), cbd=ibmmq.CBD(CallbackFunction=on_message))
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    with manager.connect() as other:
        other.put("ORDERS", "a")
        assert stopped.wait(WAIT_S)
        other.put("ORDERS", "b")
    assert queue.get() == b"b"


def test_a_function_that_raises_is_called_again(
    manager: TestQueueManager,
    consuming: ibmmq.QueueManager,
    capfd: pytest.CaptureFixture[str],
) -> None:
    called: Results[bytes] = Results()

    def on_message(**said: Any) -> None:
        called.put(said["msg"])
        raise RuntimeError("the program's own trouble")

    queue = ibmmq.Queue(consuming, "ORDERS", CMQC.MQOO_INPUT_SHARED)
    queue.cb(md=ibmmq.MD(), gmo=ibmmq.GMO(), cbd=ibmmq.CBD(CallbackFunction=on_message))
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    with manager.connect() as other:
        other.put("ORDERS", "a")
        other.put("ORDERS", "b")
    assert [called.get(timeout=WAIT_S), called.get(timeout=WAIT_S)] == [b"a", b"b"]
    consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())
    assert "the program's own trouble" in capfd.readouterr().err


def test_the_event_handler_hears_that_the_connection_is_broken(manager: TestQueueManager) -> None:
    heard: Results[Any] = Results()
    cno = ibmmq.CNO(Options=CMQC.MQCNO_RECONNECT_DISABLED)
    qmgr = ibmmq.connect("QM1", CHANNEL, conname(manager), cno=cno)
    consume(qmgr, "ORDERS", CMQC.MQGMO_NO_SYNCPOINT, heard)
    events: Results[Any] = Results()
    qmgr.cb(
        cbd=ibmmq.CBD(
            CallbackType=CMQC.MQCBT_EVENT_HANDLER,
            CallbackFunction=lambda **said: events.put(said["cbc"].Reason),
        )
    )
    qmgr.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    manager.crash()
    assert events.get(timeout=WAIT_S) == CMQC.MQRC_CONNECTION_BROKEN
    qmgr.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())
    manager.start()
    with pytest.raises(ibmmq.MQMIError) as refused:
        qmgr.put1("ORDERS", "x")
    assert reason_of(refused) == CMQC.MQRC_CONNECTION_BROKEN
    qmgr.disconnect()


def test_the_event_handler_hears_of_the_reconnection(
    manager: TestQueueManager, consuming: ibmmq.QueueManager
) -> None:
    heard: Results[Any] = Results()
    events: Results[Any] = Results()
    consume(consuming, "ORDERS", CMQC.MQGMO_NO_SYNCPOINT, heard)
    consuming.cb(
        cbd=ibmmq.CBD(
            CallbackType=CMQC.MQCBT_EVENT_HANDLER,
            CallbackFunction=lambda **said: events.put(said["cbc"].Reason),
        )
    )
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    manager.crash()
    assert events.get(timeout=WAIT_S) == CMQC.MQRC_RECONNECTING
    manager.start()
    assert events.get(timeout=WAIT_S) == CMQC.MQRC_RECONNECTED
    with manager.connect() as other:
        other.put("ORDERS", "again")
    assert heard.get(timeout=WAIT_S)["msg"] == b"again"
    assert events.empty()
    consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())


def test_a_failure_that_lasts_is_told_once(
    manager: TestQueueManager, consuming: ibmmq.QueueManager
) -> None:
    heard: Results[Any] = Results()
    consume(consuming, "ORDERS", CMQC.MQGMO_NO_SYNCPOINT, heard)
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    with manager.connect() as other:
        for number in range(2):
            other.alter_queue("ORDERS", inhibit_get=True)
            assert heard.get(timeout=WAIT_S)["cbc"].Reason == CMQC.MQRC_GET_INHIBITED
            with pytest.raises(Empty):
                heard.get(timeout=0.7)  # more than two looks
            other.alter_queue("ORDERS", inhibit_get=False)
            other.put("ORDERS", str(number))
            assert heard.get(timeout=WAIT_S)["msg"] == str(number).encode()
    consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())


def test_what_mqctl_and_mqcb_refuse(consuming: ibmmq.QueueManager) -> None:
    with pytest.raises(ibmmq.MQMIError) as refused:
        consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    assert reason_of(refused) == CMQC.MQRC_CALLBACK_NOT_REGISTERED
    heard: Results[Any] = Results()
    queue = consume(consuming, "ORDERS", CMQC.MQGMO_NO_SYNCPOINT, heard)
    with pytest.raises(ibmmq.MQMIError) as refused:
        consuming.ctl(CMQC.MQOP_SUSPEND, ibmmq.CTLO())
    assert reason_of(refused) == CMQC.MQRC_OPERATION_NOT_ALLOWED
    with pytest.raises(ibmmq.MQMIError) as refused:
        consuming.ctl(99, ibmmq.CTLO())
    assert reason_of(refused) == CMQC.MQRC_OPERATION_ERROR
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.cb(
            cbd=ibmmq.CBD(CallbackFunction=print, CallbackType=7), gmo=ibmmq.GMO(), md=ibmmq.MD()
        )
    assert reason_of(refused) == CMQC.MQRC_CALLBACK_TYPE_ERROR
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.cb(operation=CMQC.MQOP_DEREGISTER)
    assert reason_of(refused) == CMQC.MQRC_CALLBACK_NOT_REGISTERED


def test_a_consumer_hears_that_nothing_came_in_time(consuming: ibmmq.QueueManager) -> None:
    heard: Results[Any] = Results()

    def on_message(**said: Any) -> None:
        heard.put(said["cbc"].Reason)

    queue = ibmmq.Queue(consuming, "ORDERS", CMQC.MQOO_INPUT_SHARED)
    gmo = ibmmq.GMO(Options=CMQC.MQGMO_WAIT, WaitInterval=50)
    queue.cb(md=ibmmq.MD(), gmo=gmo, cbd=ibmmq.CBD(CallbackFunction=on_message))
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    assert heard.get(timeout=WAIT_S) == CMQC.MQRC_NO_MSG_AVAILABLE
    consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())


def test_a_consumer_that_waits_for_ever_holds_nobody_up(
    manager: TestQueueManager, consuming: ibmmq.QueueManager
) -> None:
    heard: Results[Any] = Results()
    for name in ("ASIDE", "ORDERS"):
        queue = ibmmq.Queue(consuming, name, CMQC.MQOO_INPUT_SHARED)
        gmo = ibmmq.GMO(Options=CMQC.MQGMO_WAIT, WaitInterval=CMQC.MQWI_UNLIMITED)
        cbd = ibmmq.CBD(CallbackFunction=lambda **said: heard.put(said["msg"]))
        queue.cb(md=ibmmq.MD(), gmo=gmo, cbd=cbd)
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    with manager.connect() as other:
        for name in ("ORDERS", "ASIDE", "ORDERS"):
            other.put(name, name)
            assert heard.get(timeout=WAIT_S) == name.encode()
    consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())


def test_a_body_is_cut_to_the_length_that_was_registered(
    manager: TestQueueManager, consuming: ibmmq.QueueManager
) -> None:
    heard: Results[Any] = Results()
    options = CMQC.MQGMO_ACCEPT_TRUNCATED_MSG
    consume(consuming, "ORDERS", options, heard, MaxMsgLength=3)
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    with manager.connect() as other:
        other.put("ORDERS", "abcdef")
    said = heard.get(timeout=WAIT_S)
    assert said["msg"] == b"abc"
    assert said["cbc"].Reason == CMQC.MQRC_TRUNCATED_MSG_ACCEPTED
    assert said["cbc"].DataLength == 6
    consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())


def test_the_program_is_told_of_its_registrations(consuming: ibmmq.QueueManager) -> None:
    """Calls for the start and the stop come before and after all others."""
    heard: Results[Any] = Results()
    options = CMQC.MQCBDO_START_CALL | CMQC.MQCBDO_STOP_CALL
    consume(consuming, "ORDERS", CMQC.MQGMO_NO_SYNCPOINT, heard, Options=options)
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())
    kinds = [heard.get(timeout=WAIT_S)["cbc"].CallType for _ in range(2)]
    assert kinds == [CMQC.MQCBCT_START_CALL, CMQC.MQCBCT_STOP_CALL]


def hears(heard: "Results[Any]", options: int, kind: int = CMQC.MQCBT_MESSAGE_CONSUMER) -> Any:
    """A description of a function that tells what kind of call it got, and of which object."""

    def on_call(**said: Any) -> None:
        heard.put((said["cbc"].CallType, said["cbc"].Hobj))

    return ibmmq.CBD(CallbackFunction=on_call, CallbackType=kind, Options=options)


STARTS_AND_STOPS = CMQC.MQCBDO_START_CALL | CMQC.MQCBDO_STOP_CALL
REMOVING = ibmmq.GMO(Options=CMQC.MQGMO_NO_SYNCPOINT)


def test_a_function_that_another_registers_is_told_of_the_start(
    manager: TestQueueManager, consuming: ibmmq.QueueManager
) -> None:
    """When the other one returns, before any message, and as often as it is registered anew."""
    heard: Results[Any] = Results()
    first = ibmmq.Queue(consuming, "ORDERS", CMQC.MQOO_INPUT_SHARED)
    second = ibmmq.Queue(consuming, "REPLIES", CMQC.MQOO_INPUT_SHARED)

    def register(**said: Any) -> None:
        second.cb(md=ibmmq.MD(), gmo=REMOVING, cbd=hears(heard, STARTS_AND_STOPS))
        second.cb(md=ibmmq.MD(), gmo=REMOVING, cbd=hears(heard, STARTS_AND_STOPS))
        heard.put("registered")

    first.cb(md=ibmmq.MD(), gmo=REMOVING, cbd=ibmmq.CBD(CallbackFunction=register))
    with manager.connect() as other:
        other.put("REPLIES", b"there already")
        consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
        other.put("ORDERS", b"go")
        hobj = second.get_handle()
        assert heard.get(timeout=WAIT_S) == "registered"
        assert heard.get(timeout=WAIT_S) == (CMQC.MQCBCT_START_CALL, hobj)
        assert heard.get(timeout=WAIT_S) == (CMQC.MQCBCT_MSG_REMOVED, hobj)
    consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())
    assert heard.get(timeout=WAIT_S) == (CMQC.MQCBCT_STOP_CALL, hobj)
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    assert heard.get(timeout=WAIT_S) == (CMQC.MQCBCT_START_CALL, hobj)
    consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())
    assert heard.get(timeout=WAIT_S) == (CMQC.MQCBCT_STOP_CALL, hobj)
    assert heard.empty()


def test_a_function_that_a_function_for_the_start_registers_is_told_of_it_once(
    consuming: ibmmq.QueueManager,
) -> None:
    heard: Results[Any] = Results()
    first = ibmmq.Queue(consuming, "ORDERS", CMQC.MQOO_INPUT_SHARED)
    second = ibmmq.Queue(consuming, "REPLIES", CMQC.MQOO_INPUT_SHARED)

    def register(**said: Any) -> None:
        second.cb(md=ibmmq.MD(), gmo=REMOVING, cbd=hears(heard, STARTS_AND_STOPS))

    started = ibmmq.CBD(CallbackFunction=register, Options=CMQC.MQCBDO_START_CALL)
    first.cb(md=ibmmq.MD(), gmo=REMOVING, cbd=started)
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    hobj = second.get_handle()
    assert heard.get(timeout=WAIT_S) == (CMQC.MQCBCT_START_CALL, hobj)
    consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())
    assert heard.get(timeout=WAIT_S) == (CMQC.MQCBCT_STOP_CALL, hobj)
    assert heard.empty()


def test_starts_and_stops_are_no_matter_of_event_handlers(consuming: ibmmq.QueueManager) -> None:
    heard: Results[Any] = Results()
    handler = hears(heard, STARTS_AND_STOPS, CMQC.MQCBT_EVENT_HANDLER)
    consuming.cb(operation=CMQC.MQOP_REGISTER, cbd=handler)
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())
    assert heard.empty()


def test_a_disconnection_deregisters_and_tells_so(manager: TestQueueManager) -> None:
    """Every function that asked for it, while the connection and its unit of work are there."""
    heard: Results[Any] = Results()
    qmgr = ibmmq.connect("QM1", CHANNEL, conname(manager))
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED)
    silent = ibmmq.Queue(qmgr, "ASIDE", CMQC.MQOO_INPUT_SHARED)
    hobj = queue.get_handle()

    def last(**said: Any) -> None:
        qmgr.put1("REPLIES", b"bye", ibmmq.MD(), ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT))
        heard.put((said["cbc"].CallType, said["cbc"].Hobj))

    deregistering = CMQC.MQCBDO_DEREGISTER_CALL
    queue.cb(
        md=ibmmq.MD(),
        gmo=REMOVING,
        cbd=ibmmq.CBD(CallbackFunction=last, Options=deregistering | CMQC.MQCBDO_STOP_CALL),
    )
    silent.cb(md=ibmmq.MD(), gmo=REMOVING, cbd=hears(heard, CMQC.MQCBDO_START_CALL))
    handler = hears(heard, deregistering, CMQC.MQCBT_EVENT_HANDLER)
    qmgr.cb(operation=CMQC.MQOP_REGISTER, cbd=handler)
    qmgr.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    assert heard.get(timeout=WAIT_S)[0] == CMQC.MQCBCT_START_CALL
    qmgr.disconnect()
    calls = [heard.get_nowait() for _ in range(3)]
    assert calls[0] == (CMQC.MQCBCT_STOP_CALL, hobj)
    assert set(calls[1:]) == {
        (CMQC.MQCBCT_DEREGISTER_CALL, hobj),
        (CMQC.MQCBCT_DEREGISTER_CALL, CMQC.MQHO_NONE),
    }
    assert heard.empty()
    with manager.connect() as other:
        assert other.queue("REPLIES").depth() == 2
