"""What is refused, and how: reason codes that programs branch on, and errors of the module."""

import threading

import ibmmq
import pytest
from ibmmq import CMQC, ibmmqc

from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL, conname, reason_of

BOTH = CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        (0, CMQC.MQRC_OPTIONS_ERROR),
        (CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_INPUT_EXCLUSIVE, CMQC.MQRC_OPTIONS_ERROR),
        (CMQC.MQOO_BIND_ON_OPEN | CMQC.MQOO_BIND_NOT_FIXED, CMQC.MQRC_OPTIONS_ERROR),
        (CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_CO_OP, CMQC.MQRC_OPTIONS_ERROR),
        (1 << 30, CMQC.MQRC_OPTIONS_ERROR),
    ],
)
def test_open_options(qmgr: ibmmq.QueueManager, option: int, reason: int) -> None:
    with pytest.raises(ibmmq.MQMIError) as refused:
        ibmmq.Queue(qmgr, "ORDERS", option)
    assert reason_of(refused) == reason


@pytest.mark.parametrize(
    ("descriptor", "reason"),
    [
        (ibmmq.OD(ObjectName="NOPE"), CMQC.MQRC_UNKNOWN_OBJECT_NAME),
        (ibmmq.OD(ObjectType=CMQC.MQOT_TOPIC), CMQC.MQRC_TOPIC_STRING_ERROR),
        (ibmmq.OD(ObjectType=77), CMQC.MQRC_OBJECT_TYPE_ERROR),
        (
            ibmmq.OD(ObjectType=CMQC.MQOT_PROCESS, ObjectName="ORDERS"),
            CMQC.MQRC_OPTION_NOT_VALID_FOR_TYPE,
        ),
        (ibmmq.OD(ObjectName="ORDERS", RecsPresent=2), CMQC.MQRC_RECS_PRESENT_ERROR),
        (
            ibmmq.OD(ObjectName="ORDERS", ObjectQMgrName="QM9"),
            CMQC.MQRC_UNKNOWN_REMOTE_Q_MGR,
        ),
    ],
)
def test_objects(qmgr: ibmmq.QueueManager, descriptor: ibmmq.OD, reason: int) -> None:
    with pytest.raises(ibmmq.MQMIError) as refused:
        ibmmq.Queue(qmgr, descriptor, CMQC.MQOO_OUTPUT)
    assert reason_of(refused) == reason


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_NO_SYNCPOINT, CMQC.MQRC_OPTIONS_ERROR),
        (CMQC.MQGMO_BROWSE_FIRST | CMQC.MQGMO_BROWSE_NEXT, CMQC.MQRC_OPTIONS_ERROR),
        (CMQC.MQGMO_BROWSE_FIRST | CMQC.MQGMO_SYNCPOINT, CMQC.MQRC_OPTIONS_ERROR),
        (CMQC.MQGMO_SET_SIGNAL, CMQC.MQRC_OPTIONS_ERROR),
        (CMQC.MQGMO_MARK_BROWSE_CO_OP, CMQC.MQRC_OPTIONS_ERROR),
        (CMQC.MQGMO_BROWSE_HANDLE | CMQC.MQGMO_MARK_BROWSE_CO_OP, CMQC.MQRC_OPTIONS_ERROR),
        (CMQC.MQGMO_UNMARK_BROWSE_HANDLE, CMQC.MQRC_OPTIONS_ERROR),
        (CMQC.MQGMO_BROWSE_FIRST, CMQC.MQRC_NOT_OPEN_FOR_BROWSE),
        (CMQC.MQGMO_PROPERTIES_IN_HANDLE, CMQC.MQRC_HMSG_ERROR),
    ],
)
def test_get_options(qmgr: ibmmq.QueueManager, options: int, reason: int) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH)
    queue.put("x")
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.get(None, ibmmq.MD(), ibmmq.GMO(Options=options))
    assert reason_of(refused) == reason


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_NO_SYNCPOINT, CMQC.MQRC_OPTIONS_ERROR),
        (CMQC.MQPMO_ASYNC_RESPONSE | CMQC.MQPMO_SYNC_RESPONSE, CMQC.MQRC_OPTIONS_ERROR),
        (CMQC.MQPMO_RETAIN, CMQC.MQRC_OPTIONS_ERROR),
        (CMQC.MQPMO_SET_ALL_CONTEXT, CMQC.MQRC_NOT_OPEN_FOR_SET_ALL),
        (CMQC.MQPMO_PASS_IDENTITY_CONTEXT, CMQC.MQRC_NOT_OPEN_FOR_PASS_IDENT),
        (1 << 30, CMQC.MQRC_OPTIONS_ERROR),
    ],
)
def test_put_options(qmgr: ibmmq.QueueManager, options: int, reason: int) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH)
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.put("x", ibmmq.MD(), ibmmq.PMO(Options=options))
    assert reason_of(refused) == reason


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"Expiry": 0}, CMQC.MQRC_EXPIRY_ERROR),
        ({"Persistence": 7}, CMQC.MQRC_PERSISTENCE_ERROR),
        ({"Priority": -2}, CMQC.MQRC_PRIORITY_ERROR),
        ({"MsgType": 7}, CMQC.MQRC_MSG_TYPE_ERROR),
        ({"MsgType": CMQC.MQMT_REQUEST}, CMQC.MQRC_MISSING_REPLY_TO_Q),
        ({"MsgFlags": 1 << 30}, CMQC.MQRC_MSG_FLAGS_ERROR),
        ({"MsgFlags": 8, "MsgSeqNumber": 0}, CMQC.MQRC_MSG_SEQ_NUMBER_ERROR),
        ({"MsgFlags": 8, "MsgSeqNumber": 1_000_000_000}, CMQC.MQRC_MSG_SEQ_NUMBER_ERROR),
    ],
)
def test_descriptors(qmgr: ibmmq.QueueManager, said: dict[str, int], reason: int) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH)
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.put("x", ibmmq.MD(**said))
    assert reason_of(refused) == reason


