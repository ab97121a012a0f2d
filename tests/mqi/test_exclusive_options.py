"""Options of one verb that exclude each other: 2046, and nothing is done."""

import ibmmq
import pytest
from ibmmq import CMQC, ibmmqc

from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL, conname

BOTH = CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_BROWSE


def pairs(*groups: str) -> list[tuple[str, str]]:
    """Each two names of a group."""
    listed = [group.split() for group in groups]
    return [(a, b) for names in listed for n, a in enumerate(names) for b in names[n + 1 :]]


def both(names: tuple[str, str]) -> int:
    return int(getattr(CMQC, names[0]) | getattr(CMQC, names[1]))


@pytest.mark.parametrize(
    "names",
    pairs(
        "MQCNO_HANDLE_SHARE_NONE MQCNO_HANDLE_SHARE_BLOCK MQCNO_HANDLE_SHARE_NO_BLOCK",
        "MQCNO_RECONNECT MQCNO_RECONNECT_Q_MGR MQCNO_RECONNECT_DISABLED",
        "MQCNO_LOCAL_BINDING MQCNO_CLIENT_BINDING",
    ),
    ids=" ".join,
)
def test_connecting(manager: TestQueueManager, names: tuple[str, str]) -> None:
    cno = ibmmq.CNO(Options=both(names)).pack()
    cd = ibmmq.CD(ConnectionName=conname(manager), ChannelName=CHANNEL).pack()
    hconn, _, reason = ibmmqc.MQCONNX(b"QM1", cno, cd, None, None, None)
    assert (hconn, reason) == (CMQC.MQHC_UNUSABLE_HCONN, CMQC.MQRC_OPTIONS_ERROR)


@pytest.mark.parametrize(
    "names",
    pairs(
        "MQOO_INPUT_AS_Q_DEF MQOO_INPUT_SHARED MQOO_INPUT_EXCLUSIVE",
        "MQOO_BIND_ON_OPEN MQOO_BIND_NOT_FIXED MQOO_BIND_ON_GROUP",
        "MQOO_READ_AHEAD MQOO_NO_READ_AHEAD",
    ),
    ids=" ".join,
)
def test_opening(qmgr: ibmmq.QueueManager, names: tuple[str, str]) -> None:
    od = ibmmq.OD(ObjectName="ORDERS").pack()
    hobj, _, _, reason = ibmmqc.MQOPEN(qmgr.get_handle(), od, CMQC.MQOO_OUTPUT | both(names))
    assert (hobj, reason) == (CMQC.MQHO_UNUSABLE_HOBJ, CMQC.MQRC_OPTIONS_ERROR)


@pytest.mark.parametrize(
    "names",
    pairs(
        "MQPMO_SYNCPOINT MQPMO_NO_SYNCPOINT",
        "MQPMO_ASYNC_RESPONSE MQPMO_SYNC_RESPONSE",
        "MQPMO_DEFAULT_CONTEXT MQPMO_NO_CONTEXT MQPMO_PASS_IDENTITY_CONTEXT "
        "MQPMO_PASS_ALL_CONTEXT MQPMO_SET_IDENTITY_CONTEXT MQPMO_SET_ALL_CONTEXT",
    ),
    ids=" ".join,
)
def test_putting(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager, names: tuple[str, str]
) -> None:
    od, md = ibmmq.OD(ObjectName="ORDERS").pack(), ibmmq.MD().pack()
    pmo = ibmmq.PMO(Options=both(names)).pack()
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH)
    for answer in (
        ibmmqc.MQPUT1(qmgr.get_handle(), od, md, pmo, b"x"),
        ibmmqc.MQPUT(qmgr.get_handle(), queue.get_handle(), md, pmo, b"x"),
    ):
        assert answer[-1] == CMQC.MQRC_OPTIONS_ERROR
    assert ibmmqc.MQCMIT(qmgr.get_handle())[-1] == CMQC.MQRC_NONE
    with manager.connect() as other:
        assert other.queue("ORDERS").depth() == 0


@pytest.mark.parametrize(
    "names",
    pairs(
        "MQGMO_SYNCPOINT MQGMO_NO_SYNCPOINT MQGMO_SYNCPOINT_IF_PERSISTENT",
        "MQGMO_BROWSE_FIRST MQGMO_BROWSE_NEXT MQGMO_BROWSE_MSG_UNDER_CURSOR MQGMO_MSG_UNDER_CURSOR",
        "MQGMO_SYNCPOINT MQGMO_BROWSE_FIRST",
        "MQGMO_SYNCPOINT MQGMO_BROWSE_NEXT",
        "MQGMO_PROPERTIES_IN_HANDLE MQGMO_NO_PROPERTIES MQGMO_PROPERTIES_FORCE_MQRFH2 "
        "MQGMO_PROPERTIES_COMPATIBILITY",
        "MQGMO_UNLOCK MQGMO_CONVERT",
        "MQGMO_SYNCPOINT_IF_PERSISTENT MQGMO_COMPLETE_MSG",
        "MQGMO_LOCK MQGMO_NO_SYNCPOINT",
        "MQGMO_LOCK MQGMO_MSG_UNDER_CURSOR",
    ),
    ids=" ".join,
)
def test_getting(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager, names: tuple[str, str]
) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH)
    queue.put("x")
    md, gmo = ibmmq.MD().pack(), ibmmq.GMO(Options=both(names)).pack()
    answer = ibmmqc.MQGET(qmgr.get_handle(), queue.get_handle(), md, gmo, 10)
    assert answer[-1] == CMQC.MQRC_OPTIONS_ERROR
    with manager.connect() as other:
        assert other.queue("ORDERS").depth() == 1


def test_closing(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH)
    options = CMQC.MQCO_DELETE | CMQC.MQCO_DELETE_PURGE
    answer = ibmmqc.MQCLOSE(qmgr.get_handle(), queue.get_handle(), options)
    assert answer[-1] == CMQC.MQRC_OPTIONS_ERROR
    queue.put("x")  # it is still open
