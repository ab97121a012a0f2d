"""CPU of a round trip by role: of this code, and of another checkout in the same run.

    python -m benchmarks cpu --against ../mqk-before

The other checkout's clients and queue managers run with the Python of its .venv. The two take turns
and meet the same machine; ratios are medians of the ratios of the runs.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import adapter
from benchmarks.results import Row, Rows
from benchmarks.stack import HERE, Code, caught_up_s, code_in, queue_manager
from benchmarks.verbs import round_trips

RUNS = 3
SECONDS = 3.0
WARM_UP_S = 5.0
CLIENTS = {1: (1, 1), 8: (2, 4), 64: (4, 16)}
"""Processes, and threads of each."""
ROLES = ("queue manager", "of it main thread", "clients", "broker", "movers")


def measure(bootstrap: str, against: Path | None = None) -> Rows:
    """Round trips of 1, 8 and 64 clients; each role's microseconds are a figure of its own."""
    codes = {"now": HERE} if against is None else {"before": code_in(against), "now": HERE}
    rows = {
        f"{name}-{clients}-{what}": Row(
            f"{clients} clients, {name}: {what}",
            "RT/s" if what == "rate" else "us",
            against=f"before-{clients}-{what}" if name == "now" and against else "",
        )
        for clients, what, name in itertools.product(CLIENTS, ("rate", *ROLES), codes)
    }
    warm_up(bootstrap)
    for run in range(RUNS):
        turns = list(codes) if run % 2 == 0 else list(codes)[::-1]
        for name in turns:
            measure_once(bootstrap, f"{name}{run}".upper(), name, codes[name], rows)
    return rows


def warm_up(bootstrap: str) -> None:
    """Let a broker that has just started compile what it runs: else the first turn pays for it."""
    with queue_manager(bootstrap, "WARM") as address:
        with adapter.connect(address) as qm:
            qm.define_queue("RT")
        round_trips(address, "RT", *CLIENTS[64], seconds=WARM_UP_S)
        round_trips(address, "RT", *CLIENTS[1], seconds=WARM_UP_S)


def measure_once(bootstrap: str, manager: str, name: str, code: Code, rows: Rows) -> None:
    """A queue manager of its own, and each number of clients in turn."""
    with queue_manager(bootstrap, manager, code=code) as address:
        with adapter.connect(address) as qm:
            qm.define_queue("RT")
        caught_up_s(address)
        for clients, (processes, threads) in CLIENTS.items():
            done = round_trips(address, "RT", processes, threads, seconds=SECONDS, code=code)
            rows[f"{name}-{clients}-rate"].runs.append(done.rate)
            for role in ROLES:
                rows[f"{name}-{clients}-{role}"].runs.append(done.cpu_us.get(role, 0.0))
