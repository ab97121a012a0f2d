"""Opening, inquiring and setting."""

from datetime import UTC, datetime

import ibmmq
import pytest
from ibmmq import CMQC, CMQCFC

from adapter.testing import TestQueueManager
from tests.mqi.conftest import reason_of


def test_the_attributes_of_a_queue(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "FRAGILE", CMQC.MQOO_INQUIRE | CMQC.MQOO_OUTPUT)
    queue.put("x")
    found = queue.inquire(
        [
            CMQC.MQCA_Q_NAME,
            CMQC.MQIA_CURRENT_Q_DEPTH,
            CMQC.MQCA_BACKOUT_REQ_Q_NAME,
            CMQC.MQIA_BACKOUT_THRESHOLD,
            CMQC.MQIA_Q_TYPE,
            CMQC.MQIA_OPEN_OUTPUT_COUNT,
            CMQC.MQIA_DEF_INPUT_OPEN_OPTION,
            CMQC.MQIA_TRIGGER_TYPE,
            CMQC.MQCA_Q_DESC,
        ]
    )
    assert found[CMQC.MQCA_Q_NAME].rstrip() == b"FRAGILE"
    assert found[CMQC.MQIA_CURRENT_Q_DEPTH] == 1
    assert found[CMQC.MQCA_BACKOUT_REQ_Q_NAME].rstrip() == b"ASIDE"
    assert found[CMQC.MQIA_BACKOUT_THRESHOLD] == 2
    assert found[CMQC.MQIA_Q_TYPE] == CMQC.MQQT_LOCAL
    assert found[CMQC.MQIA_OPEN_OUTPUT_COUNT] == 1
    assert found[CMQC.MQIA_DEF_INPUT_OPEN_OPTION] == CMQC.MQOO_INPUT_SHARED
    assert found[CMQC.MQIA_TRIGGER_TYPE] == CMQC.MQTT_FIRST
    assert len(found[CMQC.MQCA_Q_DESC]) == CMQC.MQ_Q_DESC_LENGTH


def test_the_attributes_of_the_queue_manager(qmgr: ibmmq.QueueManager) -> None:
    found = qmgr.inquire([CMQC.MQCA_Q_MGR_NAME, CMQC.MQIA_PLATFORM, CMQC.MQIA_MAX_PRIORITY])
    assert found[CMQC.MQCA_Q_MGR_NAME].rstrip() == b"QM1"
    assert found[CMQC.MQIA_PLATFORM] == CMQC.MQPL_UNIX
    assert found[CMQC.MQIA_MAX_PRIORITY] == 9


def test_what_does_not_exist_here_is_inquired_as_absent(qmgr: ibmmq.QueueManager) -> None:
    found = qmgr.inquire(
        [CMQC.MQIA_PERFORMANCE_EVENT, CMQC.MQIA_DIST_LISTS, CMQC.MQIA_MONITORING_Q]
    )
    assert set(found.values()) == {0}
    assert qmgr.inquire(CMQC.MQCA_CLUSTER_WORKLOAD_EXIT) == b" " * CMQC.MQ_EXIT_NAME_LENGTH
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INQUIRE)
    found = queue.inquire(
        [CMQC.MQIA_Q_DEPTH_HIGH_LIMIT, CMQC.MQIA_SCOPE, CMQC.MQIA_Q_DEPTH_HIGH_EVENT]
    )
    assert found == {
        CMQC.MQIA_Q_DEPTH_HIGH_LIMIT: 80,
        CMQC.MQIA_SCOPE: CMQCFC.MQSCO_Q_MGR,
        CMQC.MQIA_Q_DEPTH_HIGH_EVENT: CMQCFC.MQEVR_DISABLED,
    }
    assert queue.inquire(CMQC.MQCA_CLUSTER_NAME) == b" " * CMQC.MQ_CLUSTER_NAME_LENGTH


def test_the_queue_manager_tells_its_level(qmgr: ibmmq.QueueManager) -> None:
    version = qmgr.inquire(CMQC.MQCA_VERSION)
    level = qmgr.inquire(CMQC.MQIA_COMMAND_LEVEL)
    assert len(version) == CMQC.MQ_VERSION_LENGTH
    assert int(version[:2]) * 100 + int(version[2:4]) * 10 == level
    assert qmgr.inquire(CMQC.MQCA_Q_MGR_IDENTIFIER).rstrip() == b"QM1"
    pcf = ibmmq.PCFExecute(qmgr)
    (told,) = pcf.MQCMD_INQUIRE_Q_MGR({CMQCFC.MQIACF_Q_MGR_ATTRS: [CMQC.MQCA_VERSION]})
    pcf.disconnect()
    assert told[CMQC.MQCA_VERSION] == version


