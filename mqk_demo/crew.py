"""What the trigger monitor starts when flights wait: `python -m mqk_demo.crew MQTMC2`.

So many workers as the process definition's USERDATA says, each a process of its own on the queue
that the trigger message names. SIGTERM ends them; if one ends by itself, so do the others, and the
queue manager has a new crew started. It must not know what a worker does.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType

from adapter.host import launch
from adapter.mqi import TriggerMessage
from mqk_demo import queues

LOOK_S = 0.05


def main() -> int:
    """Run the crew until SIGTERM; the status is 0 if every worker's was."""
    trigger = TriggerMessage.from_argv(sys.argv)
    stop = threading.Event()

    def told(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, told)
    command = launch.python(
        "-m", "mqk_demo.worker", "--address", os.environ["MQK_QMGR"], "--queue", trigger.queue
    )
    crew = [launch.start(command, output=None) for _ in range(int(trigger.user_data))]
    while all(worker.exit_status() is None for worker in crew) and not stop.wait(LOOK_S):
        continue
    for worker in crew:
        worker.ask_to_end()
    statuses = [_end_of(worker) for worker in crew]
    return int(any(statuses))


def _end_of(worker: launch.Child) -> int:
    """Wait for the end of a worker that was told to, and only once: its next SIGTERM might find it
    where Python has given its handlers up. What does not end is killed.
    """
    worker.wait(queues.WORKER_GRACE_S)
    return worker.kill()


if __name__ == "__main__":
    sys.exit(main())
