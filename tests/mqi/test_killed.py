"""A program that is killed: what it held is given back, as after a backout."""

import os
import subprocess
import sys
from pathlib import Path

import ibmmq
import pytest
from ibmmq import CMQC

from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL, conname, reason_of
from tests.support.monitored_site import await_that

TOP = Path(__file__).parents[2]
HOLDS = """
import sys
import ibmmq
from ibmmq import CMQC

qmgr = ibmmq.QueueManager("")
options = CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_BROWSE
queue = ibmmq.Queue(qmgr, "ORDERS", options)
aside = ibmmq.Queue(qmgr, "ASIDE", CMQC.MQOO_INPUT_EXCLUSIVE)
aside_too = ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT)
gmo = ibmmq.GMO(Options=getattr(CMQC, sys.argv[1]) | getattr(CMQC, sys.argv[2]))
print(queue.get(None, ibmmq.MD(), gmo).decode())
qmgr.put1("REPLIES", "never", ibmmq.MD(), aside_too)
print("holds it", flush=True)
sys.stdin.read()
"""


def kill_what_holds(manager: TestQueueManager, *options: str) -> None:
    """Have a program hold the first message, a queue, and a put; then kill it."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, (TOP, TOP / "adapter" / "toplevel"))),
        "MQSERVER": f"{CHANNEL}/TCP/{conname(manager)}",
    }
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as holder:
        assert holder.stdout is not None
        assert [holder.stdout.readline() for _ in range(2)] == ["first\n", "holds it\n"]
        qmgr = ibmmq.connect("QM1", CHANNEL, conname(manager))
        queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED)
        with pytest.raises(ibmmq.MQMIError) as refused:
            ibmmq.Queue(qmgr, "ASIDE", CMQC.MQOO_INPUT_SHARED)
        assert reason_of(refused) == CMQC.MQRC_OBJECT_IN_USE
        assert queue.get() == b"second", "the first is not to be had"
        qmgr.disconnect()
        holder.kill()
    with manager.connect() as other:
        await_that(lambda: other.queue("ORDERS").status().open_input_count == 0)


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (("MQGMO_SYNCPOINT", "MQGMO_NO_WAIT"), 1),
        (("MQGMO_BROWSE_FIRST", "MQGMO_LOCK"), 0),
    ],
    ids=["got in a unit", "locked by a browse"],
)
def test_what_a_program_held_comes_back(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager, options: tuple[str, str], count: int
) -> None:
    """To its place. A get in a unit counts as one that was backed out; a browse never does."""
    with manager.connect() as other:
        for body in ("first", "second", "third"):
            other.put("ORDERS", body)
    kill_what_holds(manager, *options)
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED)
    found = [ibmmq.MD(), ibmmq.MD()]
    assert [queue.get(None, md) for md in found] == [b"first", b"third"]
    assert [md.BackoutCount for md in found] == [count, 0]
    ibmmq.Queue(qmgr, "ASIDE", CMQC.MQOO_INPUT_EXCLUSIVE).close()
    with pytest.raises(ibmmq.MQMIError) as refused:
        ibmmq.Queue(qmgr, "REPLIES", CMQC.MQOO_INPUT_SHARED).get()
    assert reason_of(refused) == CMQC.MQRC_NO_MSG_AVAILABLE