def test_when_a_queue_was_defined(manager: TestQueueManager, qmgr: ibmmq.QueueManager) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    with manager.connect() as administrator:
        administrator.define_queue("YOUNG")
    queue = ibmmq.Queue(qmgr, "YOUNG", CMQC.MQOO_INQUIRE)
    found = queue.inquire([CMQC.MQCA_CREATION_DATE, CMQC.MQCA_CREATION_TIME])
    text = b"".join(found.values()).decode()
    assert len(text) == CMQC.MQ_CREATION_DATE_LENGTH + CMQC.MQ_CREATION_TIME_LENGTH
    when = datetime.strptime(f"{text} +0000", "%Y-%m-%d  %H.%M.%S %z")
    assert before <= when <= datetime.now(UTC)
    assert queue.inquire(CMQC.MQCA_ALTERATION_DATE).startswith(text[:10].encode())


def test_when_the_queue_manager_was_altered(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    selectors = [CMQC.MQCA_ALTERATION_DATE, CMQC.MQCA_ALTERATION_TIME]
    fresh = b"".join(qmgr.inquire(selectors).values())
    assert fresh == b" " * (CMQC.MQ_DATE_LENGTH + CMQC.MQ_TIME_LENGTH)
    before = datetime.now(UTC).replace(microsecond=0)
    with manager.connect() as administrator:
        administrator.alter_queue_manager(description="altered")
    found = qmgr.inquire(selectors)
    text = b"".join(found.values()).decode()
    when = datetime.strptime(f"{text} +0000", "%Y-%m-%d  %H.%M.%S %z")
    assert before <= when <= datetime.now(UTC)
    shown = manager.mqsc("DISPLAY QMGR ALTDATE ALTTIME")
    assert f"ALTDATE({text[:10]})" in shown
    assert f"ALTTIME({text[12:]})" in shown
    pcf = ibmmq.PCFExecute(qmgr)
    (told,) = pcf.MQCMD_INQUIRE_Q_MGR({CMQCFC.MQIACF_Q_MGR_ATTRS: selectors})
    pcf.disconnect()
    assert {selector: told[selector] for selector in selectors} == found
    with pytest.raises(ibmmq.MQMIError) as refused:
        qmgr.inquire(CMQC.MQCA_CREATION_DATE)
    assert reason_of(refused) == CMQC.MQRC_SELECTOR_NOT_FOR_TYPE
    manager.restart()
    with manager.connect() as administrator:
        assert administrator.objects("queue_manager")[0].altered_ms


def test_an_alias_tells_of_itself(manager: TestQueueManager, qmgr: ibmmq.QueueManager) -> None:
    with manager.connect() as administrator:
        administrator.define_object("alias", "SAME", target="ORDERS", def_priority=7)
    alias = ibmmq.Queue(qmgr, "SAME", CMQC.MQOO_OUTPUT | CMQC.MQOO_INQUIRE)
    found = alias.inquire([CMQC.MQIA_Q_TYPE, CMQC.MQCA_BASE_Q_NAME, CMQC.MQIA_DEF_PRIORITY])
    assert found[CMQC.MQIA_Q_TYPE] == CMQC.MQQT_ALIAS
    assert found[CMQC.MQCA_BASE_Q_NAME].rstrip() == b"ORDERS"
    assert found[CMQC.MQIA_DEF_PRIORITY] == 7
    md, pmo = ibmmq.MD(), ibmmq.PMO()
    alias.put("x", md, pmo)
    assert md.Priority == 7
    assert pmo.ResolvedQName.rstrip() == b"ORDERS"
    qmgr.put1("SAME", "x", md, pmo)
    assert pmo.ResolvedQName.rstrip() == b"ORDERS"
    with pytest.raises(ibmmq.MQMIError) as refused:
        alias.inquire(CMQC.MQIA_CURRENT_Q_DEPTH)
    assert reason_of(refused) == CMQC.MQRC_SELECTOR_NOT_FOR_TYPE


def test_setting(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_SET | CMQC.MQOO_INQUIRE | CMQC.MQOO_OUTPUT)
    queue.set(
        {
            CMQC.MQIA_INHIBIT_PUT: CMQC.MQQA_PUT_INHIBITED,
            CMQC.MQCA_TRIGGER_DATA: "data",
            CMQC.MQIA_TRIGGER_TYPE: CMQC.MQTT_EVERY,
        }
    )
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.put("x")
    assert reason_of(refused) == CMQC.MQRC_PUT_INHIBITED
    found = queue.inquire([CMQC.MQCA_TRIGGER_DATA, CMQC.MQIA_TRIGGER_TYPE])
    assert found[CMQC.MQCA_TRIGGER_DATA].rstrip() == b"data"
    assert found[CMQC.MQIA_TRIGGER_TYPE] == CMQC.MQTT_EVERY
    queue.set(CMQC.MQIA_INHIBIT_PUT, CMQC.MQQA_PUT_ALLOWED)
    queue.put("x")


@pytest.mark.parametrize(
    ("selector", "value", "reason"),
    [
        (CMQC.MQIA_INHIBIT_PUT, 7, CMQC.MQRC_INHIBIT_VALUE_ERROR),
        (CMQC.MQIA_TRIGGER_CONTROL, 7, CMQC.MQRC_TRIGGER_CONTROL_ERROR),
        (CMQC.MQIA_TRIGGER_TYPE, 7, CMQC.MQRC_TRIGGER_TYPE_ERROR),
        (CMQC.MQIA_TRIGGER_DEPTH, 0, CMQC.MQRC_TRIGGER_DEPTH_ERROR),
        (CMQC.MQIA_TRIGGER_MSG_PRIORITY, 10, CMQC.MQRC_TRIGGER_MSG_PRIORITY_ERR),
        (CMQC.MQIA_MAX_Q_DEPTH, 10, CMQC.MQRC_SELECTOR_ERROR),
        (CMQC.MQIA_CURRENT_Q_DEPTH, 10, CMQC.MQRC_SELECTOR_ERROR),
    ],
)
def test_what_cannot_be_set(
    qmgr: ibmmq.QueueManager, selector: int, value: int, reason: int
) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_SET)
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.set(selector, value)
    assert reason_of(refused) == reason


