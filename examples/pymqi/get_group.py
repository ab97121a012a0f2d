"""Get whole groups from a queue, each as one unit of work and one line, until none comes.

Usage: python get_group.py ORDERS [SECONDS]

A group that is not all there is not begun: that is MQGMO_ALL_MSGS_AVAILABLE. Its messages come in
their order, with nothing in between: that is MQGMO_LOGICAL_ORDER.
"""

import sys

import pymqi
from pymqi import CMQC

OPTIONS = (
    CMQC.MQGMO_WAIT
    | CMQC.MQGMO_SYNCPOINT
    | CMQC.MQGMO_ALL_MSGS_AVAILABLE
    | CMQC.MQGMO_LOGICAL_ORDER
)
LAST = (CMQC.MQGS_LAST_MSG_IN_GROUP, CMQC.MQGS_NOT_IN_GROUP)


def next_group(queue: pymqi.Queue, wait_ms: int) -> list[str]:
    gmo = pymqi.GMO(
        Version=CMQC.MQGMO_VERSION_2,
        Options=OPTIONS,
        MatchOptions=CMQC.MQMO_NONE,
        WaitInterval=wait_ms,
    )
    lines: list[str] = []
    while not lines or gmo.GroupStatus not in LAST:
        md = pymqi.MD(Version=CMQC.MQMD_VERSION_2)
        lines.append(queue.get(None, md, gmo).decode())
    return lines


def main(name: str, seconds: str = "5") -> None:
    qmgr = pymqi.QueueManager("")  # where MQSERVER says: CHANNEL/TCP/HOST(PORT)
    queue = pymqi.Queue(qmgr, name, CMQC.MQOO_INPUT_SHARED)
    try:
        while True:
            print(", ".join(next_group(queue, int(float(seconds) * 1000))))
            qmgr.commit()
    except pymqi.MQMIError as error:
        if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
            raise
    queue.close()
    qmgr.disconnect()


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
