"""What is no option is refused in each structure that has options, and never passed over."""

from collections.abc import Callable
from typing import Any

import ibmmq
import pytest
from ibmmq import CMQC, ibmmqc

from adapter.mqi import options
from adapter.mqi.options import OptionTable

BITS = [1 << number if number < 31 else -(2**31) for number in range(32)]
BOTH = CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_BROWSE
Call = Callable[["Program", int], int]


class Program:
    """A program with a queue and a message handle; each method returns a reason code."""

    def __init__(self, qmgr: ibmmq.QueueManager) -> None:
        self.hconn: int = qmgr.get_handle()
        self.hobj = ibmmqc.MQOPEN(self.hconn, ibmmq.OD(ObjectName="ORDERS").pack(), BOTH)[0]
        self.hmsg = ibmmqc.MQCRTMH(self.hconn, ibmmq.CMHO().pack())[0]

    def get(self, **said: int) -> int:
        gmo = ibmmq.GMO(Version=4, **said).pack()
        return int(ibmmqc.MQGET(self.hconn, self.hobj, ibmmq.MD().pack(), gmo, 10)[-1])

    def set(self, smpo: bytes = ibmmq.SMPO().pack(), **said: int) -> int:
        given = (ibmmq.PD(**said).pack(), CMQC.MQTYPE_INT32, 1, -1)
        return int(ibmmqc.MQSETMP(self.hconn, self.hmsg, smpo, b"a", *given)[-1])

    def put(self, value: int) -> int:
        pmo = ibmmq.PMO(Version=3, Options=value).pack()
        return int(ibmmqc.MQPUT(self.hconn, self.hobj, ibmmq.MD().pack(), pmo, b"x")[-1])

    def inquire(self, value: int) -> int:
        given = (ibmmq.IMPO(Options=value).pack(), b"a", ibmmq.PD().pack(), 0, 10)
        return int(ibmmqc.MQINQMP(self.hconn, self.hmsg, *given)[-1])

    def delete(self, value: int) -> int:
        dmpo = ibmmq.DMPO(Options=value).pack()
        return int(ibmmqc.MQDLTMP(self.hconn, self.hmsg, dmpo, b"a")[-1])

    def create_handle(self, value: int) -> int:
        return int(ibmmqc.MQCRTMH(self.hconn, ibmmq.CMHO(Options=value).pack())[-1])

    def delete_handle(self, value: int) -> int:
        return int(ibmmqc.MQDLTMH(self.hconn, self.hmsg, ibmmq.DMHO(Options=value).pack())[-1])


USUAL, DESCRIPTION = CMQC.MQRC_OPTIONS_ERROR, CMQC.MQRC_PD_ERROR
FIELDS: dict[str, tuple[OptionTable, int, Call]] = {
    "MQGMO.Options": (options.GET, USUAL, lambda p, value: p.get(Options=value)),
    "MQGMO.MatchOptions": (
        options.MATCH,
        CMQC.MQRC_MATCH_OPTIONS_ERROR,
        lambda p, value: p.get(MatchOptions=value),
    ),
    "MQPMO.Options": (options.PUT, USUAL, Program.put),
    "MQCMHO.Options": (options.CREATE_HANDLE, USUAL, Program.create_handle),
    "MQDMHO.Options": (options.DELETE_HANDLE, USUAL, Program.delete_handle),
    "MQDMPO.Options": (options.DELETE_PROPERTY, USUAL, Program.delete),
    "MQIMPO.Options": (options.INQUIRE_PROPERTY, USUAL, Program.inquire),
    "MQSMPO.Options": (
        options.SET_PROPERTY,
        USUAL,
        lambda p, value: p.set(ibmmq.SMPO(Options=value).pack()),
    ),
    "MQPD.Options": (options.DESCRIBED, DESCRIPTION, lambda p, value: p.set(Options=value)),
    "MQPD.Support": (options.SUPPORT, DESCRIPTION, lambda p, value: p.set(Support=value)),
    "MQPD.Context": (options.CONTEXT, DESCRIPTION, lambda p, value: p.set(Context=value)),
    "MQPD.CopyOptions": (options.COPY, DESCRIPTION, lambda p, value: p.set(CopyOptions=value)),
}


