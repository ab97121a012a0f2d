"""A worker of the demo, a process of its own, of a crew that the trigger monitor has started.

It takes flights in units and puts a result for each into FLIGHTS.DONE in the same unit. A flight
that never departed cannot be processed: the unit is backed out; the flight comes again, alone, and
at the threshold it is set aside. SIGTERM ends it; a last line of JSON says what it did.
"""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading
from types import FrameType
from typing import Any

import msgspec
from msgspec import Struct

import adapter
from mqk_demo import queues
from mqk_demo.flights import result_of


class WorkerTally(Struct):
    """What a worker did. failed: units that were backed out, most for a flight that cannot be
    processed; lost: those of them that were on their way when the queue manager went.
    """

    units: int = 0
    done: int = 0
    failed: int = 0
    lost: int = 0


class CannotProcessError(Exception):
    """The flight never departed: there is nothing to work out."""


def work(source: adapter.Queue, results: adapter.Queue) -> WorkerTally:
    """Handle flights until the source is closed."""
    tally = WorkerTally()
    for unit in source.units(size=queues.UNIT_SIZE):
        refused = False
        with unit:
            try:
                results.put_many(map(result_message, unit.messages))
            except CannotProcessError:
                refused = True
                raise
        if unit.failed:
            tally.failed += 1
            tally.lost += not refused
        else:
            tally.units += 1
            tally.done += len(unit.messages)
    return tally


def result_message(flight: adapter.Message) -> adapter.Message:
    """The result of a flight, as urgent as the flight."""
    try:
        result = result_of(flight.body.decode())
    except ValueError as problem:
        raise CannotProcessError(str(problem)) from problem
    return adapter.Message(
        result.encode(),
        priority=flight.priority,
        persistent=True,
        correlation_id=flight.correlation_id,
    )


def close_when_told(stop: threading.Event, source: adapter.Queue) -> None:
    """Closing the queue from another thread ends the loop over its units."""
    stop.wait()
    source.close()


def main() -> int:
    """Work until SIGTERM."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--address", required=True)
    parser.add_argument("--queue", required=True)
    given = parser.parse_args()
    logging.getLogger("adapter.client").setLevel(logging.ERROR)  # each backout would be a warning
    stop = threading.Event()

    def told(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, told)
    with adapter.connect(
        given.address, application="demo worker", reconnect_timeout_s=queues.AWAY_MAX_S
    ) as qm:
        source = qm.queue(given.queue)
        threading.Thread(target=close_when_told, args=(stop, source), daemon=True).start()
        with qm.queue(queues.DONE, open_for="output") as results:
            tally = work(source, results)
        figures: dict[str, Any] = msgspec.structs.asdict(tally)
        figures["connection"] = qm.statistics()
    # One write: workers share their output, and print writes the end of a line by itself where
    # Python does not buffer.
    sys.stdout.write(f"{msgspec.json.encode(figures).decode()}\n")
    sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
