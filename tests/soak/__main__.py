"""`make soak`: copy in units while the owner and the brokers are killed, again and again.

For one broker and for three with three replicas each: every number is on the target once, each lane
is in order, every unit is what its copier was told, and backouts are the copier's own. Half of the
kills meet a commit whose request is held, half one whose reply is. Before that: what abuse.py has.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

from adapter.localkafka import LocalKafka
from tests.acceptance.copier import SOURCE, TARGET
from tests.acceptance.test_copier import (
    Scene,
    check_once_each,
    check_units,
    lanes_of,
    numbered,
)
from tests.soak import abuse
from tests.support.commit_trap import Where

MESSAGES_PER_KILL = 100
COMMITS_BETWEEN = 5
PUT_UNIT = 25
WHERE: tuple[Where, Where] = ("request", "reply")


def soak(brokers: int, kills: int, broker_kills: int, seed: int) -> None:
    """Run once on a cluster of its own; raises AssertionError for whatever is off."""
    chance = random.Random(seed)
    with ExitStack() as ends:
        folder = Path(ends.enter_context(tempfile.TemporaryDirectory()))
        kafka = ends.enter_context(LocalKafka(brokers=brokers))
        scene = Scene(kafka, f"SOAK{brokers}", folder, ends)
        for queue in (SOURCE, TARGET):
            scene.qm.define_queue(queue, max_depth=999_999_999)
        count = kills * MESSAGES_PER_KILL
        messages = numbered(count, seed)
        source = scene.qm.queue(SOURCE)
        source.put_many(islice(messages, MESSAGES_PER_KILL), unit_size=PUT_UNIT)
        scene.start_copier(seed, "--impatient")
        every = max(1, kills // broker_kills) if broker_kills else kills + 1
        for number in range(kills):
            scene.trap.await_commits(COMMITS_BETWEEN)
            scene.kill(WHERE[number % 2])
            if number % every == every - 1:
                broker = chance.randint(1, brokers)
                kafka.kill(broker)
                kafka.start(broker)
            source.put_many(islice(messages, MESSAGES_PER_KILL), unit_size=PUT_UNIT)
            show(f"{number + 1} of {kills} kills, {brokers} brokers")
        journal = scene.stop_copiers()
        target = check_once_each(scene, count, seed)
        for lane, numbers in lanes_of(target).items():
            assert numbers == sorted(numbers), f"lane {lane} is out of order"
        check_units(scene, journal, target)
        unanswered = sum(bool(kill.unanswered.units) for kill in scene.kills)
        assert unanswered >= kills // 2, f"only {unanswered} kills met a commit unanswered"
        show(
            f"{brokers} brokers: {count:,} messages once and in order through {kills} kills, "
            f"{unanswered} with a commit unanswered, {broker_kills} of brokers; "
            f"{len(journal.in_doubt)} units were in doubt"
        )


def show(text: str) -> None:
    """Say how far it is."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def main() -> None:
    """Run on one broker, then on three."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="of the queue manager")
    parser.add_argument("--broker-kills", type=int, default=20)
    parser.add_argument("--brokers", type=int, nargs="*", default=[1, 3])
    parser.add_argument("--away-s", type=float, default=60.0, help="Kafka, under load")
    parser.add_argument("--connections", type=int, default=10_000, help="opened and dropped")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    show(f"seed {options.seed}")
    abuse.away(options.away_s, show)
    abuse.crowd(options.connections, show)
    for brokers in options.brokers:
        soak(brokers, options.kills, options.broker_kills, options.seed)


if __name__ == "__main__":
    main()