def test_verbs_need_what_the_handle_was_opened_for(qmgr: ibmmq.QueueManager) -> None:
    reading = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED)
    writing = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT)
    for call, reason in (
        (lambda: reading.put("x"), CMQC.MQRC_NOT_OPEN_FOR_OUTPUT),
        (writing.get, CMQC.MQRC_NOT_OPEN_FOR_INPUT),
        (lambda: reading.inquire(CMQC.MQIA_Q_TYPE), CMQC.MQRC_NOT_OPEN_FOR_INQUIRE),
        (lambda: reading.set(CMQC.MQIA_INHIBIT_GET, 1), CMQC.MQRC_NOT_OPEN_FOR_SET),
    ):
        with pytest.raises(ibmmq.MQMIError) as refused:
            call()
        assert reason_of(refused) == reason


def test_structures_of_a_wrong_size_are_no_reason_code(qmgr: ibmmq.QueueManager) -> None:
    hconn = qmgr.get_handle()
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH)
    error = getattr(ibmmqc, "ibmmqc.error")
    with pytest.raises(error, match=r"MQOD wrong size\. Given: 5, expected 424"):
        ibmmqc.MQOPEN(hconn, b"short", CMQC.MQOO_OUTPUT)
    with pytest.raises(error, match="MQMD wrong size"):
        ibmmqc.MQPUT(hconn, queue.get_handle(), b"", ibmmq.PMO().pack(), b"x")
    with pytest.raises(error, match="MQGMO wrong size"):
        ibmmqc.MQGET(hconn, queue.get_handle(), ibmmq.MD().pack(), b"", 10)
    with pytest.raises(TypeError):
        ibmmqc.MQPUT(hconn, queue.get_handle(), ibmmq.MD().pack(), ibmmq.PMO().pack(), "text")
    with pytest.raises(error, match="not a list"):
        ibmmqc.MQINQ(hconn, queue.get_handle(), 2016, [], 0, 1, 48)


def test_structures_that_are_others(qmgr: ibmmq.QueueManager) -> None:
    hconn = qmgr.get_handle()
    other = bytes(364)
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH)
    got = ibmmqc.MQPUT(hconn, queue.get_handle(), other, ibmmq.PMO().pack(), b"x")
    assert got[-1] == CMQC.MQRC_MD_ERROR
    got = ibmmqc.MQPUT(hconn, queue.get_handle(), ibmmq.MD().pack(), bytes(184), b"x")
    assert got[-1] == CMQC.MQRC_PMO_ERROR
    got = ibmmqc.MQGET(hconn, queue.get_handle(), ibmmq.MD().pack(), bytes(112), 10)
    assert got[-1] == CMQC.MQRC_GMO_ERROR
    got = ibmmqc.MQOPEN(hconn, bytes(424), CMQC.MQOO_OUTPUT)
    assert got[-1] == CMQC.MQRC_OD_ERROR


def test_handles_that_are_none(qmgr: ibmmq.QueueManager) -> None:
    hconn = qmgr.get_handle()
    md, gmo, pmo = ibmmq.MD().pack(), ibmmq.GMO().pack(), ibmmq.PMO().pack()
    assert ibmmqc.MQGET(hconn, 999, md, gmo, 10)[-1] == CMQC.MQRC_HOBJ_ERROR
    assert ibmmqc.MQPUT(hconn, 999, md, pmo, b"x")[-1] == CMQC.MQRC_HOBJ_ERROR
    assert ibmmqc.MQCLOSE(hconn, 999, 0)[-1] == CMQC.MQRC_HOBJ_ERROR
    for call in (ibmmqc.MQCMIT, ibmmqc.MQBACK, ibmmqc.MQDISC, ibmmqc.MQBEGIN):
        assert call(999)[-1] == CMQC.MQRC_HCONN_ERROR
    assert ibmmqc.MQOPEN(999, ibmmq.OD().pack(), 16)[-1] == CMQC.MQRC_HCONN_ERROR


