"""`make soak`: what is too long for the tests of every day, in parts.

soaking.py, travelling.py, drivers.py and abuse.py say what is judged.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from adapter.localkafka import LocalKafka
from tests.soak import abuse
from tests.soak.drivers import drivers
from tests.soak.soaking import Plan, soak
from tests.soak.travelling import Travel, travel

MESSAGES_A_KILL = 500
"""One way, between two queue managers."""


def show(text: str) -> None:
    """Report progress."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def away(options: argparse.Namespace) -> None:
    """Kafka is away under load, and a crowd of clients connects."""
    abuse.away(options.away_s, show)
    abuse.crowd(options.connections, show)


def spark(options: argparse.Namespace) -> None:
    """Spark's driver is killed."""
    drivers(options.kills or 10, options.seed, show)


def network(options: argparse.Namespace) -> None:
    """Either of two queue managers is killed while messages travel both ways."""
    kills = options.kills or 50
    plan = Travel(messages=MESSAGES_A_KILL * kills, kills=kills, seed=options.seed)
    began_s = time.monotonic()
    with TemporaryDirectory() as folder, LocalKafka() as kafka:
        sent = travel(plan, ("QMA", "QMB"), kafka.bootstrap_servers, Path(folder), show)
    show(
        f"{sent:,} messages between two queue managers, each once, in order and in its unit, "
        f"through {kills} kills of either in {time.monotonic() - began_s:.0f} s"
    )


def kills(options: argparse.Namespace) -> None:
    """The queue manager and brokers are killed, on one broker and then on three."""
    count = options.kills or 200
    tenth = -(-count // 10)
    for brokers in options.brokers:
        plan = Plan(
            brokers=brokers,
            kills=count,
            in_transaction=tenth if options.in_transaction is None else options.in_transaction,
            broker_kills=tenth if options.broker_kills is None else options.broker_kills,
            seed=options.seed,
        )
        with LocalKafka(brokers) as kafka:
            counts = soak(kafka, plan, lambda text: show(f"{text} kills"))
        show(f"{brokers} brokers: {counts}")


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "away": away,
    "spark": spark,
    "network": network,
    "kills": kills,
}


def main() -> None:
    """Run the parts that are named, or all of them."""
    parts = "; ".join(f"{name}: {part.__doc__}" for name, part in PARTS.items())
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART", help=parts)
    parser.add_argument(
        "--kills",
        type=int,
        help="in each part; without it 10 of Spark's driver, 50 between queue managers, 200 of one",
    )
    parser.add_argument("--in-transaction", type=int, help="of 'kills'; a tenth, if not given")
    parser.add_argument("--broker-kills", type=int, help="a tenth, if not given")
    parser.add_argument("--brokers", type=int, nargs="*", default=[1, 3])
    parser.add_argument("--away-s", type=float, default=60.0, help="seconds without Kafka")
    parser.add_argument("--connections", type=int, default=10_000, help="opened and dropped")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    show(f"seed {options.seed}")
    for name in options.parts or list(PARTS):
        PARTS[name](options)


if __name__ == "__main__":
    main()
