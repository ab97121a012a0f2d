"""Topics and subscriptions: MQOPEN and MQPUT of topics, MQSUB, MQSUBRQ, MQCLOSE, MQCB, MQSTAT."""

from queue import Queue as Results
from typing import Any

import ibmmq
import pytest
from ibmmq import CMQC, ibmmqc

from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL, conname, reason_of

WAIT = ibmmq.GMO(Options=CMQC.MQGMO_WAIT | CMQC.MQGMO_NO_SYNCPOINT, WaitInterval=20_000)
DURABLE = CMQC.MQSO_CREATE | CMQC.MQSO_DURABLE | CMQC.MQSO_MANAGED
RESUME = CMQC.MQSO_RESUME | CMQC.MQSO_MANAGED


def described(options: int, name: str = "", topic: str = "", **fields: Any) -> ibmmq.SD:
    """An MQSD with a name and a topic string."""
    sd = ibmmq.SD(Options=options, **fields)
    if name:
        sd.set_vs("SubName", name)
    if topic:
        sd.set_vs("ObjectString", topic)
    return sd


def subscribed(
    qmgr: ibmmq.QueueManager, sd: ibmmq.SD, queue: ibmmq.Queue | None = None
) -> ibmmq.Subscription:
    subscription = ibmmq.Subscription(qmgr)
    subscription.sub(sub_desc=sd, sub_queue=queue)
    return subscription


def publish(
    qmgr: ibmmq.QueueManager,
    topic: str,
    body: str,
    options: int = 0,
    md: ibmmq.MD | None = None,
) -> ibmmq.MD:
    """Publish once, and return the MQMD as it is afterwards."""
    md = md or ibmmq.MD()
    od = ibmmq.OD(ObjectType=CMQC.MQOT_TOPIC, Version=CMQC.MQOD_VERSION_4)
    od.set_vs("ObjectString", topic)
    qmgr.put1(od, body, md, ibmmq.PMO(Options=options))
    return md


def nothing(subscription: ibmmq.Subscription) -> bool:
    """Whether there is no publication now."""
    with pytest.raises(ibmmq.MQMIError) as refused:
        subscription.get()
    return bool(reason_of(refused) == CMQC.MQRC_NO_MSG_AVAILABLE)


def test_publish_and_subscribe(qmgr: ibmmq.QueueManager) -> None:
    """As IBM's samples amqspub and amqssub do."""
    subscription = ibmmq.Subscription(qmgr)
    subscription.sub(topic_string="price/+")
    topic = ibmmq.Topic(qmgr, topic_string="price/gold")
    topic.open(open_opts=CMQC.MQOO_OUTPUT | CMQC.MQOO_FAIL_IF_QUIESCING)
    md, pmo = ibmmq.MD(), ibmmq.PMO(Options=CMQC.MQPMO_NO_SYNCPOINT)
    topic.pub("1900", md, pmo)
    assert any(md.MsgId)
    assert not pmo.ResolvedQName.rstrip(b"\0 ")
    got = ibmmq.MD()
    assert subscription.get(None, got, WAIT) == b"1900", "without a header in front of it"
    assert got.MsgId == md.MsgId
    assert nothing(subscription)
    topic.close()
    subscription.close(CMQC.MQCO_NONE, close_sub_queue=True)


def test_what_the_queue_manager_says_of_a_publication(qmgr: ibmmq.QueueManager) -> None:
    sd = described(CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED, topic="a/#")
    sd.set_vs("SubUserData", "of the subscriber")
    subscription = subscribed(qmgr, sd)
    publish(qmgr, "a/b", "1")
    publish(qmgr, "a/c", "2")
    found = ibmmq.MessageHandle(qmgr)
    gmo = ibmmq.GMO(
        Version=CMQC.MQGMO_VERSION_4,
        Options=CMQC.MQGMO_PROPERTIES_IN_HANDLE,
        MsgHandle=found.msg_handle,
    )
    assert subscription.get(None, ibmmq.MD(), gmo) == b"1"
    assert found.properties.get("MQTopicString") == "a/b"
    assert found.properties.get("MQSubUserData") == "of the subscriber"
    headers: list[ibmmq.RFH2] = []
    forced = ibmmq.GMO(Options=CMQC.MQGMO_PROPERTIES_FORCE_MQRFH2)
    assert subscription.get_rfh2(None, ibmmq.MD(), forced, headers) == b"2"
    assert headers[0]["mqps"].strip() == (
        b"<mqps><Top>a/c</Top><Sud>of the subscriber</Sud></mqps>"
    )


