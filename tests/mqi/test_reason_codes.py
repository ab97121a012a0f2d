"""Every reason code of the MQI's face is given by something here or in another test of this folder.

What core refuses is shown by tests/unit/core/test_reasons.py, and which code it becomes by
tests/unit/mqi/test_reasons.py. Here is what the verbs refuse by themselves.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import ibmmq
import pytest
from ibmmq import CMQC, CMQXC, ibmmqc

from adapter.mqi.interface import Interface
from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL, conname

TOP = Path(__file__).parents[2]
NAME = re.compile(r"\b(?:mq|CMQC|CMQCFC)\.(MQRC(?:CF)?_[A-Z0-9_]+)\b")
BOTH = CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED
SMALLEST = ibmmq.CMHO().pack()


class Program:
    """A program that is connected; its methods return the reason code of one call."""

    def __init__(self, manager: TestQueueManager, qmgr: ibmmq.QueueManager) -> None:
        self.manager = manager
        self.hconn: int = qmgr.get_handle()

    def open(self, options: int, name: str = "ORDERS", kind: int = CMQC.MQOT_Q) -> int:
        od = ibmmq.OD(ObjectType=kind, ObjectName=name)
        return int(ibmmqc.MQOPEN(self.hconn, od.pack(), options)[0])

    def put(self, options: int, opened_for: int = CMQC.MQOO_OUTPUT, **pmo: Any) -> int:
        packed = ibmmq.PMO(Options=options, **pmo).pack()
        hobj = self.open(opened_for)
        return int(ibmmqc.MQPUT(self.hconn, hobj, ibmmq.MD().pack(), packed, b"x")[-1])

    def get(self, room: int, **gmo_fields: int) -> int:
        md, gmo = ibmmq.MD().pack(), ibmmq.GMO(**gmo_fields).pack()
        return int(ibmmqc.MQGET(self.hconn, self.open(BOTH), md, gmo, room)[-1])

    def inquire(self, selectors: list[int], ints: int, chars: int) -> int:
        hobj = self.open(CMQC.MQOO_INQUIRE)
        return int(ibmmqc.MQINQ(self.hconn, hobj, selectors, [], ints, 1, chars)[-1])

    def set(self, selectors: list[int], ints: list[int]) -> int:
        return int(ibmmqc.MQSET(self.hconn, self.open(CMQC.MQOO_SET), selectors, ints, b"")[-1])

    def register(self, **cbd: Any) -> int:
        packed = ibmmq.CBD(**cbd).pack()
        return self.callback(ibmmqc.MQCB, self.hconn, self.open(BOTH), packed)

    def callback(self, verb: Any, hconn: int, hobj: int, cbd: bytes) -> int:
        md, gmo = ibmmq.MD().pack(), ibmmq.GMO().pack()
        return int(verb(hconn, CMQC.MQOP_REGISTER, cbd, hobj, md, gmo)[-1])

    def connect(self, **cd: Any) -> int:
        described = ibmmq.CD(ConnectionName=conname(self.manager), ChannelName=CHANNEL, **cd)
        return int(ibmmqc.MQCONNX(b"QM1", None, described.pack(), None, None, None)[-1])

    def name_property(self, name: bytes) -> int:
        hmsg = self.message_handle()
        smpo, pd = ibmmq.SMPO().pack(), ibmmq.PD().pack()
        kind = CMQC.MQTYPE_STRING
        return int(ibmmqc.MQSETMP(self.hconn, hmsg, smpo, name, pd, kind, "x", 1)[-1])

    def message_handle(self) -> int:
        return int(ibmmqc.MQCRTMH(self.hconn, SMALLEST)[0])

    def inquire_what_is_gone(self) -> int:
        with self.manager.connect() as administrator:
            administrator.define_process("GONE")
            hobj = self.open(CMQC.MQOO_INQUIRE, "GONE", CMQC.MQOT_PROCESS)
            administrator.delete_object("process", "GONE")
        return int(ibmmqc.MQINQ(self.hconn, hobj, [CMQC.MQCA_APPL_ID], [], 0, 1, 256)[-1])

    def register_without_a_package(self) -> int:
        """The package ibmmq names its function, that all callbacks go through, when imported."""
        mqi = Interface()
        described = ibmmq.CD(ConnectionName=conname(self.manager), ChannelName=CHANNEL)
        hconn = mqi.connect("QM1", cd=described.pack())[0]
        hobj = mqi.open(hconn, ibmmq.OD(ObjectName="ORDERS").pack(), BOTH)[0]
        reason = self.callback(mqi.callback, hconn, hobj, ibmmq.CBD().pack())
        mqi.disconnect(hconn)
        return reason


CASES: dict[str, Callable[[Program], int]] = {
    "MQRC_BUFFER_LENGTH_ERROR": lambda p: p.get(-1),
    "MQRC_CALLBACK_ROUTINE_ERROR": Program.register_without_a_package,
    "MQRC_CBD_OPTIONS_ERROR": lambda p: p.register(Options=1 << 30),
    "MQRC_CD_ERROR": lambda p: p.connect(TransportType=CMQXC.MQXPT_LU62),
    "MQRC_CHAR_ATTRS_TOO_SHORT": lambda p: p.inquire([CMQC.MQCA_Q_NAME], 0, 47),
    "MQRC_CONTEXT_HANDLE_ERROR": lambda p: p.put(
        CMQC.MQPMO_PASS_ALL_CONTEXT, CMQC.MQOO_OUTPUT | CMQC.MQOO_PASS_ALL_CONTEXT, Context=999
    ),
    "MQRC_INT_ATTR_COUNT_ERROR": lambda p: p.set([CMQC.MQIA_INHIBIT_PUT], []),
    "MQRC_INT_ATTR_COUNT_TOO_SMALL": lambda p: p.inquire([CMQC.MQIA_MAX_Q_DEPTH], 0, 0),
    "MQRC_MAX_MSG_LENGTH_ERROR": lambda p: p.register(MaxMsgLength=-2),
    "MQRC_NOT_OPEN_FOR_PASS_ALL": lambda p: p.put(CMQC.MQPMO_PASS_ALL_CONTEXT),
    "MQRC_NOT_OPEN_FOR_SET_IDENT": lambda p: p.put(CMQC.MQPMO_SET_IDENTITY_CONTEXT),
    "MQRC_OBJECT_CHANGED": Program.inquire_what_is_gone,
    "MQRC_PROPERTY_NAME_TOO_BIG": lambda p: p.name_property(b"x" * 4_096),
    "MQRC_SELECTOR_LIMIT_EXCEEDED": lambda p: p.inquire([CMQC.MQIA_MAX_Q_DEPTH] * 257, 257, 0),
    "MQRC_STAT_TYPE_ERROR": lambda p: ibmmqc.MQSTAT(
        p.hconn, CMQC.MQSTAT_TYPE_RECONNECTION, ibmmq.STS().pack()
    )[-1],
    "MQRC_WAIT_INTERVAL_ERROR": lambda p: p.get(10, Options=CMQC.MQGMO_WAIT, WaitInterval=-2),
}
ONLY_LOOKED_FOR = {"MQRC_OBJECT_DAMAGED", "MQRC_Q_DELETED", "MQRC_Q_MGR_STOPPING"}
"""Core gives them; the callbacks ask whether it did."""


@pytest.mark.parametrize("name", CASES)
def test_a_verb_gives(name: str, manager: TestQueueManager, qmgr: ibmmq.QueueManager) -> None:
    assert CASES[name](Program(manager, qmgr)) == getattr(CMQC, name)


Call = Callable[[Program, bytes], Any]
STRUCTURES: dict[str, tuple[Any, Call]] = {
    "MQRC_CNO_ERROR": (
        ibmmq.CNO,
        lambda _, cno: ibmmqc.MQCONNX(b"QM1", cno, None, None, None, None),
    ),
    "MQRC_OD_ERROR": (ibmmq.OD, lambda p, od: ibmmqc.MQOPEN(p.hconn, od, CMQC.MQOO_OUTPUT)),
    "MQRC_MD_ERROR": (
        ibmmq.MD,
        lambda p, md: ibmmqc.MQPUT(p.hconn, p.open(BOTH), md, ibmmq.PMO().pack(), b"x"),
    ),
    "MQRC_PMO_ERROR": (
        ibmmq.PMO,
        lambda p, pmo: ibmmqc.MQPUT1(
            p.hconn, ibmmq.OD(ObjectName="ORDERS").pack(), ibmmq.MD().pack(), pmo, b"x"
        ),
    ),
    "MQRC_GMO_ERROR": (
        ibmmq.GMO,
        lambda p, gmo: ibmmqc.MQGET(p.hconn, p.open(BOTH), ibmmq.MD().pack(), gmo, 10),
    ),
    "MQRC_STS_ERROR": (ibmmq.STS, lambda p, sts: ibmmqc.MQSTAT(p.hconn, 0, sts)),
    "MQRC_CBD_ERROR": (
        ibmmq.CBD,
        lambda p, cbd: (p.callback(ibmmqc.MQCB, p.hconn, p.open(BOTH), cbd),),
    ),
    "MQRC_CTLO_ERROR": (
        ibmmq.CTLO,
        lambda p, ctlo: ibmmqc.MQCTL(p.hconn, CMQC.MQOP_START, ctlo),
    ),
    "MQRC_CMHO_ERROR": (ibmmq.CMHO, lambda p, cmho: ibmmqc.MQCRTMH(p.hconn, cmho)),
    "MQRC_DMHO_ERROR": (
        ibmmq.DMHO,
        lambda p, dmho: ibmmqc.MQDLTMH(p.hconn, p.message_handle(), dmho),
    ),
    "MQRC_SMPO_ERROR": (
        ibmmq.SMPO,
        lambda p, smpo: ibmmqc.MQSETMP(
            p.hconn, p.message_handle(), smpo, b"a", ibmmq.PD().pack(), 0, None, 0
        ),
    ),
    "MQRC_PD_ERROR": (
        ibmmq.PD,
        lambda p, pd: ibmmqc.MQSETMP(
            p.hconn, p.message_handle(), ibmmq.SMPO().pack(), b"a", pd, 0, None, 0
        ),
    ),
    "MQRC_IMPO_ERROR": (
        ibmmq.IMPO,
        lambda p, impo: ibmmqc.MQINQMP(
            p.hconn, p.message_handle(), impo, b"a", ibmmq.PD().pack(), 0, 10
        ),
    ),
    "MQRC_SD_ERROR": (ibmmq.SD, lambda p, sd: ibmmqc.MQSUB(p.hconn, sd, 0)),
    "MQRC_SRO_ERROR": (
        ibmmq.SRO,
        lambda p, sro: ibmmqc.MQSUBRQ(p.hconn, 1, CMQC.MQSR_ACTION_PUBLICATION, sro),
    ),
    "MQRC_DMPO_ERROR": (
        ibmmq.DMPO,
        lambda p, dmpo: ibmmqc.MQDLTMP(p.hconn, p.message_handle(), dmpo, b"a"),
    ),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_structure_that_is_another(
    name: str, manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    """Its identifier, and the versions that there are: none, and one more than the newest."""
    kind, call = STRUCTURES[name]
    program = Program(manager, qmgr)
    good: bytes = kind().pack()
    for wrong in (b"X" + good[1:], *(good[:4] + bytes([v, 0, 0, 0]) + good[8:] for v in (0, 99))):
        assert call(program, wrong)[-1] == getattr(CMQC, name)


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_structure_of_another_size(
    name: str, manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    """An error of the module, as the original raises it: there is no reason code to give."""
    kind, call = STRUCTURES[name]
    program = Program(manager, qmgr)
    good: bytes = kind().pack()
    for wrong in (b"", good[:-1], good + b"\0"):
        with pytest.raises(ibmmqc.error, match=f"^MQ{kind.__name__} wrong size"):
            call(program, wrong)
    assert ibmmqc.MQCMIT(program.hconn)[-1] == CMQC.MQRC_NONE, "it is no worse for it"


@pytest.mark.parametrize("place", range(1, 6), ids=["CNO", "CD", "CSP", "SCO", "BNO"])
def test_a_connection_with_a_structure_of_another_size(place: int) -> None:
    given: list[Any] = [b"QM1", None, None, None, None, None]
    given[place] = b"short"
    with pytest.raises(ibmmqc.error, match=r"wrong size\. Given: 5"):
        ibmmqc.MQCONNX(*given)


def named(sources: Iterable[Path]) -> set[str]:
    """The reason codes that these sources name."""
    return {name for path in sources for name in NAME.findall(path.read_text())}


def untested(given: set[str], tested: set[str]) -> list[str]:
    return sorted(given - tested - ONLY_LOOKED_FOR - CASES.keys() - STRUCTURES.keys())


def test_every_reason_code_is_given_in_some_test() -> None:
    """A new one comes with a test in tests/mqi or tests/unit/mqi that names it, or a case here."""
    faces = (path for path in (TOP / "adapter" / "mqi").rglob("*.py"))
    layers = (TOP / "tests" / "mqi", TOP / "tests" / "unit" / "mqi")
    tested = named(path for layer in layers for path in layer.rglob("test_*.py"))
    given = named(faces)
    assert len(given) > 80, "the faces are found"
    assert untested(given, tested) == []
    assert untested({"MQRC_MADE_UP"}, tested) == ["MQRC_MADE_UP"]
