"""The producer of the demo, a process of its own: puts every flight, in the order of the table.

Units of 100, persistent, priority from the departure delay, correlation id from the aircraft. When
the queue manager goes away half way, the SDK finds out which units are on the queue and puts the
others again, in their order.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

import adapter
from mqk_demo import queues
from mqk_demo.flights import flight_of, load


class ProducerTally(Struct):
    """What the producer did."""

    put: int
    seconds: float


def produce(queue: adapter.Queue, lines: Iterable[str]) -> ProducerTally:
    """Put every line, a unit of work for each hundred."""
    began_s = time.monotonic()
    put = queue.put_many(map(message_of, lines), unit_size=queues.UNIT_SIZE)
    return ProducerTally(put, time.monotonic() - began_s)


def message_of(line: str) -> adapter.Message:
    """A flight as a message."""
    flight = flight_of(line)
    return adapter.Message(
        line.encode(),
        priority=flight.priority,
        persistent=True,
        correlation_id=flight.correlation_id,
    )


def main() -> int:
    """Put the flights and end; a line of JSON says what was done."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--address", required=True)
    parser.add_argument("--archive", type=Path, required=True)
    parser.add_argument("--flights", type=int, required=True)
    told = parser.parse_args()
    lines = load(told.archive, told.flights)
    with adapter.connect(
        told.address, application="demo producer", reconnect_timeout_s=queues.AWAY_MAX_S
    ) as qm:
        with qm.queue(queues.IN, open_for="output") as queue:
            tally = produce(queue, lines)
        figures: dict[str, Any] = msgspec.structs.asdict(tally)
        figures["connection"] = qm.statistics()
    print(msgspec.json.encode(figures).decode(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