def test_a_topic_is_named_by_an_object_a_string_or_both(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    with manager.connect() as administrator:
        administrator.define_object("topic", "FRUIT", topic_string="fruit")
    sd = described(CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED, topic="apple", ObjectName="FRUIT")
    sd.set_vs("ResObjectString", " " * 32, 0, 32)
    subscription = subscribed(qmgr, sd)
    assert sd.ResObjectStringVSLength == len("fruit/apple")
    assert sd.get_vs("ResObjectString").rstrip() == b"fruit/apple"
    od = ibmmq.OD(ObjectType=CMQC.MQOT_TOPIC, ObjectName="FRUIT", Version=CMQC.MQOD_VERSION_4)
    od.set_vs("ObjectString", "apple")
    od.set_vs("ResObjectString", " " * 5, 0, 5)
    topic = ibmmq.Topic(qmgr, topic_desc=od, open_opts=CMQC.MQOO_OUTPUT)
    assert od.ResolvedType == CMQC.MQOT_TOPIC
    assert od.ResObjectStringVSLength == len("fruit/apple")
    assert od.get_vs("ResObjectString") == b"fruit", "as far as there is room"
    topic.pub("by both")
    assert subscription.get() == b"by both"
    publish(qmgr, "fruit/apple", "by a string")
    assert subscription.get() == b"by a string"
    above = subscribed(qmgr, described(CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED, ObjectName="FRUIT"))
    ibmmq.Topic(qmgr, topic_name="FRUIT").pub("by an object")
    assert above.get() == b"by an object"


def test_an_alias_of_a_topic(manager: TestQueueManager, qmgr: ibmmq.QueueManager) -> None:
    """A program that puts to a queue publishes, without a change."""
    with manager.connect() as administrator:
        administrator.define_object("topic", "FRUIT", topic_string="fruit")
        administrator.define_object("alias", "TO.FRUIT", target="FRUIT", target_type="TOPIC")
    subscription = ibmmq.Subscription(qmgr)
    subscription.sub(topic_string="fruit")
    od = ibmmq.OD(ObjectName="TO.FRUIT")
    queue = ibmmq.Queue(qmgr, od, CMQC.MQOO_OUTPUT | CMQC.MQOO_INQUIRE)
    assert od.ResolvedType == CMQC.MQOT_TOPIC
    assert not od.ResolvedQName.strip(b"\0 ")
    assert queue.inquire(CMQC.MQIA_Q_TYPE) == CMQC.MQQT_ALIAS
    queue.put("kept", ibmmq.MD(), ibmmq.PMO(Options=CMQC.MQPMO_RETAIN))
    assert subscription.get() == b"kept"
    qmgr.put1("TO.FRUIT", "once")
    assert subscription.get() == b"once"
    with pytest.raises(ibmmq.MQMIError) as refused:
        ibmmq.Queue(qmgr, "TO.FRUIT", CMQC.MQOO_INPUT_SHARED)
    assert reason_of(refused) == CMQC.MQRC_ALIAS_BASE_Q_TYPE_ERROR


def test_a_durable_subscription_collects_while_nobody_is_there(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    sd = described(DURABLE, "STOCK", "orders/#")
    sd.set_vs("SubUserData", "first")
    subscription = subscribed(qmgr, sd)
    correlation = sd.SubCorrelId
    assert any(correlation)
    with pytest.raises(ibmmq.MQMIError) as refused:
        subscribed(qmgr, described(RESUME, "STOCK"))
    assert reason_of(refused) == CMQC.MQRC_SUBSCRIPTION_IN_USE
    subscription.close(CMQC.MQCO_KEEP_SUB, close_sub_queue=True)
    publish(qmgr, "orders/1", "while it is closed")
    qmgr.disconnect()

    again = ibmmq.connect("QM1", CHANNEL, conname(manager))
    with pytest.raises(ibmmq.MQMIError) as refused:
        subscribed(again, described(DURABLE, "STOCK", "orders/#"))
    assert reason_of(refused) == CMQC.MQRC_SUB_ALREADY_EXISTS
    sd = described(CMQC.MQSO_RESUME | CMQC.MQSO_MANAGED, "STOCK")
    sd.set_vs("SubUserData", " " * 10, 0, 10)
    sd.set_vs("ObjectString", " " * 10, 0, 10)
    resumed = subscribed(again, sd)
    assert sd.Options == RESUME | CMQC.MQSO_DURABLE
    assert sd.SubCorrelId == correlation
    assert sd.get_vs("SubUserData").rstrip() == b"first"
    assert sd.get_vs("ObjectString").rstrip() == b"orders/#"
    md = ibmmq.MD()
    assert resumed.get(None, md, WAIT) == b"while it is closed"
    assert md.CorrelId == correlation

    resumed.close(CMQC.MQCO_REMOVE_SUB, close_sub_queue=True)
    with pytest.raises(ibmmq.MQMIError) as refused:
        subscribed(again, described(RESUME, "STOCK"))
    assert reason_of(refused) == CMQC.MQRC_NO_SUBSCRIPTION
    again.disconnect()


def test_a_subscription_is_altered(qmgr: ibmmq.QueueManager) -> None:
    subscribed(qmgr, described(DURABLE, "STOCK", "orders/#")).close()
    alter = CMQC.MQSO_CREATE | CMQC.MQSO_ALTER | CMQC.MQSO_DURABLE | CMQC.MQSO_MANAGED
    sd = described(alter, "STOCK", "orders/#")
    sd.set_vs("SubUserData", "new")
    subscribed(qmgr, sd).close()
    sd = described(RESUME, "STOCK")
    sd.set_vs("SubUserData", " " * 3, 0, 3)
    subscribed(qmgr, sd).close()
    assert sd.get_vs("SubUserData") == b"new"
    with pytest.raises(ibmmq.MQMIError) as refused:
        subscribed(qmgr, described(alter, "STOCK", "invoices/#"))
    assert reason_of(refused) == CMQC.MQRC_TOPIC_NOT_ALTERABLE
    with pytest.raises(ibmmq.MQMIError) as refused:
        subscribed(qmgr, described(alter & ~CMQC.MQSO_DURABLE, "STOCK", "orders/#"))
    assert reason_of(refused) == CMQC.MQRC_DURABILITY_NOT_ALTERABLE
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED)
    with pytest.raises(ibmmq.MQMIError) as refused:
        subscribed(qmgr, described(alter & ~CMQC.MQSO_MANAGED, "STOCK", "orders/#"), queue)
    assert reason_of(refused) == CMQC.MQRC_DEST_CLASS_NOT_ALTERABLE


def test_a_queue_of_the_programs_own(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT)
    options = CMQC.MQSO_CREATE | CMQC.MQSO_DURABLE
    first = subscribed(qmgr, described(options, "FIRST", "a"), queue)
    assert first.get_sub_queue().get_handle() == queue.get_handle()
    one = described(CMQC.MQSO_CREATE | CMQC.MQSO_SET_CORREL_ID, topic="a", SubCorrelId=b"1" * 24)
    second = subscribed(qmgr, one, queue)
    assert one.SubCorrelId == b"1" * 24
    publish(qmgr, "a", "both")
    wanted = ibmmq.MD(CorrelId=b"1" * 24)
    assert queue.get(None, wanted) == b"both"
    assert queue.get() == b"both"
    first.close(CMQC.MQCO_KEEP_SUB)
    second.close()
    publish(qmgr, "a", "one")
    assert queue.get() == b"one"

    other = ibmmq.Queue(qmgr, "REPLIES", CMQC.MQOO_INPUT_SHARED)
    resume = CMQC.MQSO_RESUME
    with pytest.raises(ibmmq.MQMIError) as refused:
        subscribed(qmgr, described(resume, "FIRST"), other)
    assert reason_of(refused) == CMQC.MQRC_HOBJ_ERROR
    with pytest.raises(ibmmq.MQMIError) as refused:
        subscribed(qmgr, described(resume, "FIRST"))
    assert reason_of(refused) == CMQC.MQRC_HOBJ_ERROR, "no queue, and none to be managed"
    subscribed(qmgr, described(resume, "FIRST"), queue).close(CMQC.MQCO_KEEP_SUB)
    alter = described(CMQC.MQSO_ALTER | CMQC.MQSO_DURABLE, "FIRST", "a")
    moved = subscribed(qmgr, alter, other)
    publish(qmgr, "a", "to the other one")
    assert other.get() == b"to the other one"
    moved.close()
    managed = described(RESUME, "FIRST")
    resumed = subscribed(qmgr, managed)
    assert not managed.Options & CMQC.MQSO_MANAGED, "its queue is opened, and stays what it is"
    publish(qmgr, "a", "again")
    assert resumed.get() == b"again"
    resumed.close(CMQC.MQCO_REMOVE_SUB)


def test_retained_publications(qmgr: ibmmq.QueueManager) -> None:
    publish(qmgr, "price/gold", "1900", CMQC.MQPMO_RETAIN)
    publish(qmgr, "price/gold", "1901", CMQC.MQPMO_RETAIN | CMQC.MQPMO_SCOPE_QMGR)
    create = CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED
    assert subscribed(qmgr, described(create, topic="price/#")).get() == b"1901"
    assert nothing(
        subscribed(qmgr, described(create | CMQC.MQSO_NEW_PUBLICATIONS_ONLY, topic="price/#"))
    )
    asked = described(create | CMQC.MQSO_PUBLICATIONS_ON_REQUEST, topic="price/#")
    on_request = subscribed(qmgr, asked)
    assert asked.Options & CMQC.MQSO_PUBLICATIONS_ON_REQUEST
    publish(qmgr, "price/silver", "24", CMQC.MQPMO_RETAIN)
    assert nothing(on_request)
    sro = ibmmq.SRO()
    on_request.subrq(CMQC.MQSR_ACTION_PUBLICATION, sro)
    assert sro.NumPubs == 2
    assert {on_request.get(), on_request.get()} == {b"1901", b"24"}
    empty = subscribed(qmgr, described(create, topic="nothing/here"))
    with pytest.raises(ibmmq.MQMIError) as refused:
        empty.subrq()
    assert reason_of(refused) == CMQC.MQRC_NO_RETAINED_MSG
    with pytest.raises(ibmmq.MQMIError) as refused:
        empty.subrq(2)
    assert reason_of(refused) == CMQC.MQRC_ACTION_ERROR
    with pytest.raises(ibmmq.MQMIError) as refused:
        empty.subrq(CMQC.MQSR_ACTION_PUBLICATION, ibmmq.SRO(Options=1))
    assert reason_of(refused) == CMQC.MQRC_OPTIONS_ERROR
    got = ibmmqc.MQSUBRQ(qmgr.get_handle(), empty.get_handle(), 1, bytes(16))
    assert got[-1] == CMQC.MQRC_SRO_ERROR
    other = ibmmqc.MQSUBRQ(qmgr.get_handle(), empty.get_sub_queue().get_handle(), 1, sro.pack())
    assert other[-1] == CMQC.MQRC_HOBJ_ERROR, "of a queue"


def test_publications_belong_to_the_unit(qmgr: ibmmq.QueueManager) -> None:
    subscription = ibmmq.Subscription(qmgr)
    subscription.sub(topic_string="a")
    topic = ibmmq.Topic(qmgr, topic_string="a")
    inside = ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT)
    topic.pub("backed out", ibmmq.MD(), inside)
    qmgr.backout()
    topic.pub("kept", ibmmq.MD(), inside)
    assert nothing(subscription)
    qmgr.commit()
    assert subscription.get() == b"kept"


