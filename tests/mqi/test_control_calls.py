"""What functions are called for beside messages, and what a consumer gets that cannot get on."""

import threading
from queue import Empty
from queue import Queue as Results
from typing import Any

import ibmmq
import pytest
from ibmmq import CMQC, ibmmqc

from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL, conname

WAIT_S = 20.0
QUIET_S = 0.3
ALL_CALLS = (
    CMQC.MQCBDO_START_CALL
    | CMQC.MQCBDO_STOP_CALL
    | CMQC.MQCBDO_REGISTER_CALL
    | CMQC.MQCBDO_DEREGISTER_CALL
)
EVERYTHING = CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_BROWSE | CMQC.MQOO_CO_OP
Heard = Results[tuple[int, int, int, bytes | None]]


@pytest.fixture
def consuming(manager: TestQueueManager) -> Any:
    qmgr = ibmmq.connect("QM1", CHANNEL, conname(manager))
    yield qmgr
    qmgr.disconnect()


def noting(heard: Heard, options: int = CMQC.MQCBDO_NONE, **cbd: Any) -> ibmmq.CBD:
    """Describe a function that notes kind, reason, state and body of its calls."""

    def note(**said: Any) -> None:
        cbc = said["cbc"]
        heard.put((cbc.CallType, cbc.Reason, cbc.State, said["msg"]))

    return ibmmq.CBD(CallbackFunction=note, Options=options, **cbd)


def kinds(heard: Heard) -> list[int]:
    """Return the kinds of the calls that were noted."""
    found = []
    while not heard.empty():
        found.append(heard.get()[0])
    return found


def test_a_registration_is_told_with_the_next_verb_and_once(
    consuming: ibmmq.QueueManager,
) -> None:
    """Not within MQCB: the package does not know the function before that has returned."""
    heard: Heard = Results()
    queue = ibmmq.Queue(consuming, "ORDERS", EVERYTHING)
    queue.cb(md=ibmmq.MD(), gmo=ibmmq.GMO(), cbd=noting(heard, ALL_CALLS))
    consuming.put1("REPLIES", "x")
    assert kinds(heard) == [CMQC.MQCBCT_REGISTER_CALL]
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())
    assert kinds(heard) == [CMQC.MQCBCT_START_CALL, CMQC.MQCBCT_STOP_CALL]
    queue.cb(operation=CMQC.MQOP_DEREGISTER)
    assert kinds(heard) == [CMQC.MQCBCT_DEREGISTER_CALL]


def test_a_start_comes_behind_the_registration(consuming: ibmmq.QueueManager) -> None:
    heard: Heard = Results()
    queue = ibmmq.Queue(consuming, "ORDERS", EVERYTHING)
    queue.cb(md=ibmmq.MD(), gmo=ibmmq.GMO(), cbd=noting(heard, ALL_CALLS))
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())
    assert kinds(heard)[:2] == [CMQC.MQCBCT_REGISTER_CALL, CMQC.MQCBCT_START_CALL]


def test_a_registration_in_a_function_is_told_behind_it(consuming: ibmmq.QueueManager) -> None:
    heard: Heard = Results()
    is_inside = threading.Event()
    outer, inner = (ibmmq.Queue(consuming, name, EVERYTHING) for name in ("ORDERS", "ASIDE"))

    def register(**_: Any) -> None:
        is_inside.set()
        inner.cb(md=ibmmq.MD(), gmo=ibmmq.GMO(), cbd=noting(heard, ALL_CALLS))
        assert heard.empty()
        is_inside.clear()

    consuming.put1("ORDERS", "x")
    outer.cb(md=ibmmq.MD(), gmo=ibmmq.GMO(), cbd=ibmmq.CBD(CallbackFunction=register))
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    assert heard.get(timeout=WAIT_S)[0] == CMQC.MQCBCT_REGISTER_CALL
    assert not is_inside.is_set()
    assert heard.get(timeout=WAIT_S)[0] == CMQC.MQCBCT_START_CALL
    consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())


def test_a_consumer_that_deregisters_itself_is_told_of_the_stop_first(
    consuming: ibmmq.QueueManager,
) -> None:
    heard: Heard = Results()
    queue = ibmmq.Queue(consuming, "ORDERS", EVERYTHING)
    described = noting(heard, ALL_CALLS)
    note = described.CallbackFunction

    def work(**said: Any) -> None:
        note(**said)
        if said["cbc"].CallType == CMQC.MQCBCT_MSG_REMOVED:
            queue.cb(operation=CMQC.MQOP_DEREGISTER, cbd=described)

    described.CallbackFunction = work
    queue.cb(md=ibmmq.MD(), gmo=ibmmq.GMO(), cbd=described)
    consuming.put1("ORDERS", "x")
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    found = [heard.get(timeout=WAIT_S)[0] for _ in range(5)]
    consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())
    assert found == [
        CMQC.MQCBCT_REGISTER_CALL,
        CMQC.MQCBCT_START_CALL,
        CMQC.MQCBCT_MSG_REMOVED,
        CMQC.MQCBCT_STOP_CALL,
        CMQC.MQCBCT_DEREGISTER_CALL,
    ]
    assert heard.empty()


