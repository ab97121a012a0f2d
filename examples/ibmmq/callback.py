"""Register a function for the messages of a queue; it ends at the body "stop".

Usage: python callback.py ORDERS
"""

import sys
import threading
from typing import Any

import ibmmq
from ibmmq import CMQC

CALLED_FOR = (CMQC.MQCBCT_MSG_REMOVED, CMQC.MQCBCT_MSG_NOT_REMOVED)


def main(name: str) -> None:
    stopped = threading.Event()

    def on_message(**said: Any) -> None:
        if said["cbc"].CallType not in CALLED_FOR:
            print(f"event {said['cbc'].Reason}", file=sys.stderr)
            return
        print(f"{said['md'].Priority}: {said['msg'].decode()}", flush=True)
        if said["msg"] == b"stop":
            stopped.set()

    qmgr = ibmmq.QueueManager("")  # where MQSERVER says: CHANNEL/TCP/HOST(PORT)
    queue = ibmmq.Queue(qmgr, name, CMQC.MQOO_INPUT_SHARED)
    queue.cb(
        cbd=ibmmq.CBD(CallbackFunction=on_message),
        md=ibmmq.MD(),
        gmo=ibmmq.GMO(Options=CMQC.MQGMO_NO_SYNCPOINT),
    )
    qmgr.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    stopped.wait()
    qmgr.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())
    queue.close()
    qmgr.disconnect()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
