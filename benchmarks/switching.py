"""What the server's switch interval costs and brings: how long a thread keeps the interpreter.

The loop's thread shares it with those of the Kafka clients. Python's own is 5 ms.
"""

from __future__ import annotations

import statistics

import adapter
from benchmarks.results import Row, Rows, show
from benchmarks.stack import queue_manager
from benchmarks.verbs import round_trips

RUNS = 3
SECONDS = 4.0
INTERVALS_MS = (5.0, 1.0, 0.1, 0.01)
SHIPPED_MS = 0.1


def measure(bootstrap: str) -> Rows:
    """Round trips of 1 and of 64 clients at each setting, in turn."""
    rows: Rows = {}
    shipped = f"RT64-{SHIPPED_MS:g}"
    for ms in INTERVALS_MS:
        rows[f"P50-{ms:g}"] = Row(f"commit of two puts, 1 client, p50, {ms:g} ms", "ms")
        against = "" if ms == SHIPPED_MS else shipped
        rows[f"RT64-{ms:g}"] = Row(f"round trips, 64 clients, {ms:g} ms", "RT/s", against=against)
        rows[f"P64-{ms:g}"] = Row(f"commit of two puts, 64 clients, p50, {ms:g} ms", "ms")
    for run in range(RUNS):
        for ms in INTERVALS_MS:
            name = f"SWITCH{INTERVALS_MS.index(ms)}.{run}"
            with queue_manager(bootstrap, name, switch_interval_ms=ms) as address:
                with adapter.connect(address) as qm:
                    qm.define_queue("RT")
                one = round_trips(address, "RT", 1, 1, seconds=SECONDS)
                many = round_trips(address, "RT", 4, 16, seconds=SECONDS)
            rows[f"P50-{ms:g}"].runs.append(statistics.median(one.work[0].put_commit_ms))
            rows[f"RT64-{ms:g}"].note(many.rate, many.cpu_us)
            commits = [took for work in many.work for took in work.put_commit_ms]
            rows[f"P64-{ms:g}"].runs.append(statistics.median(commits))
        show(rows, f"after run {run + 1} of {RUNS}")
    return rows
