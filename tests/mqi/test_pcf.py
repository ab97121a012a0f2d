"""Administration by PCF as programs of ibmmq do it: PCFExecute, filters, errors."""

from collections.abc import Iterator

import ibmmq
import pytest
from ibmmq import CMQC, CMQCFC

from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL, reason_of


@pytest.fixture
def pcf(qmgr: ibmmq.QueueManager) -> Iterator[ibmmq.PCFExecute]:
    executor = ibmmq.PCFExecute(qmgr)
    yield executor
    executor.disconnect()


def names(found: list[dict[int, bytes]], selector: int = CMQC.MQCA_Q_NAME) -> list[str]:
    return [one[selector].strip().decode() for one in found]


def test_the_command_server_answers(pcf: ibmmq.PCFExecute) -> None:
    assert pcf.MQCMD_PING_Q_MGR() == []


def test_an_inventory_of_queues(pcf: ibmmq.PCFExecute, qmgr: ibmmq.QueueManager) -> None:
    asked = {
        CMQC.MQCA_Q_NAME: b"*",
        CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL,
        CMQCFC.MQIACF_Q_ATTRS: [CMQC.MQCA_Q_NAME, CMQC.MQIA_CURRENT_Q_DEPTH],
    }
    found = pcf.MQCMD_INQUIRE_Q(asked)
    assert {"ORDERS", "REPLIES", "SYSTEM.ADMIN.COMMAND.QUEUE"} <= set(names(found))
    orders = ibmmq.Queue(qmgr, "ORDERS")
    orders.put(b"one")
    orders.close()
    deep = pcf.MQCMD_INQUIRE_Q(asked, [ibmmq.Filter(CMQC.MQIA_CURRENT_Q_DEPTH).greater(0)])
    assert {one[CMQC.MQIA_CURRENT_Q_DEPTH] for one in deep} == {1}
    assert "ORDERS" in names(deep)


def test_a_new_queue_manager_has_a_queue_that_tools_look_for(pcf: ibmmq.PCFExecute) -> None:
    like = ibmmq.Filter(CMQC.MQCA_Q_DESC).like(b"IBM MQ *")
    local = {CMQC.MQCA_Q_NAME: b"*", CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL}
    assert names(pcf.MQCMD_INQUIRE_Q(local, [like])) == ["SYSTEM.ADMIN.COMMAND.QUEUE"]


def test_a_new_queue_manager_has_a_queue_with_a_message(
    pcf: ibmmq.PCFExecute, qmgr: ibmmq.QueueManager
) -> None:
    deep = ibmmq.Filter(CMQC.MQIA_CURRENT_Q_DEPTH).greater(0)
    local = {CMQC.MQCA_Q_NAME: b"*", CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL}
    assert names(pcf.MQCMD_INQUIRE_Q(local, [deep])) == ["SYSTEM.ADMIN.QMGR.EVENT"]
    md = ibmmq.MD()
    event, header = ibmmq.PCFExecute.unpack(
        ibmmq.Queue(qmgr, "SYSTEM.ADMIN.QMGR.EVENT").get(None, md)
    )
    assert md.Format == CMQC.MQFMT_EVENT
    assert (header.Command, header.Reason) == (CMQCFC.MQCMD_Q_MGR_EVENT, CMQC.MQRC_Q_MGR_ACTIVE)
    assert event[CMQC.MQCA_Q_MGR_NAME].rstrip() == b"QM1"


