"""Handles that are none, and calls after the disconnection: all verbs of both modules."""

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import ibmmq
import pytest
from ibmmq import CMQC, ibmmqc

from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL, conname

MD, OD, GMO, PMO = ibmmq.MD().pack(), ibmmq.OD().pack(), ibmmq.GMO().pack(), ibmmq.PMO().pack()
CBD, PD = ibmmq.CBD().pack(), ibmmq.PD().pack()
Call = Callable[[Any, int, int], Any]
BY_CONNECTION: dict[str, Call] = {
    "MQOPEN": lambda m, hconn, _: m.MQOPEN(hconn, OD, CMQC.MQOO_OUTPUT),
    "MQPUT1": lambda m, hconn, _: m.MQPUT1(hconn, OD, MD, PMO, b"x"),
    "MQCMIT": lambda m, hconn, _: m.MQCMIT(hconn),
    "MQBACK": lambda m, hconn, _: m.MQBACK(hconn),
    "MQBEGIN": lambda m, hconn, _: m.MQBEGIN(hconn),
    "MQDISC": lambda m, hconn, _: m.MQDISC(hconn),
    "MQSUB": lambda m, hconn, _: m.MQSUB(hconn, ibmmq.SD().pack(), 0),
    "MQCRTMH": lambda m, hconn, _: m.MQCRTMH(hconn, ibmmq.CMHO().pack()),
}
BY_OBJECT: dict[str, Call] = {
    "MQPUT": lambda m, hconn, hobj: m.MQPUT(hconn, hobj, MD, PMO, b"x"),
    "MQGET": lambda m, hconn, hobj: m.MQGET(hconn, hobj, MD, GMO, 10),
    "MQCLOSE": lambda m, hconn, hobj: m.MQCLOSE(hconn, hobj, CMQC.MQCO_NONE),
}
ONLY_IBMMQ_BY_CONNECTION: dict[str, Call] = {
    "MQSTAT": lambda m, hconn, _: m.MQSTAT(hconn, 0, ibmmq.STS().pack()),
    "MQCTL": lambda m, hconn, _: m.MQCTL(hconn, CMQC.MQOP_START, ibmmq.CTLO().pack()),
    "MQDLTMH": lambda m, hconn, _: m.MQDLTMH(hconn, 1, ibmmq.DMHO().pack()),
    "MQDLTMP": lambda m, hconn, _: m.MQDLTMP(hconn, 1, ibmmq.DMPO().pack(), b"a"),
    "MQINQMP": lambda m, hconn, _: m.MQINQMP(hconn, 1, ibmmq.IMPO().pack(), b"a", PD, 0, 9),
    "MQSETMP": lambda m, hconn, _: m.MQSETMP(
        hconn, 1, ibmmq.SMPO().pack(), b"a", PD, CMQC.MQTYPE_STRING, "x", 1
    ),
    "MQSUBRQ": lambda m, hconn, _: m.MQSUBRQ(hconn, 1, 1, ibmmq.SRO().pack()),
}
ONLY_IBMMQ_BY_OBJECT: dict[str, Call] = {
    "MQINQ": lambda m, hconn, hobj: m.MQINQ(hconn, hobj, [2016], [], 0, 1, 48),
    "MQSET": lambda m, hconn, hobj: m.MQSET(hconn, hobj, [9], [1], b""),
    "MQCB": lambda m, hconn, hobj: m.MQCB(hconn, CMQC.MQOP_REGISTER, CBD, hobj, MD, GMO),
}
ONLY_PYMQI: dict[str, Call] = {
    "MQINQ": lambda m, hconn, hobj: m.MQINQ(hconn, hobj, 2016),
    "MQSET": lambda m, hconn, hobj: m.MQSET(hconn, hobj, 9, 1),
}
pymqe: ModuleType = importlib.import_module("pymqe")
ALL: list[tuple[Any, str, Call]] = [
    *((ibmmqc, name, call) for name, call in (BY_CONNECTION | ONLY_IBMMQ_BY_CONNECTION).items()),
    *((ibmmqc, name, call) for name, call in (BY_OBJECT | ONLY_IBMMQ_BY_OBJECT).items()),
    *((pymqe, name, call) for name, call in (BY_CONNECTION | BY_OBJECT | ONLY_PYMQI).items()),
]


