"""Put the lines of the standard input as one group; get_group.py assembles it.

Usage: python put_group.py ORDERS <order.txt

The queue manager makes the group's id and numbers its messages: that is MQPMO_LOGICAL_ORDER.
"""

import sys

import ibmmq
from ibmmq import CMQC


def main(name: str) -> None:
    qmgr = ibmmq.QueueManager("")  # where MQSERVER says: CHANNEL/TCP/HOST(PORT)
    queue = ibmmq.Queue(qmgr, name, CMQC.MQOO_OUTPUT)
    pmo = ibmmq.PMO(Options=CMQC.MQPMO_LOGICAL_ORDER | CMQC.MQPMO_SYNCPOINT)
    lines = sys.stdin.read().splitlines()
    for number, line in enumerate(lines, 1):
        is_last = number == len(lines)
        flags = CMQC.MQMF_LAST_MSG_IN_GROUP if is_last else CMQC.MQMF_MSG_IN_GROUP
        md = ibmmq.MD(Version=CMQC.MQMD_VERSION_2, Format=CMQC.MQFMT_STRING, MsgFlags=flags)
        queue.put(line, md, pmo)
    qmgr.commit()
    queue.close()
    qmgr.disconnect()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
