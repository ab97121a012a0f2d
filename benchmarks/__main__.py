"""`make bench`: medians of three, printed beside raw Kafka, written to results.json."""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
from pathlib import Path

import confluent_kafka
import fastavro
import msgspec
from msgspec import Struct

import adapter
from adapter.localkafka import LocalKafka
from benchmarks import raw, scale
from benchmarks.clients import Task, Work
from benchmarks.stack import queue_manager, run_clients

RUNS = 3
SECONDS = 10.0
MESSAGES = 60_000
RESULTS = Path(__file__).with_name("results.json")


class Row(Struct):
    """One figure: its three runs, what it is measured against, and the target of their ratio."""

    name: str
    runs: list[float]
    unit: str
    against: str = ""
    target: float = 0.0

    @property
    def median(self) -> float:
        """The figure to quote."""
        return statistics.median(self.runs)


def round_trips(address: str, queue: str, processes: int, threads: int) -> list[Work]:
    """Run clients that do round trips on one queue."""
    task = Task(address=address, kind="rt", queue=queue, threads=threads, seconds=SECONDS)
    return run_clients([task] * processes)


def put_then_get(address: str, queue: str) -> float:
    """Messages a second, all put in units of 100, then all got in units of 100."""
    seconds = 0.0
    for kind in ("put", "get"):
        task = Task(address=address, kind=kind, queue=queue, messages=MESSAGES)
        seconds += max(work.seconds for work in run_clients([task]))
    return MESSAGES / seconds


def rate(work: list[Work]) -> float:
    """Round trips a second of all clients together."""
    return sum(one.count / one.seconds for one in work)


def measure(bootstrap: str) -> list[Row]:
    """Run everything three times, raw and queue manager in turn."""
    rows = {
        "F": Row("raw idempotent produce + flush (F)", [], "/s"),
        "RT1": Row("round trips, 1 client", [], "RT/s", "F", 0.10),
        "RT64": Row("round trips, 64 clients", [], "RT/s", "F", 0.40),
        "P50": Row("commit of two puts, 1 client, p50", [], "ms"),
        "PC": Row("raw produce, then consume", [], "msg/s"),
        "PG": Row("put, then get, in units of 100", [], "msg/s", "PC", 0.30),
    }
    for run in range(RUNS):
        raw.create_topic(bootstrap, f"raw-{run}")
        rows["F"].runs.append(raw.appends_per_second(bootstrap, f"raw-{run}", 5))
        with queue_manager(bootstrap, f"BENCH{run}") as address:
            with adapter.connect(address) as qm:
                for name in ("RT1", "RT64", "PG"):
                    qm.define_queue(name)
            one = round_trips(address, "RT1", 1, 1)
            rows["RT1"].runs.append(rate(one))
            rows["P50"].runs.append(statistics.median(one[0].put_commit_ms))
            rows["RT64"].runs.append(rate(round_trips(address, "RT64", 4, 16)))
            rows["PG"].runs.append(put_then_get(address, "PG"))
        raw.create_topic(bootstrap, f"raw-pc-{run}")
        rate_raw = raw.produce_then_consume_per_second(bootstrap, f"raw-pc-{run}", MESSAGES)
        rows["PC"].runs.append(rate_raw)
        show(rows, f"after run {run + 1} of {RUNS}")
    depths = scale.measure(bootstrap)
    for one in depths:
        print(f"  {one}", file=sys.stderr)
    return finished(rows, depths)


def finished(rows: dict[str, Row], depths: list[scale.Figures]) -> list[Row]:
    """Write the results and return the rows."""
    machine = {
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "confluent_kafka": confluent_kafka.version(),
        "fastavro": fastavro.__version__,
        "msgspec": msgspec.__version__,
    }
    figures = {
        key: {
            "name": row.name,
            "unit": row.unit,
            "median": round(row.median, 3),
            "runs": [round(value, 3) for value in row.runs],
            "ratio": ratio(rows, row),
            "target": row.target or None,
        }
        for key, row in rows.items()
    }
    told = {"machine": machine, "figures": figures, "scale": msgspec.to_builtins(depths)}
    RESULTS.write_text(json.dumps(told, indent=2) + "\n")
    return list(rows.values())


def ratio(rows: dict[str, Row], row: Row) -> float | None:
    """Return the median of the ratios, run by run."""
    if not row.against:
        return None
    base = rows[row.against].runs
    return round(statistics.median(a / b for a, b in zip(row.runs, base, strict=True)), 3)


def show(rows: dict[str, Row], title: str) -> None:
    """Print the table."""
    print(f"\n{title}", file=sys.stderr)
    for row in rows.values():
        if not row.runs:
            continue
        found = (
            ratio(rows, row)
            if not row.against or len(rows[row.against].runs) == len(row.runs)
            else None
        )
        against = f"  {found:6.3f} of {row.against}, target {row.target}" if found else ""
        print(f"  {row.name:40} {row.median:10.2f} {row.unit:6}{against}", file=sys.stderr)


def main() -> None:
    """Start a broker and measure on it."""
    with LocalKafka() as kafka:
        measure(kafka.bootstrap_servers)
    print(f"written to {RESULTS.name}", file=sys.stderr)


if __name__ == "__main__":
    main()
