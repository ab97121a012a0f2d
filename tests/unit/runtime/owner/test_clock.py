"""Clocks: the time of day may be set, and what passes passes."""

import pytest

from adapter.runtime.owner import clock as clocks
from adapter.runtime.owner.clock import ManualClock, SystemClock


def test_the_time_of_day_is_what_the_machine_says(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SystemClock()
    first, passed = clock.now_ms(), clock.elapsed_ms()
    monkeypatch.setattr(clocks, "_time_ns", lambda: (first - 5_000) * 1_000_000)
    assert clock.now_ms() == first - 5_000
    assert clock.elapsed_ms() >= passed


def test_a_manual_clock_goes_when_it_is_told_to() -> None:
    clock = ManualClock(start_ms=1_000)
    clock.advance(0.0015)
    clock.advance(2)
    assert (clock.now_ms(), clock.elapsed_ms()) == (3_002, 2_002)
    with pytest.raises(ValueError, match="does not run backwards"):
        clock.advance(-1)


def test_a_manual_clock_is_set_and_no_time_passes() -> None:
    clock = ManualClock(start_ms=10_000)
    clock.step(-5)
    assert (clock.now_ms(), clock.elapsed_ms()) == (5_000, 0)
