"""What many queues of MSMQ cost, many cursors and many waiting receives: memory, and a restart.

Thousands of queues are on a ledger in memory, in this process, with all the code of a queue manager
but Kafka's client: a broker on two cores would need most of an hour to make their partitions. A
restart on Kafka is measured with as many queues as a benchmark has time for.
"""

from __future__ import annotations

import gc
import os
import time

import adapter.testing
from adapter import msmq
from adapter.core.contract import msmq as c
from adapter.msmq import QueueAccessMode
from benchmarks.msmq import memory_mib, private
from benchmarks.results import Row, Rows, show
from benchmarks.stack import Running, caught_up_s, started

QUEUES = 10_000
ON_KAFKA = (10, 100)
CURSORS = 1_000
RECEIVES = 1_000
HANDLES = 200
"""Of one connection, which may have 256."""
ROUNDS = 20
WARM_UP = 3
"""Rounds after which memory is no longer that of caches that fill."""
RECEIVE_S = 30


def measure(bootstrap: str, queues: int = QUEUES, on_kafka: tuple[int, int] = ON_KAFKA) -> Rows:
    """Many queues in memory, then few and more of them on Kafka."""
    rows: Rows = {}
    in_memory(rows, queues)
    show(rows, "in memory")
    few = f"kafka-{on_kafka[0]}"
    with started(bootstrap, "OBJECTS") as running:
        made = 0
        for count in on_kafka:
            made = create_on_kafka(running, made, count)
            row = Row(f"SIGKILL to the first receive, {count:,} queues on Kafka", "s")
            row.against = "" if f"kafka-{count}" == few else few
            rows[f"kafka-{count}"] = row
            row.note(restarted_s(running), {})
    return rows


def in_memory(rows: Rows, queues: int) -> None:
    """Create queues, restart with them, and read from them in rounds."""
    pid = os.getpid()
    before = memory_mib(pid, "VmRSS")
    with adapter.testing.queue_manager(queues=2 * queues + 100) as qm:
        with qm.connect_msmq() as host:
            began_s = time.perf_counter()
            for number in range(queues):
                host.create(private(f"q{number}"), transactional=True).close()
            rate = queues / (time.perf_counter() - began_s)
        _note(rows, "create", Row("queues created a second", "/s"), rate)
        each = (memory_mib(pid, "VmRSS") - before) * 1024 / queues
        _note(rows, "memory", Row(f"memory of each of {queues:,} queues", "KiB"), each)
        with qm.connect_msmq() as host, host.open(private("q0")) as queue:
            queue.send("waits", transaction=msmq.MessageQueueTransactionType.SINGLE)
        began_s = time.perf_counter()
        qm.crash()
        qm.start()
        with qm.connect_msmq() as host, host.open(private("q0")) as queue:
            assert queue.receive(RECEIVE_S).body == "waits"
        took_s = time.perf_counter() - began_s
        name = f"crash to the first receive, {queues:,} queues in memory"
        _note(rows, "restart", Row(name, "s"), took_s)
        in_rounds(qm, rows, min(queues, RECEIVES))


def in_rounds(qm: adapter.testing.TestQueueManager, rows: Rows, receives: int) -> None:
    """Make cursors and waiting receives, and give them back, again and again."""
    first = 0.0
    took_s: list[float] = []
    for number in range(ROUNDS):
        began_s = time.perf_counter()
        one_round(qm, receives)
        took_s.append(time.perf_counter() - began_s)
        gc.collect()
        if number == WARM_UP:
            first = memory_mib(os.getpid(), "VmRSS")
    grown = memory_mib(os.getpid(), "VmRSS") - first
    row = Row(f"growth in {ROUNDS - WARM_UP - 1} such rounds", "MiB", limit=5)
    name = f"{CURSORS:,} cursors and {receives:,} waiting receives, made and cancelled"
    _note(rows, "round", Row(name, "s"), min(took_s))
    _note(rows, "growth", row, max(grown, 0.0))


def one_round(qm: adapter.testing.TestQueueManager, receives: int) -> None:
    """Have so many receives wait, on as many queues; cancel all."""
    hosts = [qm.connect_msmq() for _ in range(0, receives, HANDLES)]
    for number, host in enumerate(hosts):
        of_host = range(number * HANDLES, min((number + 1) * HANDLES, receives))
        queues = [host.open(private(f"q{n}"), access=QueueAccessMode.RECEIVE) for n in of_host]
        cursors = [queues[at % len(queues)].create_cursor() for at in range(CURSORS // len(hosts))]
        for queue, cursor in zip(queues, cursors, strict=False):
            waiting = queue.peek_ahead(c.MsmqReceive(cursor.handle, wait_ms=-1))
            assert waiting.answer is None, waiting.answer
    for host in hosts:
        host.close()


def create_on_kafka(running: Running, made: int, count: int) -> int:
    """Create queues up to so many; wait until their topics are there."""
    with msmq.connect(running.address) as host:
        for number in range(made, count):
            with host.create(private(f"q{number}")) as queue:
                queue.send("waits")
    caught_up_s(running.address)
    return count


def restarted_s(running: Running) -> float:
    """Kill the queue manager, start it again; seconds to the first receive."""
    began_s = time.perf_counter()
    running.kill()
    running.start()
    with msmq.connect(running.address) as host, host.open(private("q0")) as queue:
        body = queue.peek(RECEIVE_S).body
    assert body == "waits", body
    return time.perf_counter() - began_s


def _note(rows: Rows, key: str, row: Row, value: float) -> None:
    row.note(value, {})
    rows[key] = row
