"""`make soak`: what abuse.py has, and what drivers.py has; then hundreds of kills of the queue
manager and of brokers. Messages travel between two queue managers that are killed, too.

On one broker and on three with three replicas each; soaking.py says what is judged.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from adapter.localkafka import LocalKafka
from tests.soak import abuse
from tests.soak.drivers import drivers
from tests.soak.soaking import Plan, soak
from tests.soak.travelling import Travel, travel


def show(text: str) -> None:
    """Say how far it is."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def main() -> None:
    """Run everything, the long part on one broker and then on three."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="of the queue manager")
    parser.add_argument("--in-transaction", type=int, help="of them; a tenth, if not said")
    parser.add_argument("--broker-kills", type=int, help="a tenth, if not said")
    parser.add_argument("--brokers", type=int, nargs="*", default=[1, 3])
    parser.add_argument("--away-s", type=float, default=60.0, help="Kafka, under load")
    parser.add_argument("--connections", type=int, default=10_000, help="opened and dropped")
    parser.add_argument("--driver-kills", type=int, default=10, help="of Spark's driver")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    show(f"seed {options.seed}")
    abuse.away(options.away_s, show)
    abuse.crowd(options.connections, show)
    if options.driver_kills:
        drivers(options.driver_kills, options.seed, show)
    with TemporaryDirectory() as folder, LocalKafka() as kafka:
        way = Travel(messages=200 * options.kills, kills=options.kills // 4, seed=options.seed)
        travel(way, ("QMA", "QMB"), kafka.bootstrap_servers, Path(folder), show)
    tenth = -(-options.kills // 10)
    for brokers in options.brokers:
        plan = Plan(
            brokers=brokers,
            kills=options.kills,
            in_transaction=tenth if options.in_transaction is None else options.in_transaction,
            broker_kills=tenth if options.broker_kills is None else options.broker_kills,
            seed=options.seed,
        )
        counts = soak(plan, lambda text: show(f"{text} kills"))
        show(f"{brokers} brokers: {counts}")


if __name__ == "__main__":
    main()
