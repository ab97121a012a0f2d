"""Programs of the MQI that put to queues of another queue manager, and get replies and reports."""

from collections.abc import Iterator

import ibmmq
import pytest
from ibmmq import CMQC

import adapter.testing
from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL, conname, reason_of

Site = tuple[ibmmq.QueueManager, ibmmq.QueueManager]


@pytest.fixture
def managers() -> Iterator[tuple[TestQueueManager, TestQueueManager]]:
    with adapter.testing.network("QMA", "QMB") as (a, b):
        a.mqsc("DEFINE QLOCAL(REPLIES)")
        a.mqsc("DEFINE QREMOTE(TO.B) RNAME(WORK) RQMNAME(QMB)")
        a.mqsc("DEFINE QREMOTE(ALIAS.B) RQMNAME(QMB)")
        b.mqsc("DEFINE QLOCAL(WORK)")
        yield a, b


@pytest.fixture
def site(managers: tuple[TestQueueManager, TestQueueManager]) -> Iterator[Site]:
    connected = [
        ibmmq.connect(name, CHANNEL, conname(one))
        for name, one in zip(("QMA", "QMB"), managers, strict=True)
    ]
    yield connected[0], connected[1]
    for one in connected:
        one.disconnect()


def got(qmgr: ibmmq.QueueManager, name: str) -> tuple[bytes, ibmmq.MD]:
    """Get a message, waiting for it."""
    md = ibmmq.MD()
    gmo = ibmmq.GMO(Options=CMQC.MQGMO_WAIT | CMQC.MQGMO_NO_SYNCPOINT, WaitInterval=20_000)
    return ibmmq.Queue(qmgr, name, CMQC.MQOO_INPUT_SHARED).get(None, md, gmo), md


def test_by_remote_queue_queue_manager_and_alias(site: Site) -> None:
    a, b = site
    for od in (
        ibmmq.OD(ObjectName="TO.B"),
        ibmmq.OD(ObjectName="WORK", ObjectQMgrName="QMB"),
        ibmmq.OD(ObjectName="WORK", ObjectQMgrName="ALIAS.B"),
    ):
        queue = ibmmq.Queue(a, od, CMQC.MQOO_OUTPUT)
        queue.put(b"put")
        queue.close()
        assert got(b, "WORK")[0] == b"put"
        pmo = ibmmq.PMO()
        a.put1(od, b"put1", ibmmq.MD(), pmo)
        assert (pmo.ResolvedQName.strip(), pmo.ResolvedQMgrName.strip()) == (b"WORK", b"QMB")
        assert got(b, "WORK")[0] == b"put1"


def test_request_reply_and_reports(site: Site) -> None:
    a, b = site
    asked = ibmmq.MD(
        ReplyToQ=b"REPLIES",
        MsgType=CMQC.MQMT_REQUEST,
        Report=CMQC.MQRO_COA | CMQC.MQRO_COD,
    )
    ibmmq.Queue(a, "TO.B", CMQC.MQOO_OUTPUT).put(b"question", asked)
    question, md = got(b, "WORK")
    assert (question, md.ReplyToQMgr.strip(), md.MsgId) == (b"question", b"QMA", asked.MsgId)
    answering = ibmmq.OD(ObjectName=md.ReplyToQ, ObjectQMgrName=md.ReplyToQMgr)
    b.put1(answering, b"answer", ibmmq.MD(CorrelId=md.MsgId, MsgType=CMQC.MQMT_REPLY))
    found = [got(a, "REPLIES") for _ in range(3)]
    assert sorted(one.Feedback for _, one in found) == [
        CMQC.MQFB_NONE,
        CMQC.MQFB_COA,
        CMQC.MQFB_COD,
    ]
    assert {one.CorrelId for _, one in found} == {asked.MsgId}


def test_what_cannot_be_opened(site: Site) -> None:
    a, _ = site
    for name, options, reason in (
        ("TO.B", CMQC.MQOO_INPUT_SHARED, CMQC.MQRC_OPTION_NOT_VALID_FOR_TYPE),
        ("TO.B", CMQC.MQOO_BROWSE, CMQC.MQRC_OPTION_NOT_VALID_FOR_TYPE),
        ("ALIAS.B", CMQC.MQOO_OUTPUT, CMQC.MQRC_REMOTE_Q_NAME_ERROR),
    ):
        with pytest.raises(ibmmq.MQMIError) as refused:
            ibmmq.Queue(a, name, options)
        assert reason_of(refused) == reason


def test_publications_go_to_a_queue_of_another_queue_manager(
    managers: tuple[TestQueueManager, TestQueueManager], site: Site
) -> None:
    (manager, _), (a, b) = managers, site
    told = manager.mqsc("DEFINE SUB(FAR) TOPICSTR('prices') DEST(WORK) DESTQMGR(QMB)")
    assert "No command failed" in told
    shown = manager.mqsc("DISPLAY SUB(FAR) DEST DESTQMGR")
    assert "DESTQMGR(QMB)" in shown
    topic = ibmmq.Topic(a, topic_string="prices", open_opts=CMQC.MQOO_OUTPUT)
    topic.pub(b"one dozen")
    body, _ = got(b, "WORK")
    assert body.endswith(b"one dozen")


def test_a_program_puts_behind_a_header_of_its_own(
    managers: tuple[TestQueueManager, TestQueueManager], site: Site
) -> None:
    (manager, _), (a, b) = managers, site
    manager.mqsc(
        "DEFINE QLOCAL(X) USAGE(XMITQ)\nDEFINE QLOCAL(DEAD)\nALTER QMGR DEADQ(DEAD)\n"
        "DEFINE QLOCAL(REPLIES) REPLACE"
    )
    asked = ibmmq.MD(
        Version=CMQC.MQMD_VERSION_1,
        MsgType=CMQC.MQMT_REQUEST,
        MsgId=b"m" * 24,
        ReplyToQ=b"REPLIES",
        Format=CMQC.MQFMT_STRING,
        CodedCharSetId=1208,
    )
    header = ibmmq.XQH(RemoteQName=b"WORK".ljust(48), RemoteQMgrName=b"QMB".ljust(48))
    queue = ibmmq.Queue(a, "X", CMQC.MQOO_OUTPUT)
    described = ibmmq.MD(Format=CMQC.MQFMT_XMIT_Q_HEADER)
    queue.put(b"neither header nor body", described)
    body = header.pack() + asked.pack()[: CMQC.MQMD_LENGTH_1] + b"question"
    queue.put(body, ibmmq.MD(Format=CMQC.MQFMT_XMIT_Q_HEADER))
    question, md = got(b, "WORK")
    assert (question, md.MsgId, md.MsgType) == (b"question", b"m" * 24, CMQC.MQMT_REQUEST)
    b.put1(
        ibmmq.OD(ObjectName=md.ReplyToQ, ObjectQMgrName=md.ReplyToQMgr),
        b"answer",
        ibmmq.MD(CorrelId=md.MsgId),
    )
    answer, md = got(a, "REPLIES")
    assert (answer, md.CorrelId) == (b"answer", b"m" * 24)
    letter, md = got(a, "DEAD")
    assert ibmmq.DLH().unpack(letter[:172]).Reason == CMQC.MQFB_XMIT_Q_MSG_ERROR
    assert letter[172:] == b"neither header nor body"
