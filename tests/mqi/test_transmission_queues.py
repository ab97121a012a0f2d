"""Messages on a transmission queue, as programs of the MQI see them there and put them there."""

from collections.abc import Iterator
from typing import Any

import ibmmq
import pytest
from ibmmq import CMQC

import adapter.testing
from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL, conname, reason_of

HEADER_LENGTH, EXTENSION_LENGTH = 428, 72
BROWSE = CMQC.MQOO_BROWSE | CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_FAIL_IF_QUIESCING
FIRST = CMQC.MQGMO_BROWSE_FIRST
OUTPUT = CMQC.MQOO_OUTPUT
GROUP = b"g" * 24


@pytest.fixture
def manager() -> Iterator[TestQueueManager]:
    """A queue manager that reaches no other one, so that messages stay where they are."""
    with adapter.testing.queue_manager("QMA") as running:
        answers = running.mqsc(
            "DEFINE QLOCAL(QMB) USAGE(XMITQ)\nDEFINE QLOCAL(OTHER) USAGE(XMITQ)\n"
            "DEFINE QREMOTE(TO.B) RNAME(WORK) RQMNAME(QMB)\nDEFINE QLOCAL(REPLIES)"
        )
        assert "No command failed" in answers
        yield running


@pytest.fixture
def qmgr(manager: TestQueueManager) -> Iterator[ibmmq.QueueManager]:
    connected = ibmmq.connect("QMA", CHANNEL, conname(manager))
    yield connected
    connected.disconnect()


def put(qmgr: ibmmq.QueueManager, body: bytes, **fields: Any) -> ibmmq.MD:
    md = ibmmq.MD(**fields)
    qmgr.put1(ibmmq.OD(ObjectName="TO.B"), body, md, ibmmq.PMO(Options=CMQC.MQPMO_NO_SYNCPOINT))
    return md


def got(
    qmgr: ibmmq.QueueManager, name: str = "QMB", options: int = 0, **fields: Any
) -> tuple[bytes, ibmmq.MD]:
    """Get or browse the first message."""
    md = ibmmq.MD(**fields)
    gmo = ibmmq.GMO(Options=options | CMQC.MQGMO_NO_SYNCPOINT)
    queue = ibmmq.Queue(qmgr, name, BROWSE)
    try:
        return queue.get(None, md, gmo), md
    finally:
        queue.close()


def named(header: ibmmq.XQH) -> tuple[bytes, bytes]:
    return header.RemoteQName.strip(), header.RemoteQMgrName.strip()


def test_a_message_is_behind_a_header_with_its_descriptor(qmgr: ibmmq.QueueManager) -> None:
    asked = put(
        qmgr,
        b"body",
        MsgType=CMQC.MQMT_REQUEST,
        Report=CMQC.MQRO_COA | CMQC.MQRO_COD | CMQC.MQRO_PASS_MSG_ID,
        Format=CMQC.MQFMT_STRING,
        CodedCharSetId=819,
        Encoding=273,
        Priority=7,
        Persistence=CMQC.MQPER_PERSISTENT,
        CorrelId=b"c" * 24,
        ReplyToQ=b"REPLIES",
        Expiry=6000,
    )
    for options in (FIRST, 0):
        body, separate = got(qmgr, options=options)
        header, embedded = ibmmq.XQH().get_header(body), ibmmq.XQH().get_embedded_md(body)
        assert named(header) == (b"WORK", b"QMB")
        assert (header.Version, body[HEADER_LENGTH:]) == (1, b"body")
        assert (embedded.Version, embedded.Format) == (1, CMQC.MQFMT_STRING)
        assert (embedded.CodedCharSetId, embedded.Encoding) == (819, 273)
        assert embedded.Report == asked.Report
        assert (embedded.MsgId, embedded.CorrelId) == (asked.MsgId, b"c" * 24)
        assert (embedded.PutDate, embedded.PutTime) == (asked.PutDate, asked.PutTime)
        assert embedded.PutApplType == CMQC.MQAT_DEFAULT
        assert embedded.PutApplName.strip()

        assert separate.Format == CMQC.MQFMT_XMIT_Q_HEADER
        assert (separate.Encoding, separate.CodedCharSetId) == (CMQC.MQENC_NATIVE, 1208)
        assert separate.Report == CMQC.MQRO_PASS_MSG_ID & ~CMQC.MQRO_ACCEPT_UNSUP_IF_XMIT_MASK
        assert separate.CorrelId == asked.MsgId
        assert separate.MsgId not in (asked.MsgId, CMQC.MQMI_NONE)
        assert (separate.PutApplType, separate.PutApplName.strip()) == (CMQC.MQAT_QMGR, b"QMA")
        assert separate.UserIdentifier == embedded.UserIdentifier
        for md in (embedded, separate):
            assert (md.MsgType, md.Priority, md.Persistence) == (CMQC.MQMT_REQUEST, 7, 1)
            assert (md.ReplyToQ.strip(), md.ReplyToQMgr.strip()) == (b"REPLIES", b"QMA")
            assert 0 < md.Expiry <= 6000


