"""How little a backlog costs: memory, latency and restart with many messages waiting and with few.

The queue is filled once; each figure is taken at the small and at the large depth of one run.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

import adapter
from benchmarks.stack import Running, started

SMALL = 10_000
LARGE = 1_000_000
BODY = bytes(200)
SETTLE_S = 60.0
ROUNDS = 200
QUEUE = "SCALE"


class Figures(Struct):
    """What one depth costs."""

    depth: int
    rss_mib: float
    priority_ms: float
    selective_ms: float
    first_selective_s: float
    restart_s: float


def measure(bootstrap: str, large: int = LARGE) -> list[Figures]:
    """Fill a queue to the small, then to the large depth, and measure at both."""
    found = []
    with started(bootstrap, "SCALE") as running:
        with adapter.connect(running.address) as qm:
            qm.define_queue(QUEUE, max_depth=999_999_999)
        depth = 0
        for target in (SMALL, large):
            fill(running, depth, target)
            depth = target
            found.append(at_depth(running, target))
    return found


def fill(running: Running, depth: int, target: int) -> None:
    """Put messages up to a depth; wait until they are copied and have left memory."""
    with adapter.connect(running.address) as qm:
        queue = qm.queue(QUEUE)
        queue.put_many(messages(depth, target), unit_size=500)
        deadline_s = time.monotonic() + SETTLE_S
        while qm.figures()["messages_in_memory"] > 3_000 and time.monotonic() < deadline_s:
            time.sleep(0.1)


def messages(depth: int, target: int) -> Iterator[adapter.Message]:
    """Messages with an id each."""
    for number in range(depth, target):
        yield adapter.Message(BODY, correlation_id=b"%024d" % number, priority=4)


def at_depth(running: Running, depth: int) -> Figures:
    """Measure at the depth that is there; it is the same afterwards, but for what was selected."""
    with adapter.connect(running.address) as qm:
        queue = qm.queue(QUEUE)
        rss = rss_mib(running.pid)
        priority = statistics.median(put_and_get(queue) for _ in range(ROUNDS))
        began = time.perf_counter()
        selected(queue, depth // 2)
        first_s = time.perf_counter() - began
        start = SMALL + 1 if depth > SMALL else 1  # nothing is selected twice
        step = (depth // 2 - start) // ROUNDS
        selective = statistics.median(
            selected(queue, start + step * number) for number in range(ROUNDS)
        )
    restart = restarted(running)
    return Figures(depth, rss, priority, selective, first_s, restart)


def put_and_get(queue: adapter.Queue) -> float:
    """Put a message of the highest priority and get it; ms."""
    began = time.perf_counter()
    queue.put(BODY, priority=9)
    assert queue.get() is not None
    return (time.perf_counter() - began) * 1000


def selected(queue: adapter.Queue, number: int) -> float:
    """Get one message by its correlation id; ms."""
    began = time.perf_counter()
    assert queue.get(correlation_id=b"%024d" % number) is not None, number
    return (time.perf_counter() - began) * 1000


def restarted(running: Running) -> float:
    """Kill the queue manager, start it again; seconds to the first get."""
    began = time.perf_counter()
    running.kill()
    running.start()
    with adapter.connect(running.address) as qm:
        assert qm.queue(QUEUE).get() is not None
    return time.perf_counter() - began


def rss_mib(pid: int) -> float:
    """Resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {pid} has gone")