def test_put_options_of_topics(qmgr: ibmmq.QueueManager) -> None:
    warn = CMQC.MQPMO_WARN_IF_NO_SUBS_MATCHED
    with pytest.raises(ibmmq.MQMIError) as refused:
        publish(qmgr, "to/nobody", "x", warn)
    assert refused.value.comp == CMQC.MQCC_WARNING
    assert reason_of(refused) == CMQC.MQRC_NO_SUBS_MATCHED
    subscription = ibmmq.Subscription(qmgr)
    subscription.sub(topic_string="a")
    topic = ibmmq.Topic(qmgr, topic_string="a")
    md = ibmmq.MD(ReplyToQ="REPLIES")
    topic.pub("x", md, ibmmq.PMO(Options=warn | CMQC.MQPMO_SUPPRESS_REPLYTO))
    got = ibmmq.MD()
    subscription.get(None, got)
    assert not got.ReplyToQ.strip()
    topic.pub("x", md)
    subscription.get(None, got)
    assert got.ReplyToQ.strip() == b"REPLIES"
    with pytest.raises(ibmmq.MQMIError) as refused:
        publish(qmgr, "a", "x", CMQC.MQPMO_NOT_OWN_SUBS)
    assert reason_of(refused) == CMQC.MQRC_FUNCTION_NOT_SUPPORTED
    for option in (CMQC.MQPMO_RETAIN, CMQC.MQPMO_SCOPE_QMGR):
        with pytest.raises(ibmmq.MQMIError) as refused:
            qmgr.put1("ORDERS", "x", ibmmq.MD(), ibmmq.PMO(Options=option))
        assert reason_of(refused) == CMQC.MQRC_OPTIONS_ERROR


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"Options": 0}, CMQC.MQRC_OPTIONS_ERROR),
        ({"Options": RESUME | CMQC.MQSO_ALTER}, CMQC.MQRC_OPTIONS_ERROR),
        ({"Options": RESUME | 1 << 30}, CMQC.MQRC_OPTIONS_ERROR),
        ({"Options": DURABLE}, CMQC.MQRC_SUB_NAME_ERROR),
        ({"Options": CMQC.MQSO_CREATE}, CMQC.MQRC_HOBJ_ERROR),
        ({"Options": DURABLE | CMQC.MQSO_WILDCARD_CHAR}, CMQC.MQRC_FUNCTION_NOT_SUPPORTED),
        ({"Options": DURABLE | CMQC.MQSO_GROUP_SUB}, CMQC.MQRC_FUNCTION_NOT_SUPPORTED),
        ({"ObjectName": b"MISSING"}, CMQC.MQRC_UNKNOWN_OBJECT_NAME),
        ({"SubExpiry": 10}, CMQC.MQRC_FUNCTION_NOT_SUPPORTED),
        ({"SubExpiry": 0}, CMQC.MQRC_EXPIRY_ERROR),
        ({"PubPriority": 10}, CMQC.MQRC_PRIORITY_ERROR),
        ({"PubPriority": -4}, CMQC.MQRC_PRIORITY_ERROR),
        ({"SubLevel": 10}, CMQC.MQRC_SD_ERROR),
        ({"SubNameVSLength": 3}, CMQC.MQRC_SUB_NAME_ERROR),
        ({"SubUserDataVSLength": 3}, CMQC.MQRC_SUB_USER_DATA_ERROR),
        ({"ObjectStringVSLength": 10_241}, CMQC.MQRC_OBJECT_STRING_ERROR),
        ({"SelectionStringVSLength": 3}, CMQC.MQRC_SELECTION_STRING_ERROR),
    ],
)
def test_what_no_subscription_can_be(
    qmgr: ibmmq.QueueManager, fields: dict[str, Any], reason: int
) -> None:
    sd = described(CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED, topic="a")
    sd.set(**fields)
    with pytest.raises(ibmmq.MQMIError) as refused:
        subscribed(qmgr, sd)
    assert reason_of(refused) == reason


