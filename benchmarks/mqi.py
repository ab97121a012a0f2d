"""What programs of IBM's package do a second, beside the SDK, and beside raw Kafka.

Both do the same: a unit of two puts and a unit of two gets, each verb a request of its own.
"""

from __future__ import annotations

import adapter
from benchmarks import raw
from benchmarks.results import Row, Rows, show
from benchmarks.stack import queue_manager
from benchmarks.verbs import round_trips

RUNS = 3
SECONDS = 5.0
PROGRAM = "ibmmq_clients"
CLIENTS = {1: (1, 1), 64: (4, 16)}
"""Processes, and threads of each."""


def measure(bootstrap: str) -> Rows:
    """Round trips of 1 and of 64 clients of each kind, in turn."""
    rows = {
        "F": Row("raw idempotent produce + flush (F)", "/s"),
        "SDK1": Row("round trips, SDK, 1 client", "RT/s", against="F"),
        "MQI1": Row("round trips, ibmmq, 1 client", "RT/s", against="SDK1", at_least=0.5),
        "SDK64": Row("round trips, SDK, 64 clients", "RT/s", against="F"),
        "MQI64": Row("round trips, ibmmq, 64 clients", "RT/s", against="SDK64", at_least=0.3),
    }
    with queue_manager(bootstrap, "MQI") as address:
        with adapter.connect(address) as qm:
            qm.define_queue("RT")
        for run in range(RUNS):
            raw.create_topic(bootstrap, f"raw-mqi-{run}")
            rows["F"].note(*raw.appends_per_second(bootstrap, f"raw-mqi-{run}", 3))
            for clients, (processes, threads) in CLIENTS.items():
                ours = round_trips(address, "RT", processes, threads, seconds=SECONDS)
                rows[f"SDK{clients}"].note(ours.rate, ours.cpu_us)
                theirs = round_trips(
                    address, "RT", processes, threads, seconds=SECONDS, program=PROGRAM
                )
                rows[f"MQI{clients}"].note(theirs.rate, theirs.cpu_us)
            show(rows, f"after run {run + 1} of {RUNS}")
    return rows
