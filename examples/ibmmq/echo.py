"""Answer requests with their text in capitals, until none comes for some seconds (30).

Usage: python echo.py REQUESTS [SECONDS]

A request and its reply are one unit of work: both are done, or neither.
"""

import sys

import ibmmq
from ibmmq import CMQC

OPTIONS = CMQC.MQGMO_WAIT | CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_CONVERT


def answer(qmgr: ibmmq.QueueManager, asked: ibmmq.MD, body: bytes) -> None:
    to = ibmmq.OD(ObjectName=asked.ReplyToQ, ObjectQMgrName=asked.ReplyToQMgr)
    reply = ibmmq.MD(MsgType=CMQC.MQMT_REPLY, CorrelId=asked.MsgId, Format=asked.Format)
    qmgr.put1(to, body.upper(), reply, ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT))


def main(name: str, seconds: str = "30") -> None:
    qmgr = ibmmq.QueueManager("")  # where MQSERVER says: CHANNEL/TCP/HOST(PORT)
    requests = ibmmq.Queue(qmgr, name, CMQC.MQOO_INPUT_SHARED)
    gmo = ibmmq.GMO(Options=OPTIONS, WaitInterval=int(float(seconds) * 1000))
    try:
        while True:
            md = ibmmq.MD()
            body = requests.get(None, md, gmo)
            if md.MsgType == CMQC.MQMT_REQUEST:
                answer(qmgr, md, body)
            qmgr.commit()
    except ibmmq.MQMIError as error:
        if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
            raise
    requests.close()
    qmgr.disconnect()


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