@pytest.mark.parametrize("hconn", [-1, 0, 999])
def test_connections_that_are_none(hconn: int) -> None:
    given = {name: call(module, hconn, 1)[-1] for module, name, call in ALL}
    assert given == dict.fromkeys(given, CMQC.MQRC_HCONN_ERROR)


def test_calls_after_the_disconnection(manager: TestQueueManager) -> None:
    qmgr = ibmmq.connect("QM1", CHANNEL, conname(manager))
    hconn = qmgr.get_handle()
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
    hobj = queue.get_handle()
    qmgr.disconnect()
    given = {name: call(ibmmqc, hconn, hobj)[-1] for m, name, call in ALL if m is ibmmqc}
    assert given == dict.fromkeys(given, CMQC.MQRC_HCONN_ERROR)


@pytest.mark.parametrize("hobj", [-1, 0, 999])
def test_objects_that_are_none(qmgr: ibmmq.QueueManager, hobj: int) -> None:
    calls = BY_OBJECT | ONLY_IBMMQ_BY_OBJECT
    given = {name: call(ibmmqc, qmgr.get_handle(), hobj)[-1] for name, call in calls.items()}
    assert given == dict.fromkeys(calls, CMQC.MQRC_HOBJ_ERROR)


def test_objects_that_are_closed(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT)
    hobj = queue.get_handle()
    assert ibmmqc.MQCLOSE(qmgr.get_handle(), hobj, CMQC.MQCO_NONE)[-1] == CMQC.MQRC_NONE
    for call in (BY_OBJECT | ONLY_IBMMQ_BY_OBJECT).values():
        assert call(ibmmqc, qmgr.get_handle(), hobj)[-1] == CMQC.MQRC_HOBJ_ERROR


def test_an_object_of_another_connection(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    """An object handle is its connection's."""
    other = ibmmq.connect("QM1", CHANNEL, conname(manager))
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT)
    assert (
        ibmmqc.MQPUT(other.get_handle(), queue.get_handle(), MD, PMO, b"x")[-1]
        == CMQC.MQRC_HOBJ_ERROR
    )
    other.disconnect()


SHORT = b"short"
WRONG_SIZES: dict[str, Callable[[], Any]] = {
    "MQOD": lambda: pymqe.MQOPEN(1, SHORT, CMQC.MQOO_OUTPUT),
    "MQMD": lambda: pymqe.MQPUT(1, 1, SHORT, PMO, b"x"),
    "MQPMO": lambda: pymqe.MQPUT1(1, OD, MD, SHORT, b"x"),
    "MQGMO": lambda: pymqe.MQGET(1, 1, MD, SHORT, 10),
    "MQSD": lambda: pymqe.MQSUB(1, SHORT, 0),
    "MQCMHO": lambda: pymqe.MQCRTMH(1, SHORT),
    "MQSMPO": lambda: pymqe.MQSETMP(1, 1, SHORT, b"a", PD, CMQC.MQTYPE_STRING, "x", 1),
    "MQPD": lambda: pymqe.MQSETMP(1, 1, ibmmq.SMPO().pack(), b"a", SHORT, 0, None, 0),
    "MQCD": lambda: pymqe.MQCONNX(b"", 0, SHORT, {}, None),
}


@pytest.mark.parametrize("name", WRONG_SIZES)
def test_structures_of_a_wrong_size_come_before_handles_that_are_none(name: str) -> None:
    """As for ibmmqc (test_reason_codes), the module's own error."""
    with pytest.raises(pymqe.error, match=rf"^{name} wrong size\. Given: 5"):
        WRONG_SIZES[name]()


@pytest.mark.parametrize("hmsg", [-2, 0, 999])
def test_message_handles_that_are_none(qmgr: ibmmq.QueueManager, hmsg: int) -> None:
    hconn = qmgr.get_handle()
    smpo, kind = ibmmq.SMPO().pack(), CMQC.MQTYPE_STRING
    for answer in (
        ibmmqc.MQSETMP(hconn, hmsg, smpo, b"a", PD, kind, "x", 1),
        ibmmqc.MQINQMP(hconn, hmsg, ibmmq.IMPO().pack(), b"a", PD, kind, 9),
        ibmmqc.MQDLTMP(hconn, hmsg, ibmmq.DMPO().pack(), b"a"),
        ibmmqc.MQDLTMH(hconn, hmsg, ibmmq.DMHO().pack()),
    ):
        assert answer[-1] == CMQC.MQRC_HMSG_ERROR
