"""The same process full of clients, through IBM's package: `python -m benchmarks.ibmmq_clients`.

The package lies in this environment without IBM's client, so it works over `ibmmqc`. What is
measured is its calls as its users write them: a descriptor and options made for each of them.
"""

from __future__ import annotations

import threading
import time

import ibmmq
from ibmmq import CMQC

from benchmarks.clients import BODY, Task, Work, names, repeat, run

CHANNEL = "DEV.APP.SVRCONN"
OPEN = CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT
ROOM = 4096


def put(queue: ibmmq.Queue) -> None:
    """Put one persistent message in the unit of work."""
    queue.put(
        BODY,
        ibmmq.MD(Persistence=CMQC.MQPER_PERSISTENT),
        ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT),
    )


def get(queue: ibmmq.Queue) -> None:
    """Get one message in the unit of work."""
    body = queue.get(ROOM, ibmmq.MD(), ibmmq.GMO(Options=CMQC.MQGMO_SYNCPOINT))
    assert len(body) == len(BODY)


def round_trip(qmgr: ibmmq.QueueManager, queue: ibmmq.Queue) -> float:
    """A unit of two puts and a unit of two gets, each verb its own call; the put commit's ms."""
    put(queue)
    put(queue)
    began = time.perf_counter()
    qmgr.commit()
    took = time.perf_counter() - began
    get(queue)
    get(queue)
    qmgr.commit()
    return took * 1000


def round_trips(task: Task, number: int, go: threading.Barrier, work: list[Work]) -> None:
    """One client: warm up, then round trips until the time is over."""
    host, port = task.address.rsplit(":", 1)
    qmgr = ibmmq.connect(None, CHANNEL, f"{host}({port})")
    (name,) = names(task, number)
    queue = ibmmq.Queue(qmgr, name, OPEN)
    repeat(lambda: round_trip(qmgr, queue), task, go, work)
    qmgr.disconnect()


if __name__ == "__main__":
    run({"rt": round_trips})