@pytest.mark.parametrize("name", [b"", b" " * 48, b"\0APP.*", b"APP * *"])
def test_a_dynamic_queue_needs_a_name(qmgr: ibmmq.QueueManager, name: bytes) -> None:
    asked = ibmmq.OD(ObjectName="SYSTEM.DEFAULT.MODEL.QUEUE", DynamicQName=name)
    with pytest.raises(ibmmq.MQMIError) as refused:
        ibmmq.Queue(qmgr, asked, CMQC.MQOO_INPUT_SHARED)
    assert reason_of(refused) == CMQC.MQRC_DYNAMIC_Q_NAME_ERROR
    ibmmq.Queue(qmgr, ibmmq.OD(ObjectName="ORDERS", DynamicQName=name), CMQC.MQOO_OUTPUT).close()


def test_a_permanent_dynamic_queue_goes_when_it_is_told_to(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    with manager.connect() as administrator:
        administrator.define_object("model", "M", definition_type="PERMDYN")
    queue = ibmmq.Queue(qmgr, ibmmq.OD(ObjectName="M", DynamicQName="MINE"), CMQC.MQOO_OUTPUT)
    assert queue.get_name() == "MINE"
    queue.put("x")
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.close(CMQC.MQCO_DELETE)
    assert reason_of(refused) == CMQC.MQRC_Q_NOT_EMPTY
    queue.close(CMQC.MQCO_DELETE_PURGE)
    with pytest.raises(ibmmq.MQMIError) as refused:
        ibmmq.Queue(qmgr, "MINE", CMQC.MQOO_OUTPUT)
    assert reason_of(refused) == CMQC.MQRC_UNKNOWN_OBJECT_NAME


def test_processes_and_namelists_can_be_opened(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    with manager.connect() as administrator:
        administrator.define_process("P", appl_type=15, appl_id="worker")
        administrator.define_object("namelist", "N", names="A,B")
    process = ibmmq.Queue(
        qmgr, ibmmq.OD(ObjectType=CMQC.MQOT_PROCESS, ObjectName="P"), CMQC.MQOO_INQUIRE
    )
    found = process.inquire([CMQC.MQCA_APPL_ID, CMQC.MQIA_APPL_TYPE])
    assert found[CMQC.MQCA_APPL_ID].rstrip() == b"worker"
    assert found[CMQC.MQIA_APPL_TYPE] == CMQC.MQAT_OPEN_TP1
    names = ibmmq.Queue(
        qmgr, ibmmq.OD(ObjectType=CMQC.MQOT_NAMELIST, ObjectName="N"), CMQC.MQOO_INQUIRE
    )
    assert names.inquire(CMQC.MQIA_NAME_COUNT) == 2
    assert names.inquire(CMQC.MQCA_NAMES)[:96].split() == [b"A", b"B"]


def test_who_may_share(qmgr: ibmmq.QueueManager) -> None:
    first = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_EXCLUSIVE)
    with pytest.raises(ibmmq.MQMIError) as refused:
        ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED)
    assert reason_of(refused) == CMQC.MQRC_OBJECT_IN_USE
    first.close()
    ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED).close()


def test_shared_input_is_shared_whatever_the_default_of_the_queue(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    with manager.connect() as administrator:
        administrator.alter_queue("ORDERS", def_input_open_option="EXCLUSIVE")
    one = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED)
    other = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED)
    with pytest.raises(ibmmq.MQMIError) as refused:
        ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_AS_Q_DEF).get_name()
    assert reason_of(refused) == CMQC.MQRC_OBJECT_IN_USE
    one.close()
    other.close()
    default = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_AS_Q_DEF)
    with pytest.raises(ibmmq.MQMIError) as refused:
        ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED)
    assert reason_of(refused) == CMQC.MQRC_OBJECT_IN_USE
    default.close()
