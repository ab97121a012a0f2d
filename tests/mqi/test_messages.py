"""Putting, getting and browsing, as IBM's sample programs do."""

import struct
import threading
import time

import ibmmq
import pytest
from ibmmq import CMQC

from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL, conname, reason_of

LONG = b"0123456789" * 1_000


def test_put_and_get(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS")
    queue.put("one sack of flour")
    queue.close()
    queue = ibmmq.Queue(qmgr, "ORDERS")
    assert queue.get() == b"one sack of flour"
    queue.close()


def test_a_put_tells_what_became_of_the_message(qmgr: ibmmq.QueueManager) -> None:
    md, pmo = ibmmq.MD(), ibmmq.PMO()
    ibmmq.Queue(qmgr, "ORDERS").put("x", md, pmo)
    assert md.MsgId.strip(b"\0")
    assert len(md.PutDate) == len(md.PutTime) == 8
    assert md.PutDate.isdigit()
    assert md.PutTime.isdigit()
    assert pmo.ResolvedQName.rstrip() == b"ORDERS"
    assert pmo.ResolvedQMgrName.rstrip() == b"QM1"


def test_a_get_tells_what_the_put_said(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
    said = ibmmq.MD(
        MsgType=CMQC.MQMT_REQUEST,
        Format=CMQC.MQFMT_STRING,
        Priority=7,
        Persistence=CMQC.MQPER_NOT_PERSISTENT,
        Expiry=6000,
        ReplyToQ="REPLIES",
        CorrelId=b"C" * 24,
        Feedback=77,
        Report=CMQC.MQRO_NONE,
    )
    queue.put(b"body", said)
    found = ibmmq.MD()
    assert queue.get(None, found) == b"body"
    for name in ("MsgId", "CorrelId", "MsgType", "Priority", "Persistence", "Feedback", "PutDate"):
        assert found[name] == said[name], name
    assert found.Format == CMQC.MQFMT_STRING
    assert found.ReplyToQ.rstrip() == b"REPLIES"
    assert found.ReplyToQMgr.rstrip() == b"QM1"
    assert 0 < found.Expiry <= 6000
    assert found.PutApplName.strip()
    assert found.BackoutCount == 0


def test_the_highest_priority_comes_first(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
    for priority in (1, 9, 5):
        queue.put(str(priority), ibmmq.MD(Priority=priority))
    assert [queue.get() for _ in range(3)] == [b"9", b"5", b"1"]


def test_nothing_there_is_2033(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED)
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.get()
    assert reason_of(refused) == CMQC.MQRC_NO_MSG_AVAILABLE
    wait = ibmmq.GMO(Options=CMQC.MQGMO_WAIT, WaitInterval=50)
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.get(None, ibmmq.MD(), wait)
    assert reason_of(refused) == CMQC.MQRC_NO_MSG_AVAILABLE


def test_a_get_waits_for_a_message(manager: TestQueueManager, qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED)

    def deliver() -> None:
        with manager.connect() as other:
            other.put("ORDERS", "late")

    threading.Timer(0.1, deliver).start()
    wait = ibmmq.GMO(Options=CMQC.MQGMO_WAIT, WaitInterval=20_000)
    assert queue.get(None, ibmmq.MD(), wait) == b"late"


def test_a_reply_is_found_by_its_correlation_id(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
    for number in range(3):
        queue.put(str(number), ibmmq.MD(CorrelId=bytes([number + 1]) * 24))
    match = ibmmq.GMO(Version=CMQC.MQGMO_VERSION_2, MatchOptions=CMQC.MQMO_MATCH_CORREL_ID)
    assert queue.get(None, ibmmq.MD(CorrelId=bytes([2]) * 24), match) == b"1"
    assert queue.get() == b"0"


def test_a_message_is_found_again_by_its_token(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(
        qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_BROWSE
    )
    for number in range(3):
        queue.put(str(number))
    gmo = ibmmq.GMO(Options=CMQC.MQGMO_BROWSE_FIRST)
    queue.get(None, ibmmq.MD(), gmo)
    gmo.Options = CMQC.MQGMO_BROWSE_NEXT
    queue.get(None, ibmmq.MD(), gmo)
    token = ibmmq.GMO(MatchOptions=CMQC.MQMO_MATCH_MSG_TOKEN, MsgToken=gmo.MsgToken)
    assert queue.get(None, ibmmq.MD(), token) == b"1"


def browsed(queue: ibmmq.Queue) -> list[bytes]:
    """Every message that is there, as a browsing program finds them."""
    seen: list[bytes] = []
    gmo = ibmmq.GMO(Options=CMQC.MQGMO_BROWSE_FIRST)
    while True:
        try:
            seen.append(queue.get(None, ibmmq.MD(), gmo))
        except ibmmq.MQMIError as error:
            if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
                raise
            return seen
        gmo.Options = CMQC.MQGMO_BROWSE_NEXT


def test_browse(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT)
    for number in range(3):
        queue.put(str(number))
    queue.close()
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_BROWSE)
    assert browsed(queue) == [b"0", b"1", b"2"]
    assert browsed(queue) == [b"0", b"1", b"2"]
    queue.close()
    assert ibmmq.Queue(qmgr, "ORDERS").inquire(CMQC.MQIA_CURRENT_Q_DEPTH) == 3


def test_a_browse_goes_on_after_a_restart(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_BROWSE)
    for number in range(4):
        queue.put(str(number))
    gmo = ibmmq.GMO(Options=CMQC.MQGMO_BROWSE_NEXT)
    seen = [queue.get(None, ibmmq.MD(), gmo) for _ in range(2)]
    manager.restart()
    seen += [queue.get(None, ibmmq.MD(), gmo) for _ in range(2)]
    assert seen == [b"0", b"1", b"2", b"3"]


def test_a_put_outside_a_unit_is_done_once(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INQUIRE)
    queue.put("0")
    for number in range(1, 4):
        manager.drop_next_reply()
        queue.put(str(number))
    assert queue.inquire(CMQC.MQIA_CURRENT_Q_DEPTH) == 4


def test_the_message_under_the_cursor_is_taken(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(
        qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_BROWSE
    )
    for number in range(3):
        queue.put(str(number))
    first = ibmmq.GMO(Options=CMQC.MQGMO_BROWSE_FIRST)
    following = ibmmq.GMO(Options=CMQC.MQGMO_BROWSE_NEXT)
    queue.get(None, ibmmq.MD(), first)
    queue.get(None, ibmmq.MD(), following)
    under = ibmmq.GMO(Options=CMQC.MQGMO_MSG_UNDER_CURSOR)
    assert queue.get(None, ibmmq.MD(), under) == b"1"
    assert [queue.get(), queue.get()] == [b"0", b"2"]


def test_a_long_message_comes_whole_without_a_length(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
    queue.put(LONG)
    queue.put("short")
    md = ibmmq.MD()
    assert queue.get(None, md) == LONG
    assert md.BackoutCount == 0
    assert queue.get() == b"short"


def test_what_does_not_fit_stays(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
    queue.put(LONG)
    for _ in range(2):
        with pytest.raises(ibmmq.MQMIError) as refused:
            queue.get(10)
        assert refused.value.comp == CMQC.MQCC_WARNING
        assert reason_of(refused) == CMQC.MQRC_TRUNCATED_MSG_FAILED
        assert refused.value.message == LONG[:10]
        assert refused.value.original_length == len(LONG)


def test_a_truncated_message_is_accepted(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
    queue.put(LONG)
    md = ibmmq.MD()
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.get(10, md, ibmmq.GMO(Options=CMQC.MQGMO_ACCEPT_TRUNCATED_MSG))
    assert reason_of(refused) == CMQC.MQRC_TRUNCATED_MSG_ACCEPTED
    assert refused.value.message == LONG[:10]
    assert md.MsgId.strip(b"\0")
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.get()
    assert reason_of(refused) == CMQC.MQRC_NO_MSG_AVAILABLE


def test_text_is_converted(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
    queue.put("Zürich")
    md = ibmmq.MD(CodedCharSetId=819)
    assert queue.get(None, md, ibmmq.GMO(Options=CMQC.MQGMO_CONVERT)) == "Zürich".encode("latin-1")
    assert md.CodedCharSetId == 819


def test_headers_are_converted_with_what_follows_them(qmgr: ibmmq.QueueManager) -> None:
    """A message of a mainframe, with a dead-letter header in front."""
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
    names = [text.encode("cp500") for text in ("DLH ", f"{'ORDERS':48}", " " * 48, "MQSTR   ")]
    told = [text.encode("cp500") for text in (f"{'CICS':28}", "20260731", "12000000")]
    header = struct.pack(
        ">4sii48s48sii8si28s8s8s", names[0], 1, 2053, *names[1:3], 273, 500, names[3], 1, *told
    )
    sent = ibmmq.MD(Format=CMQC.MQFMT_DEAD_LETTER_HEADER, Encoding=273, CodedCharSetId=500)
    queue.put(header + "Zürich".encode("cp500"), sent)
    md = ibmmq.MD()
    body = queue.get(None, md, ibmmq.GMO(Options=CMQC.MQGMO_CONVERT))
    assert (md.Encoding, md.CodedCharSetId) == (CMQC.MQENC_NATIVE, 1208)
    assert body[len(header) :] == "Zürich".encode()
    read = ibmmq.DLH()
    read.unpack(body[: len(header)])
    assert (read.Reason, read.DestQName.rstrip()) == (CMQC.MQRC_Q_FULL, b"ORDERS")
    assert (read.Encoding, read.CodedCharSetId) == (CMQC.MQENC_NATIVE, 1208)


def test_a_handle_takes_properties_before_the_rest_is_converted(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
    folder = b"<usr><n>1</n></usr> "
    head = struct.pack("<4siiii8siii", b"RFH ", 2, 60, 546, 819, b"MQSTR   ", 0, 1208, len(folder))
    sent = ibmmq.MD(Format=CMQC.MQFMT_RF_HEADER_2, CodedCharSetId=1208)
    queue.put(head + folder + "Zürich".encode("latin-1"), sent)
    md = ibmmq.MD()
    body = queue.get(None, md, ibmmq.GMO(Options=CMQC.MQGMO_CONVERT | CMQC.MQGMO_NO_PROPERTIES))
    assert body == "Zürich".encode()
    assert (md.Format.rstrip(), md.CodedCharSetId) == (b"MQSTR", 1208)


def test_what_is_no_text_is_not_converted(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
    queue.put(b"\xff\xfe", ibmmq.MD(Format="MYDATA"))
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.get(10, ibmmq.MD(CodedCharSetId=819), ibmmq.GMO(Options=CMQC.MQGMO_CONVERT))
    assert reason_of(refused) == CMQC.MQRC_FORMAT_ERROR
    assert refused.value.message == b"\xff\xfe"


def test_a_unit_of_work(manager: TestQueueManager, qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(
        qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_INQUIRE
    )
    within = ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT)
    queue.put("kept", ibmmq.MD(), within)
    qmgr.commit()
    queue.put("dropped", ibmmq.MD(), within)
    qmgr.put1("REPLIES", "dropped too", ibmmq.MD(), within)
    md = ibmmq.MD()
    assert queue.get(None, md, ibmmq.GMO(Options=CMQC.MQGMO_SYNCPOINT)) == b"kept"
    qmgr.backout()
    md = ibmmq.MD()
    assert queue.get(None, md, ibmmq.GMO(Options=CMQC.MQGMO_SYNCPOINT)) == b"kept"
    assert md.BackoutCount == 1
    qmgr.commit()
    with manager.connect() as other:
        assert other.get("ORDERS") is None
        assert other.get("REPLIES") is None


def test_disconnecting_commits(manager: TestQueueManager) -> None:
    """MQDISC commits what is open; a connection that breaks backs it out."""
    qmgr = ibmmq.connect("QM1", CHANNEL, conname(manager))
    qmgr.put1("ORDERS", "kept", ibmmq.MD(), ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT))
    qmgr.disconnect()
    with manager.connect() as other:
        got = other.get("ORDERS")
        assert got is not None
        assert got.body == b"kept"


def test_a_lost_unit_is_told_until_it_is_ended(manager: TestQueueManager) -> None:
    cno = ibmmq.CNO(Options=CMQC.MQCNO_RECONNECT)
    qmgr = ibmmq.connect("QM1", CHANNEL, conname(manager), cno=cno)
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT)
    within = ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT)
    queue.put("gone", ibmmq.MD(), within)
    manager.restart()
    for _ in range(2):
        with pytest.raises(ibmmq.MQMIError) as refused:
            queue.put("gone too", ibmmq.MD(), within)
        assert reason_of(refused) == CMQC.MQRC_BACKED_OUT
    with pytest.raises(ibmmq.MQMIError) as refused:
        qmgr.commit()
    assert reason_of(refused) == CMQC.MQRC_BACKED_OUT
    assert refused.value.comp == CMQC.MQCC_WARNING
    queue.put("kept", ibmmq.MD(), within)
    qmgr.commit()
    assert ibmmq.Queue(qmgr, "ORDERS").inquire(CMQC.MQIA_CURRENT_Q_DEPTH) == 1
    qmgr.disconnect()


def waiting_get(qmgr: ibmmq.QueueManager, wait_ms: int) -> tuple[threading.Thread, list[object]]:
    """Get under syncpoint in a thread; what it ends with is in the list: a body, or a reason."""
    ended: list[object] = []
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED)
    gmo = ibmmq.GMO(Options=CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_WAIT, WaitInterval=wait_ms)

    def get() -> None:
        try:
            ended.append(queue.get(None, ibmmq.MD(), gmo))
        except ibmmq.MQMIError as error:
            ended.append(error.reason)

    thread = threading.Thread(target=get)
    thread.start()
    return thread, ended


def await_a_get(manager: TestQueueManager) -> None:
    """Wait until a get waits at the queue."""
    deadline_s = time.monotonic() + 20.0
    with manager.connect() as other:
        while not other.queue("ORDERS").status().waiting_gets:
            assert time.monotonic() < deadline_s


@pytest.mark.parametrize("options", [CMQC.MQCNO_NONE, CMQC.MQCNO_RECONNECT])
def test_finding_mq_2_a_unit_that_holds_nothing_is_not_lost(
    manager: TestQueueManager, options: int
) -> None:
    """The wait goes on, and so does everything else: nothing was lost."""
    shared = CMQC.MQCNO_HANDLE_SHARE_BLOCK
    cno = ibmmq.CNO(Options=options | shared)
    qmgr = ibmmq.connect("QM1", CHANNEL, conname(manager), cno=cno)
    waiting, ended = waiting_get(qmgr, 30_000)
    await_a_get(manager)
    manager.restart()
    with manager.connect() as other:
        other.put("ORDERS", "after the restart")
    waiting.join(20.0)
    assert ended == [b"after the restart"]
    qmgr.commit()
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT)
    within = ibmmq.GMO(Options=CMQC.MQGMO_SYNCPOINT)
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.get(None, ibmmq.MD(), within)
    assert reason_of(refused) == CMQC.MQRC_NO_MSG_AVAILABLE
    manager.restart()
    qmgr.commit()
    manager.restart()
    queue.put("kept", ibmmq.MD(), ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT))
    qmgr.commit()
    assert queue.get(None, ibmmq.MD(), within) == b"kept"
    qmgr.disconnect()


def test_finding_mq_2_without_reconnection_a_lost_connection_is_told_at_once(
    manager: TestQueueManager,
) -> None:
    cno = ibmmq.CNO(Options=CMQC.MQCNO_RECONNECT_DISABLED | CMQC.MQCNO_HANDLE_SHARE_BLOCK)
    qmgr = ibmmq.connect("QM1", CHANNEL, conname(manager), cno=cno)
    waiting, ended = waiting_get(qmgr, 30_000)
    await_a_get(manager)
    manager.restart()
    waiting.join(20.0)
    assert ended == [CMQC.MQRC_CONNECTION_BROKEN]
    with pytest.raises(ibmmq.MQMIError) as refused:
        qmgr.commit()
    assert reason_of(refused) == CMQC.MQRC_CONNECTION_BROKEN


@pytest.mark.parametrize("options", [None, CMQC.MQPMO_NONE, CMQC.MQPMO_ASYNC_RESPONSE])
def test_finding_mq_2_by_default_a_lost_unit_breaks_the_connection(
    manager: TestQueueManager, options: int | None
) -> None:
    """As programs expect it that did not ask for reconnection: 2009, and they connect again."""
    qmgr = ibmmq.connect("QM1", CHANNEL, conname(manager))
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT)
    queue.put("gone", ibmmq.MD(), ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT))
    manager.restart()

    def go_on() -> None:
        if options is not None:
            queue.put("x", ibmmq.MD(), ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT | options))
        qmgr.commit()

    with pytest.raises(ibmmq.MQMIError) as refused:
        go_on()
    assert reason_of(refused) == CMQC.MQRC_CONNECTION_BROKEN
    with pytest.raises(ibmmq.MQMIError) as refused:
        qmgr.put1("ORDERS", "x")
    assert reason_of(refused) == CMQC.MQRC_CONNECTION_BROKEN
    qmgr.disconnect()
    again = ibmmq.connect("QM1", CHANNEL, conname(manager))
    assert ibmmq.Queue(again, "ORDERS").inquire(CMQC.MQIA_CURRENT_Q_DEPTH) == 0
    again.disconnect()


def test_finding_mq_2_a_lost_unit_that_is_backed_out_is_no_loss(manager: TestQueueManager) -> None:
    qmgr = ibmmq.connect("QM1", CHANNEL, conname(manager))
    within = ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT)
    qmgr.put1("ORDERS", "gone", ibmmq.MD(), within)
    manager.restart()
    qmgr.backout()
    qmgr.put1("ORDERS", "kept", ibmmq.MD(), within)
    qmgr.commit()
    assert ibmmq.Queue(qmgr, "ORDERS").inquire(CMQC.MQIA_CURRENT_Q_DEPTH) == 1
    qmgr.disconnect()


def test_asynchronous_puts_are_counted(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_SET)
    unwaited = ibmmq.PMO(Options=CMQC.MQPMO_ASYNC_RESPONSE | CMQC.MQPMO_NO_SYNCPOINT)
    for number in range(700):
        queue.put(str(number), ibmmq.MD(), unwaited)
    status = qmgr.stat(CMQC.MQSTAT_TYPE_ASYNC_ERROR)
    assert (status.PutSuccessCount, status.PutFailureCount) == (700, 0)
    queue.set({CMQC.MQIA_INHIBIT_PUT: CMQC.MQQA_PUT_INHIBITED})
    queue.put("refused", ibmmq.MD(), unwaited)
    status = qmgr.stat(CMQC.MQSTAT_TYPE_ASYNC_ERROR)
    assert (status.PutSuccessCount, status.PutFailureCount) == (0, 1)
    assert status.Reason == CMQC.MQRC_PUT_INHIBITED
    assert status.ObjectName.rstrip() == b"ORDERS"


def test_the_worst_of_asynchronous_puts_is_told(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    """Of those that are as bad the first: a failure, even if a warning was before it."""
    unwaited = ibmmq.PMO(Options=CMQC.MQPMO_ASYNC_RESPONSE | CMQC.MQPMO_NO_SYNCPOINT)
    queues = [ibmmq.Queue(qmgr, name, CMQC.MQOO_OUTPUT) for name in ("ORDERS", "ASIDE", "FRAGILE")]
    manager.mqsc("ALTER QLOCAL(ASIDE) PUT(DISABLED)")
    manager.mqsc("ALTER QLOCAL(FRAGILE) PUT(DISABLED)")
    for queue in queues:
        queue.put("x", ibmmq.MD(Priority=99), unwaited)
    status = qmgr.stat(CMQC.MQSTAT_TYPE_ASYNC_ERROR)
    assert (status.CompCode, status.Reason) == (CMQC.MQCC_FAILED, CMQC.MQRC_PUT_INHIBITED)
    assert status.ObjectName.rstrip() == b"ASIDE"
    assert (status.PutWarningCount, status.PutFailureCount) == (1, 2)


def test_an_asynchronous_put_is_told_with_the_queue_that_its_name_led_to(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    manager.mqsc("DEFINE QALIAS(NAMED) TARGET(ORDERS) PUT(DISABLED)")
    unwaited = ibmmq.PMO(Options=CMQC.MQPMO_ASYNC_RESPONSE | CMQC.MQPMO_NO_SYNCPOINT)
    ibmmq.Queue(qmgr, "NAMED", CMQC.MQOO_OUTPUT).put("x", ibmmq.MD(), unwaited)
    status = qmgr.stat(CMQC.MQSTAT_TYPE_ASYNC_ERROR)
    assert (status.Reason, status.PutFailureCount) == (CMQC.MQRC_PUT_INHIBITED, 1)
    names = [status.ObjectName, status.ObjectQMgrName]
    names += [status.ResolvedObjectName, status.ResolvedQMgrName]
    assert [name.rstrip() for name in names] == [b"NAMED", b"QM1", b"ORDERS", b"QM1"]


def test_request_and_echo(manager: TestQueueManager, qmgr: ibmmq.QueueManager) -> None:
    """The requester waits on a queue of its own for what carries its message id."""
    with manager.connect() as administrator:
        administrator.define_object("model", "REPLY.MODEL")

    def echo() -> None:
        server = ibmmq.connect("QM1", CHANNEL, conname(manager))
        requests = ibmmq.Queue(server, "ORDERS", CMQC.MQOO_INPUT_SHARED)
        md = ibmmq.MD()
        gmo = ibmmq.GMO(
            Options=CMQC.MQGMO_WAIT | CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_CONVERT,
            WaitInterval=20_000,
        )
        body = requests.get(None, md, gmo)
        reply = ibmmq.MD(CorrelId=md.MsgId, MsgType=CMQC.MQMT_REPLY, Format=md.Format)
        to = ibmmq.OD(ObjectName=md.ReplyToQ, ObjectQMgrName=md.ReplyToQMgr)
        server.put1(to, body.upper(), reply, ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT))
        server.commit()
        server.disconnect()

    serving = threading.Thread(target=echo)
    serving.start()
    dynamic = ibmmq.OD(ObjectName="REPLY.MODEL", DynamicQName="REPLY.*")
    replies = ibmmq.Queue(qmgr, dynamic, CMQC.MQOO_INPUT_EXCLUSIVE)
    name = dynamic.ObjectName.rstrip(b" \0")
    assert name.startswith(b"REPLY.")
    assert name != b"REPLY.*"
    md = ibmmq.MD(MsgType=CMQC.MQMT_REQUEST, ReplyToQ=dynamic.ObjectName)
    ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT).put("what?", md)
    wait = ibmmq.GMO(
        Version=CMQC.MQGMO_VERSION_2,
        Options=CMQC.MQGMO_WAIT,
        MatchOptions=CMQC.MQMO_MATCH_CORREL_ID,
        WaitInterval=20_000,
    )
    assert replies.get(None, ibmmq.MD(CorrelId=md.MsgId), wait) == b"WHAT?"
    serving.join()
    replies.close()


def test_only_what_is_persistent_belongs_to_the_unit(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
    for persistence in (CMQC.MQPER_NOT_PERSISTENT, CMQC.MQPER_PERSISTENT):
        queue.put(str(persistence), ibmmq.MD(Persistence=persistence))
    gmo = ibmmq.GMO(Options=CMQC.MQGMO_SYNCPOINT_IF_PERSISTENT)
    assert [queue.get(None, ibmmq.MD(), gmo) for _ in range(2)] == [b"0", b"1"]
    qmgr.backout()
    md = ibmmq.MD()
    assert queue.get(None, md, gmo) == b"1"
    assert md.BackoutCount == 1
    qmgr.commit()


def test_programs_that_cooperate_share_what_they_browse(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT)
    for number in range(3):
        queue.put(str(number))
    other = ibmmq.connect("QM1", CHANNEL, conname(manager))
    ways = CMQC.MQOO_BROWSE | CMQC.MQOO_CO_OP
    first, second = ibmmq.Queue(qmgr, "ORDERS", ways), ibmmq.Queue(other, "ORDERS", ways)
    shared = ibmmq.GMO(Options=CMQC.MQGMO_BROWSE_CO_OP, Version=CMQC.MQGMO_VERSION_4)
    assert first.get(None, ibmmq.MD(), shared) == b"0"
    token = shared.MsgToken
    assert second.get(None, ibmmq.MD(), shared) == b"1"
    assert first.get(None, ibmmq.MD(), shared) == b"2"
    with pytest.raises(ibmmq.MQMIError) as refused:
        second.get(None, ibmmq.MD(), shared)
    assert reason_of(refused) == CMQC.MQRC_NO_MSG_AVAILABLE
    unmark = ibmmq.GMO(
        Options=CMQC.MQGMO_UNMARK_BROWSE_CO_OP,
        Version=CMQC.MQGMO_VERSION_4,
        MatchOptions=CMQC.MQMO_MATCH_MSG_TOKEN,
        MsgToken=token,
    )
    assert first.get(None, ibmmq.MD(), unmark) == b"0"
    assert second.get(None, ibmmq.MD(), shared) == b"0", "it is for whoever comes first again"
    alone = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_BROWSE)
    seen = [
        alone.get(None, ibmmq.MD(), ibmmq.GMO(Options=CMQC.MQGMO_BROWSE_HANDLE)) for _ in range(3)
    ]
    assert seen == [b"0", b"1", b"2"], "marks of others are no matter of his"
    other.disconnect()


@pytest.mark.parametrize("said", [CMQC.MQCCSI_INHERIT, CMQC.MQCCSI_Q_MGR])
def test_two_numbers_stand_for_the_character_set_of_the_queue_manager(
    qmgr: ibmmq.QueueManager, said: int
) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
    put = ibmmq.MD(Format=CMQC.MQFMT_STRING, CodedCharSetId=said)
    queue.put("ä".encode(), put)
    queue.put("ä".encode("latin-1"), ibmmq.MD(Format=CMQC.MQFMT_STRING, CodedCharSetId=819))
    assert put.CodedCharSetId == 1208
    converting = ibmmq.GMO(Options=CMQC.MQGMO_CONVERT)
    for asked, body, ccsid in ((819, b"\xe4", 819), (said, "ä".encode(), 1208)):
        got = ibmmq.MD(CodedCharSetId=asked)
        assert (queue.get(None, got, converting), got.CodedCharSetId) == (body, ccsid)
