"""Runs seeds: `python -m tests.simulation 17`, or `1-150`; says what the first broken one found.

Exit status 1 if one was broken. The last line is JSON: which faults were met, and how often.
`--trace` prints all that the auditor was told before it. Of `triggers`, `messages`, `publications`,
`consumers`, `delays`, `msmq`, `gets` and `everything` those are run that are named, or all. The
machines of machines.py are run if they are named: `hosts 1`; so are the searches of tests/search:
`search races stops`.
"""

from __future__ import annotations

import gc
import json
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.search.actions import Broken
from tests.search.searching import SEARCHES, Search, told
from tests.simulation.cancel_work import CancelWork
from tests.simulation.consumer_work import ConsumerWork
from tests.simulation.delay_work import DelayWork
from tests.simulation.machines import MACHINES, run_machine
from tests.simulation.message_work import MessageWork
from tests.simulation.msmq_work import MsmqWork
from tests.simulation.publish_work import PublishWork
from tests.simulation.simulation import Simulation
from tests.simulation.trigger_work import TriggerWork
from tests.simulation.work import Work

TRACE = "--trace"
COLLECT_EVERY = 20
"""Seeds between two collections of garbage: a third of the time goes to it otherwise."""


def seeds_of(arguments: list[str]) -> list[int]:
    """Read numbers and ranges of them."""
    seeds: list[int] = []
    for argument in arguments:
        first, _, last = argument.partition("-")
        seeds += range(int(first), int(last or first) + 1)
    return seeds


RUNS: dict[str, tuple[Callable[[int], Work[Any] | Simulation | MsmqWork | CancelWork], int]] = {
    "triggers": (TriggerWork, 150),
    "messages": (MessageWork, 150),
    "publications": (PublishWork, 80),
    "consumers": (ConsumerWork, 100),
    "delays": (DelayWork, 150),
    "msmq": (MsmqWork, 150),
    "gets": (CancelWork, 170),
    "everything": (Simulation, 1_000),
}
"""By name: what a seed makes, and how many operations it does. What is soon done comes first."""


def run(name: str, seed: int, *, trace: bool) -> Counter[str]:
    """Run a seed of one of RUNS, or of a machine; returns what was met."""
    if name in MACHINES:
        return run_machine(name, seed, shrinks=trace)
    make, operations = RUNS[name]
    work = make(seed)
    work.auditor.trace = print if trace else None
    work.run(operations)
    return work.met


def search(names: list[str]) -> int:
    """Run searches until something does not hold."""
    for name in names:
        try:
            print(told(name, Search(SEARCHES[name]).run()))
        except Broken as broken:
            print(f"seed {name} of search: {type(broken.__cause__).__name__}: {broken}"[:2_000])
            return 1
    return 0


def main(arguments: list[str]) -> int:
    """Run seeds until one is broken."""
    if arguments[:1] == ["search"]:
        return search(arguments[1:])
    met: Counter[str] = Counter()
    names = [one for one in (*RUNS, *MACHINES) if one in arguments]
    seeds = seeds_of([one for one in arguments if one != TRACE and one not in names])
    gc.disable()
    for name in names or RUNS:
        for count, seed in enumerate(seeds, 1):
            try:
                met += run(name, seed, trace=TRACE in arguments)
            except Exception as error:  # noqa: BLE001 -- whatever it is, it is what was found
                print(f"seed {seed} of {name}: {type(error).__name__}: {error}"[:2_000])
                print(*getattr(error, "__notes__", []), sep="\n")
                return 1
            if count % COLLECT_EVERY == 0:
                gc.collect()
    print(json.dumps(met, sort_keys=True))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
