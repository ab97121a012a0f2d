"""A process full of clients, through the public SDK: `python -m benchmarks.clients`.

It reads a Task as JSON from standard input, connects every thread, prints "ready", waits for a
line, works for the given time and prints what it did as JSON.
"""

from __future__ import annotations

import sys
import threading
import time

import msgspec
from msgspec import Struct

import adapter

BODY = bytes(2048)
WARM_UP_S = 1.0


class Task(Struct, kw_only=True):
    """What the clients of this process do."""

    address: str
    kind: str  # "rt", "put" or "get"
    queue: str
    threads: int = 1
    seconds: float = 10.0
    messages: int = 0
    unit_size: int = 100


class Work(Struct):
    """What they did: round trips or messages, in how many seconds; latencies of commits in ms."""

    count: int
    seconds: float
    put_commit_ms: list[float]


def round_trip(qm: adapter.Connection, queue: adapter.Queue) -> float:
    """A unit of two puts and a unit of two gets, each verb its own request; the put commit's ms."""
    with qm.unit():
        queue.put(BODY)
        queue.put(BODY)
        began = time.perf_counter()
    took = time.perf_counter() - began
    with qm.unit():
        queue.get()
        queue.get()
    return took * 1000


def round_trips(task: Task, go: threading.Barrier, work: list[Work]) -> None:
    """One client: warm up, then round trips until the time is over."""
    with adapter.connect(task.address) as qm, qm.queue(task.queue) as queue:
        go.wait()
        until = time.perf_counter() + WARM_UP_S
        while time.perf_counter() < until:
            round_trip(qm, queue)
        latencies = []
        began = time.perf_counter()
        until = began + task.seconds
        while time.perf_counter() < until:
            latencies.append(round_trip(qm, queue))
        work.append(Work(len(latencies), time.perf_counter() - began, latencies))


def put_all(task: Task, go: threading.Barrier, work: list[Work]) -> None:
    """Put so many messages in units."""
    with adapter.connect(task.address) as qm, qm.queue(task.queue) as queue:
        go.wait()
        began = time.perf_counter()
        queue.put_many((BODY for _ in range(task.messages)), unit_size=task.unit_size)
        work.append(Work(task.messages, time.perf_counter() - began, []))


def get_all(task: Task, go: threading.Barrier, work: list[Work]) -> None:
    """Get so many messages in units."""
    with adapter.connect(task.address) as qm, qm.queue(task.queue) as queue:
        go.wait()
        began = time.perf_counter()
        got = 0
        for unit in queue.units(size=task.unit_size, timeout=30):
            with unit:
                got += len(unit.messages)
            if got >= task.messages:
                break
        work.append(Work(got, time.perf_counter() - began, []))


KINDS = {"rt": round_trips, "put": put_all, "get": get_all}


def main() -> None:
    """Run the task that standard input names."""
    task = msgspec.json.decode(sys.stdin.readline(), type=Task)
    sys.setswitchinterval(0.0005)
    go = threading.Barrier(task.threads + 1)
    work: list[Work] = []
    threads = [
        threading.Thread(target=KINDS[task.kind], args=(task, go, work))
        for _ in range(task.threads)
    ]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    sys.stdin.readline()
    go.wait()
    for thread in threads:
        thread.join()
    print(msgspec.json.encode(work).decode(), flush=True)


if __name__ == "__main__":
    main()