def test_the_second_id_finds_the_message(qmgr: ibmmq.QueueManager) -> None:
    first, second = put(qmgr, b"1"), put(qmgr, b"2")
    other = None
    for match in ("CorrelId", "MsgId"):
        fields = {"CorrelId": second.MsgId} if match == "CorrelId" else {"MsgId": other}
        body, md = got(qmgr, options=FIRST, **fields)
        assert body[HEADER_LENGTH:] == b"2"
        other = md.MsgId
    assert got(qmgr, options=FIRST)[1].MsgId != other
    for fields in (
        {"MsgId": first.MsgId},
        {"MsgId": other, "CorrelId": first.MsgId},
        {"CorrelId": b"c" * 24},
    ):
        with pytest.raises(ibmmq.MQMIError) as refused:
            got(qmgr, **fields)
        assert reason_of(refused) == CMQC.MQRC_NO_MSG_AVAILABLE
    assert got(qmgr, MsgId=other, CorrelId=second.MsgId)[0][HEADER_LENGTH:] == b"2"
    assert got(qmgr)[0][HEADER_LENGTH:] == b"1"


def test_group_and_segment_are_in_an_extension(qmgr: ibmmq.QueueManager) -> None:
    flags = CMQC.MQMF_MSG_IN_GROUP | CMQC.MQMF_LAST_MSG_IN_GROUP
    put(qmgr, b"body", GroupId=GROUP, MsgSeqNumber=3, MsgFlags=flags, Format=CMQC.MQFMT_STRING)
    queue = ibmmq.Queue(qmgr, "QMB", BROWSE)
    md, gmo = ibmmq.MD(), ibmmq.GMO(Options=FIRST)
    body = queue.get(None, md, gmo)
    embedded = ibmmq.XQH().get_embedded_md(body)
    assert embedded.Format == CMQC.MQFMT_MD_EXTENSION
    extension = ibmmq.MDE().unpack(body[HEADER_LENGTH : HEADER_LENGTH + EXTENSION_LENGTH])
    assert (extension.GroupId, extension.MsgSeqNumber, extension.MsgFlags) == (GROUP, 3, flags)
    assert extension.Format == CMQC.MQFMT_STRING
    assert body[HEADER_LENGTH + EXTENSION_LENGTH :] == b"body"
    assert (md.GroupId, md.MsgSeqNumber, md.MsgFlags) == (CMQC.MQGI_NONE, 1, 0)
    assert gmo.GroupStatus == CMQC.MQGS_NOT_IN_GROUP


@pytest.mark.parametrize("group", [{}, {"GroupId": GROUP, "MsgFlags": CMQC.MQMF_MSG_IN_GROUP}])
@pytest.mark.parametrize("browse", [FIRST, 0])
def test_the_header_counts_in_the_length(
    qmgr: ibmmq.QueueManager, browse: int, group: dict[str, Any]
) -> None:
    put(qmgr, b"body", **group)
    whole = HEADER_LENGTH + (EXTENSION_LENGTH if group else 0) + 4
    queue = ibmmq.Queue(qmgr, "QMB", BROWSE)
    for room in (0, 4, HEADER_LENGTH, whole - 1):
        with pytest.raises(ibmmq.MQMIError) as failed:
            queue.get(room, ibmmq.MD(), ibmmq.GMO(Options=browse))
        assert reason_of(failed) == CMQC.MQRC_TRUNCATED_MSG_FAILED
        assert failed.value.original_length == whole
    accept = CMQC.MQGMO_ACCEPT_TRUNCATED_MSG | FIRST
    with pytest.raises(ibmmq.MQMIError) as cut:
        queue.get(HEADER_LENGTH, ibmmq.MD(), ibmmq.GMO(Options=accept))
    assert reason_of(cut) == CMQC.MQRC_TRUNCATED_MSG_ACCEPTED
    assert cut.value.original_length == whole
    assert named(ibmmq.XQH().get_header(cut.value.message)) == (b"WORK", b"QMB")
    assert len(queue.get(whole, ibmmq.MD(), ibmmq.GMO(Options=browse))) == whole


