"""A process full of our clients that wait less: `python -m benchmarks.peers.sdk_clients`.

The kinds are modes, for round trips, and modes with ".batches", for units of many messages.
"""

from __future__ import annotations

import functools
import threading
import time

from msgspec import Struct

import adapter
from benchmarks.clients import BODY, Task, Work, repeat, run

WITHIN_S = 30.0
AHEAD = 8
"""Units that wait for each client, so that there is something to get ahead."""


class Mode(Struct, frozen=True):
    """How a client waits: the options of units(), and whether a commit of puts may be in flight."""

    prefetch: int = 0
    commits: int = 1


MODES = {
    "deferred": Mode(),
    "ahead": Mode(prefetch=AHEAD),
    "pipelined": Mode(prefetch=AHEAD, commits=8),
}


class Client:
    """One client: units of puts that are sent with their commit, and units of gets."""

    def __init__(self, mode: Mode, qm: adapter.Connection, queue: adapter.Queue, size: int) -> None:
        self._mode, self._qm, self._queue, self._size = mode, qm, queue, size
        self._units = queue.units(
            size=size, timeout=WITHIN_S, prefetch=mode.prefetch, commits=mode.commits
        )

    def put(self) -> None:
        """Put a unit."""
        with self._qm.unit() as unit:
            for _ in range(self._size):
                self._queue.put(BODY, wait=False)
            if self._mode.commits > 1:
                unit.commit(wait=False)

    def get(self) -> None:
        """Get as many messages; a unit may have fewer, when others get from the queue too."""
        got = 0
        while got < self._size:
            with next(self._units) as unit:
                got += len(unit.messages)

    def finish(self) -> None:
        """End the loop of units, which waits for the commits in flight."""
        self._queue.close()
        next(self._units, None)


def round_trips(
    mode: Mode, task: Task, _number: int, go: threading.Barrier, work: list[Work]
) -> None:
    """One client: round trips until the time is over."""
    with adapter.connect(task.address) as qm, qm.queue(task.queue) as queue:
        client = Client(mode, qm, queue, 2)

        def once() -> float:
            began = time.perf_counter()
            client.put()
            took = time.perf_counter() - began
            client.get()
            return took * 1000

        queue.put_many([BODY] * (2 * AHEAD))
        repeat(once, task, go, work)


def batches(mode: Mode, task: Task, _number: int, go: threading.Barrier, work: list[Work]) -> None:
    """Put so many messages in units, then get them in units."""
    with adapter.connect(task.address) as qm:
        client = Client(mode, qm, qm.queue(task.queue), task.unit_size)
        go.wait()
        began = time.perf_counter()
        for step in (client.put, client.get):
            for _ in range(task.messages // task.unit_size):
                step()
            qm.flush()
        client.finish()
        work.append(Work(task.messages, time.perf_counter() - began, []))


if __name__ == "__main__":
    run(
        {name: functools.partial(round_trips, mode) for name, mode in MODES.items()}
        | {f"{name}.batches": functools.partial(batches, mode) for name, mode in MODES.items()}
    )