def test_a_selection_chooses_publications(qmgr: ibmmq.QueueManager) -> None:
    sd = described(DURABLE, "S", "a")
    sd.set_vs("SelectionString", "Root.MQMD.Priority > 4")
    subscription = subscribed(qmgr, sd)
    for number in (3, 5):
        publish(qmgr, "a", str(number), md=ibmmq.MD(Priority=number))
    assert subscription.get() == b"5"
    assert nothing(subscription)
    subscription.close(close_sub_queue=True)
    resumed = described(RESUME, "S")
    resumed.set_vs("SelectionString", " " * 22, 0, 22)
    subscribed(qmgr, resumed).close(close_sub_queue=True)
    assert resumed.get_vs("SelectionString") == b"Root.MQMD.Priority > 4"
    altered = described(DURABLE | CMQC.MQSO_ALTER, "S", "a")
    altered.set_vs("SelectionString", "Root.MQMD.Priority > 5")
    with pytest.raises(ibmmq.MQMIError) as refused:
        subscribed(qmgr, altered)
    assert reason_of(refused) == CMQC.MQRC_SELECTOR_NOT_ALTERABLE


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        (CMQC.MQPRI_PRIORITY_AS_PUBLISHED, 5),
        (CMQC.MQPRI_PRIORITY_AS_Q_DEF, 0),  # DEFPRTY of the model of managed queues
        (7, 7),
    ],
)
def test_copies_have_the_priority_that_a_subscription_asks_for(
    qmgr: ibmmq.QueueManager, asked: int, given: int
) -> None:
    subscription = subscribed(qmgr, described(DURABLE, "S", "a", PubPriority=asked))
    publish(qmgr, "a", "x", md=ibmmq.MD(Priority=5))
    md = ibmmq.MD()
    assert subscription.get(None, md) == b"x"
    assert md.Priority == given
    subscription.close(close_sub_queue=True)
    resumed = described(RESUME, "S", PubPriority=1)
    subscribed(qmgr, resumed)
    assert resumed.PubPriority == asked


