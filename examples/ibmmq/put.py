"""Put every line of the standard input on a queue.

Usage: python put.py ORDERS <orders.txt
"""

import sys

import ibmmq
from ibmmq import CMQC


def main(name: str) -> None:
    qmgr = ibmmq.QueueManager("")  # where MQSERVER says: CHANNEL/TCP/HOST(PORT)
    queue = ibmmq.Queue(qmgr, name, CMQC.MQOO_OUTPUT | CMQC.MQOO_FAIL_IF_QUIESCING)
    for line in sys.stdin:
        queue.put(line.rstrip("\n"), ibmmq.MD(Format=CMQC.MQFMT_STRING))
    queue.close()
    qmgr.disconnect()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
