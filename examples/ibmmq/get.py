"""Get messages from a queue and print them, until none comes for some seconds (5).

Usage: python get.py ORDERS [SECONDS]
"""

import sys

import ibmmq
from ibmmq import CMQC

OPTIONS = CMQC.MQGMO_WAIT | CMQC.MQGMO_NO_SYNCPOINT | CMQC.MQGMO_FAIL_IF_QUIESCING


def main(name: str, seconds: str = "5") -> None:
    qmgr = ibmmq.QueueManager("")  # where MQSERVER says: CHANNEL/TCP/HOST(PORT)
    queue = ibmmq.Queue(qmgr, name, CMQC.MQOO_INPUT_AS_Q_DEF)
    gmo = ibmmq.GMO(Options=OPTIONS, WaitInterval=int(float(seconds) * 1000))
    try:
        while True:
            # A new MD each time: a get writes the ids into it, and the next would look for them.
            print(queue.get(None, ibmmq.MD(), gmo).decode())
    except ibmmq.MQMIError as error:
        if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
            raise
    queue.close()
    qmgr.disconnect()


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
