"""What a verb says of its structures as output is there afterwards, whatever was there before."""

import time

import ibmmq
import pytest
from ibmmq import CMQC, ibmmqc

from adapter.mqi import getting
from adapter.testing import TestQueueManager

CONTEXT = (
    *("UserIdentifier", "AccountingToken", "ApplIdentityData", "PutApplType", "PutApplName"),
    *("PutDate", "PutTime", "ApplOriginData"),
)
OUTPUT = (*CONTEXT, "MsgId", "CorrelId", "Priority", "Persistence")
LEFT = dict.fromkeys(CONTEXT, b"\xff") | {"PutApplType": -1}
SET = CMQC.MQPMO_SET_ALL_CONTEXT
CHOICES = (
    *(CMQC.MQPMO_NONE, CMQC.MQPMO_DEFAULT_CONTEXT, CMQC.MQPMO_NO_CONTEXT),
    *(CMQC.MQPMO_SET_IDENTITY_CONTEXT, SET, CMQC.MQPMO_PASS_IDENTITY_CONTEXT),
    CMQC.MQPMO_PASS_ALL_CONTEXT,
)
OPEN = (
    *(CMQC.MQOO_OUTPUT, CMQC.MQOO_INPUT_SHARED, CMQC.MQOO_SAVE_ALL_CONTEXT),
    *(CMQC.MQOO_SET_ALL_CONTEXT, CMQC.MQOO_PASS_ALL_CONTEXT),
)


def full(**said: object) -> ibmmq.MD:
    """An MQMD with something in each field that a put fills."""
    return ibmmq.MD(**(LEFT | said))


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("verb", ["put", "put1"])
@pytest.mark.parametrize("version", [1, 2])
def test_a_put_says_with_which_context_it_put(
    qmgr: ibmmq.QueueManager, choice: int, verb: str, version: int
) -> None:
    source = ibmmq.Queue(qmgr, "ASIDE", sum(OPEN))
    first = full(ApplIdentityData=b"who", ApplOriginData=b"from", AccountingToken=b"T" * 32)
    source.put(b"", first, ibmmq.PMO(Options=SET))
    source.get(None, ibmmq.MD())
    queue = ibmmq.Queue(qmgr, "ORDERS", sum(OPEN))
    told = full(Version=version)
    pmo = ibmmq.PMO(Options=choice)
    if choice in (CMQC.MQPMO_PASS_IDENTITY_CONTEXT, CMQC.MQPMO_PASS_ALL_CONTEXT):
        pmo.Context = source.get_handle()
    if verb == "put":
        queue.put(b"x", told, pmo)
    else:
        qmgr.put1("ORDERS", b"x", told, pmo)
    found = ibmmq.MD(Version=version)
    queue.get(None, found)
    names = (*OUTPUT, "GroupId", "MsgSeqNumber", "Offset") if version > 1 else OUTPUT
    assert {name: told[name] for name in names} == {name: found[name] for name in names}


def test_a_publication_has_the_context_of_its_put(qmgr: ibmmq.QueueManager) -> None:
    told = full()
    topic = ibmmq.Topic(qmgr, topic_string="a/b")
    topic.open(open_opts=CMQC.MQOO_OUTPUT)
    topic.pub(b"x", told)
    assert told.PutApplType == CMQC.MQAT_DEFAULT
    assert b"\xff" not in b"".join(told[name] for name in CONTEXT if name != "PutApplType")


def test_a_descriptor_that_is_used_again_says_no_earlier_group(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT)
    md = ibmmq.MD(Version=2, MsgFlags=CMQC.MQMF_LAST_MSG_IN_GROUP)
    queue.put(b"x", md, ibmmq.PMO(Options=CMQC.MQPMO_LOGICAL_ORDER))
    assert md.GroupId.strip(b"\0")
    md.MsgFlags = CMQC.MQMF_NONE
    queue.put(b"y", md)
    assert not md.GroupId.strip(b"\0")


def test_counts_say_where_the_queue_is(manager: TestQueueManager, qmgr: ibmmq.QueueManager) -> None:
    manager.mqsc(
        "DEFINE QLOCAL(XMIT) USAGE(XMITQ)\nDEFINE QREMOTE(FAR) RNAME(Q) RQMNAME(QM2) XMITQ(XMIT)"
    )
    for name, counts in (("ORDERS", (1, 0, 0)), ("FAR", (0, 1, 0))):
        od = ibmmq.OD(ObjectName=name, Version=4, KnownDestCount=7, InvalidDestCount=7)
        pmo, pmo1 = ibmmq.PMO(KnownDestCount=7), ibmmq.PMO(UnknownDestCount=7)
        queue = ibmmq.Queue(qmgr, od, CMQC.MQOO_OUTPUT)
        queue.put(b"x", None, pmo)
        qmgr.put1(name, b"x", None, pmo1)
        for told in (pmo, pmo1):
            found = told.KnownDestCount, told.UnknownDestCount, told.InvalidDestCount
            assert found == counts


@pytest.mark.parametrize("ahead_s", [-3_600, 0, 3_600])
def test_the_rest_of_a_life_is_by_the_clock_of_the_queue_manager(
    qmgr: ibmmq.QueueManager, monkeypatch: pytest.MonkeyPatch, ahead_s: int
) -> None:
    now = time.time

    class Clock:
        monotonic = staticmethod(time.monotonic)

        @staticmethod
        def time() -> float:
            return now() + ahead_s

    monkeypatch.setattr(getting, "time", Clock)
    queue = ibmmq.Queue(
        qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_BROWSE
    )
    queue.put(b"x", ibmmq.MD(Expiry=600))
    for options in (CMQC.MQGMO_BROWSE_FIRST, CMQC.MQGMO_NO_SYNCPOINT):
        found = ibmmq.MD()
        queue.get(None, found, ibmmq.GMO(Options=options))
        assert 300 < found.Expiry <= 600


def test_fields_that_a_version_does_not_have_are_not_meant(qmgr: ibmmq.QueueManager) -> None:
    """They are not read, and not written either."""
    od = ibmmq.OD(ObjectName="ORDERS", Version=1, RecsPresent=3, ResolvedQName=b"mine")
    od.set_vs("SelectionString", "Priority = 9")
    od.Version = 1
    hconn, options = qmgr.get_handle(), CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED
    hobj, packed, _, reason = ibmmqc.MQOPEN(hconn, od.pack(), options)
    assert reason == CMQC.MQRC_NONE
    assert packed[168:] == od.pack()[168:]
    pmo = ibmmq.PMO(Version=1, RecsPresent=3, OriginalMsgHandle=77)
    answer = ibmmqc.MQPUT(hconn, hobj, ibmmq.MD().pack(), pmo.pack(), b"x")
    assert answer[-1] == CMQC.MQRC_NONE
    gmo = ibmmq.GMO(Version=1, MatchOptions=CMQC.MQMO_MATCH_GROUP_ID, MsgHandle=77)
    got = ibmmqc.MQGET(hconn, hobj, ibmmq.MD().pack(), gmo.pack(), 10)
    assert (got[0], got[-1]) == (b"x", CMQC.MQRC_NONE)
    assert got[2][72:] == gmo.pack()[72:]
