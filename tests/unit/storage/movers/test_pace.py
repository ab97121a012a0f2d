"""When a mover reads, and how long it leaves a transaction open, by a clock of the test's own."""

import time

import pytest

from adapter.storage.ledger.port import Entry
from adapter.storage.movers.pace import (
    BACKLOG_BYTES,
    BUSY_BYTES,
    GATHER_S,
    OPEN_S,
    PACE_S,
    SMALL_BYTES,
    Pace,
)
from adapter.storage.movers.parking import READ_S

INTERVAL_S = 0.05


class Reading:
    """A ledger's reader, which notes how long it would wait, and a clock that stands still."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 1000.0
        self.waits_s: list[float] = []
        self.bytes = 0
        monkeypatch.setattr(time, "monotonic", lambda: self.now_s)

    def read(self, timeout_s: float) -> list[Entry]:
        self.waits_s.append(timeout_s)
        return [entry(self.bytes)] if self.bytes else []

    def offset_and_end(self) -> tuple[int, int]:
        return 0, 0

    def close(self) -> None:
        """Nothing is held."""


def entry(size: int) -> Entry:
    return Entry(0, b"owner", 1, 0, bytes(size))


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Reading:
    return Reading(monkeypatch)


def test_a_read_waits_as_long_as_nothing_else_is_to_be_done(reading: Reading) -> None:
    pace = Pace(INTERVAL_S, 0.0)
    pace.read(reading, is_open=False)
    pace.read(reading, is_open=True)
    pace.read(reading, is_open=False, waits=False)
    assert reading.waits_s == [READ_S, PACE_S, 0.0]


def test_soon_after_others_entries_are_gathered(reading: Reading) -> None:
    pace, reading.bytes = Pace(INTERVAL_S, 0.0), 10
    assert len(pace.read(reading, is_open=False)) == 1, "the first after a pause is copied at once"
    reading.now_s += INTERVAL_S
    assert len(pace.read(reading, is_open=False)) == 2
    assert reading.waits_s == [READ_S, READ_S, GATHER_S]


def test_pauses_are_shorter_the_more_there_is(reading: Reading) -> None:
    pace = Pace(INTERVAL_S, 0.0)
    pace.read(reading, is_open=False)
    few = [entry(10)]
    assert pace.pause_s(few, is_open=False) == pytest.approx(INTERVAL_S)
    assert pace.pause_s(few, is_open=True) == pytest.approx(PACE_S)
    assert pace.pause_s([entry(SMALL_BYTES)], is_open=False) == 0.0
    reading.now_s += 1.0
    assert pace.pause_s(few, is_open=False) == 0.0


def test_a_patient_mover_pauses_longer_under_load(reading: Reading) -> None:
    pace, reading.bytes = Pace(INTERVAL_S, 0.2), BUSY_BYTES
    pace.read(reading, is_open=False)
    assert pace.pause_s([entry(SMALL_BYTES)], is_open=False) == pytest.approx(0.2)
    assert pace.pause_s([entry(BACKLOG_BYTES)], is_open=False) == 0.0


def test_a_transaction_stays_open_under_load_and_not_for_long(reading: Reading) -> None:
    pace, reading.bytes = Pace(INTERVAL_S, 0.0), BUSY_BYTES
    pace.read(reading, is_open=False)
    assert not pace.keeps_open(), "one read that brings much is no load"
    pace.read(reading, is_open=True)
    assert pace.keeps_open()
    reading.now_s += OPEN_S
    assert not pace.keeps_open()
    pace.committed()
    assert pace.keeps_open(), "the next transaction has its own time"


def test_without_an_interval_every_read_is_a_transaction(reading: Reading) -> None:
    pace, reading.bytes = Pace(0.0, 0.0), BUSY_BYTES
    pace.read(reading, is_open=False)
    pace.read(reading, is_open=True)
    assert not pace.keeps_open()
