"""Runs seeds: `python -m tests.simulation 17`, or `1-150`; says what the first broken one found.

Exit status 1 if one was broken. The last line is JSON: which faults were met, and how often.
`--trace` prints all that the auditor was told before it. Of `triggers`, `messages`, `publications`,
`consumers` and `everything` those are run that are named, or all.
"""

from __future__ import annotations

import gc
import json
import sys
from collections import Counter
from collections.abc import Callable

from tests.simulation.consumer_work import ConsumerWork
from tests.simulation.message_work import MessageWork
from tests.simulation.publish_work import PublishWork
from tests.simulation.simulation import Simulation
from tests.simulation.trigger_work import TriggerWork

OPERATIONS = 1_000
TRIGGER_OPERATIONS = 150
MESSAGE_OPERATIONS = 150
PUBLISH_OPERATIONS = 80
CONSUMER_OPERATIONS = 100
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


def of_triggers(seed: int, trace: bool) -> Counter[str]:
    """Run what is judged by the auditor of triggers; what was met."""
    work = TriggerWork(seed)
    work.auditor.trace = print if trace else None
    work.run(TRIGGER_OPERATIONS)
    return work.auditor.met


def of_messages(seed: int, trace: bool) -> Counter[str]:
    """Run what is judged by the auditor of groups, reports and dynamic queues; what was met."""
    work = MessageWork(seed)
    work.auditor.trace = print if trace else None
    work.run(MESSAGE_OPERATIONS)
    return work.auditor.met


def of_publications(seed: int, trace: bool) -> Counter[str]:
    """Run what is judged by the auditor of publications; what was met."""
    work = PublishWork(seed)
    work.auditor.trace = print if trace else None
    work.run(PUBLISH_OPERATIONS)
    return work.auditor.met


def of_consumers(seed: int, trace: bool) -> Counter[str]:
    """Run what is judged by the auditor of durable consumers; what was met."""
    work = ConsumerWork(seed)
    work.auditor.trace = print if trace else None
    work.run(CONSUMER_OPERATIONS)
    return work.auditor.met


def of_everything(seed: int, trace: bool) -> Counter[str]:
    """Run the production code under every fault; what was met."""
    simulation = Simulation(seed)
    simulation.auditor.trace = print if trace else None
    simulation.run(OPERATIONS)
    return simulation.met


RUNS: dict[str, Callable[[int, bool], Counter[str]]] = {
    "triggers": of_triggers,
    "messages": of_messages,
    "publications": of_publications,
    "consumers": of_consumers,
    "everything": of_everything,
}
"""By name; what is soon done comes first."""


def main(arguments: list[str]) -> int:
    """Run seeds until one is broken."""
    met: Counter[str] = Counter()
    seeds = seeds_of([one for one in arguments if one != TRACE and one not in RUNS])
    gc.disable()
    for name in [one for one in RUNS if one in arguments] or RUNS:
        for count, seed in enumerate(seeds, 1):
            try:
                met += RUNS[name](seed, TRACE in arguments)
            except Exception as error:  # noqa: BLE001 -- whatever it is, it is what was found
                print(f"seed {seed} of {name}: {type(error).__name__}: {error}"[:2_000])
                return 1
            if count % COLLECT_EVERY == 0:
                gc.collect()
    print(json.dumps(met, sort_keys=True))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
