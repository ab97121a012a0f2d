"""How long it is from a put to its trigger message, beside how long the put itself takes.

Puts to a queue and to its triggered twin take turns, so that both meet the same machine. The
trigger message is available when a program that waits at the initiation queue has it.
"""

from __future__ import annotations

import statistics

import adapter
from benchmarks import raw
from benchmarks.clients import TRIGGERED, Task
from benchmarks.results import Row, Rows, show
from benchmarks.stack import queue_manager, run_clients

RUNS = 3
MESSAGES = 1_000
WARM_UP = 100
QUEUE = "APPL"
INITIATION = "INITQ"


def measure(bootstrap: str) -> Rows:
    """The median of a put, of a put that triggers, and until the trigger message is there."""
    rows = {
        "raw": Row("raw idempotent produce + flush, mean", "ms"),
        "put": Row("put, p50", "ms", against="raw"),
        "triggering": Row("put that triggers, p50", "ms", against="put"),
        "available": Row("put to trigger message, p50", "ms", against="put", at_most=1.5),
    }
    with queue_manager(bootstrap, "TRIGGERS") as address:
        define(address)
        for run in range(RUNS):
            raw.create_topic(bootstrap, f"raw-triggers-{run}")
            a_second, cpu_us = raw.appends_per_second(bootstrap, f"raw-triggers-{run}", 2)
            rows["raw"].note(1000 / a_second, cpu_us)
            measure_once(address, rows)
            show(rows, f"after run {run + 1} of {RUNS}")
    return rows


def define(address: str) -> None:
    """Make a queue, its triggered twin, and what the conditions ask for."""
    with adapter.connect(address) as qm:
        qm.define_queue(INITIATION)
        qm.define_process("SERVER", appl_id="server")
        qm.define_queue(QUEUE, max_depth=999_999_999)
        qm.define_queue(
            QUEUE + TRIGGERED,
            max_depth=999_999_999,
            trigger_control=True,
            trigger_type="EVERY",
            initiation_queue=INITIATION,
            process="SERVER",
        )


def measure_once(address: str, rows: Rows) -> None:
    """Put so many in turn, while a process waits at the initiation queue.

    What was put before is taken away: opening the initiation queue would trigger for it.
    """
    with adapter.connect(address) as qm:
        for name in (QUEUE, QUEUE + TRIGGERED):
            qm.queue(name).purge()
    waiting = Task(address=address, kind="arrivals", queue=INITIATION, messages=MESSAGES)
    putting = Task(address=address, kind="in turn", queue=QUEUE, messages=MESSAGES)
    done = run_clients([waiting, putting])
    arrived, plain, triggered = done.work
    began = triggered.moments_s
    until = [there - put for there, put in zip(arrived.moments_s, began, strict=True)]
    rows["put"].runs.append(statistics.median(plain.put_commit_ms[WARM_UP:]))
    rows["triggering"].runs.append(statistics.median(triggered.put_commit_ms[WARM_UP:]))
    rows["available"].note(statistics.median(until[WARM_UP:]) * 1000, done.spent.each(MESSAGES))
