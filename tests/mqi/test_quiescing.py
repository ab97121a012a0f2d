"""Gets that wait while the queue manager is stopped in a controlled way."""

from concurrent.futures import ThreadPoolExecutor

import ibmmq
import pytest
from ibmmq import CMQC

from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL, conname, reason_of
from tests.support.monitored_site import await_that

WAIT_S = 20.0


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (CMQC.MQGMO_FAIL_IF_QUIESCING, CMQC.MQRC_Q_MGR_QUIESCING),
        (0, CMQC.MQRC_Q_MGR_STOPPING),
    ],
    ids=["if it asks for it", "not if not"],
)
def test_a_get_that_waits_ends_because_of_the_quiescing(
    manager: TestQueueManager, options: int, reason: int
) -> None:
    cno = ibmmq.CNO(Options=CMQC.MQCNO_RECONNECT_DISABLED)
    qmgr = ibmmq.connect("QM1", CHANNEL, conname(manager), cno=cno)
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED)
    gmo = ibmmq.GMO(Options=CMQC.MQGMO_WAIT | options, WaitInterval=20_000)
    with ThreadPoolExecutor(1) as executor, manager.connect() as other:
        waiting = executor.submit(queue.get, None, ibmmq.MD(), gmo)
        await_that(lambda: other.queue("ORDERS").status().waiting_gets == 1)
        manager.stop(quiesce_s=5.0)
        with pytest.raises(ibmmq.MQMIError) as refused:
            waiting.result(WAIT_S)
        assert reason_of(refused) == reason
        manager.start()


def test_a_program_that_is_connected_again_waits_on(manager: TestQueueManager) -> None:
    qmgr = ibmmq.connect("QM1", CHANNEL, conname(manager))
    queue = ibmmq.Queue(qmgr, "ORDERS")
    gmo = ibmmq.GMO(Options=CMQC.MQGMO_WAIT, WaitInterval=20_000)
    with ThreadPoolExecutor(1) as executor, manager.connect() as other:
        waiting = executor.submit(queue.get, None, ibmmq.MD(), gmo)
        await_that(lambda: other.queue("ORDERS").status().waiting_gets == 1)
        manager.stop(quiesce_s=5.0)
        manager.start()
        other.put("ORDERS", "after the restart")
        assert waiting.result(WAIT_S) == b"after the restart"
    qmgr.disconnect()