def test_the_life_of_a_queue(pcf: ibmmq.PCFExecute, qmgr: ibmmq.QueueManager) -> None:
    given = {
        CMQC.MQCA_Q_NAME: b"PCF.QUEUE",
        CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL,
        CMQC.MQIA_MAX_Q_DEPTH: 123,
        CMQC.MQCA_Q_DESC: b"IBM MQ by PCF",
    }
    pcf.MQCMD_CREATE_Q(given)
    with pytest.raises(ibmmq.MQMIError) as refused:
        pcf.MQCMD_CREATE_Q(given)
    assert reason_of(refused) == CMQCFC.MQRCCF_OBJECT_ALREADY_EXISTS
    pcf.MQCMD_CREATE_Q(given | {CMQCFC.MQIACF_REPLACE: CMQCFC.MQRP_YES})
    pcf.MQCMD_CHANGE_Q(
        {CMQC.MQCA_Q_NAME: b"PCF.QUEUE", CMQC.MQIA_Q_TYPE: 1, CMQC.MQIA_MAX_Q_DEPTH: 5}
    )
    like = ibmmq.Filter(CMQC.MQCA_Q_DESC).like(b"IBM MQ *")
    (found,) = pcf.MQCMD_INQUIRE_Q({CMQC.MQCA_Q_NAME: b"PCF.*"}, [like])
    assert found[CMQC.MQIA_MAX_Q_DEPTH] == 5
    queue = ibmmq.Queue(qmgr, "PCF.QUEUE")
    queue.put(b"left behind")
    queue.close()
    with pytest.raises(ibmmq.MQMIError) as refused:
        pcf.MQCMD_DELETE_Q({CMQC.MQCA_Q_NAME: b"PCF.QUEUE"})
    assert reason_of(refused) == CMQC.MQRC_Q_NOT_EMPTY
    with pytest.raises(ibmmq.MQMIError) as refused:
        pcf.MQCMD_DELETE_Q({CMQC.MQCA_Q_NAME: b"PCF.QUEUE", CMQCFC.MQIACF_PURGE: 7})
    assert reason_of(refused) == CMQCFC.MQRCCF_PURGE_VALUE_ERROR
    with pytest.raises(ibmmq.MQMIError) as refused:
        pcf.MQCMD_CREATE_Q(given | {CMQCFC.MQIACF_REPLACE: -1})
    assert reason_of(refused) == CMQCFC.MQRCCF_REPLACE_VALUE_ERROR
    purge = {CMQCFC.MQIACF_PURGE: CMQCFC.MQPO_YES}
    pcf.MQCMD_DELETE_Q({CMQC.MQCA_Q_NAME: b"PCF.QUEUE"} | purge)
    with pytest.raises(ibmmq.MQMIError) as refused:
        pcf.MQCMD_INQUIRE_Q({CMQC.MQCA_Q_NAME: b"PCF.QUEUE"})
    assert reason_of(refused) == CMQC.MQRC_UNKNOWN_OBJECT_NAME


def test_errors_and_answers_may_be_asked_for_together(pcf: ibmmq.PCFExecute) -> None:
    responses: list[tuple[dict[int, int], ibmmq.CFH]] = []
    with pytest.raises(ibmmq.MQMIError) as refused:
        pcf.MQCMD_CREATE_Q(
            {CMQC.MQCA_Q_NAME: b"BAD", CMQC.MQIA_INHIBIT_PUT: 7}, responses=responses
        )
    assert reason_of(refused) == CMQCFC.MQRCCF_ATTR_VALUE_ERROR
    ((wrong, header),) = responses
    assert wrong == {CMQCFC.MQIACF_PARAMETER_ID: CMQC.MQIA_INHIBIT_PUT}
    assert header.Reason == CMQCFC.MQRCCF_ATTR_VALUE_ERROR


def test_the_one_who_asks_is_connected(pcf: ibmmq.PCFExecute) -> None:
    generic = {CMQCFC.MQBACF_GENERIC_CONNECTION_ID: ibmmq.ByteString(b"")}
    found = pcf.MQCMD_INQUIRE_CONNECTION(generic)
    users = [one for one in found if one[CMQC.MQIA_APPL_TYPE] == CMQC.MQAT_USER]
    assert users
    for one in users:
        assert one[CMQCFC.MQCACH_CHANNEL_NAME].strip()
        assert one[CMQCFC.MQCACH_CONNECTION_NAME].strip()
    assert CHANNEL.encode() in {one[CMQCFC.MQCACH_CHANNEL_NAME].strip() for one in users}
    asked = {CMQCFC.MQCACH_CHANNEL_NAME: CHANNEL.encode()}
    for status in pcf.MQCMD_INQUIRE_CHANNEL_STATUS(asked):
        assert status[CMQCFC.MQIACH_CHANNEL_STATUS] == CMQCFC.MQCHS_RUNNING


def test_the_queue_manager_says_how_users_are_checked(pcf: ibmmq.PCFExecute) -> None:
    (manager,) = pcf.MQCMD_INQUIRE_Q_MGR({CMQCFC.MQIACF_Q_MGR_ATTRS: [CMQC.MQCA_CONN_AUTH]})
    name = manager[CMQC.MQCA_CONN_AUTH].strip()
    (checked,) = pcf.MQCMD_INQUIRE_AUTH_INFO({CMQC.MQCA_AUTH_INFO_NAME: name})
    assert CMQC.MQIA_CHECK_CLIENT_BINDING in checked
    pcf.MQCMD_CHANGE_Q_MGR({CMQC.MQIA_TRIGGER_INTERVAL: 500})
    asked = {CMQCFC.MQIACF_Q_MGR_ATTRS: [CMQC.MQIA_TRIGGER_INTERVAL]}
    assert pcf.MQCMD_INQUIRE_Q_MGR(asked)[0][CMQC.MQIA_TRIGGER_INTERVAL] == 500


