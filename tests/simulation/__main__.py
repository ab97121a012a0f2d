"""Runs seeds: `python -m tests.simulation 17`, or `1-150`; says what the first broken one found.

Exit status 1 if one was broken. The last line is JSON: which faults were met, and how often.
`--trace` prints all that the auditor was told before it. Of `triggers`, `messages`, `publications`,
`consumers`, `delays`, `msmq`, `gets` and `everything` those are run that are named, or all. The
machines of machines.py, `states` and `conversations` are run if they are named: `hosts 1`; so are
the searches of tests/search: `search races stops`.
"""

from __future__ import annotations

import gc
import json
import sys
from collections import Counter
from importlib import import_module

from adapter.host.program import load_log_library
from tests.simulation.machines import MACHINES, run_machine

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


RUNS: dict[str, tuple[str, str, int]] = {
    "triggers": ("trigger_work", "TriggerWork", 150),
    "messages": ("message_work", "MessageWork", 150),
    "publications": ("publish_work", "PublishWork", 80),
    "consumers": ("consumer_work", "ConsumerWork", 100),
    "delays": ("delay_work", "DelayWork", 150),
    "msmq": ("msmq_work", "MsmqWork", 150),
    "gets": ("cancel_work", "CancelWork", 170),
    "everything": ("simulation", "Simulation", 1_000),
}
"""By name: the module and class of what a seed makes, and how many operations it does. What is soon
done comes first. A module is loaded when it is asked for: that takes longer than many a seed.
"""
NAMED: dict[str, tuple[str, str, int]] = {
    "states": ("state_work", "StateWork", 150),
    "conversations": ("conversation_work", "ConversationWork", 300),
}
"""The same of what is run only if it is named: no fault is met by it."""


def run(name: str, seed: int, *, trace: bool) -> Counter[str]:
    """Run a seed of one of RUNS or NAMED, or of a machine; returns what was met."""
    if name in MACHINES:
        return run_machine(name, seed, shrinks=trace)
    module, kind, operations = (RUNS | NAMED)[name]
    work = getattr(import_module(f"tests.simulation.{module}"), kind)(seed)
    work.auditor.trace = print if trace else None
    work.run(operations)
    met: Counter[str] = work.met
    return met


def search(names: list[str]) -> int:
    """Run searches until something does not hold."""
    from tests.search.actions import Broken
    from tests.search.searching import SEARCHES, Search, told

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
    names = [one for one in (*RUNS, *NAMED, *MACHINES) if one in arguments]
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
    load_log_library()
    sys.exit(main(sys.argv[1:]))