def test_calls_after_the_disconnection(manager: TestQueueManager) -> None:
    qmgr = ibmmq.connect("QM1", CHANNEL, conname(manager))
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH)
    hconn, hobj = qmgr.get_handle(), queue.get_handle()
    qmgr.disconnect()
    md, gmo = ibmmq.MD().pack(), ibmmq.GMO().pack()
    assert ibmmqc.MQGET(hconn, hobj, md, gmo, 10)[-1] == CMQC.MQRC_HCONN_ERROR
    assert ibmmqc.MQDISC(hconn)[-1] == CMQC.MQRC_HCONN_ERROR


def test_who_cannot_be_connected_to(manager: TestQueueManager) -> None:
    with pytest.raises(ibmmq.MQMIError) as refused:
        ibmmq.connect("QM9", CHANNEL, conname(manager))
    assert reason_of(refused) == CMQC.MQRC_Q_MGR_NAME_ERROR
    with pytest.raises(ibmmq.MQMIError) as refused:
        ibmmq.connect("QM1", CHANNEL, "127.0.0.1(1)")
    assert reason_of(refused) == CMQC.MQRC_HOST_NOT_AVAILABLE
    with pytest.raises(ibmmq.MQMIError) as refused:
        ibmmq.connect("QM1", CHANNEL, "no address (at all")
    assert reason_of(refused) == CMQC.MQRC_CLIENT_CONN_ERROR
    encrypted = ibmmq.CD(SSLCipherSpec="ANY_TLS12_OR_HIGHER")
    with pytest.raises(ibmmq.MQMIError) as refused:
        ibmmq.connect("QM1", CHANNEL, conname(manager), cd=encrypted)
    assert reason_of(refused) == CMQC.MQRC_SSL_INITIALIZATION_ERROR
    tagged = ibmmq.CNO(Options=CMQC.MQCNO_SERIALIZE_CONN_TAG_Q_MGR)
    with pytest.raises(ibmmq.MQMIError) as refused:
        ibmmq.connect("QM1", CHANNEL, conname(manager), cno=tagged)
    assert reason_of(refused) == CMQC.MQRC_CONN_TAG_NOT_USABLE


def test_a_program_without_an_address_uses_mqserver(
    manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MQSERVER", f"{CHANNEL}/TCP/{conname(manager)}")
    for name in ("QM1", "", "*ANY"):
        qmgr = ibmmq.QueueManager(name)
        assert qmgr.inquire(CMQC.MQCA_Q_MGR_NAME).rstrip() == b"QM1"
        qmgr.disconnect()


def test_a_handle_that_is_not_shared_is_its_threads(
    manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MQSERVER", f"{CHANNEL}/TCP/{conname(manager)}")
    qmgr = ibmmq.QueueManager("QM1")
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(ibmmqc.MQCMIT(qmgr.get_handle())[-1]))
    thread.start()
    thread.join()
    assert found == [CMQC.MQRC_HCONN_ERROR]
    qmgr.disconnect()


@pytest.mark.parametrize(
    ("sharing", "reason"),
    [
        (CMQC.MQCNO_HANDLE_SHARE_NO_BLOCK, CMQC.MQRC_CALL_IN_PROGRESS),
        (CMQC.MQCNO_HANDLE_SHARE_BLOCK, CMQC.MQRC_NONE),
    ],
)
def test_a_handle_that_is_shared(manager: TestQueueManager, sharing: int, reason: int) -> None:
    cno = ibmmq.CNO(Options=sharing)
    qmgr = ibmmq.connect("QM1", CHANNEL, conname(manager), cno=cno)
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH)
    waits = threading.Event()
    found: list[bytes] = []

    def wait() -> None:
        waits.set()
        gmo = ibmmq.GMO(Options=CMQC.MQGMO_WAIT, WaitInterval=20_000)
        found.append(queue.get(None, ibmmq.MD(), gmo))

    thread = threading.Thread(target=wait)
    thread.start()
    waits.wait()
    with manager.connect() as other:
        while not other.queue("ORDERS").status().waiting_gets:
            pass
        timer = threading.Timer(0.2, lambda: other.put("ORDERS", "x"))
        timer.start()
        assert ibmmqc.MQCMIT(qmgr.get_handle())[-1] == reason
        thread.join()
        timer.join()
    assert found == [b"x"]
    qmgr.disconnect()


