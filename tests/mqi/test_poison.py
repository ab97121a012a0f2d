"""A worker that sets poison messages aside, as programs of MQ do themselves."""

import ibmmq
import pytest
from ibmmq import CMQC

from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL, conname, reason_of


class Worker:
    """Gets in units of work; what came back too often goes to the backout queue."""

    def __init__(self, qmgr: ibmmq.QueueManager, name: str) -> None:
        self._qmgr = qmgr
        self._queue = ibmmq.Queue(qmgr, name, CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_INQUIRE)
        found = self._queue.inquire([CMQC.MQIA_BACKOUT_THRESHOLD, CMQC.MQCA_BACKOUT_REQ_Q_NAME])
        self._threshold = found[CMQC.MQIA_BACKOUT_THRESHOLD]
        self._aside = found[CMQC.MQCA_BACKOUT_REQ_Q_NAME]
        self.done: list[bytes] = []

    def work_all(self) -> None:
        """Do every message that is there."""
        while True:
            self.work()

    def work(self) -> None:
        """Do one message; an order that is no number is poison."""
        md = ibmmq.MD()
        body = self._queue.get(None, md, ibmmq.GMO(Options=CMQC.MQGMO_SYNCPOINT))
        if self._threshold and md.BackoutCount >= self._threshold:
            moved = ibmmq.MD(Format=md.Format, CorrelId=md.MsgId)
            self._qmgr.put1(self._aside, body, moved, ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT))
            self._qmgr.commit()
            return
        try:
            int(body)
        except ValueError:
            self._qmgr.backout()
            return
        self.done.append(body)
        self._qmgr.commit()


def test_poison_is_set_aside(manager: TestQueueManager, qmgr: ibmmq.QueueManager) -> None:
    worker = Worker(qmgr, "FRAGILE")
    with manager.connect() as other:
        for body in ("1", "poison", "2"):
            other.put("FRAGILE", body)
        with pytest.raises(ibmmq.MQMIError) as refused:
            worker.work_all()
        assert reason_of(refused) == CMQC.MQRC_NO_MSG_AVAILABLE
        assert worker.done == [b"1", b"2"]
        aside = other.get("ASIDE")
        assert aside is not None
        assert aside.body == b"poison"
        assert other.queue("FRAGILE").depth() == 0


def test_the_count_survives_a_crash(manager: TestQueueManager) -> None:
    with manager.connect() as other:
        other.put("FRAGILE", "poison")
    for count in range(2):
        qmgr = ibmmq.connect("QM1", CHANNEL, conname(manager))
        md = ibmmq.MD()
        queue = ibmmq.Queue(qmgr, "FRAGILE", CMQC.MQOO_INPUT_SHARED)
        queue.get(None, md, ibmmq.GMO(Options=CMQC.MQGMO_SYNCPOINT))
        assert md.BackoutCount == count
        qmgr.backout()
        qmgr.disconnect()
        manager.crash()
        manager.start()