def test_a_selection_that_is_none(qmgr: ibmmq.QueueManager) -> None:
    sd = described(CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED, topic="a")
    sd.set_vs("SelectionString", "colour =")
    with pytest.raises(ibmmq.MQMIError) as refused:
        subscribed(qmgr, sd)
    assert reason_of(refused) == CMQC.MQRC_SELECTOR_SYNTAX_ERROR
    got = ibmmqc.MQSUB(qmgr.get_handle(), bytes(344), 0)
    assert got[-1] == CMQC.MQRC_SD_ERROR


def test_a_topic_is_for_output_only(qmgr: ibmmq.QueueManager) -> None:
    with pytest.raises(ibmmq.MQMIError) as refused:
        ibmmq.Topic(qmgr, topic_string="a").open(open_opts=CMQC.MQOO_INPUT_SHARED)
    assert reason_of(refused) == CMQC.MQRC_OPTION_NOT_VALID_FOR_TYPE
    with pytest.raises(ibmmq.MQMIError) as refused:
        ibmmq.Topic(qmgr).open(open_opts=CMQC.MQOO_OUTPUT)
    assert reason_of(refused) == CMQC.MQRC_TOPIC_STRING_ERROR
    topic = ibmmq.Topic(qmgr, topic_string="a")
    topic.open(open_opts=CMQC.MQOO_OUTPUT)
    with pytest.raises(ibmmq.MQMIError) as refused:
        topic.close(CMQC.MQCO_DELETE)
    assert reason_of(refused) == CMQC.MQRC_OPTION_NOT_VALID_FOR_TYPE


