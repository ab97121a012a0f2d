"""Sessions of Service Broker; many by `python -m tests.simulation conversations 1-200`."""

from collections import Counter

from tests.simulation.__main__ import run
from tests.support.examples import examples

EVENTS = {
    "conversation that was kept",
    "move beside two waits",
    "queue dropped",
    "sends dropped by an error",
    "service dropped",
    "timer received",
    "wait",
}


def test_what_was_sent_is_received_whatever_is_changed_beside_it() -> None:
    met: Counter[str] = Counter()
    for seed in range(1, 1 + max(3, examples(4))):
        met += run("conversations", seed, trace=False)
    assert set(met) >= EVENTS
