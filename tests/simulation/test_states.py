"""What core counts, its ledger, its snapshots and a standby agree, after random work of all kinds.

`python -m tests.simulation states 1-500` runs more seeds.
"""

from collections import Counter

from tests.simulation.state_work import StateWork
from tests.support.examples import examples

EVENTS = {
    *("Backout", "Browse", "ClaimBatch", "Close", "CloseSubscription", "Commit", "ConsumeBatches"),
    *("DeleteQueue", "Get", "Open", "PurgeQueue", "Put", "Subscribe", "clock set", "crash"),
    *("crash with a snapshot", "get waits", "message got", "page read", "paged out"),
}
SEEDS = 12
OPERATIONS = 100


def test_whatever_is_reached_can_be_written_read_and_left() -> None:
    met: Counter[str] = Counter()
    count = examples(SEEDS)
    for seed in range(1, count + 1):
        work = StateWork(seed)
        work.run(OPERATIONS)
        met += work.met
    missing = EVENTS - met.keys()
    assert count < SEEDS or not missing, missing
