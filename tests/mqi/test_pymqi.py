"""Programs written against pymqi, installed as `mqk install-pymqi` does it."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL, conname


@pytest.fixture(scope="module")
def pymqi(pymqi_site: Path) -> Iterator[ModuleType]:
    """The package; its own distribution comes from where pip finds it."""
    sys.path.insert(0, str(pymqi_site))
    yield importlib.import_module("pymqi")
    sys.path.remove(str(pymqi_site))


@pytest.fixture
def connected(pymqi: Any, manager: TestQueueManager) -> Iterator[Any]:
    qmgr = pymqi.connect("QM1", CHANNEL, conname(manager))
    yield qmgr
    qmgr.disconnect()


def test_put_and_get(pymqi: Any, connected: Any) -> None:
    queue = pymqi.Queue(connected, "ORDERS")
    queue.put("one sack of flour")
    queue.close()
    queue = pymqi.Queue(connected, "ORDERS")
    assert queue.get() == b"one sack of flour"
    pymqi.Queue(connected, "ORDERS").put(b"x" * 10_000)
    assert len(queue.get()) == 10_000, "two calls"
    queue.close()


def test_user_and_password_may_be_given(pymqi: Any, manager: TestQueueManager) -> None:
    qmgr = pymqi.connect("QM1", CHANNEL, conname(manager), user="app", password="secret")
    pymqi.Queue(qmgr, "ORDERS").put("x")
    with manager.connect() as other:
        got = other.get("ORDERS")
        assert got is not None
        assert got.user == "app"
    qmgr.disconnect()


def test_a_unit_of_work(pymqi: Any, connected: Any) -> None:
    queue = pymqi.Queue(connected, "ORDERS")
    queue.put("kept", pymqi.MD(), pymqi.PMO(Options=pymqi.CMQC.MQPMO_SYNCPOINT))
    connected.backout()
    with pytest.raises(pymqi.MQMIError) as refused:
        pymqi.Queue(connected, "ORDERS").get()
    assert refused.value.reason == pymqi.CMQC.MQRC_NO_MSG_AVAILABLE


def test_browse_wait_and_match(pymqi: Any, connected: Any) -> None:
    cmqc = pymqi.CMQC
    queue = pymqi.Queue(
        connected, "ORDERS", cmqc.MQOO_OUTPUT | cmqc.MQOO_INPUT_SHARED | cmqc.MQOO_BROWSE
    )
    for number in range(3):
        queue.put(str(number), pymqi.MD(CorrelId=bytes([number + 1]) * 24))
    gmo = pymqi.GMO(Options=cmqc.MQGMO_BROWSE_NEXT | cmqc.MQGMO_WAIT, WaitInterval=50)
    assert [queue.get(None, pymqi.MD(), gmo) for _ in range(3)] == [b"0", b"1", b"2"]
    wanted = pymqi.GMO(MatchOptions=cmqc.MQMO_MATCH_CORREL_ID, Version=cmqc.MQGMO_VERSION_2)
    assert queue.get(None, pymqi.MD(CorrelId=b"\2" * 24), wanted) == b"1"


def test_inquire_and_set(pymqi: Any, connected: Any) -> None:
    cmqc = pymqi.CMQC
    assert connected.inquire(cmqc.MQCA_Q_MGR_NAME).strip() == b"QM1"
    queue = pymqi.Queue(connected, "ORDERS", cmqc.MQOO_INQUIRE | cmqc.MQOO_SET)
    assert queue.inquire(cmqc.MQIA_CURRENT_Q_DEPTH) == 0
    assert queue.inquire(cmqc.MQCA_Q_NAME).strip() == b"ORDERS"
    queue.set(cmqc.MQIA_INHIBIT_PUT, cmqc.MQQA_PUT_INHIBITED)
    assert queue.inquire(cmqc.MQIA_INHIBIT_PUT) == cmqc.MQQA_PUT_INHIBITED
    queue.set(cmqc.MQCA_TRIGGER_DATA, b"data")
    assert queue.inquire(cmqc.MQCA_TRIGGER_DATA).strip() == b"data"


def test_properties(pymqi: Any, connected: Any) -> None:
    cmqc = pymqi.CMQC
    handle = pymqi.MessageHandle(connected)
    handle.properties.set(b"colour", "blue")
    handle.properties.set(b"count", 5, cmqc.MQTYPE_INT32, 4)
    pmo = pymqi.PMO(Version=cmqc.MQPMO_VERSION_3, OriginalMsgHandle=handle.msg_handle)
    queue = pymqi.Queue(connected, "ORDERS", cmqc.MQOO_OUTPUT | cmqc.MQOO_INPUT_SHARED)
    queue.put(b"body", pymqi.MD(), pmo)
    found = pymqi.MessageHandle(connected)
    gmo = pymqi.GMO(
        Version=cmqc.MQGMO_VERSION_4,
        Options=cmqc.MQGMO_PROPERTIES_IN_HANDLE,
        MsgHandle=found.msg_handle,
    )
    assert queue.get(None, pymqi.MD(), gmo) == b"body"
    assert found.properties.get(b"colour") == "blue"
    assert found.properties.get(b"count") == 5


def test_a_request_is_answered(pymqi: Any, connected: Any, manager: TestQueueManager) -> None:
    cmqc = pymqi.CMQC
    with manager.connect() as administrator:
        administrator.define_object("model", "REPLY.MODEL")
    dynamic = pymqi.OD(ObjectName=b"REPLY.MODEL", DynamicQName=b"REPLY.*")
    replies = pymqi.Queue(connected, dynamic, cmqc.MQOO_INPUT_EXCLUSIVE)
    md = pymqi.MD(MsgType=cmqc.MQMT_REQUEST, ReplyToQ=dynamic.ObjectName.strip())
    pymqi.Queue(connected, "ORDERS").put("what?", md)
    asked = pymqi.MD()
    body = pymqi.Queue(connected, "ORDERS").get(None, asked)
    answer = pymqi.MD(CorrelId=asked.MsgId, MsgType=cmqc.MQMT_REPLY)
    connected.put1(asked.ReplyToQ.strip().decode(), body.upper(), answer)
    assert replies.get(None, pymqi.MD(CorrelId=md.MsgId)) == b"WHAT?"


def test_publish_and_subscribe(pymqi: Any, connected: Any) -> None:
    subscription = pymqi.Subscription(connected)
    subscription.sub(topic_string="price/+")
    topic = pymqi.Topic(connected, topic_string="price/gold")
    topic.open(open_opts=pymqi.CMQC.MQOO_OUTPUT)
    topic.pub(b"1900")
    assert subscription.get() == b"1900"
    own = topic.sub(None, pymqi.Queue(connected, "ORDERS", pymqi.CMQC.MQOO_INPUT_SHARED))
    own.close()
    topic.close()
    subscription.close(pymqi.CMQC.MQCO_REMOVE_SUB, close_sub_queue=True)


def test_a_durable_subscription(pymqi: Any, connected: Any) -> None:
    """As pymqi's documentation has it: one descriptor, whether it is there already or not."""
    cmqc = pymqi.CMQC
    gmo = pymqi.GMO(Options=cmqc.MQGMO_NO_SYNCPOINT | cmqc.MQGMO_WAIT, WaitInterval=20_000)
    for body in (b"first", b"second"):
        described = pymqi.SD()
        described["Options"] = (
            cmqc.MQSO_CREATE | cmqc.MQSO_RESUME | cmqc.MQSO_DURABLE | cmqc.MQSO_MANAGED
        )
        described.set_vs("SubName", "Stock")
        described.set_vs("ObjectString", "orders/#")
        subscription = pymqi.Subscription(connected)
        subscription.sub(sub_desc=described)
        pymqi.Topic(connected, topic_string="orders/1").pub(body)
        assert subscription.get(None, pymqi.MD(), gmo) == body
        subscription.close(cmqc.MQCO_KEEP_SUB, close_sub_queue=True)
    subscription = pymqi.Subscription(connected)
    subscription.sub(sub_desc=described)
    subscription.close(cmqc.MQCO_REMOVE_SUB)