def test_what_the_handles_of_a_subscription_are_not_for(qmgr: ibmmq.QueueManager) -> None:
    hconn = qmgr.get_handle()
    subscription = ibmmq.Subscription(qmgr)
    subscription.sub(topic_string="a")
    hsub, hobj = subscription.get_handle(), subscription.get_sub_queue().get_handle()
    md, pmo, gmo = ibmmq.MD().pack(), ibmmq.PMO().pack(), ibmmq.GMO().pack()
    assert ibmmqc.MQGET(hconn, hsub, md, gmo, 1)[-1] == CMQC.MQRC_HOBJ_ERROR
    assert ibmmqc.MQPUT(hconn, hsub, md, pmo, b"")[-1] == CMQC.MQRC_HOBJ_ERROR
    assert ibmmqc.MQCLOSE(hconn, hsub, CMQC.MQCO_DELETE)[-1] == (
        CMQC.MQRC_OPTION_NOT_VALID_FOR_TYPE
    )
    assert ibmmqc.MQCLOSE(hconn, hsub, CMQC.MQCO_KEEP_SUB)[-1] == (
        CMQC.MQRC_OPTION_NOT_VALID_FOR_TYPE
    ), "it is not durable"
    assert ibmmqc.MQPUT(hconn, hobj, md, pmo, b"")[-1] == CMQC.MQRC_NOT_OPEN_FOR_OUTPUT
    assert ibmmqc.MQSET(hconn, hobj, [10], [0], b"")[-1] == CMQC.MQRC_NOT_OPEN_FOR_SET
    own = described(CMQC.MQSO_CREATE, topic="b")
    assert ibmmqc.MQSUB(hconn, own.pack(), hobj)[-1] == CMQC.MQRC_HOBJ_ERROR
    for option in (CMQC.MQCO_DELETE_PURGE, CMQC.MQCO_REMOVE_SUB):
        assert ibmmqc.MQCLOSE(hconn, hobj, option)[-1] == CMQC.MQRC_OPTION_NOT_VALID_FOR_TYPE
    name = subscription.get_sub_queue().inquire(CMQC.MQCA_Q_NAME)
    assert name.strip().startswith(b"SYSTEM.MANAGED.NDURABLE.")


