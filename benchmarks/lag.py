"""Whether the movers keep up: two minutes of full load, and how far behind they are meanwhile.

Full load is messages of 200 bytes put in units of 100 and got in units of 100 at the same time:
more of them, and more bytes, than single round trips bring.
"""

from __future__ import annotations

import statistics
import threading
import time

from msgspec import Struct

import adapter
from benchmarks.clients import Task
from benchmarks.results import Row, Rows
from benchmarks.stack import caught_up_s, queue_manager, run_clients

SECONDS = 120.0
WARM_UP_S = 10.0
SAMPLE_S = 0.25
QUEUE = "LAG"


class Sample(Struct):
    """How far behind the stream mover is. time_s: since the beginning."""

    time_s: float
    entries: int
    copied: int


def measure(bootstrap: str) -> Rows:
    """The lag in entries and in time, in the first and in the last third."""
    rows = {
        "rate": Row("messages put and got at the same time", "msg/s"),
        "first": Row("lag of the mover, first 40 s, median", "ms"),
        "last": Row("lag of the mover, last 40 s, median", "ms", against="first", at_most=1.3),
        "most": Row("lag of the mover, the most there was", "ms"),
        "after": Row("all copied after the load", "s"),
    }
    with queue_manager(bootstrap, "LAG") as address:
        with adapter.connect(address) as qm:
            qm.define_queue(QUEUE, max_depth=999_999_999)
        samples: list[Sample] = []
        over = threading.Event()
        watching = threading.Thread(target=watch, args=(address, samples, over))
        watching.start()
        try:
            kinds = ("feed", "drain")
            tasks = [Task(address=address, kind=k, queue=QUEUE, seconds=SECONDS) for k in kinds]
            done = run_clients(tasks)
        finally:
            over.set()
            watching.join()
        count = min(one.count for one in done.work)
        rows["rate"].note(min(one.count / one.seconds for one in done.work), done.spent.each(count))
        rows["after"].runs.append(caught_up_s(address))
    lags = behind_ms([one for one in samples if WARM_UP_S <= one.time_s <= SECONDS])
    third = len(lags) // 3
    rows["first"].runs.append(statistics.median(lags[:third]))
    rows["last"].runs.append(statistics.median(lags[-third:]))
    rows["most"].runs.append(max(lags))
    return rows


def watch(address: str, samples: list[Sample], over: threading.Event) -> None:
    """Take samples until it is over."""
    began = time.monotonic()
    with adapter.connect(address) as qm:
        while not over.wait(SAMPLE_S):
            figures = qm.figures()
            mover = figures["movers"].get("stream")
            if mover is None:
                continue
            behind = mover["position"] + mover["lag_records"]
            samples.append(Sample(time.monotonic() - began, behind, mover["position"]))


def behind_ms(samples: list[Sample]) -> list[float]:
    """For each sample, how long ago the ledger ended where the mover is now."""
    found = []
    at = 0
    for sample in samples:
        while at < len(samples) - 1 and samples[at + 1].entries <= sample.copied:
            at += 1
        found.append(max(0.0, sample.time_s - samples[at].time_s) * 1000)
    return found