def test_connect_by_mqserver(
    pymqi: Any, manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MQSERVER", f"{CHANNEL}/TCP/{conname(manager)}")
    qmgr = pymqi.QueueManager("QM1")
    assert qmgr.is_connected, "pymqi pings the queue manager by PCF"
    qmgr.disconnect()
    assert not qmgr.is_connected


def test_a_message_that_is_longer_than_the_buffer(pymqi: Any, connected: Any) -> None:
    cmqc = pymqi.CMQC
    pymqi.Queue(connected, "ORDERS").put(b"12345")
    queue = pymqi.Queue(connected, "ORDERS")
    with pytest.raises(pymqi.MQMIError) as left:
        queue.get(3, pymqi.MD())
    assert left.value.reason == cmqc.MQRC_TRUNCATED_MSG_FAILED
    assert left.value.original_length == 5
    with pytest.raises(pymqi.MQMIError) as taken:
        queue.get(3, pymqi.MD(), pymqi.GMO(Options=cmqc.MQGMO_ACCEPT_TRUNCATED_MSG))
    assert taken.value.reason == cmqc.MQRC_TRUNCATED_MSG_ACCEPTED
    assert (taken.value.message, taken.value.original_length) == (b"123", 5)


def test_headers_in_front_of_the_body(pymqi: Any, connected: Any) -> None:
    cmqc = pymqi.CMQC
    header = pymqi.RFH2(Format=cmqc.MQFMT_STRING, CodedCharSetId=1208, NameValueCCSID=1208)
    header.add_folder(b"<usr><colour>blue</colour></usr>")
    md = pymqi.MD(Format=cmqc.MQFMT_RF_HEADER_2, CodedCharSetId=1208)
    pymqi.Queue(connected, "ORDERS").put_rfh2(b"body", md, pymqi.PMO(), [header])
    found: list[Any] = []
    gmo = pymqi.GMO(
        Version=cmqc.MQGMO_VERSION_4,
        Options=cmqc.MQGMO_NO_WAIT | cmqc.MQGMO_PROPERTIES_FORCE_MQRFH2,
    )
    assert pymqi.Queue(connected, "ORDERS").get_rfh2(None, pymqi.MD(), gmo, found) == b"body"
    assert b"<colour>blue</colour>" in found[0]["usr"]


def test_pcf_with_a_filter(pymqi: Any, connected: Any) -> None:
    cmqc, cmqcfc = pymqi.CMQC, pymqi.CMQCFC
    pymqi.Queue(connected, "ORDERS").put(b"x")
    pcf = pymqi.PCFExecute(connected)
    wanted = {cmqc.MQCA_Q_NAME: b"*", cmqcfc.MQIACF_Q_ATTRS: cmqc.MQIA_CURRENT_Q_DEPTH}
    deep = pcf.MQCMD_INQUIRE_Q(wanted, [pymqi.Filter(cmqc.MQIA_CURRENT_Q_DEPTH).greater(0)])
    depths = {one[cmqc.MQCA_Q_NAME].strip(): one[cmqc.MQIA_CURRENT_Q_DEPTH] for one in deep}
    assert depths[b"ORDERS"] == 1
    assert min(depths.values()) > 0
    pcf.disconnect()


def test_pcf_with_a_list(pymqi: Any, connected: Any) -> None:
    cmqc = pymqi.CMQC
    pcf = pymqi.PCFExecute(connected)
    name = {cmqc.MQCA_NAMELIST_NAME: b"SHELVES"}
    pcf.MQCMD_CREATE_NAMELIST(name | {cmqc.MQCA_NAMES: ["upper", b"lower"]})
    (described,) = pcf.MQCMD_INQUIRE_NAMELIST(name)
    assert [one.strip() for one in described[cmqc.MQCA_NAMES]] == [b"upper", b"lower"]
    assert described[cmqc.MQIA_NAME_COUNT] == 2
    pcf.MQCMD_DELETE_NAMELIST(name)
    with pytest.raises(pymqi.MQMIError) as gone:
        pcf.MQCMD_INQUIRE_NAMELIST(name)
    assert gone.value.reason == cmqc.MQRC_UNKNOWN_OBJECT_NAME
    pcf.disconnect()


def test_structures_of_a_wrong_size(pymqi: Any, connected: Any) -> None:
    pymqe = importlib.import_module("pymqe")
    with pytest.raises(pymqe.error, match="MQMD wrong size"):
        pymqe.MQPUT(connected.get_handle(), 1, b"", b"", b"")
    with pytest.raises(pymqe.error, match="not a long"):
        pymqe.MQSET(connected.get_handle(), 1, 9, b"1")


def test_what_is_installed_says_so(pymqi: Any) -> None:
    assert Path(pymqi.__file__).parent.name == "pymqi"
    assert pymqi.__mqbuild__ == "client"
    assert "8.0.0" in pymqi.__mqlevels__
