"""`make bench`: measure everything beside raw Kafka, print tables, write results.json.

`python -m benchmarks PART ...` measures some parts only, and leaves the figures of the others.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

from msgspec import Struct

from adapter.localkafka import LocalKafka
from benchmarks import lag, mqi, queues, scale, spark, switching, triggers, verbs
from benchmarks.results import RESULTS, Rows, is_met, save, show, target


class Part(Struct, frozen=True):
    """What is measured together, on brokers of its own."""

    measure: Callable[[str], Rows]
    about: str
    brokers: int = 1


PARTS = {
    "verbs": Part(verbs.measure, "round trips, put and get, beside raw Kafka"),
    "mqi": Part(mqi.measure, "round trips of ibmmq beside the SDK"),
    "triggers": Part(triggers.measure, "from a put to its trigger message"),
    "queues": Part(queues.measure, "1, 10 and 200 busy queues"),
    "switching": Part(switching.measure, "switch intervals of the server"),
    "replicated": Part(verbs.measure_replicated, "3 brokers, replication 3", brokers=3),
    "lag": Part(lag.measure, "movers under full load for two minutes"),
    "spark": Part(spark.measure, "what Spark reads of queues, beside plain Kafka"),
    "scale": Part(scale.measure, "a million messages waiting"),
}


def run(name: str) -> list[str]:
    """Measure one part; says what is short of its target."""
    part = PARTS[name]
    began = time.monotonic()
    print(f"\n{name}: {part.about}", file=sys.stderr, flush=True)
    with LocalKafka(brokers=part.brokers) as kafka:
        rows = part.measure(kafka.bootstrap_servers)
    save(name, rows)
    show(rows, f"{name}: {part.about}, {time.monotonic() - began:.0f} s")
    return [
        f"{name}: {row.name}: {row.median:.2f} {row.unit}, to be {target(row)}"
        for row in rows.values()
        if not is_met(rows, row)
    ]


def main() -> None:
    """Measure what is asked for, or everything."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART", help=told())
    asked = parser.parse_args().parts or list(PARTS)
    short = [text for name in asked for text in run(name)]
    print(f"\nwritten to {RESULTS.name}", file=sys.stderr)
    for text in short:
        print(f"short of its target: {text}", file=sys.stderr)


def told() -> str:
    """Say which parts there are."""
    return "; ".join(f"{name}: {part.about}" for name, part in PARTS.items())


if __name__ == "__main__":
    main()