@pytest.mark.parametrize("field", FIELDS)
def test_each_bit_that_is_no_option_is_refused(qmgr: ibmmq.QueueManager, field: str) -> None:
    table, refusal, call = FIELDS[field]
    known = {option.bits: option.refused for option in table.table}
    program = Program(qmgr)
    for value in BITS:
        if value not in known:
            assert call(program, value) == refusal, hex(value)
        elif known[value]:
            assert call(program, value) == known[value], hex(value)


def test_the_two_of_a_kind_are_refused(qmgr: ibmmq.QueueManager) -> None:
    both: Any = CMQC.MQCMHO_VALIDATE | CMQC.MQCMHO_NO_VALIDATION
    assert Program(qmgr).create_handle(both) == USUAL


def test_no_handle_is_none(qmgr: ibmmq.QueueManager) -> None:
    program = Program(qmgr)
    for unusable in (CMQC.MQHM_UNUSABLE_HMSG, 77):
        assert program.get(MsgHandle=unusable) == CMQC.MQRC_HMSG_ERROR
    assert program.get(MsgHandle=CMQC.MQHM_NONE) == CMQC.MQRC_NO_MSG_AVAILABLE


def test_a_property_that_is_not_there_is_a_warning(qmgr: ibmmq.QueueManager) -> None:
    program = Program(qmgr)
    gone = CMQC.MQRC_PROPERTY_NOT_AVAILABLE
    for name, option, answer in (
        (b"gone", 0, (CMQC.MQCC_WARNING, gone)),
        (b"gone", CMQC.MQDMPO_DEL_PROP_UNDER_CURSOR, (CMQC.MQCC_FAILED, gone)),
        (b"go%", 0, (CMQC.MQCC_FAILED, CMQC.MQRC_PROPERTY_NAME_ERROR)),
        (b"", 0, (CMQC.MQCC_FAILED, CMQC.MQRC_PROPERTY_NAME_ERROR)),
    ):
        dmpo = ibmmq.DMPO(Options=option).pack()
        assert ibmmqc.MQDLTMP(program.hconn, program.hmsg, dmpo, name)[-2:] == answer


def test_more_selectors_than_there_may_be(qmgr: ibmmq.QueueManager) -> None:
    od = ibmmq.OD(ObjectName="ORDERS").pack()
    hconn = qmgr.get_handle()
    hobj = ibmmqc.MQOPEN(hconn, od, CMQC.MQOO_INQUIRE | CMQC.MQOO_SET)[0]
    selectors = [CMQC.MQIA_INHIBIT_GET] * 257
    limit = CMQC.MQRC_SELECTOR_LIMIT_EXCEEDED
    assert ibmmqc.MQINQ(hconn, hobj, selectors, [], 257, 1, 0)[-1] == limit
    assert ibmmqc.MQSET(hconn, hobj, selectors, [0] * 257, b"")[-1] == limit
    assert ibmmqc.MQSET(hconn, hobj, selectors[1:], [0] * 256, b"")[-1] == CMQC.MQRC_NONE


@pytest.mark.parametrize("selector", [CMQC.MQIA_Q_TYPE, CMQC.MQCA_Q_NAME])
def test_of_what_is_no_queue_a_queues_selector_is_refused(
    qmgr: ibmmq.QueueManager, selector: int
) -> None:
    hconn = qmgr.get_handle()
    od = ibmmq.OD(ObjectType=CMQC.MQOT_Q_MGR).pack()
    hobj = ibmmqc.MQOPEN(hconn, od, CMQC.MQOO_INQUIRE)[0]
    answer = ibmmqc.MQINQ(hconn, hobj, [selector], [], 1, 1, 48)
    assert answer[-2:] == (CMQC.MQCC_FAILED, CMQC.MQRC_SELECTOR_ERROR)
