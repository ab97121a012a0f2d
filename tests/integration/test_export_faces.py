"""Every face writes a topic of Kafka by a put to the queue of an export, alone or in its units."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import ibmmq
import pytest
from ibmmq import CMQC

from adapter import msmq, servicebroker, testing
from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL, conname
from tests.support.backlog import until
from tests.support.exported import headers, records, values
from tests.support.feed_site import OthersTopic
from tests.support.shared_kafka import AnyKafka

DEFINITIONS = """
DEFINE QLOCAL(DEAD.LETTERS)
ALTER QMGR DEADQ(DEAD.LETTERS)
DEFINE QLOCAL(RESULTS) MSGDLVSQ(FIFO)
DEFINE EXPORT(RESULTS) QUEUE(RESULTS) TOPIC('{topic}')
"""
WITHIN_S = 30.0
WITHIN_SYNCPOINT = CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_FAIL_IF_QUIESCING


@pytest.fixture
def topic(kafka: AnyKafka, unique_name: Callable[..., str]) -> str:
    """A topic of one partition that the export RESULTS writes."""
    return OthersTopic(kafka.bootstrap_servers, unique_name("results")).name


@pytest.fixture
def manager(
    kafka: AnyKafka, unique_name: Callable[..., str], topic: str
) -> Iterator[TestQueueManager]:
    servers = kafka.bootstrap_servers
    with testing.queue_manager(unique_name("QM"), bootstrap_servers=servers) as running:
        running.mqsc(DEFINITIONS.format(topic=topic))
        yield running


@pytest.fixture
def qmgr(manager: TestQueueManager) -> Iterator[ibmmq.QueueManager]:
    connected = ibmmq.connect(manager.name, CHANNEL, conname(manager))
    yield connected
    connected.disconnect()


@pytest.fixture(scope="module")
def pymqi(pymqi_site: Path) -> Iterator[ModuleType]:
    sys.path.insert(0, str(pymqi_site))
    yield importlib.import_module("pymqi")
    sys.path.remove(str(pymqi_site))


def test_a_program_of_ibmmq_puts_in_units(
    kafka: AnyKafka, qmgr: ibmmq.QueueManager, topic: str
) -> None:
    """What is backed out never shows; queues that MQSC defines have DEFPSIST(NO)."""
    queue = ibmmq.Queue(qmgr, "RESULTS", CMQC.MQOO_OUTPUT)
    pmo = ibmmq.PMO(Options=WITHIN_SYNCPOINT)
    queue.put(b"never", ibmmq.MD(), pmo)
    queue.put(b"never either", ibmmq.MD(Persistence=CMQC.MQPER_PERSISTENT), pmo)
    qmgr.backout()
    queue.put(b"as the queue says", ibmmq.MD(), pmo)
    queue.put(b"persistent", ibmmq.MD(Persistence=CMQC.MQPER_PERSISTENT), pmo)
    queue.put(b"", ibmmq.MD(), pmo)
    qmgr.commit()
    queue.put(b"alone", ibmmq.MD(), ibmmq.PMO(Options=CMQC.MQPMO_NO_SYNCPOINT))
    assert values(kafka.bootstrap_servers, topic, 4) == [
        b"as the queue says",
        b"persistent",
        b"",
        b"alone",
    ]


def test_properties_of_an_mqi_program_become_headers(
    kafka: AnyKafka, qmgr: ibmmq.QueueManager, topic: str
) -> None:
    handle = ibmmq.MessageHandle(qmgr)
    handle.properties.set(b"colour", "blue")
    handle.properties.set(b"count", -5, CMQC.MQTYPE_INT32, 4)
    handle.properties.set(b"is_new", True, CMQC.MQTYPE_BOOLEAN)
    handle.properties.set(b"KafkaKey", "k1")
    pmo = ibmmq.PMO(Version=CMQC.MQPMO_VERSION_3, OriginalMsgHandle=handle.msg_handle)
    ibmmq.Queue(qmgr, "RESULTS", CMQC.MQOO_OUTPUT).put(b"body", ibmmq.MD(), pmo)
    (record,) = records(kafka.bootstrap_servers, topic, 1)
    assert (record.key(), record.value()) == (b"k1", b"body")
    assert headers(record) == {"colour": b"blue", "count": b"-5", "is_new": b"true"}


def test_a_program_of_pymqi_puts_in_units(
    kafka: AnyKafka, pymqi: Any, manager: TestQueueManager, topic: str
) -> None:
    qmgr = pymqi.connect(manager.name, CHANNEL, conname(manager))
    queue = pymqi.Queue(qmgr, "RESULTS", pymqi.CMQC.MQOO_OUTPUT)
    pmo = pymqi.PMO(Options=pymqi.CMQC.MQPMO_SYNCPOINT)
    queue.put("never", pymqi.MD(), pmo)
    qmgr.backout()
    queue.put("kept", pymqi.MD(), pmo)
    qmgr.commit()
    qmgr.disconnect()
    assert values(kafka.bootstrap_servers, topic, 1) == [b"kept"]


def test_a_get_and_the_record_that_follows_from_it_are_one_unit(
    kafka: AnyKafka, manager: TestQueueManager, qmgr: ibmmq.QueueManager, topic: str
) -> None:
    manager.mqsc("DEFINE QLOCAL(ORDERS) DEFPSIST(YES)")
    orders = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
    results = ibmmq.Queue(qmgr, "RESULTS", CMQC.MQOO_OUTPUT)
    orders.put(b"order")
    for end in (qmgr.backout, qmgr.commit):
        md, gmo = ibmmq.MD(), ibmmq.GMO(Options=CMQC.MQGMO_SYNCPOINT)
        body = orders.get(None, md, gmo)
        pmo = ibmmq.PMO(Options=WITHIN_SYNCPOINT)
        results.put(body + b" %d" % md.BackoutCount, ibmmq.MD(), pmo)
        end()
    assert values(kafka.bootstrap_servers, topic, 1) == [b"order 1"]
    with manager.connect() as qm:
        assert qm.get("ORDERS") is None


def test_an_alias_a_subscription_and_a_report_lead_to_it(
    kafka: AnyKafka, manager: TestQueueManager, qmgr: ibmmq.QueueManager, topic: str
) -> None:
    servers = kafka.bootstrap_servers
    manager.mqsc(
        "DEFINE QALIAS(ALSO) TARGET(RESULTS)\n"
        "DEFINE TOPIC(NEWS) TOPICSTR('news')\n"
        "DEFINE SUB(S) TOPICSTR('news/#') DEST(RESULTS)\n"
        "DEFINE QLOCAL(ORDERS)"
    )
    ibmmq.Queue(qmgr, "ALSO", CMQC.MQOO_OUTPUT).put(b"by an alias")
    assert values(servers, topic, 1) == [b"by an alias"]
    with manager.connect() as qm, qm.unit():
        qm.publish("news/today", b"published")
    assert values(servers, topic, 2) == [b"by an alias", b"published"]
    asking = ibmmq.MD(ReplyToQ=b"RESULTS", Report=CMQC.MQRO_COA | CMQC.MQRO_PASS_CORREL_ID)
    ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT).put(b"order", asking)
    found = records(servers, topic, 3)
    assert found[2].value() == b"", "a confirmation of arrival, without data"


def test_a_trigger_message_goes_to_it(
    kafka: AnyKafka, manager: TestQueueManager, topic: str
) -> None:
    """Nothing has been on the initiation queue yet, and still it is open for input."""
    manager.mqsc(
        "DEFINE QLOCAL(WORK) TRIGGER TRIGTYPE(EVERY) INITQ(RESULTS) PROCESS(P)\n"
        "DEFINE PROCESS(P) APPLICID('program')"
    )
    with manager.connect() as qm:
        until(lambda: qm.queue("RESULTS").status().open_input_count == 1)
        for number in range(2):
            qm.put("WORK", b"%d" % number)
    found = values(kafka.bootstrap_servers, topic, 2)
    assert [((one or b"")[:4], (one or b"")[8:13]) for one in found] == [(b"TM  ", b"WORK ")] * 2


def test_msmq_sends_to_it_by_a_direct_format_name(
    kafka: AnyKafka, manager: TestQueueManager, topic: str
) -> None:
    """Received from a queue of MSMQ and sent to the topic, in one transaction."""
    with manager.connect_msmq() as host:
        orders = host.create(r".\private$\orders", transactional=True)
        results = host.open(r"DIRECT=OS:.\RESULTS", access=msmq.QueueAccessMode.SEND)
        orders.send(b"order", transaction=msmq.MessageQueueTransactionType.SINGLE)
        for end in (msmq.MessageQueueTransaction.abort, msmq.MessageQueueTransaction.commit):
            transaction = msmq.MessageQueueTransaction(host)
            transaction.begin()
            got = orders.receive(WITHIN_S, transaction=transaction)
            body = got.body_bytes + b" and " + end.__name__.encode()
            results.send(body, label="packed", transaction=transaction)
            end(transaction)
        results.send("alone")
        found = records(kafka.bootstrap_servers, topic, 2)
        assert orders.count() == 0
    assert [one.value() for one in found] == [
        b"order and commit",
        b'<?xml version="1.0"?>\n<string>alone</string>',
    ]
    assert [headers(one) for one in found] == [{"Label": b"packed"}, {}]


def test_services_reach_it_by_a_route(
    kafka: AnyKafka, manager: TestQueueManager, topic: str
) -> None:
    """Received from a queue of Service Broker and sent on, in one transaction."""
    with manager.connect_servicebroker() as broker:
        broker.create_queue("Orders")
        broker.create_service("Packing", "Orders", contracts=[servicebroker.DEFAULT])
        broker.create_route("to Kafka", service="Results", address="EXPORT://RESULTS")
        order = broker.begin_dialog("Packing", "Packing")
        broker.send(order, body=b"order")
        result = broker.begin_dialog("Packing", "Results")
        for number, end in enumerate(("rollback", "commit", "rollback", "commit")):
            with broker.transaction() as t:
                rows = t.receive("Orders", timeout_ms=10_000 * (number < 2))
                t.send(result, body=b"%d order(s)" % len(rows))
                t.send(result, body=end.encode())
                getattr(t, end)()
        broker.end_conversation(result)
        found = records(kafka.bootstrap_servers, topic, 4)
        ends = broker.conversation_endpoints()
    assert [one.value() for one in found] == [b"1 order(s)", b"commit", b"0 order(s)", b"commit"]
    assert [one.key() for one in found] == [str(result).encode()] * 4
    assert [headers(one) for one in found] == [
        {
            "conversation_handle": str(result).encode(),
            "message_sequence_number": b"%d" % number,
            "message_type_name": b"DEFAULT",
            "service_contract_name": b"DEFAULT",
            "from_service_name": b"Packing",
            "to_service_name": b"Results",
        }
        for number in range(4)
    ]
    assert result not in {one.conversation_handle for one in ends}


def test_a_remote_queue_of_another_queue_manager_leads_to_it(
    kafka: AnyKafka, unique_name: Callable[..., str], topic: str
) -> None:
    here, there = unique_name("QM"), unique_name("QM")
    with testing.network(here, there, bootstrap_servers=kafka.bootstrap_servers) as (a, b):
        b.mqsc(DEFINITIONS.format(topic=topic))
        a.mqsc(f"DEFINE QREMOTE(FAR) RNAME(RESULTS) RQMNAME({there})")
        qmgr = ibmmq.connect(here, CHANNEL, conname(a))
        queue = ibmmq.Queue(qmgr, "FAR", CMQC.MQOO_OUTPUT)
        queue.put(b"never", ibmmq.MD(), ibmmq.PMO(Options=WITHIN_SYNCPOINT))
        qmgr.backout()
        queue.put(b"kept", ibmmq.MD(), ibmmq.PMO(Options=WITHIN_SYNCPOINT))
        qmgr.commit()
        qmgr.disconnect()
        assert values(kafka.bootstrap_servers, topic, 1) == [b"kept"]


def test_a_feed_writes_a_topic_as_it_read_another_one(
    kafka: AnyKafka, manager: TestQueueManager, topic: str, unique_name: Callable[..., str]
) -> None:
    source = OthersTopic(kafka.bootstrap_servers, unique_name("orders"))
    said: list[tuple[str, str | bytes | None]] = [("a", b"1"), ("a", b"\xff"), ("b", None)]
    source.produce(b"value", key=b"\x00k", headers=said)
    source.produce(b"", None)
    manager.mqsc(f"DEFINE FEED(F) TOPIC('{source.name}') QUEUE(RESULTS) NULLVAL(EMPTY)")
    first, empty, null = records(kafka.bootstrap_servers, topic, 3)
    assert (first.key(), first.value()) == (b"\x00k", b"value")
    assert [one for one in first.headers() or [] if one[0] != "mqk-export"] == said
    assert [one.value() for one in (empty, null)] == [b"", None]
    assert headers(null) == {}


def test_an_export_without_a_local_queue_says_so_until_there_is_one(
    kafka: AnyKafka, manager: TestQueueManager, unique_name: Callable[..., str]
) -> None:
    other = OthersTopic(kafka.bootstrap_servers, unique_name("others")).name
    manager.mqsc(
        "DEFINE QALIAS(ALSO) TARGET(RESULTS)\n"
        f"DEFINE EXPORT(E) QUEUE(ALSO) TOPIC('{other}')\n"
        f"DEFINE EXPORT(P) QUEUE(NOWHERE) TOPIC('{other}') STATE(PAUSED)"
    )
    with manager.connect() as qm:
        found = qm.figures()["exports"]
        assert (found["E"]["state"], found["P"]["state"]) == ("retrying", "paused")
        assert found["E"]["why"].startswith("there is no local queue ALSO: define it, or name ")
        manager.mqsc("DELETE QALIAS(ALSO)\nDEFINE QLOCAL(ALSO)")
        assert qm.figures()["exports"]["E"]["state"] == "waiting"
        qm.put("ALSO", b"now")
    assert values(kafka.bootstrap_servers, other, 1) == [b"now"]