def test_what_is_on_a_managed_queue_may_be_got_after_the_subscription(
    qmgr: ibmmq.QueueManager,
) -> None:
    subscription = ibmmq.Subscription(qmgr)
    subscription.sub(topic_string="a")
    queue = subscription.get_sub_queue()
    publish(qmgr, "a", "left")
    subscription.close()
    publish(qmgr, "a", "too late")
    assert queue.get() == b"left"
    with pytest.raises(ibmmq.MQMIError):
        queue.get()
    queue.close()


def test_a_callback_for_publications(qmgr: ibmmq.QueueManager) -> None:
    heard: Results[Any] = Results()

    def on_message(**said: Any) -> None:
        heard.put(said["msg"])

    subscription = ibmmq.Subscription(qmgr)
    subscription.sub(topic_string="news/#")
    subscription.get_sub_queue().cb(
        md=ibmmq.MD(),
        gmo=ibmmq.GMO(Options=CMQC.MQGMO_NO_SYNCPOINT),
        cbd=ibmmq.CBD(CallbackFunction=on_message),
    )
    md, gmo, cbd = ibmmq.MD().pack(), ibmmq.GMO().pack(), ibmmq.CBD().pack()
    od = ibmmq.OD(ObjectType=CMQC.MQOT_TOPIC, Version=CMQC.MQOD_VERSION_4)
    od.set_vs("ObjectString", "news/today")
    hobj = ibmmqc.MQOPEN(qmgr.get_handle(), od.pack(), CMQC.MQOO_OUTPUT)[0]
    for other in (subscription.get_handle(), hobj):
        got = ibmmqc.MQCB(qmgr.get_handle(), CMQC.MQOP_REGISTER, cbd, other, md, gmo)
        assert got[-1] == CMQC.MQRC_HOBJ_ERROR, "it is for the queue's handle"
    for number in range(3):
        publish(qmgr, "news/today", str(number))
    qmgr.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    assert [heard.get(timeout=20) for _ in range(3)] == [b"0", b"1", b"2"]
    qmgr.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())