def put_for_ever(queue: ibmmq.Queue) -> None:
    """Put until it is refused."""
    while True:
        queue.put("x")


def test_a_connection_that_shall_not_reconnect_stays_broken(manager: TestQueueManager) -> None:
    cno = ibmmq.CNO(Options=CMQC.MQCNO_RECONNECT_DISABLED)
    qmgr = ibmmq.connect("QM1", CHANNEL, conname(manager), cno=cno)
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH)
    manager.restart()
    with pytest.raises(ibmmq.MQMIError):
        put_for_ever(queue)
    for _ in range(2):
        with pytest.raises(ibmmq.MQMIError) as refused:
            queue.put("x")
        assert reason_of(refused) == CMQC.MQRC_CONNECTION_BROKEN


def test_two_hundred_handles_on_one_queue(qmgr: ibmmq.QueueManager) -> None:
    queues = [ibmmq.Queue(qmgr, "ORDERS", BOTH) for _ in range(200)]
    queues[0].put("x")
    assert queues[-1].get() == b"x"
    with pytest.raises(ibmmq.MQMIError) as refused:
        queues += [ibmmq.Queue(qmgr, "ORDERS", BOTH) for _ in range(100)]
    assert reason_of(refused) == CMQC.MQRC_HANDLE_NOT_AVAILABLE
    assert len(queues) == 200, "none of those that were too many is left"
    queues.pop().close()
    queues.append(ibmmq.Queue(qmgr, "ORDERS", BOTH))
    queues[0].put("y")
    assert queues[-1].get() == b"y"


def test_there_is_nothing_else_to_begin_a_unit_with(qmgr: ibmmq.QueueManager) -> None:
    with pytest.raises(ibmmq.MQMIError) as refused:
        qmgr.begin()
    assert refused.value.comp == CMQC.MQCC_WARNING
    assert reason_of(refused) == CMQC.MQRC_NO_EXTERNAL_PARTICIPANTS
    qmgr.put1("ORDERS", "x", ibmmq.MD(), ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT))
    with pytest.raises(ibmmq.MQMIError) as refused:
        qmgr.begin()
    assert reason_of(refused) == CMQC.MQRC_UOW_IN_PROGRESS


def test_what_is_not_for_this_type_of_queue(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    with manager.connect() as administrator:
        administrator.define_object("remote", "FAR", remote_name="Q", remote_queue_manager="QM2")
    for options in (CMQC.MQOO_INPUT_SHARED, CMQC.MQOO_BROWSE):
        with pytest.raises(ibmmq.MQMIError) as refused:
            ibmmq.Queue(qmgr, "FAR", options).open_with_options(options)
        assert reason_of(refused) == CMQC.MQRC_OPTION_NOT_VALID_FOR_TYPE
    for option in (CMQC.MQCO_DELETE, CMQC.MQCO_DELETE_PURGE):
        queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED)
        with pytest.raises(ibmmq.MQMIError) as refused:
            queue.close(option)
        assert reason_of(refused) == CMQC.MQRC_OPTION_NOT_VALID_FOR_TYPE
        queue.close()


def test_report_options_that_nobody_knows(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT)
    for bit in (0x10000000, 0x00100000, 0x00080000, 0x00040000):
        assert bit & CMQC.MQRO_REJECT_UNSUP_MASK
        with pytest.raises(ibmmq.MQMIError) as refused:
            queue.put("x", ibmmq.MD(Report=bit))
        assert reason_of(refused) == CMQC.MQRC_REPORT_OPTIONS_ERROR
        with pytest.raises(ibmmq.MQMIError) as refused:
            qmgr.put1("ORDERS", "x", ibmmq.MD(Report=bit))
        assert reason_of(refused) == CMQC.MQRC_REPORT_OPTIONS_ERROR


MODEL = "SYSTEM.DEFAULT.MODEL.QUEUE"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (0, CMQC.MQRC_OPTION_NOT_VALID_FOR_TYPE),
        (CMQC.MQPMO_SYNCPOINT, CMQC.MQRC_OPTION_NOT_VALID_FOR_TYPE),
        (CMQC.MQPMO_WARN_IF_NO_SUBS_MATCHED, CMQC.MQRC_OPTION_NOT_VALID_FOR_TYPE),
    ],
)
def test_one_put_alone_to_a_model_puts_nothing(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager, options: int, reason: int
) -> None:
    with manager.connect() as administrator:
        before = {queue.name for queue in administrator.queues(system=True)}
        with pytest.raises(ibmmq.MQMIError) as refused:
            qmgr.put1(MODEL, b"x", ibmmq.MD(), ibmmq.PMO(Options=options))
        assert reason_of(refused) == reason
        qmgr.commit()
        assert {queue.name for queue in administrator.queues(system=True)} == before
