"""What many busy queues cost: the same 64 clients on 1, on 10 and on 200 queues.

Every queue is a topic more to copy to, and a Kafka transaction's cost grows with partitions.
"""

from __future__ import annotations

import adapter
from benchmarks.results import Row, Rows, show
from benchmarks.stack import caught_up_s, queue_manager
from benchmarks.verbs import round_trips

RUNS = 3
SECONDS = 8.0
COUNTS = (1, 10, 200)


def measure(bootstrap: str) -> Rows:
    """Round trips on all queues in turn; how long the movers need when the load has ended."""
    rows: Rows = {}
    for count in COUNTS:
        base = "" if count == COUNTS[0] else f"Q{COUNTS[0]}"
        name = f"round trips, 64 clients, {count} busy queues"
        rows[f"Q{count}"] = Row(name, "RT/s", against=base)
        rows[f"L{count}"] = Row(f"all copied after that load, {count} busy queues", "s")
    with queue_manager(bootstrap, "QUEUES") as address:
        with adapter.connect(address) as qm:
            for number in range(COUNTS[-1]):
                qm.define_queue(f"Q{number}")
        caught_up_s(address)  # 2,000 partitions are there
        for run in range(RUNS):
            for count in COUNTS:
                done = round_trips(address, "Q", 4, 16, queues=count, seconds=SECONDS)
                rows[f"Q{count}"].note(done.rate, done.cpu_us)
                rows[f"L{count}"].runs.append(caught_up_s(address))
            show(rows, f"after run {run + 1} of {RUNS}")
    return rows
