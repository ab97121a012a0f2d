"""Publish every line of the standard input on a topic.

Usage: python publish.py prices/fruit <prices.txt
"""

import sys

import pymqi
from pymqi import CMQC


def main(topic_string: str) -> None:
    qmgr = pymqi.QueueManager("")  # where MQSERVER says: CHANNEL/TCP/HOST(PORT)
    topic = pymqi.Topic(qmgr, topic_string=topic_string)
    topic.open(open_opts=CMQC.MQOO_OUTPUT)
    for line in sys.stdin:
        topic.pub(line.rstrip("\n"), pymqi.MD(Format=CMQC.MQFMT_STRING))
    topic.close()
    qmgr.disconnect()


if __name__ == "__main__":
    main(sys.argv[1])
