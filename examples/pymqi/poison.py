"""Add up the numbers on a queue; set aside bodies that are not numbers after some backouts.

Usage: python poison.py NUMBERS [SECONDS]

The queue's backout threshold says what too often is, and its backout queue where such a message
goes. The queue manager only counts: it is the program that looks. The move is one unit of work with
the get, so that the message is never lost and never doubled.
"""

import sys

import pymqi
from pymqi import CMQC

OPTIONS = CMQC.MQGMO_WAIT | CMQC.MQGMO_SYNCPOINT


def main(name: str, seconds: str = "5") -> None:
    qmgr = pymqi.QueueManager("")  # where MQSERVER says: CHANNEL/TCP/HOST(PORT)
    queue = pymqi.Queue(qmgr, name, CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_INQUIRE)
    threshold = queue.inquire(CMQC.MQIA_BACKOUT_THRESHOLD)
    aside = queue.inquire(CMQC.MQCA_BACKOUT_REQ_Q_NAME)
    gmo = pymqi.GMO(Options=OPTIONS, WaitInterval=int(float(seconds) * 1000))
    total = 0
    try:
        while True:
            md = pymqi.MD()
            body = queue.get(None, md, gmo)
            if threshold and md.BackoutCount >= threshold:
                qmgr.put1(aside, body, md, pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
                print(f"set aside after {md.BackoutCount} attempts: {body.decode()}")
                qmgr.commit()
                continue
            try:
                total += int(body)
            except ValueError:
                qmgr.backout()  # it is there again, and its backout count is higher
            else:
                qmgr.commit()
    except pymqi.MQMIError as error:
        if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
            raise
    print(f"total {total}")
    queue.close()
    qmgr.disconnect()


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
