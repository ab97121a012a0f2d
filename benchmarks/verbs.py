"""Round trips, and messages put and then got, beside raw Kafka on the same brokers."""

from __future__ import annotations

import statistics
from collections import Counter

from msgspec import Struct

import adapter
from benchmarks import raw
from benchmarks.clients import Task
from benchmarks.results import Row, Rows, show
from benchmarks.stack import HERE, Code, Done, queue_manager, run_clients

RUNS = 3
SECONDS = 10.0
MESSAGES = 60_000


class Amount(Struct, frozen=True):
    """How much is measured. seconds: of the round trips of each number of clients. messages: put
    and then got, or produced and then consumed.
    """

    runs: int = RUNS
    seconds: float = SECONDS
    messages: int = MESSAGES


AMOUNT = Amount()


def measure(bootstrap: str, amount: Amount = AMOUNT) -> Rows:
    """On one broker, with the targets that are set for one."""
    rows = _rows()
    for name, at_least in (("RT1", 0.10), ("RT64", 0.40), ("PG", 0.30)):
        rows[name].at_least = at_least
    return measured(bootstrap, rows, amount)


def measure_replicated(bootstrap: str) -> Rows:
    """On several brokers: the same, and every write is on two of them before it is answered."""
    return measured(bootstrap, _rows(", replication 3"), AMOUNT)


def _rows(where: str = "") -> Rows:
    ahead = "round trips, 1 client, puts deferred, 8 units ahead"
    return {
        "F": Row(f"raw idempotent produce + flush (F){where}", "/s"),
        "RT1": Row(f"round trips, 1 client{where}", "RT/s", against="F"),
        "RT1A": Row(f"{ahead}{where}", "RT/s", against="F"),
        "RT1F": Row(f"{ahead}, 8 commits in flight{where}", "RT/s", against="F"),
        "RT64": Row(f"round trips, 64 clients{where}", "RT/s", against="F"),
        "P50": Row(f"commit of two puts, 1 client, p50{where}", "ms"),
        "PC": Row(f"raw produce, then consume{where}", "msg/s"),
        "PG": Row(f"put, then get, in units of 100{where}", "msg/s", against="PC"),
    }


def measured(bootstrap: str, rows: Rows, amount: Amount) -> Rows:
    """Run everything some times, raw and queue manager in turn."""
    seconds = amount.seconds
    for run in range(amount.runs):
        raw.create_topic(bootstrap, f"raw-{run}")
        rows["F"].note(*raw.appends_per_second(bootstrap, f"raw-{run}", seconds / 2))
        with queue_manager(bootstrap, f"BENCH{run}") as address:
            with adapter.connect(address) as qm:
                for name in ("RT1", "RT1A", "RT1F", "RT64", "PG"):
                    qm.define_queue(name)
            one = round_trips(address, "RT1", 1, 1, seconds=seconds)
            rows["RT1"].note(one.rate, one.cpu_us)
            rows["P50"].runs.append(statistics.median(one.work[0].put_commit_ms))
            for name, kind in (("RT1A", "rt ahead"), ("RT1F", "rt in flight")):
                fast = round_trips(address, name, 1, 1, seconds=seconds, kind=kind)
                rows[name].note(fast.rate, fast.cpu_us)
            many = round_trips(address, "RT64", 4, 16, seconds=seconds)
            rows["RT64"].note(many.rate, many.cpu_us)
            rows["PG"].note(*put_then_get(address, "PG", amount.messages))
        raw.create_topic(bootstrap, f"raw-pc-{run}")
        done = raw.produce_then_consume_per_second(bootstrap, f"raw-pc-{run}", amount.messages)
        rows["PC"].note(*done)
        show(rows, f"after run {run + 1} of {amount.runs}")
    return rows


def round_trips(
    address: str,
    queue: str,
    processes: int,
    threads: int,
    *,
    queues: int = 0,
    seconds: float = SECONDS,
    program: str = "clients",
    code: Code = HERE,
    kind: str = "rt",
) -> Done:
    """Run clients that do round trips; on one queue, or on so many, whose names are numbered.

    program: the file that they run, which has this kind.
    """
    tasks = [
        Task(
            address=address,
            kind=kind,
            queue=queue,
            queues=queues,
            first=number * threads,
            threads=threads,
            seconds=seconds,
        )
        for number in range(processes)
    ]
    return run_clients(tasks, program, code)


def put_then_get(address: str, queue: str, messages: int = MESSAGES, code: Code = HERE) -> raw.Rate:
    """Messages a second, all put in units of 100, then all got in units of 100."""
    seconds = 0.0
    cpu_us: Counter[str] = Counter()
    for kind in ("put", "get"):
        task = Task(address=address, kind=kind, queue=queue, messages=messages)
        done = run_clients([task], code=code)
        seconds += max(one.seconds for one in done.work)
        cpu_us.update(done.cpu_us)
    return messages / seconds, cpu_us
