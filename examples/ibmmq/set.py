"""Inhibit puts to a queue, or allow them again.

Usage: python set.py ORDERS inhibited|allowed
"""

import sys

import ibmmq
from ibmmq import CMQC

VALUES = {"inhibited": CMQC.MQQA_PUT_INHIBITED, "allowed": CMQC.MQQA_PUT_ALLOWED}


def main(name: str, puts: str) -> None:
    qmgr = ibmmq.QueueManager("")  # where MQSERVER says: CHANNEL/TCP/HOST(PORT)
    queue = ibmmq.Queue(qmgr, name, CMQC.MQOO_INQUIRE | CMQC.MQOO_SET)
    queue.set(CMQC.MQIA_INHIBIT_PUT, VALUES[puts])
    is_inhibited = queue.inquire(CMQC.MQIA_INHIBIT_PUT) == CMQC.MQQA_PUT_INHIBITED
    print(f"puts to {name} are {'inhibited' if is_inhibited else 'allowed'}")
    queue.close()
    qmgr.disconnect()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
