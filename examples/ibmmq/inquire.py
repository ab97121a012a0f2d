"""Show some attributes of a queue.

Usage: python inquire.py ORDERS
"""

import sys

import ibmmq
from ibmmq import CMQC

SHOWN = {
    "depth": CMQC.MQIA_CURRENT_Q_DEPTH,
    "maximum depth": CMQC.MQIA_MAX_Q_DEPTH,
    "open for input": CMQC.MQIA_OPEN_INPUT_COUNT,
    "open for output": CMQC.MQIA_OPEN_OUTPUT_COUNT,
    "gets inhibited": CMQC.MQIA_INHIBIT_GET,
    "puts inhibited": CMQC.MQIA_INHIBIT_PUT,
    "backout threshold": CMQC.MQIA_BACKOUT_THRESHOLD,
    "backout queue": CMQC.MQCA_BACKOUT_REQ_Q_NAME,
    "description": CMQC.MQCA_Q_DESC,
}


def main(name: str) -> None:
    qmgr = ibmmq.QueueManager("")  # where MQSERVER says: CHANNEL/TCP/HOST(PORT)
    queue = ibmmq.Queue(qmgr, name, CMQC.MQOO_INQUIRE)
    for title, selector in SHOWN.items():
        value = queue.inquire(selector)
        print(f"{title}: {value.decode().strip() if isinstance(value, bytes) else value}")
    queue.close()
    qmgr.disconnect()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
