"""Clients that do a number of round trips: `python -m benchmarks.counted_clients`.

It reads a CountedTask as JSON from standard input, warms up, prints "ready", waits for a line, does
the round trips, prints "done", and waits for another line. What is between the two is counted, of
this process or of the queue manager.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping

import msgspec
from msgspec import Struct

import adapter

BODY = b"b" * 2048
WAIT_S = 60.0
PATIENT_S = 60.0
"""Between heartbeats: a process that is watched may be a hundred times slower than it is."""
AHEAD = 8


class CountedTask(Struct, frozen=True):
    """What the clients do. kind: of KINDS. warm_up, count: round trips, of all threads together."""

    address: str
    kind: str
    queue: str
    warm_up: int
    count: int
    threads: int = 1


def waiting(qm: adapter.Connection, queue: adapter.Queue) -> Iterator[None]:
    """Wait for the answer to each verb."""
    while True:
        with qm.unit():
            queue.put(BODY, priority=4)
            queue.put(BODY, priority=4)
        with qm.unit():
            assert queue.get(timeout=WAIT_S) is not None
            assert queue.get(timeout=WAIT_S) is not None
        yield


def deferred(qm: adapter.Connection, queue: adapter.Queue) -> Iterator[None]:
    """Wait for commits and for units of messages."""
    while True:
        with qm.unit():
            queue.put(BODY, priority=4, wait=False)
            queue.put(BODY, priority=4, wait=False)
        for unit in queue.units(2, timeout=WAIT_S):
            with unit:
                pass
            break
        yield


def in_flight(qm: adapter.Connection, queue: adapter.Queue) -> Iterator[None]:
    """Wait for nothing but messages: 8 units are got ahead, and 8 commits are in flight."""
    queue.put_many([BODY] * 2 * (AHEAD + 1))
    for unit in queue.units(2, timeout=WAIT_S, prefetch=AHEAD, commits=AHEAD):
        with unit:
            pass
        with qm.unit() as puts:
            queue.put(BODY, priority=4, wait=False)
            queue.put(BODY, priority=4, wait=False)
            puts.commit(wait=False)
        yield


Kind = Callable[[adapter.Connection, adapter.Queue], Iterator[None]]
KINDS: Mapping[str, Kind] = {"waiting": waiting, "deferred": deferred, "in flight": in_flight}


def run(task: CountedTask) -> None:
    """Do what a task says."""
    together = threading.Barrier(task.threads + 1)

    def work() -> None:
        connected = adapter.connect(task.address, heartbeat_s=PATIENT_S)
        with connected as qm, qm.queue(task.queue) as queue:
            rounds = KINDS[task.kind](qm, queue)
            for count in (task.warm_up, task.count):
                for _ in range(count // task.threads):
                    next(rounds)
                together.wait()
                together.wait()

    threads = [threading.Thread(target=work) for _ in range(task.threads)]
    for thread in threads:
        thread.start()
    for word in ("ready", "done"):
        together.wait()
        print(word, flush=True)
        sys.stdin.readline()
        together.wait()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    run(msgspec.json.decode(sys.stdin.readline(), type=CountedTask))
