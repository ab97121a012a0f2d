"""Publish every line of the standard input on a topic.

Usage: python publish.py prices/fruit <prices.txt
"""

import sys

import ibmmq
from ibmmq import CMQC

UTF_8 = 1208


def main(topic_string: str) -> None:
    qmgr = ibmmq.QueueManager("")  # where MQSERVER says: CHANNEL/TCP/HOST(PORT)
    topic = ibmmq.Topic(qmgr, topic_string=topic_string)
    topic.open(open_opts=CMQC.MQOO_OUTPUT)
    for line in sys.stdin:
        md = ibmmq.MD(Format=CMQC.MQFMT_STRING, CodedCharSetId=UTF_8)
        topic.pub(line.rstrip("\n").encode(), md)
    topic.close()
    qmgr.disconnect()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