def test_asynchronous_publications_are_counted(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    with manager.connect() as administrator:
        administrator.define_object("topic", "FRUIT", topic_string="fruit")
        od = ibmmq.OD(ObjectType=CMQC.MQOT_TOPIC, ObjectName="FRUIT", Version=CMQC.MQOD_VERSION_4)
        topic = ibmmq.Topic(qmgr, topic_desc=od, open_opts=CMQC.MQOO_OUTPUT)
        unwaited = ibmmq.PMO(Options=CMQC.MQPMO_ASYNC_RESPONSE)
        topic.pub("x", ibmmq.MD(), unwaited)
        administrator.alter_object("topic", "FRUIT", publish="DISABLED")
        topic.pub("refused", ibmmq.MD(), unwaited)
    sts = ibmmq.STS()
    sts.set_vs("ObjectString", " " * 10, 0, 10)
    answer = ibmmqc.MQSTAT(qmgr.get_handle(), CMQC.MQSTAT_TYPE_ASYNC_ERROR, sts.pack())
    sts.unpack(answer[0])
    assert (sts.PutSuccessCount, sts.PutFailureCount) == (1, 1)
    assert sts.Reason == CMQC.MQRC_PUT_INHIBITED
    assert sts.ObjectType == CMQC.MQOT_TOPIC
    assert sts.ObjectName.rstrip() == b"FRUIT"
    assert sts.get_vs("ObjectString").rstrip() == b"fruit"


def test_subscriptions_are_taken_up_again_after_a_restart(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    durable = subscribed(qmgr, described(DURABLE, "STOCK", "orders/#"))
    sd = described(CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED, topic="orders/#")
    other = subscribed(qmgr, sd)
    topic = ibmmq.Topic(qmgr, topic_string="orders/1")
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED)
    own = subscribed(qmgr, described(CMQC.MQSO_CREATE, topic="orders/#"), queue)
    topic.pub("before", ibmmq.MD(), ibmmq.PMO(Options=CMQC.MQPMO_RETAIN))
    manager.restart()
    topic.pub("after")
    assert [queue.get(None, ibmmq.MD(), WAIT) for _ in range(2)] == [b"before", b"after"]
    assert nothing(own), "what is retained came once"
    assert durable.get(None, ibmmq.MD(), WAIT) == b"before"
    assert durable.get(None, ibmmq.MD(), WAIT) == b"after"
    for body in (b"before", b"after"):
        wanted = ibmmq.MD(CorrelId=sd.SubCorrelId)
        assert other.get(None, wanted, WAIT) == body, "the queue is new, the id is not"
    found = other.get_sub_queue().inquire([CMQC.MQCA_Q_NAME, CMQC.MQIA_CURRENT_Q_DEPTH])
    assert found[CMQC.MQCA_Q_NAME].startswith(b"SYSTEM.MANAGED.NDURABLE.")
    assert found[CMQC.MQIA_CURRENT_Q_DEPTH] == 0
    durable.close(CMQC.MQCO_REMOVE_SUB)


def test_the_queue_of_a_closed_subscription_is_opened_again_too(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    subscription = subscribed(qmgr, described(DURABLE, "STOCK", "orders/#"))
    queue = subscription.get_sub_queue()
    subscription.close(CMQC.MQCO_KEEP_SUB)
    manager.restart()
    publish(qmgr, "orders/1", "kept")
    assert queue.get(None, ibmmq.MD(), WAIT) == b"kept"


def test_a_subscription_is_removed_after_a_lost_connection(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    subscription = subscribed(qmgr, described(DURABLE, "STOCK", "orders/#"))
    manager.restart()
    subscription.close(CMQC.MQCO_REMOVE_SUB)
    with pytest.raises(ibmmq.MQMIError) as refused:
        subscribed(qmgr, described(RESUME, "STOCK"))
    assert reason_of(refused) == CMQC.MQRC_NO_SUBSCRIPTION


def test_a_program_intercepts_publications(qmgr: ibmmq.QueueManager) -> None:
    managed = CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED
    first = subscribed(qmgr, described(managed, topic="price", SubLevel=9))
    final = subscribed(qmgr, described(managed, topic="price", SubLevel=0))
    publish(qmgr, "price", "7")
    assert nothing(final)
    checked = first.get() + b" checked"
    od = ibmmq.OD(ObjectType=CMQC.MQOT_TOPIC, Version=CMQC.MQOD_VERSION_4)
    od.set_vs("ObjectString", "price")
    pmo = ibmmq.PMO(Version=CMQC.MQPMO_VERSION_3, PubLevel=8)
    qmgr.put1(od, checked, ibmmq.MD(), pmo)
    assert final.get() == b"7 checked"
    assert nothing(first)


def test_a_level_is_told_when_a_subscription_is_resumed(qmgr: ibmmq.QueueManager) -> None:
    subscribed(qmgr, described(DURABLE, "LEVELLED", "price", SubLevel=4)).close()
    resumed = described(RESUME | CMQC.MQSO_DURABLE, "LEVELLED")
    subscribed(qmgr, resumed).close()
    assert resumed.SubLevel == 4


def test_resume_alone_opens_a_managed_subscription(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    manager.mqsc("DEFINE SUB(MINE) TOPICSTR('a') DESTCLAS(MANAGED)")
    manager.mqsc("DEFINE SUB(GIVEN) TOPICSTR('a') DEST(ORDERS)")
    sd = described(CMQC.MQSO_RESUME, "MINE")
    subscription = subscribed(qmgr, sd)
    assert sd.Options == RESUME | CMQC.MQSO_DURABLE
    publish(qmgr, "a", "news")
    assert subscription.get(None, ibmmq.MD(), WAIT) == b"news"
    with pytest.raises(ibmmq.MQMIError) as refused:  # its queue has to come from the program
        subscribed(qmgr, described(CMQC.MQSO_RESUME, "GIVEN"))
    assert reason_of(refused) == CMQC.MQRC_HOBJ_ERROR
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED)
    assert subscribed(qmgr, described(CMQC.MQSO_RESUME, "GIVEN"), queue).get() == b"news"
