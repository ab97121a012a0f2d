"""An inventory by PCF, as administration programs make it."""

from typing import Any

import ibmmq
import pytest
from ibmmq import CMQC, CMQCFC

from tests.mqi.conftest import reason_of


@pytest.fixture
def pcf(qmgr: ibmmq.QueueManager) -> Any:
    """What executes commands; a command is answered in this time."""
    return ibmmq.PCFExecute(qmgr, response_wait_interval=20_000)


def test_an_inventory(pcf: Any) -> None:
    found = pcf.MQCMD_INQUIRE_Q({CMQC.MQCA_Q_NAME: "*", CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL})
    names = {one[CMQC.MQCA_Q_NAME].strip() for one in found}
    assert {b"ORDERS", b"REPLIES", b"SYSTEM.ADMIN.COMMAND.QUEUE"} <= names


def test_a_queue_is_made_altered_and_deleted(qmgr: ibmmq.QueueManager, pcf: Any) -> None:
    which = {CMQC.MQCA_Q_NAME: "MADE", CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL}
    pcf.MQCMD_CREATE_Q(which | {CMQC.MQIA_BACKOUT_THRESHOLD: 3})
    queue = ibmmq.Queue(qmgr, "MADE", CMQC.MQOO_INQUIRE)
    assert queue.inquire(CMQC.MQIA_BACKOUT_THRESHOLD) == 3
    queue.close()
    pcf.MQCMD_CHANGE_Q(which | {CMQC.MQIA_BACKOUT_THRESHOLD: 4})
    (found,) = pcf.MQCMD_INQUIRE_Q(which)
    assert found[CMQC.MQIA_BACKOUT_THRESHOLD] == 4
    pcf.MQCMD_DELETE_Q(which)
    with pytest.raises(ibmmq.MQMIError) as refused:
        pcf.MQCMD_INQUIRE_Q(which)
    assert reason_of(refused) == CMQC.MQRC_UNKNOWN_OBJECT_NAME


def test_the_queue_manager_is_there(pcf: Any) -> None:
    pcf.MQCMD_PING_Q_MGR()
    (found,) = pcf.MQCMD_INQUIRE_Q_MGR({CMQCFC.MQIACF_Q_MGR_ATTRS: [CMQC.MQCA_Q_MGR_NAME]})
    assert found[CMQC.MQCA_Q_MGR_NAME].strip() == b"QM1"
