"""A server that the trigger monitor starts when there is work on its queue.

    DEFINE PROCESS(CAPITALS) APPLICID('python /path/to/triggered.py') USERDATA('RESULTS')
    DEFINE QLOCAL(WORK) PROCESS(CAPITALS) INITQ(SYSTEM.DEFAULT.INITIATION.QUEUE) TRIGGER
    mqk trigger-monitor

Its argument is an MQTMC2, which says which queue there is work on. USERDATA names the queue where
the results go: each message, in capitals.
"""

import sys

import pymqi
from pymqi import CMQC

OPTIONS = CMQC.MQGMO_WAIT | CMQC.MQGMO_SYNCPOINT
WAIT_MS = 500
"""Messages that are not committed count too: there may be nothing yet, so it is waited for."""


def main(argument: str) -> None:
    trigger = pymqi.TMC2()
    trigger.unpack(argument.encode())
    qmgr = pymqi.QueueManager(trigger.QMgrName.strip())  # where MQSERVER says
    queue = pymqi.Queue(qmgr, trigger.QName.strip(), CMQC.MQOO_INPUT_SHARED)
    results = pymqi.Queue(qmgr, trigger.UserData.strip(), CMQC.MQOO_OUTPUT)
    gmo = pymqi.GMO(Options=OPTIONS, WaitInterval=WAIT_MS)
    try:
        while True:
            md = pymqi.MD()
            body = queue.get(None, md, gmo)
            result = pymqi.MD(CorrelId=md.MsgId, Format=md.Format)
            results.put(body.upper(), result, pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
            qmgr.commit()
    except pymqi.MQMIError as error:
        if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
            raise
    queue.close()
    results.close()
    qmgr.disconnect()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