def test_properties_are_behind_the_header(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    with manager.connect() as qm:
        qm.put("TO.B", "body", properties={"colour": "red"})
    body, _ = got(qmgr, options=FIRST)
    embedded = ibmmq.XQH().get_embedded_md(body)
    assert embedded.Format == CMQC.MQFMT_RF_HEADER_2
    assert body[HEADER_LENGTH:].startswith(b"RFH ")
    assert b"<colour>red</colour>" in body
    assert body.endswith(b"body")


def test_the_header_is_converted_and_what_follows_it(qmgr: ibmmq.QueueManager) -> None:
    put(qmgr, b"body", Format=CMQC.MQFMT_STRING)
    md = ibmmq.MD(CodedCharSetId=500, Encoding=273)
    gmo = ibmmq.GMO(Options=FIRST | CMQC.MQGMO_CONVERT)
    body = ibmmq.Queue(qmgr, "QMB", BROWSE).get(None, md, gmo)
    assert (md.CodedCharSetId, md.Encoding) == (500, 273)
    assert body[:4].decode("cp500") == "XQH "
    assert int.from_bytes(body[4:8]) == 1
    assert body[8:104].decode("cp500").split() == ["WORK", "QMB"]
    assert body[104:108].decode("cp500") == "MD  "
    assert body[HEADER_LENGTH:].decode("cp500") == "body"


def put_there(qmgr: ibmmq.QueueManager, body: bytes, name: str = "OTHER", **fields: Any) -> None:
    """Put a message on a transmission queue."""
    md = ibmmq.MD(**({"Format": CMQC.MQFMT_XMIT_Q_HEADER} | fields))
    ibmmq.Queue(qmgr, name, OUTPUT).put(body, md)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"Expiry": 6000, "Priority": 3, "Persistence": CMQC.MQPER_PERSISTENT},
        {"GroupId": GROUP, "MsgSeqNumber": 2, "MsgFlags": CMQC.MQMF_LAST_MSG_IN_GROUP},
        {"MsgType": CMQC.MQMT_REQUEST, "ReplyToQ": b"REPLIES", "Report": CMQC.MQRO_COA},
    ],
)
def test_what_was_got_can_be_put_on_another_transmission_queue(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager, fields: dict[str, Any]
) -> None:
    asked = put(qmgr, b"body", Format=CMQC.MQFMT_STRING, **fields)
    with manager.connect() as qm:
        before = next(iter(qm.queue("QMB").browse()))
        body, _ = got(qmgr)
        put_there(qmgr, body)
        after = next(iter(qm.queue("OTHER").browse()))
    assert after.message_id == before.message_id == asked.MsgId
    for name in ("body", "format", "priority", "persistent", "group_id", "group_seq", "reply_to"):
        assert getattr(after, name) == getattr(before, name), name
    for name in ("message_type", "report", "user", "application", "encoding", "ccsid"):
        assert getattr(after, name) == getattr(before, name), name
    assert named(ibmmq.XQH().get_header(got(qmgr, "OTHER")[0])) == (b"WORK", b"QMB")


def test_finding_mq_differences_a_header_has_the_date_that_was_set(
    qmgr: ibmmq.QueueManager,
) -> None:
    said = ibmmq.MD(PutDate="20010203", PutTime="04050607")
    queue = ibmmq.Queue(qmgr, "TO.B", OUTPUT | CMQC.MQOO_SET_ALL_CONTEXT)
    queue.put(b"body", said, ibmmq.PMO(Options=CMQC.MQPMO_SET_ALL_CONTEXT))
    body, separate = got(qmgr)
    assert separate.PutDate > b"2020"  # when it was put on the transmission queue
    put_there(qmgr, body)
    for header in (body, got(qmgr, "OTHER")[0]):
        embedded = ibmmq.XQH().get_embedded_md(header)
        assert (embedded.PutDate, embedded.PutTime) == (b"20010203", b"04050607")


def test_what_has_no_valid_header_stays_as_it_is(qmgr: ibmmq.QueueManager) -> None:
    put(qmgr, b"body")
    body, _ = got(qmgr)
    header = body[:HEADER_LENGTH]
    blank = header[:8] + b" " * 48 + header[56:]
    worse = header[:104] + b"WORSE" + header[109:]
    no_type = header[:116] + bytes(4) + header[120:]
    for wrong in (b"", b"XQH ", header[:-1], blank, worse, no_type, b"x" * 500):
        put_there(qmgr, wrong)
        assert got(qmgr, "OTHER", options=FIRST)[0] == wrong
        kept, md = got(qmgr, "OTHER")
        assert (kept, md.Format) == (wrong, CMQC.MQFMT_XMIT_Q_HEADER)
    put_there(qmgr, body, Format=CMQC.MQFMT_NONE)
    assert got(qmgr, "OTHER")[0] == body
    put_there(qmgr, body, "REPLIES")
    assert got(qmgr, "REPLIES")[0] == body