def test_a_message_that_is_too_long_suspends_its_consumer(consuming: ibmmq.QueueManager) -> None:
    """It is reported once; after a registration with more room it comes, and those behind it."""
    heard: Heard = Results()
    queue = ibmmq.Queue(consuming, "ORDERS", EVERYTHING)
    for body in ("too long", "b"):
        consuming.put1("ORDERS", body)
    queue.cb(md=ibmmq.MD(), gmo=ibmmq.GMO(), cbd=noting(heard, MaxMsgLength=3))
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    suspended = CMQC.MQCS_SUSPENDED_USER_ACTION
    report = (CMQC.MQCBCT_MSG_NOT_REMOVED, CMQC.MQRC_TRUNCATED_MSG_FAILED, suspended, b"too")
    assert heard.get(timeout=WAIT_S) == report
    with pytest.raises(Empty):
        heard.get(timeout=QUIET_S)
    consuming.ctl(CMQC.MQOP_SUSPEND, ibmmq.CTLO())
    queue.cb(operation=CMQC.MQOP_RESUME)
    consuming.ctl(CMQC.MQOP_RESUME, ibmmq.CTLO())
    assert heard.get(timeout=WAIT_S) == report, "nothing is done about it"
    consuming.ctl(CMQC.MQOP_SUSPEND, ibmmq.CTLO())
    queue.cb(md=ibmmq.MD(), gmo=ibmmq.GMO(), cbd=noting(heard, MaxMsgLength=100))
    consuming.ctl(CMQC.MQOP_RESUME, ibmmq.CTLO())
    assert [heard.get(timeout=WAIT_S)[3] for _ in range(2)] == [b"too long", b"b"]
    consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())


@pytest.mark.parametrize(
    "beside",
    [
        CMQC.MQGMO_NONE,
        CMQC.MQGMO_UNMARKED_BROWSE_MSG,
        CMQC.MQGMO_MARK_BROWSE_HANDLE,
        CMQC.MQGMO_UNMARKED_BROWSE_MSG | CMQC.MQGMO_MARK_BROWSE_HANDLE,
        CMQC.MQGMO_UNMARKED_BROWSE_MSG | CMQC.MQGMO_MARK_BROWSE_CO_OP,
        CMQC.MQGMO_LOGICAL_ORDER,
        CMQC.MQGMO_LOCK,
    ],
)
def test_a_consumer_that_browses_from_the_first_message_sees_each_once(
    consuming: ibmmq.QueueManager, beside: int
) -> None:
    heard: Heard = Results()
    queue = ibmmq.Queue(consuming, "ORDERS", EVERYTHING)
    for body in ("a", "b", "c"):
        consuming.put1("ORDERS", body)
    gmo = ibmmq.GMO(Version=4, Options=CMQC.MQGMO_BROWSE_FIRST | beside)
    queue.cb(md=ibmmq.MD(), gmo=gmo, cbd=noting(heard))
    consuming.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    assert [heard.get(timeout=WAIT_S)[3] for _ in range(3)] == [b"a", b"b", b"c"]
    with pytest.raises(Empty):
        heard.get(timeout=QUIET_S)
    consuming.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())


@pytest.mark.parametrize("hobj", [CMQC.MQHO_NONE, CMQC.MQHO_UNUSABLE_HOBJ, 77])
def test_what_registers_an_event_handler_is_what_deregisters_it(
    consuming: ibmmq.QueueManager, hobj: int
) -> None:
    """Its object handle is ignored, by every operation."""
    described = ibmmq.CBD(CallbackType=CMQC.MQCBT_EVENT_HANDLER, CallbackFunction=0).pack()
    rest = (described, hobj, ibmmq.MD().pack(), ibmmq.GMO().pack())
    hconn = consuming.get_handle()
    operations = ("REGISTER", "SUSPEND", "RESUME", "DEREGISTER")
    numbers = [getattr(CMQC, f"MQOP_{name}") for name in operations]
    for number in numbers:
        assert tuple(ibmmqc.MQCB(hconn, number, *rest)) == (CMQC.MQCC_OK, CMQC.MQRC_NONE)
    for number in numbers[1:]:
        refusal = (CMQC.MQCC_FAILED, CMQC.MQRC_CALLBACK_NOT_REGISTERED)
        assert tuple(ibmmqc.MQCB(hconn, number, *rest)) == refusal
