"""Round trips and batches of RabbitMQ, Artemis, Kafka alone and ours, in turn in one run.

What is durable is so in the same sense for all: with fsync before an answer, or in the system's
page cache.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

from benchmarks import raw
from benchmarks.peers.variants import Amount, Variant, running
from benchmarks.results import Row, Rows, add_earlier, ratio, show

RUNS = 3
BASE = "kafka"
AMOUNT = Amount()
AGAIN = 1_000
"""Added to the number of a run for what is measured once more: topics are named by it."""
Measured = TypeVar("Measured")


def measure(
    bootstrap: str, *, fsync: bool, runs: int = RUNS, earlier: str = "", amount: Amount = AMOUNT
) -> Rows:
    """Every variant in turn, in every other run backwards.

    earlier: the part of results.json whose runs these are added to.
    """
    with running(bootstrap, amount, fsync=fsync) as variants:
        rows = {"F": Row("raw idempotent produce + flush (F)", "/s")}
        rows |= dict(row for variant in variants for row in rows_of(variant, amount))
        if earlier:
            add_earlier(earlier, rows)
        done = len(rows["F"].runs)
        for run in range(done, done + runs):
            raw.create_topic(bootstrap, f"F-{run}")
            rows["F"].note(*raw.appends_per_second(bootstrap, f"F-{run}", amount.seconds))
            for variant in variants[:: -1 if run % 2 else 1]:
                measure_once(variant, run, rows, amount)
            show(rows, f"after run {run + 1} of {done + runs}")
        print(f"\n{table(rows, variants, amount)}", file=sys.stderr, flush=True)
    return rows


def rows_of(variant: Variant, amount: Amount) -> Iterator[tuple[str, Row]]:
    """The figures of a variant, measured against Kafka alone."""
    for clients in amount.clients:
        what, against = f"RT{clients}", f"{BASE}-RT{clients}"
        yield (
            f"{variant.key}-{what}",
            Row(f"{variant.name}: {clients} clients", "RT/s", against=_other(variant, against)),
        )
    yield (
        f"{variant.key}-PG",
        Row(f"{variant.name}: batches", "msg/s", against=_other(variant, f"{BASE}-PG")),
    )


def _other(variant: Variant, key: str) -> str:
    return "" if variant.key == BASE else key


def measure_once(variant: Variant, run: int, rows: Rows, amount: Amount) -> None:
    """Each number of clients, then batches."""
    for clients in amount.clients:
        done = _again(partial(variant.round_trips, clients), run, variant.name)
        rows[f"{variant.key}-RT{clients}"].note(done.rate, done.cpu_us)
    rows[f"{variant.key}-PG"].note(*_again(variant.put_then_get, run, variant.name))


def _again(measure: Callable[[int], Measured], run: int, name: str) -> Measured:
    """Measure, and once more if a client has failed: a machine that stands still for many seconds
    lets any of them time out. run: names topics and queues.
    """
    try:
        return measure(run)
    except RuntimeError as error:
        print(f"{name}: {error}; measured again", file=sys.stderr, flush=True)
        return measure(run + AGAIN)


def table(rows: Rows, variants: list[Variant], amount: Amount) -> str:
    """The medians, and their ratios to F and to Kafka alone, as a table of Markdown."""
    heads = [f"RT/s, {clients}" for clients in amount.clients] + ["batches, msg/s"]
    lines = [
        "| | atomic | " + " | ".join(heads) + " |",
        "|---|---|" + "---|" * len(heads),
    ]
    for variant in variants:
        keys = [*(f"RT{clients}" for clients in amount.clients), "PG"]
        cells = [cell(rows, rows[f"{variant.key}-{key}"]) for key in keys]
        atomic = "yes" if variant.atomic else "no"
        lines.append(f"| {variant.name} | {atomic} | {' | '.join(cells)} |")
    return "\n".join(lines)


def cell(rows: Rows, row: Row) -> str:
    """A median, its ratio to F and its ratio to Kafka alone."""
    of_f = ratio(rows, Row(row.name, row.unit, row.runs, against="F"))
    of_kafka = ratio(rows, row)
    words = [f"{row.median:,.0f}"]
    if row.unit == "RT/s" and of_f is not None:
        words.append(f"{of_f:.2f} F")
    if of_kafka is not None:
        words.append(f"{of_kafka:.2f} K")
    return " · ".join(words)
