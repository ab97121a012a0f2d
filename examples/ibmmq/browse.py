"""Print the messages of a queue, and fields of their descriptors, without removing them.

Usage: python browse.py ORDERS
"""

import sys

import ibmmq
from ibmmq import CMQC


def main(name: str) -> None:
    qmgr = ibmmq.QueueManager("")  # where MQSERVER says: CHANNEL/TCP/HOST(PORT)
    queue = ibmmq.Queue(qmgr, name, CMQC.MQOO_BROWSE)
    gmo = ibmmq.GMO(Options=CMQC.MQGMO_BROWSE_FIRST)
    try:
        while True:
            md = ibmmq.MD()
            body = queue.get(None, md, gmo)
            gmo.Options = CMQC.MQGMO_BROWSE_NEXT
            print(
                f"priority {md.Priority}, persistence {md.Persistence}, "
                f"backed out {md.BackoutCount} times, put {md.PutDate.decode()} "
                f"by {md.PutApplName.decode().strip()}: {body.decode()}"
            )
    except ibmmq.MQMIError as error:
        if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
            raise
    queue.close()
    qmgr.disconnect()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
