"""Clocks: time never runs backwards."""

import time

import pytest

from adapter.owner.clock import ManualClock, SystemClock


def test_the_system_clock_is_kept_from_running_backwards(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SystemClock()
    first = clock.now_ms()
    monkeypatch.setattr(time, "time_ns", lambda: (first - 5_000) * 1_000_000)
    assert clock.now_ms() == first
    monkeypatch.setattr(time, "time_ns", lambda: (first + 5_000) * 1_000_000)
    assert clock.now_ms() == first + 5_000


def test_a_manual_clock_goes_when_it_is_told_to() -> None:
    clock = ManualClock(start_ms=1_000)
    clock.advance(0.0015)
    clock.advance(2)
    assert clock.now_ms() == 3_002
    with pytest.raises(ValueError, match="does not run backwards"):
        clock.advance(-1)
