"""How little a backlog costs: memory, latency and restart with many messages waiting and with few.

The queue is filled once; each figure is taken at each depth of one run. Memory is what is resident
when messages have been got by their ids, so that the index is in it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec

import adapter
from benchmarks.results import Row, Rows, show
from benchmarks.stack import Running, started
from benchmarks.usage import spending

DEPTHS = (1_000, 10_000, 1_000_000)
PAGED = 10_000
"""From so many on most are not in memory."""
WARM_UP = 3_000
ENTRIES = 20_000
BODY = bytes(200)
SETTLE_S = 60.0
ROUNDS = 200
QUEUE = "SCALE"

KINDS = {
    "priority": Row(
        "put and get of a priority-9 message, p50", "ms", against="priority-0", at_most=1.3
    ),
    "first": Row("the first get by correlation id", "s"),
    "selective": Row("get by correlation id, p50", "ms", against="selective-1000", at_most=2.0),
    "rss": Row("resident memory", "MiB", against="rss-10000", at_most=1.3, limit=400),
    "restart": Row("SIGKILL to the first get", "s", against="restart-10000", at_most=2.0, limit=5),
}


def measure(bootstrap: str) -> Rows:
    """Fill a queue to each depth in turn, and measure there."""
    rows: Rows = {}
    with started(bootstrap, "SCALE") as running:
        with adapter.connect(running.address) as qm:
            qm.define_queue(QUEUE, max_depth=999_999_999)
        warm_up(running)
        note(rows, "priority", 0, *priority_ms(running))
        depth = first = 0
        for target in DEPTHS:
            fill(running, depth, target)
            at_depth(running, target, first, rows)
            depth, first = target, target // 2 + 1
            show(rows, f"with {target:,} messages waiting")
    return rows


def warm_up(running: Running) -> None:
    """Let a broker that has just started compile what the figures are about."""
    with adapter.connect(running.address) as qm:
        queue = qm.queue(QUEUE)
        for _ in range(WARM_UP):
            put_and_get(queue)


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


def at_depth(running: Running, depth: int, first: int, rows: Rows) -> None:
    """Measure at the depth that is there; it is the same afterwards, but for what was got.

    first: the first message that was not got by its id before.
    """
    note(rows, "priority", depth, *priority_ms(running))
    with adapter.connect(running.address) as qm:
        queue = qm.queue(QUEUE)
        began = time.perf_counter()
        selected(queue, depth // 2)
        note(rows, "first", depth, time.perf_counter() - began)
        step = (depth // 2 - first) // ROUNDS
        with spending() as spent:
            took = [selected(queue, first + step * number) for number in range(ROUNDS)]
        note(rows, "selective", depth, statistics.median(took), spent.each(ROUNDS))
    note(rows, "rss", depth, rss_mib(running.pid))
    if depth >= PAGED:
        write_entries(running)
        note(rows, "restart", depth, restarted(running))


def note(
    rows: Rows,
    key: str,
    depth: int,
    value: float,
    cpu_us: Mapping[str, float] = MappingProxyType({}),
) -> None:
    """Add a figure at a depth; those at the largest have targets."""
    row = msgspec.structs.replace(KINDS[key], runs=[], cpu_us={})
    row.note(value, cpu_us)
    row.name = f"{row.name}, {depth:,} waiting"
    if depth < DEPTHS[-1]:
        row.at_most = row.limit = 0.0
    if not row.at_most:
        row.against = ""
    rows[f"{key}-{depth}"] = row


def priority_ms(running: Running) -> tuple[float, Mapping[str, float]]:
    """Put and get messages of the highest priority, one at a time; the median, and its CPU."""
    with adapter.connect(running.address) as qm:
        queue = qm.queue(QUEUE)
        with spending() as spent:
            median = statistics.median(put_and_get(queue) for _ in range(ROUNDS))
        return median, spent.each(ROUNDS)


def write_entries(running: Running) -> None:
    """Write more entries than a restart has to read: each put and each get is one of its own."""
    with adapter.connect(running.address) as qm:
        queue = qm.queue(QUEUE)
        for _ in range(ENTRIES // 2):
            put_and_get(queue)


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
