"""`make bench`: measure everything beside raw Kafka, print tables, write results.json.

`python -m benchmarks PART ...` measures some parts only, and leaves the figures of the others.
"""

from __future__ import annotations

import argparse
import functools
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from adapter.localkafka import LocalKafka
from benchmarks import (
    activations,
    cpu,
    cursors,
    cut_off,
    dialogs,
    failover,
    failover_brokers,
    instructions,
    lag,
    latency,
    mqi,
    network,
    objects,
    peers,
    queues,
    scale,
    secured,
    spark,
    switching,
    topics,
    triggers,
    verbs,
    web,
)
from benchmarks.results import RESULTS, Rows, is_met, save, show, target

FSYNC = {"log.flush.interval.messages": "1"}


class Part(Struct, frozen=True):
    """What is measured together, on brokers of its own.

    brokers: 0: it starts its own. settings: of the brokers. low_pause: whether collections of
    garbage must not stop them. versions: of what else is measured. adds: whether runs can be added.
    breaks_brokers: it is given Kafka itself, and not only its addresses. amounts: options that it
    takes as arguments.
    """

    measure: Callable[..., Rows]
    about: str
    brokers: int = 1
    settings: Mapping[str, str] = {}
    low_pause: bool = False
    versions: Callable[[], Mapping[str, str]] = dict
    adds: bool = False
    breaks_brokers: bool = False
    amounts: tuple[str, ...] = ()


PARTS = {
    "verbs": Part(verbs.measure, "round trips, put and get, beside raw Kafka"),
    "instructions": Part(instructions.measure, instructions.ABOUT, versions=instructions.versions),
    "cpu": Part(cpu.measure, "CPU of a round trip by process"),
    "secured": Part(secured.measure, secured.ABOUT),
    "peers": Part(
        functools.partial(peers.measure, fsync=False),
        "RabbitMQ, Artemis and Kafka alone",
        versions=peers.versions,
        adds=True,
    ),
    "peers-fsync": Part(
        functools.partial(peers.measure, fsync=True),
        "the same, with fsync before every answer",
        settings=FSYNC,
        versions=peers.versions,
        adds=True,
    ),
    "latency": Part(
        latency.measure,
        "put to get at a fixed rate, beside RabbitMQ and Artemis",
        low_pause=True,
        versions=peers.versions,
    ),
    "mqi": Part(mqi.measure, "round trips of ibmmq beside the SDK"),
    "triggers": Part(triggers.measure, "from a put to its trigger message"),
    "queues": Part(queues.measure, "1, 10 and 200 busy queues"),
    "network": Part(network.measure, "from one queue manager to another, beside Kafka alone"),
    "topics": Part(topics.measure, "from a topic to a topic, beside a loop of Kafka transactions"),
    "activations": Part(activations.measure, "messages that activate triggers of MSMQ"),
    "objects": Part(
        objects.measure, "10,000 queues of MSMQ, 1,000 cursors, 1,000 waiting receives"
    ),
    "cursors": Part(cursors.measure, "a walk over a million messages of MSMQ"),
    "dialogs": Part(dialogs.measure, "dialogs of Service Broker, beside plain queues"),
    "switching": Part(switching.measure, "switch intervals of the server"),
    "replicated": Part(verbs.measure_replicated, "3 brokers, replication 3", brokers=3),
    "lag": Part(lag.measure, "movers under full load for two minutes"),
    "spark": Part(spark.measure, "what Spark reads of queues, beside plain Kafka"),
    "web": Part(web.measure, "a web service of FastAPI, and how late its loop is"),
    "scale": Part(scale.measure, "a million messages waiting"),
    "failover": Part(failover.measure, failover.ABOUT, amounts=("trials", "waiting")),
    "failover-cut-off": Part(cut_off.measure, cut_off.ABOUT, brokers=0, amounts=("trials",)),
    "failover-brokers": Part(
        failover_brokers.measure,
        failover_brokers.ABOUT,
        brokers=3,
        breaks_brokers=True,
        amounts=("trials",),
    ),
}


def run(
    name: str, against: Path | None, *, add: bool, amounts: Mapping[str, int | None]
) -> list[str]:
    """Measure one part; says what is short of its target. amounts: None for the part's own."""
    part = PARTS[name]
    wanted = {key: amounts[key] for key in part.amounts if amounts[key] is not None}
    measure = functools.partial(part.measure, **wanted)
    if against is not None:
        measure = functools.partial(measure, against=against)
    if add:
        measure = functools.partial(measure, runs=1, earlier=name)
    began = time.monotonic()
    print(f"\n{name}: {part.about}", file=sys.stderr, flush=True)
    if part.brokers:
        brokers = LocalKafka(part.brokers, settings=part.settings, low_pause=part.low_pause)
        with brokers as kafka:
            rows = measure(kafka if part.breaks_brokers else kafka.bootstrap_servers)
    else:
        rows = measure()
    if against is None and rows:
        save(name, rows, part.versions())
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
    parser.add_argument(
        "--against", type=Path, help="a checkout that the part cpu measures too, in turn"
    )
    parser.add_argument(
        "--add", action="store_true", help="one run more of the parts peers and peers-fsync"
    )
    parser.add_argument("--trials", type=int, help="of each fault, in the failover parts")
    parser.add_argument("--waiting", type=int, help="messages on each of 10 queues, in failover")
    given = parser.parse_args()
    if given.against and given.parts != ["cpu"]:
        parser.error("--against goes with the part cpu, alone")
    if given.add and not all(name in PARTS and PARTS[name].adds for name in given.parts or [""]):
        parser.error("--add goes with the parts peers and peers-fsync")
    against = given.against and given.against.resolve()
    amounts = {"trials": given.trials, "waiting": given.waiting}
    short = [
        text
        for name in given.parts or list(PARTS)
        for text in run(name, against, add=given.add, amounts=amounts)
    ]
    if not against:
        print(f"\nwritten to {RESULTS.name}", file=sys.stderr)
    for text in short:
        print(f"short of its target: {text}", file=sys.stderr)


def told() -> str:
    """Say which parts there are."""
    return "; ".join(f"{name}: {part.about}" for name, part in PARTS.items())


if __name__ == "__main__":
    main()
