"""MQDISC: refused it changes nothing, and it is done once; who may use a connection at all."""

import threading
from collections.abc import Callable
from typing import Any

import ibmmq
import pytest
from ibmmq import CMQC, CMQXC, ibmmqc

from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL, conname

WAIT_S = 20.0
SHARES = {
    "none": CMQC.MQCNO_HANDLE_SHARE_NONE,
    "block": CMQC.MQCNO_HANDLE_SHARE_BLOCK,
    "no block": CMQC.MQCNO_HANDLE_SHARE_NO_BLOCK,
}
MD, OD, GMO, PMO = ibmmq.MD().pack(), ibmmq.OD().pack(), ibmmq.GMO().pack(), ibmmq.PMO().pack()
CTLO = ibmmq.CTLO().pack()
Codes = tuple[int, int]


@pytest.fixture(autouse=True)
def server(manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQSERVER", f"{CHANNEL}/TCP/{conname(manager)}")


def connected(manager: TestQueueManager, share: str) -> ibmmq.QueueManager:
    cd = ibmmq.CD(ChannelName=CHANNEL.encode(), ConnectionName=conname(manager).encode())
    cd.ChannelType, cd.TransportType = CMQXC.MQCHT_CLNTCONN, CMQXC.MQXPT_TCP
    qmgr = ibmmq.QueueManager(None)
    if share == "none":  # the package asks for another one, unless MQCONN is called
        qmgr._QueueManager__handle = ibmmqc.MQCONN(b"QM1")[0]
        return qmgr
    qmgr.connect_with_options("QM1", cd=cd, opts=SHARES[share])
    return qmgr


def in_thread(call: Callable[[], Any]) -> Any:
    """Call in a thread of its own; return what it returned."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(call()))
    thread.start()
    thread.join(WAIT_S)
    return results[0]


def refuse_in_another_thread(manager: TestQueueManager, qmgr: ibmmq.QueueManager) -> Codes:
    """MQDISC in a thread that the connection is not for."""
    hconn = qmgr.get_handle()
    return tuple(in_thread(lambda: ibmmqc.MQDISC(hconn)))


def refuse_while_a_get_waits(manager: TestQueueManager, qmgr: ibmmq.QueueManager) -> Codes:
    """MQDISC while another thread of the program is in MQGET."""
    queue = ibmmq.Queue(qmgr, "ASIDE", CMQC.MQOO_INPUT_SHARED)
    gmo = ibmmq.GMO(Options=CMQC.MQGMO_WAIT, WaitInterval=CMQC.MQWI_UNLIMITED)
    thread = threading.Thread(target=lambda: queue.get(None, ibmmq.MD(), gmo))
    thread.start()
    with manager.connect() as other:
        while not other.queue("ASIDE").status().waiting_gets:
            thread.join(0.01)
        codes = ibmmqc.MQDISC(qmgr.get_handle())
        other.put("ASIDE", "end")
    thread.join(WAIT_S)
    return tuple(codes)


def refuse_in_a_function(manager: TestQueueManager, qmgr: ibmmq.QueueManager) -> Codes:
    """MQDISC in a function that the connection calls."""
    codes: list[Codes] = []
    called = threading.Event()

    def on_message(**_: Any) -> None:
        codes.append(tuple(ibmmqc.MQDISC(qmgr.get_handle())))
        called.set()

    queue = ibmmq.Queue(qmgr, "ASIDE", CMQC.MQOO_INPUT_SHARED)
    queue.cb(md=ibmmq.MD(), gmo=ibmmq.GMO(), cbd=ibmmq.CBD(CallbackFunction=on_message))
    with manager.connect() as other:
        other.put("ASIDE", "x")
    qmgr.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    assert called.wait(WAIT_S)
    qmgr.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())
    return codes[0]


@pytest.mark.parametrize(
    ("share", "refuse", "reason"),
    [
        ("none", refuse_in_another_thread, CMQC.MQRC_HCONN_ERROR),
        ("no block", refuse_while_a_get_waits, CMQC.MQRC_CALL_IN_PROGRESS),
        *[(share, refuse_in_a_function, CMQC.MQRC_CALL_IN_PROGRESS) for share in SHARES],
    ],
)
def test_a_disconnection_that_is_refused_changes_nothing(
    manager: TestQueueManager,
    share: str,
    refuse: Callable[[TestQueueManager, ibmmq.QueueManager], Codes],
    reason: int,
) -> None:
    """Consumers are called as before, the unit is as it was, and the next MQDISC commits it."""
    qmgr = connected(manager, share)
    heard = threading.Semaphore(0)
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED)
    calls = ibmmq.CBD(CallbackFunction=lambda **_: heard.release())
    queue.cb(md=ibmmq.MD(), gmo=ibmmq.GMO(Options=CMQC.MQGMO_NO_SYNCPOINT), cbd=calls)
    qmgr.put1("REPLIES", b"x", ibmmq.MD(), ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT))
    assert refuse(manager, qmgr) == (CMQC.MQCC_FAILED, reason)
    qmgr.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    with manager.connect() as other:
        other.put("ORDERS", "x")
        assert heard.acquire(timeout=WAIT_S)
        qmgr.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())
        qmgr.disconnect()
        assert other.queue("REPLIES").depth() == 1


@pytest.mark.parametrize("share", ["block", "no block"])
def test_of_disconnections_at_once_one_is_made(manager: TestQueueManager, share: str) -> None:
    """The others, and calls that come too late, find no connection."""
    for _ in range(20):
        qmgr = connected(manager, share)
        hconn = qmgr.get_handle()
        begin = threading.Barrier(4)
        found: list[Codes] = []

        def disconnect(hconn: int = hconn, begin: threading.Barrier = begin) -> None:
            begin.wait(WAIT_S)
            found.append(tuple(ibmmqc.MQDISC(hconn)))  # noqa: B023 -- all are joined

        threads = [threading.Thread(target=disconnect) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_S)
        done = [codes for codes in found if codes == (CMQC.MQCC_OK, CMQC.MQRC_NONE)]
        assert len(done) == 1
        refused = {reason for _, reason in found} - {CMQC.MQRC_NONE}
        allowed = {CMQC.MQRC_HCONN_ERROR}
        if share == "no block":
            allowed.add(CMQC.MQRC_CALL_IN_PROGRESS)
        assert refused <= allowed


OF_A_CONNECTION: dict[str, Callable[[int, int], Any]] = {
    "MQOPEN": lambda hconn, _: ibmmqc.MQOPEN(hconn, OD, CMQC.MQOO_OUTPUT),
    "MQCLOSE": lambda hconn, hobj: ibmmqc.MQCLOSE(hconn, hobj, CMQC.MQCO_NONE),
    "MQPUT": lambda hconn, hobj: ibmmqc.MQPUT(hconn, hobj, MD, PMO, b"x"),
    "MQPUT1": lambda hconn, _: ibmmqc.MQPUT1(hconn, OD, MD, PMO, b"x"),
    "MQGET": lambda hconn, hobj: ibmmqc.MQGET(hconn, hobj, MD, GMO, 10),
    "MQINQ": lambda hconn, hobj: ibmmqc.MQINQ(hconn, hobj, [2016], [], 0, 1, 48),
    "MQSET": lambda hconn, hobj: ibmmqc.MQSET(hconn, hobj, [9], [1], b""),
    "MQCMIT": lambda hconn, _: ibmmqc.MQCMIT(hconn),
    "MQBACK": lambda hconn, _: ibmmqc.MQBACK(hconn),
    "MQBEGIN": lambda hconn, _: ibmmqc.MQBEGIN(hconn),
    "MQSTAT": lambda hconn, _: ibmmqc.MQSTAT(hconn, 0, ibmmq.STS().pack()),
    "MQSUB": lambda hconn, _: ibmmqc.MQSUB(hconn, ibmmq.SD().pack(), 0),
    "MQSUBRQ": lambda hconn, _: ibmmqc.MQSUBRQ(hconn, 1, 1, ibmmq.SRO().pack()),
    "MQCB": lambda hconn, hobj: ibmmqc.MQCB(
        hconn, CMQC.MQOP_REGISTER, ibmmq.CBD().pack(), hobj, MD, GMO
    ),
    "MQCTL": lambda hconn, _: ibmmqc.MQCTL(hconn, CMQC.MQOP_START, CTLO),
    "MQCRTMH": lambda hconn, _: ibmmqc.MQCRTMH(hconn, ibmmq.CMHO().pack()),
    "MQDISC": lambda hconn, _: ibmmqc.MQDISC(hconn),
}


@pytest.mark.parametrize("verb", OF_A_CONNECTION)
def test_a_connection_that_is_not_shared_is_of_one_thread(
    manager: TestQueueManager, verb: str
) -> None:
    qmgr = connected(manager, "none")
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT)
    hconn, hobj = qmgr.get_handle(), queue.get_handle()
    answer = in_thread(lambda: OF_A_CONNECTION[verb](hconn, hobj))
    assert tuple(answer[-2:]) == (CMQC.MQCC_FAILED, CMQC.MQRC_HCONN_ERROR)
    qmgr.disconnect()
