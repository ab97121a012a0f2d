"""Send each line of the standard input as a request, and print the replies of echo.py.

Usage: python request.py REQUESTS <questions.txt

The replies come to a temporary queue of this program's own, which goes when it ends.
"""

import sys

import pymqi
from pymqi import CMQC

WAIT_MS = 30_000


def main(name: str) -> None:
    qmgr = pymqi.QueueManager("")  # where MQSERVER says: CHANNEL/TCP/HOST(PORT)
    model = pymqi.OD(ObjectName=b"SYSTEM.DEFAULT.MODEL.QUEUE", DynamicQName=b"REPLIES.*")
    replies = pymqi.Queue(qmgr, model, CMQC.MQOO_INPUT_EXCLUSIVE)  # model is told the queue's name
    requests = pymqi.Queue(qmgr, name, CMQC.MQOO_OUTPUT)
    gmo = pymqi.GMO(
        Version=CMQC.MQGMO_VERSION_2,
        Options=CMQC.MQGMO_WAIT | CMQC.MQGMO_CONVERT,
        MatchOptions=CMQC.MQMO_MATCH_CORREL_ID,
        WaitInterval=WAIT_MS,
    )
    for line in sys.stdin:
        asked = pymqi.MD(
            MsgType=CMQC.MQMT_REQUEST, Format=CMQC.MQFMT_STRING, ReplyToQ=model.ObjectName
        )
        requests.put(line.rstrip("\n"), asked)
        print(replies.get(None, pymqi.MD(CorrelId=asked.MsgId), gmo).decode())
    replies.close()
    requests.close()
    qmgr.disconnect()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
