"""What is defined by MQSC and PCF has MQ's own defaults, and request and reply work with them."""

from typing import Any

import ibmmq
from ibmmq import CMQC, CMQCFC

from adapter.testing import TestQueueManager

DEFAULTS = {CMQC.MQIA_DEF_PERSISTENCE: CMQC.MQPER_NOT_PERSISTENT, CMQC.MQIA_MAX_Q_DEPTH: 5_000}


def told(qmgr: ibmmq.QueueManager, name: str) -> Any:
    return ibmmq.Queue(qmgr, name, CMQC.MQOO_INQUIRE).inquire(list(DEFAULTS))


def test_queues_have_the_defaults_of_mq(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    manager.mqsc("DEFINE QLOCAL(BY.MQSC)\nDEFINE QALIAS(ALIAS) TARGET(BY.MQSC)")
    pcf = ibmmq.PCFExecute(qmgr)
    local = {CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL}
    pcf.MQCMD_CREATE_Q(local | {CMQC.MQCA_Q_NAME: b"BY.PCF"})
    copied = {CMQCFC.MQCACF_FROM_Q_NAME: b"ORDERS", CMQCFC.MQCACF_TO_Q_NAME: b"COPIED"}
    pcf.MQCMD_COPY_Q(copied | local)
    pcf.disconnect()
    assert told(qmgr, "BY.MQSC") == told(qmgr, "BY.PCF") == DEFAULTS
    alias = ibmmq.Queue(qmgr, "ALIAS", CMQC.MQOO_INQUIRE)
    assert alias.inquire(CMQC.MQIA_DEF_PERSISTENCE) == CMQC.MQPER_NOT_PERSISTENT
    by_sdk = {CMQC.MQIA_DEF_PERSISTENCE: CMQC.MQPER_PERSISTENT, CMQC.MQIA_MAX_Q_DEPTH: 999_999_999}
    assert told(qmgr, "ORDERS") == told(qmgr, "COPIED") == by_sdk


def test_a_definition_is_as_the_default_object_says(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    manager.mqsc("ALTER QLOCAL(SYSTEM.DEFAULT.LOCAL.QUEUE) DEFPSIST(YES) MAXDEPTH(7)")
    manager.mqsc("DEFINE QLOCAL(A)\nDEFINE QLOCAL(ORDERS) MAXMSGL(9) REPLACE")
    altered = {CMQC.MQIA_DEF_PERSISTENCE: CMQC.MQPER_PERSISTENT, CMQC.MQIA_MAX_Q_DEPTH: 7}
    assert told(qmgr, "A") == altered
    assert told(qmgr, "ORDERS") == altered, "replaced: as a new one is"
    manager.mqsc("DELETE QLOCAL(SYSTEM.DEFAULT.LOCAL.QUEUE)\nDEFINE QLOCAL(B)")
    assert told(qmgr, "B") == DEFAULTS


def test_request_and_reply_through_a_temporary_queue(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    """As IBM's samples do it: the reply has the persistence of the request."""
    manager.mqsc("DEFINE QLOCAL(REQUESTS)")
    dynamic = ibmmq.OD(ObjectName="SYSTEM.DEFAULT.MODEL.QUEUE", DynamicQName="APP.REPLIES.*")
    replies = ibmmq.Queue(qmgr, dynamic, CMQC.MQOO_INPUT_EXCLUSIVE)
    request = ibmmq.MD(MsgType=CMQC.MQMT_REQUEST, ReplyToQ=dynamic.ObjectName)
    ibmmq.Queue(qmgr, "REQUESTS").put("what?", request)
    asked = ibmmq.MD()
    unit = ibmmq.GMO(Options=CMQC.MQGMO_SYNCPOINT)
    body = ibmmq.Queue(qmgr, "REQUESTS").get(None, asked, unit)
    answer = ibmmq.MD(CorrelId=asked.MsgId, Persistence=asked.Persistence)
    od = ibmmq.OD(ObjectName=asked.ReplyToQ)
    qmgr.put1(od, body.upper(), answer, ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT))
    qmgr.commit()
    assert replies.get(None, ibmmq.MD(CorrelId=request.MsgId)) == b"WHAT?"