def test_a_namelist(pcf: ibmmq.PCFExecute) -> None:
    name = {CMQC.MQCA_NAMELIST_NAME: b"SITES"}
    pcf.MQCMD_CREATE_NAMELIST(name | {CMQC.MQCA_NAMES: [b"ORDERS", b"REPLIES"]})
    (found,) = pcf.MQCMD_INQUIRE_NAMELIST(name)
    assert found[CMQC.MQIA_NAME_COUNT] == 2
    assert [one.strip() for one in found[CMQC.MQCA_NAMES]] == [b"ORDERS", b"REPLIES"]
    pcf.MQCMD_DELETE_NAMELIST(name)


def test_what_is_not_supported_says_so(pcf: ibmmq.PCFExecute) -> None:
    with pytest.raises(ibmmq.MQMIError) as refused:
        pcf.MQCMD_INQUIRE_SUBSCRIPTION({CMQCFC.MQCACF_SUB_NAME: b"*"})
    assert reason_of(refused) == CMQC.MQRC_NO_SUBSCRIPTION
    with pytest.raises(ibmmq.MQMIError) as refused:
        pcf.MQCMD_REFRESH_CLUSTER({CMQC.MQCA_CLUSTER_NAME: b"C"})
    assert reason_of(refused) == CMQCFC.MQRCCF_CFH_COMMAND_ERROR
    for inquire, reason in (
        (pcf.MQCMD_INQUIRE_CHLAUTH_RECS, CMQCFC.MQRCCF_CHLAUTH_NOT_FOUND),
        (pcf.MQCMD_INQUIRE_SERVICE_STATUS, CMQCFC.MQRCCF_SERV_STATUS_NOT_FOUND),
        (pcf.MQCMD_INQUIRE_AUTH_RECS, CMQC.MQRC_UNKNOWN_OBJECT_NAME),
    ):
        with pytest.raises(ibmmq.MQMIError) as refused:
            inquire()
        assert reason_of(refused) == reason


ENTITY_IS_GROUP = 2  # MQZAET_GROUP


def test_authority_records_are_set_and_shown(pcf: ibmmq.PCFExecute) -> None:
    authority = {
        CMQCFC.MQCACF_AUTH_PROFILE_NAME: b"DEV.**",
        CMQCFC.MQIACF_OBJECT_TYPE: CMQC.MQOT_Q,
        CMQCFC.MQIACF_AUTH_ADD_AUTHS: [CMQCFC.MQAUTH_OUTPUT, CMQCFC.MQAUTH_INPUT],
    }
    with pytest.raises(ibmmq.MQMIError) as refused:
        pcf.MQCMD_SET_AUTH_REC(authority)
    assert reason_of(refused) == CMQCFC.MQRCCF_ENTITY_NAME_MISSING
    authority |= {CMQCFC.MQCACF_GROUP_ENTITY_NAMES: [b"mqclient"]}
    assert pcf.MQCMD_SET_AUTH_REC(authority) == []
    (found,) = pcf.MQCMD_INQUIRE_AUTH_RECS(
        {
            CMQCFC.MQIACF_AUTH_OPTIONS: CMQCFC.MQAUTHOPT_NAME_ALL_MATCHING,
            CMQCFC.MQCACF_AUTH_PROFILE_NAME: b"DEV.QUEUE.1",
            CMQCFC.MQIACF_OBJECT_TYPE: CMQC.MQOT_Q,
        }
    )
    assert found[CMQCFC.MQCACF_AUTH_PROFILE_NAME].strip() == b"DEV.**"
    assert found[CMQCFC.MQCACF_ENTITY_NAME].strip() == b"mqclient"
    assert found[CMQCFC.MQIACF_ENTITY_TYPE] == ENTITY_IS_GROUP
    assert sorted(found[CMQCFC.MQIACF_AUTHORIZATION_LIST]) == sorted(
        [CMQCFC.MQAUTH_OUTPUT, CMQCFC.MQAUTH_INPUT]
    )
    (entity,) = pcf.MQCMD_INQUIRE_ENTITY_AUTH(
        {
            CMQCFC.MQIACF_AUTH_OPTIONS: CMQCFC.MQAUTHOPT_ENTITY_SET,
            CMQCFC.MQIACF_OBJECT_TYPE: CMQC.MQOT_Q,
            CMQCFC.MQIACF_ENTITY_TYPE: ENTITY_IS_GROUP,
            CMQCFC.MQCACF_ENTITY_NAME: b"mqclient",
            CMQCFC.MQCACF_OBJECT_NAME: b"DEV.QUEUE.1",
        }
    )
    assert len(entity[CMQCFC.MQIACF_AUTHORIZATION_LIST]) == 2
    with pytest.raises(ibmmq.MQMIError) as refused:
        pcf.MQCMD_SET_AUTH_REC(authority | {CMQCFC.MQIACF_OBJECT_TYPE: 77})
    assert reason_of(refused) == CMQCFC.MQRCCF_ATTR_VALUE_ERROR
    rule = {
        CMQCFC.MQCACH_CHANNEL_NAME: b"DEV.ADMIN.SVRCONN",
        CMQCFC.MQIACF_CHLAUTH_TYPE: CMQCFC.MQCAUT_BLOCKUSER,
        CMQCFC.MQCACH_MCA_USER_ID_LIST: [b"nobody"],
        CMQCFC.MQIACF_ACTION: CMQCFC.MQACT_REPLACE,
    }
    assert pcf.MQCMD_SET_CHLAUTH_REC(rule) == []
    del authority[CMQCFC.MQIACF_AUTH_ADD_AUTHS]
    assert pcf.MQCMD_DELETE_AUTH_REC(authority) == []
    with pytest.raises(ibmmq.MQMIError) as refused:
        pcf.MQCMD_DELETE_AUTH_REC(authority)
    assert reason_of(refused) == CMQC.MQRC_UNKNOWN_OBJECT_NAME
    assert pcf.MQCMD_REFRESH_SECURITY() == []


