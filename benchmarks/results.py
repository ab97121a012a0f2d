"""Figures: their runs, what they are measured against, the table, and results.json."""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import confluent_kafka
import fastavro
import msgspec
from msgspec import Struct

RESULTS = Path(__file__).with_name("results.json")


class Row(Struct):
    """One figure: its runs, the figure it is measured against, and what it is to come to.

    at_least, at_most: of the ratio to the figure against. limit: the most that the median may be.
    worst: the most that 99 of 100 runs may be. none: it is to be 0 in all runs.
    cpu_us: what each role used for one operation, for each run.
    """

    name: str
    unit: str
    runs: list[float] = []
    against: str = ""
    at_least: float = 0.0
    at_most: float = 0.0
    limit: float = 0.0
    worst: float = 0.0
    none: bool = False
    cpu_us: dict[str, list[float]] = {}

    def note(self, value: float, cpu_us: Mapping[str, float]) -> None:
        """Add a run, and what an operation of it cost."""
        self.runs.append(value)
        for role, us in cpu_us.items():
            self.cpu_us.setdefault(role, []).append(us)

    @property
    def median(self) -> float:
        """The figure to quote."""
        return statistics.median(self.runs)


Rows = dict[str, Row]


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the value that so many of a hundred do not exceed."""
    found = sorted(values)
    return found[max(0, math.ceil(len(found) * percent / 100) - 1)]


def ratio(rows: Rows, row: Row) -> float | None:
    """Return the median of the ratios, run by run; None while there are none."""
    base = rows[row.against].runs if row.against else []
    if not base or len(base) != len(row.runs):
        return None
    return round(statistics.median(a / b for a, b in zip(row.runs, base, strict=True)), 3)


def target(row: Row) -> str:
    """Say what a figure is to come to."""
    told = [
        f"at least {row.at_least} of {row.against}" if row.at_least else "",
        f"at most {row.at_most} of {row.against}" if row.at_most else "",
        f"at most {row.limit:g} {row.unit}" if row.limit else "",
        f"at most {row.worst:g} {row.unit} in 99 of 100 runs" if row.worst else "",
        "none" if row.none else "",
    ]
    return ", ".join(filter(None, told))


def is_met(rows: Rows, row: Row) -> bool:
    """Whether a figure is what it is to be."""
    found = ratio(rows, row)
    if (row.limit and row.median > row.limit) or (row.none and any(row.runs)):
        return False
    if row.worst and percentile(row.runs, 99) > row.worst:
        return False
    if found is None:
        return True
    return found >= row.at_least and (not row.at_most or found <= row.at_most)


def show(rows: Rows, title: str) -> None:
    """Print the table."""
    print(f"\n{title}", file=sys.stderr)
    for row in filter(lambda row: row.runs, rows.values()):
        found = ratio(rows, row)
        compared = f"{found:6.2f} of {row.against}" if found is not None else ""
        missed = "" if is_met(rows, row) else f"  SHORT OF {target(row)}"
        print(
            f"  {row.name:52} {row.median:10.2f} {row.unit:6} {compared}{missed}", file=sys.stderr
        )
        if row.cpu_us:
            print(f"      CPU of each, us: {cpu(row)}", file=sys.stderr)
    sys.stderr.flush()


def cpu(row: Row) -> str:
    """Say what one operation cost each role."""
    medians = {role: statistics.median(us) for role, us in row.cpu_us.items()}
    return ", ".join(f"{role} {us:,.0f}" for role, us in sorted(medians.items()))


def add_earlier(part: str, rows: Rows) -> None:
    """Put the runs that results.json has of a part before those of the rows."""
    told = json.loads(RESULTS.read_text())["parts"].get(part, {})
    for key in rows.keys() & told.keys():
        rows[key].runs[:0] = told[key]["runs"]
        for role, earlier in told[key]["cpu_us_runs"].items():
            rows[key].cpu_us.setdefault(role, [])[:0] = earlier


def save(part: str, rows: Rows, versions: Mapping[str, str]) -> None:
    """Write the figures of one part; those of the others stay as they are.

    versions: of what else was measured.
    """
    told: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    told["machine"] = machine()
    told.setdefault("measured", {})[part] = {
        "date": datetime.now(UTC).date().isoformat(),
        **versions,
    }
    told.setdefault("parts", {})[part] = {
        key: {
            "name": row.name,
            "unit": row.unit,
            "median": round(row.median, 3),
            "runs": [round(value, 3) for value in row.runs],
            "ratio": ratio(rows, row),
            "target": target(row) or None,
            "cpu_us": {role: round(statistics.median(us), 1) for role, us in row.cpu_us.items()},
            "cpu_us_runs": {
                role: [round(value, 1) for value in us] for role, us in row.cpu_us.items()
            },
        }
        for key, row in rows.items()
    }
    RESULTS.write_text(json.dumps(told, indent=2) + "\n")


def machine() -> dict[str, Any]:
    """Say on what it was measured."""
    return {
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "confluent_kafka": confluent_kafka.version(),
        "fastavro": fastavro.__version__,
        "msgspec": msgspec.__version__,
    }
