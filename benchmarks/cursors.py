"""What a walk over a long queue of MSMQ costs: an enumerator that peeks at each message.

The queue is filled once, in transactions; it is walked through with few messages and with many.
Memory is the queue manager's peak during the walk: its size does not depend on the length of the
queue, because messages leave memory again behind the cursor.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

import adapter
from adapter import msmq
from benchmarks.msmq import fill, forget_peak, memory_mib, private
from benchmarks.results import Row, Rows, show
from benchmarks.stack import Running, caught_up_s, started
from benchmarks.usage import spending

DEPTHS = (10_000, 1_000_000)
BODY = bytes(200)
SETTLE_S = 60.0
IN_MEMORY_MAX = 3_000
QUEUE = private("walk")


def measure(bootstrap: str, depths: Sequence[int] = DEPTHS) -> Rows:
    """Fill a queue to each depth in turn, and walk through it."""
    rows: Rows = {}
    with started(bootstrap, "CURSORS") as running, msmq.connect(running.address) as host:
        queue = host.create(QUEUE, transactional=True)
        filled = 0
        for depth in depths:
            began_s = time.perf_counter()
            fill(host, QUEUE, filled, depth, BODY)
            _note(rows, "fill", depth, depths, (depth - filled) / (time.perf_counter() - began_s))
            filled = depth
            settle(running)
            walk(running, queue, depth, rows, depths)
            show(rows, f"with {depth:,} messages")
    return rows


def settle(running: Running) -> None:
    """Wait until messages are copied and have left memory."""
    caught_up_s(running.address)
    with adapter.connect(running.address) as qm:
        deadline_s = time.monotonic() + SETTLE_S
        while qm.figures()["messages_in_memory"] > IN_MEMORY_MAX:
            if time.monotonic() > deadline_s:
                raise RuntimeError(f"messages have not left memory in {SETTLE_S:g} s")
            time.sleep(0.1)


def walk(
    running: Running, queue: msmq.MessageQueue, depth: int, rows: Rows, depths: Sequence[int]
) -> None:
    """Peek at every message in order with one cursor."""
    took_ms: list[float] = []
    forget_peak(running.pid)
    with spending() as spent:
        began_s = last_s = time.perf_counter()
        for number, message in enumerate(queue):
            now_s = time.perf_counter()
            took_ms.append((now_s - last_s) * 1000)
            last_s = now_s
            assert message.label == str(number), f"{message.label} instead of {number}"
    assert len(took_ms) == depth, f"{len(took_ms)} messages of {depth}"
    rate = depth / (last_s - began_s)
    _note(rows, "rate", depth, depths, rate, spent.each(depth))
    _note(rows, "p50", depth, depths, statistics.median(took_ms))
    _note(rows, "slowest", depth, depths, max(took_ms))
    _note(rows, "peak", depth, depths, memory_mib(running.pid))


def _note(
    rows: Rows,
    key: str,
    depth: int,
    depths: Sequence[int],
    value: float,
    cpu_us: dict[str, float] | None = None,
) -> None:
    """Add a figure at a depth; those at the largest are measured against the smallest."""
    row = _row(key)
    row.name = f"{row.name}, {depth:,} messages"
    if depth == depths[0]:
        row.at_least = row.at_most = 0.0
    elif row.at_least or row.at_most:
        row.against = f"{key}-{depths[0]}"
    row.note(value, cpu_us or {})
    rows[f"{key}-{depth}"] = row


def _row(key: str) -> Row:
    return {
        "fill": Row("sends in transactions of 500", "msg/s"),
        "rate": Row("peeks of one cursor", "/s", at_least=0.7),
        "p50": Row("one peek, p50", "ms"),
        "slowest": Row("the slowest peek", "ms"),
        "peak": Row("peak of resident memory in the walk", "MiB", at_most=1.3),
    }[key]