def test_attributes_without_effect(pcf: ibmmq.PCFExecute) -> None:
    name = {CMQC.MQCA_Q_NAME: b"PCF.NOTED"}
    harmless = {CMQC.MQIA_MONITORING_Q: CMQC.MQMON_HIGH, CMQC.MQIA_MAX_Q_DEPTH: 9}
    pcf.MQCMD_CREATE_Q(name | {CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL} | harmless)
    (found,) = pcf.MQCMD_INQUIRE_Q(name)
    assert found[CMQC.MQIA_MONITORING_Q] == CMQC.MQMON_Q_MGR
    assert found[CMQC.MQIA_MAX_Q_DEPTH] == 9
    assert found[CMQC.MQIA_Q_DEPTH_HIGH_LIMIT] == 80
    assert found[CMQC.MQIA_PROPERTY_CONTROL] == CMQC.MQPROP_COMPATIBILITY
    for wrong in (
        {CMQC.MQIA_NPM_CLASS: CMQC.MQNPM_CLASS_HIGH},
        {CMQC.MQIA_Q_DEPTH_HIGH_LIMIT: 101},
    ):
        with pytest.raises(ibmmq.MQMIError) as refused:
            pcf.MQCMD_CHANGE_Q(name | {CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL} | wrong)
        assert reason_of(refused) == CMQCFC.MQRCCF_ATTR_VALUE_ERROR
    (manager,) = pcf.MQCMD_INQUIRE_Q_MGR()
    assert manager[CMQC.MQIA_PERFORMANCE_EVENT] == 0
    assert manager[CMQC.MQIA_CHLAUTH_RECORDS] == 0
    pcf.MQCMD_CHANGE_Q_MGR({CMQC.MQIA_MAX_MSG_LENGTH: 4_194_304})
    pcf.MQCMD_DELETE_Q(name)


def test_a_subscription_is_named_by_its_id(
    manager: TestQueueManager, pcf: ibmmq.PCFExecute
) -> None:
    manager.mqsc(
        "DEFINE SUB(ONE) TOPICSTR('a') DEST(ORDERS)\nDEFINE SUB(TWO) TOPICSTR('b') DEST(ORDERS)"
    )
    (one,) = pcf.MQCMD_INQUIRE_SUBSCRIPTION({CMQCFC.MQCACF_SUB_NAME: b"ONE"})
    by_id = {CMQCFC.MQBACF_SUB_ID: ibmmq.ByteString(one[CMQCFC.MQBACF_SUB_ID])}
    assert names(pcf.MQCMD_INQUIRE_SUBSCRIPTION(by_id), CMQCFC.MQCACF_SUB_NAME) == ["ONE"]
    pcf.MQCMD_CHANGE_SUBSCRIPTION(by_id | {CMQCFC.MQCACF_SUB_USER_DATA: b"new"})
    pcf.MQCMD_DELETE_SUBSCRIPTION(by_id)
    left = pcf.MQCMD_INQUIRE_SUBSCRIPTION({CMQCFC.MQCACF_SUB_NAME: b"*"})
    assert names(left, CMQCFC.MQCACF_SUB_NAME) == ["TWO"]
    with pytest.raises(ibmmq.MQMIError) as refused:
        pcf.MQCMD_DELETE_SUBSCRIPTION(by_id)
    assert reason_of(refused) == CMQC.MQRC_NO_SUBSCRIPTION
