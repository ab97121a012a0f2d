"""How many entries are in flight: one while appends are quick, several where they are not."""

import pytest

from adapter.runtime.owner.appends import ENTRIES_IN_FLIGHT_MAX, QUICK_MS, SLOW_IN_A_ROW, Appends
from adapter.runtime.owner.clock import ManualClock
from adapter.storage.ledger.memory import MemoryLedger, MemoryLog

SLOW_MS = QUICK_MS + 1


class Bench:
    """Appends to a ledger in memory, which are durable when they are told to be."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.ledger = MemoryLedger(MemoryLog(), pumped=True)
        self.ledger.take_over(bytes(16), "test", lambda _entry: None)
        self.appends = Appends(self.ledger, self.clock)
        self.ledger.on_durable = self.appends.durable

    def append(self, took_ms: int) -> None:
        """Append one entry while none is in flight; it is durable after so long."""
        assert self.appends.idle
        self._add()
        self.be_durable(took_ms)

    def be_durable(self, took_ms: int) -> None:
        """Let what is in flight be durable, after so long."""
        self.clock.advance(took_ms / 1000)
        self.ledger.pump()
        self.appends.append()

    def in_flight(self) -> int:
        """How many are in flight when there is more to append than may be; they stay there."""
        for _ in range(ENTRIES_IN_FLIGHT_MAX + 1):
            self._add()
        return self.appends.statistics()["entries_in_flight"]

    def _add(self) -> None:
        self.appends.add(b"entry")
        assert self.appends.append()


@pytest.mark.parametrize(("took_ms", "count"), [(QUICK_MS, 1), (SLOW_MS, ENTRIES_IN_FLIGHT_MAX)])
def test_one_is_in_flight_once_an_append_was_quick(took_ms: int, count: int) -> None:
    bench = Bench()
    bench.append(took_ms)
    assert bench.in_flight() == count


@pytest.mark.parametrize(
    ("slow", "count"), [(SLOW_IN_A_ROW - 1, 1), (SLOW_IN_A_ROW, ENTRIES_IN_FLIGHT_MAX)]
)
def test_several_are_in_flight_after_many_slow_appends_in_a_row(slow: int, count: int) -> None:
    bench = Bench()
    for took_ms in [QUICK_MS, *[SLOW_MS] * (SLOW_IN_A_ROW - 1), QUICK_MS, *[SLOW_MS] * slow]:
        bench.append(took_ms)
    assert bench.in_flight() == count


def test_an_append_behind_others_does_not_count() -> None:
    bench = Bench()
    assert bench.in_flight() == ENTRIES_IN_FLIGHT_MAX, "what an append takes is not known yet"
    bench.clock.advance(SLOW_MS / 1000)
    for n in range(1, ENTRIES_IN_FLIGHT_MAX + 1):
        bench.appends.durable(n)  # all but the first a moment after the one before
    assert bench.in_flight() == ENTRIES_IN_FLIGHT_MAX


def test_after_a_quick_append_what_waits_is_appended_one_by_one() -> None:
    bench = Bench()
    bench.append(QUICK_MS)
    assert bench.in_flight() == 1
    for _ in range(ENTRIES_IN_FLIGHT_MAX):
        bench.be_durable(QUICK_MS)
        assert bench.appends.statistics()["entries_in_flight"] == 1
    bench.be_durable(QUICK_MS)
    assert bench.appends.idle
